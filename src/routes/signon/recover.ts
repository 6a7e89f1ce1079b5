/**
 * /recover, /reset and the confirmation of a new mail address. The answer to /recover is the same
 * for every address. A link of a mail is used up by a form's POST alone. Where the person was going
 * is kept with the link, as registration does it.
 */

import type { PlainRoute } from '../../http/router.ts';
import { catalogueFor } from '../../pages/language.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { onwardHref } from '../../pages/signon/onward.ts';
import { recoverPage, resetPage } from '../../pages/signon/recover.ts';
import { checkMailPage, emailLengthMax } from '../../pages/signon/register.ts';
import { confirmEmailPage } from '../../pages/signon/verify.ts';
import type { Signon } from '../../signon/open.ts';
import type { Desk } from './desk.ts';
import { keptOnward, onwardKept, onwardOf } from './onward.ts';
import { hold, type RegisterOptions } from './register.ts';
import type { Visit } from './visit.ts';

const limit = { limit: 'signIn' } as const;
const confirmPath = '/account/email/confirm';

export function recoverRoutes(
  options: Pick<RegisterOptions, 'desk' | 'signon' | 'authorization'>,
): PlainRoute[] {
  const { desk, signon } = options;
  return [
    desk.page('/recover', 'anyone', (visit, query) => {
      const data = { ...onwardOf(query.get), csrf: visit.csrf };
      return desk.show(visit, (frame) => recoverPage(frame, data));
    }),
    desk.form(
      '/recover',
      'anyone',
      async (visit, form) => {
        const email = form.get('email') ?? '';
        const onward = onwardOf(form.get);
        const { visitor } = visit;
        const request = { email, visitor, onward: keptOnward(onward) };
        const done = await signon.recovery.request(request);
        if (done.ok) {
          await hold(options, visit, onward, 'reset');
          return desk.go(visit, onwardHref('/recover/sent', onward));
        }
        if (done.error !== 'invalid_parameter') return desk.problem(visit, done);
        const error = catalogueFor(visit.language).signon.emailMalformed;
        const shown = email.slice(0, emailLengthMax);
        const data = { ...onward, csrf: visit.csrf, email: shown, error };
        return desk.show(visit, (frame) => recoverPage(frame, data), { status: 422 });
      },
      limit,
    ),
    desk.page('/recover/sent', 'anyone', (visit, query) =>
      desk.show(visit, (frame) => checkMailPage(frame, 'recover', onwardOf(query.get))),
    ),
    ...resetRoutes(desk, signon),
    ...confirmRoutes(desk, signon),
  ];
}

function resetRoutes(desk: Desk, signon: Signon): PlainRoute[] {
  const show = (visit: Visit, token: string, error?: string) => {
    const data = { csrf: visit.csrf, token, ...(error === undefined ? {} : { error }) };
    const status = error === undefined ? 200 : 422;
    return desk.show(visit, (frame) => resetPage(frame, data), { status });
  };
  return [
    desk.page('/reset', 'anyone', async (visit, query) => {
      const token = query.get('token') ?? '';
      if (await signon.recovery.isOpen(token)) return show(visit, token);
      return desk.problem(visit, { ok: false, error: 'invalid_link' });
    }),
    desk.form(
      '/reset',
      'anyone',
      async (visit, form) => {
        const token = form.get('token') ?? '';
        const password = form.get('password') ?? '';
        const { visitor, language } = visit;
        const done = await signon.recovery.reset({ token, password, visitor });
        if (done.ok) {
          const onward = onwardKept(done.value.onward);
          return desk.go(visit, onwardHref('/signin', onward, { done: 'reset' }));
        }
        if (done.error === 'weak_password') return show(visit, token, failureText(language, done));
        if (done.error !== 'invalid_parameter') return desk.problem(visit, done);
        return show(visit, token, catalogueFor(language).signon.passwordLength);
      },
      limit,
    ),
  ];
}

function confirmRoutes(desk: Desk, signon: Signon): PlainRoute[] {
  return [
    desk.page(confirmPath, 'verified', async (visit, query) => {
      const token = query.get('token') ?? '';
      const offered = await signon.emailChange.offered(visit.session, token);
      if (!offered.ok) return desk.problem(visit, offered);
      const data = { csrf: visit.csrf, token, action: confirmPath };
      const addresses = { from: visit.session.email, to: offered.value.email };
      return desk.show(visit, (frame) => confirmEmailPage(frame, { ...data, ...addresses }));
    }),
    desk.form(
      confirmPath,
      'verified',
      async (visit, form) => {
        const { session, visitor } = visit;
        const token = form.get('token') ?? '';
        const done = await signon.emailChange.confirm(session, token, visitor);
        return done.ok ? desk.go(visit, '/account') : desk.problem(visit, done);
      },
      limit,
    ),
  ];
}
