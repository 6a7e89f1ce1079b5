/**
 * /recover, /reset and the confirmation of a new mail address. The answer to /recover is the same
 * for every address. A link of a mail is used up by a form's POST alone. Where the person was going
 * is kept with the link, as registration does it.
 */

import { isAccountId } from '../../../access/account-names.ts';
import { readKnownAddress } from '../../../core/names/mail-address.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { doneMark } from '../../../web/done-mark.ts';
import { statusOf } from '../../../web/errors.ts';
import { deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import type { Visit } from '../../desk.route.ts';
import { failureText } from '../../sessions/failure.page.ts';
import { onwardHref } from '../../sessions/onward.page.ts';
import { carriesRequest, keptOnward, onwardKept } from '../../sessions/onward.route.ts';
import { catalogueFor } from '../../words/words.ts';
import { recoverPage, resetPage } from './recover.page.ts';
import { emailLengthMax } from './register.page.ts';
import { type RegisterOptions, tooMany } from './register.route.ts';
import { checkMailPage } from './sent.page.ts';
import { confirmEmailPage } from './verify.page.ts';

const confirmPath = '/account/email/confirm';

export const recoverEndpoints = {
  ask: deskPage('/recover', 'anyone', carriesRequest),
  request: deskForm('/recover', 'anyone', {
    ...carriesRequest,
    handlerLimits: ['recover'],
    errors: ['invalid_parameter'],
  }),
  sent: deskPage('/recover/sent', 'anyone', carriesRequest),
  askReset: deskPage('/reset', 'anyone', { ...carriesRequest, errors: ['invalid_link'] }),
  reset: deskForm('/reset', 'anyone', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'weak_password', 'invalid_parameter'],
  }),
  askConfirm: deskPage(confirmPath, 'verified', { errors: ['invalid_link'] }),
  confirm: deskForm(confirmPath, 'verified', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'conflict', 'reauthentication_required'],
  }),
};

/**
 * Returns whole seconds to wait, 0 when the use is counted and may go on. A mailed link that works shares no limit
 * with strangers behind the same address.
 */
export function linkWait(
  callers: Pick<RegisterOptions['callers'], 'take' | 'takeFor'>,
  { request }: Visit,
  token: string,
  works: boolean,
): number {
  return works ? callers.takeFor('mailedLink', `link ${token}`) : callers.take('deadLink', request);
}

export function recoverRoutes(
  options: Pick<RegisterOptions, 'desk' | 'signon' | 'onwards' | 'callers' | 'clock'>,
): PlainRoute[] {
  const { desk, signon, onwards, callers } = options;

  /** An owner's browser has a limit of its own; strangers share that of their address. */
  async function waitFor({ request, visitor }: Visit, email: string): Promise<number> {
    const owner = await signon.signIn.ownersBrowser(email, visitor);
    return owner === undefined
      ? callers.take('recover', request)
      : callers.takeFor('recover', `browser ${owner}`);
  }

  return [
    desk.page(recoverEndpoints.ask, (visit, query) => {
      const data = { ...onwards.ofQuery(visit, query), csrf: visit.csrf };
      return desk.show(visit, (frame) => recoverPage(frame, data));
    }),
    desk.form(
      recoverEndpoints.request,
      async (visit, form) => {
        const email = form.get('email') ?? '';
        const waitSeconds = await waitFor(visit, email);
        if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
        const onward = onwards.ofForm(visit, form.get);
        if (readKnownAddress(email) === undefined && !isAccountId(email.trim())) {
          const error = catalogueFor(visit.language).signon.emailMalformed;
          const shown = email.slice(0, emailLengthMax);
          const data = { ...onward, csrf: visit.csrf, email: shown, error };
          return desk.show(visit, (frame) => recoverPage(frame, data), { status: 422 });
        }
        const held = await onwards.hold(visit, onward, 'reset');
        const request = { email, visitor: visit.visitor, onward: keptOnward(held) };
        const done = await signon.recovery.request(request);
        return done.ok
          ? desk.go(visit, onwardHref('/recover/sent', held))
          : desk.problem(visit, done);
      },
      [],
      (visit, form, failure) => {
        const email = (form.get('email') ?? '').slice(0, emailLengthMax);
        const error = failureText(visit.language, failure);
        const data = { ...onwards.ofStale(visit, form), csrf: visit.csrf, email, error };
        const status = statusOf(failure.error);
        return desk.show(visit, (frame) => recoverPage(frame, data), { status, failure });
      },
    ),
    desk.page(recoverEndpoints.sent, (visit, query) => {
      const onward = onwards.ofQuery(visit, query);
      return desk.show(visit, (frame) => checkMailPage(frame, 'recover', onward));
    }),
    ...resetRoutes(options),
    ...confirmRoutes(options),
  ];
}

function resetRoutes({
  desk,
  signon,
  callers,
  clock,
}: Pick<RegisterOptions, 'desk' | 'signon' | 'callers' | 'clock'>): PlainRoute[] {
  async function waitFor(visit: Visit, token: string): Promise<number> {
    return linkWait(callers, visit, token, await signon.recovery.isOpen(token));
  }

  const show = async (visit: Visit, token: string, error?: string) => {
    const account = await signon.recovery.accountOf(token);
    const data = { csrf: visit.csrf, token, account, ...(error === undefined ? {} : { error }) };
    const status = error === undefined ? 200 : 422;
    return desk.show(visit, (frame) => resetPage(frame, data), { status });
  };
  return [
    desk.page(recoverEndpoints.askReset, async (visit, query) => {
      const token = query.get('token') ?? '';
      if (await signon.recovery.isOpen(token)) return show(visit, token);
      return desk.problem(visit, { ok: false, error: 'invalid_link' });
    }),
    desk.form(recoverEndpoints.reset, async (visit, form) => {
      const token = form.get('token') ?? '';
      const password = form.get('password') ?? '';
      const { visitor, language } = visit;
      const waitSeconds = await waitFor(visit, token);
      if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
      const done = await signon.recovery.reset({ token, password, visitor });
      if (done.ok) {
        const onward = onwardKept(done.value.onward);
        const mark = doneMark(visit.browserId, 'reset', clock.now());
        return desk.go(visit, onwardHref('/signin', onward, { done: mark }));
      }
      if (done.error === 'weak_password') return show(visit, token, failureText(language, done));
      if (done.error !== 'invalid_parameter') return desk.problem(visit, done);
      return show(visit, token, catalogueFor(language).signon.passwordLength);
    }),
  ];
}

function confirmRoutes({
  desk,
  signon,
  callers,
}: Pick<RegisterOptions, 'desk' | 'signon' | 'callers'>): PlainRoute[] {
  return [
    desk.page(recoverEndpoints.askConfirm, async (visit, query) => {
      const token = query.get('token') ?? '';
      const offered = await signon.emailChange.offered(visit.session, token);
      if (!offered.ok) return desk.problem(visit, offered);
      const data = { csrf: visit.csrf, token, action: confirmPath };
      const addresses = { from: visit.session.email, to: offered.value.email };
      return desk.show(visit, (frame) => confirmEmailPage(frame, { ...data, ...addresses }));
    }),
    desk.form(recoverEndpoints.confirm, async (visit, form) => {
      const { session, visitor } = visit;
      const token = form.get('token') ?? '';
      const { ok: works } = await signon.emailChange.offered(session, token);
      const waitSeconds = linkWait(callers, visit, token, works);
      if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
      const done = await signon.emailChange.confirm(session, token, visitor);
      return done.ok ? desk.signedIn(visit, done.value, '/account') : desk.problem(visit, done);
    }),
  ];
}
