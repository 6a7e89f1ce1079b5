/**
 * /account/confirm: the proof of identity once more, by password or passkey, then back to where it
 * was asked for. And /account/email/confirm: the link to a new address. Opening that link changes
 * nothing (mail filters open links too); the button on its page does. It needs no session: the token
 * is the proof.
 */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { confirmPage, emailConfirmedPage, emailConfirmPage } from '../../pages/account/confirm.ts';
import { frameText } from '../../pages/layout.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { statusOf } from '../problem.ts';
import { localPath } from '../signon/local-path.ts';
import type { Visit } from '../signon/visit.ts';
import type { OwnVisit, Space } from './space.ts';

const tokenCharsMax = 100;

export function confirmRoutes(space: Space): PlainRoute[] {
  const { desk, signon } = space;

  function show(visit: OwnVisit, asked: string | undefined, failed?: string, status = 200): Reply {
    const view = {
      csrf: visit.csrf,
      returnTo: localPath(asked) ?? '/account',
      hasPassword: visit.session.person.credentials.passwordHash !== '',
      failed,
    };
    return desk.show(visit, (frame) => confirmPage(frame, view), {
      status,
      needs: { connect: true },
    });
  }

  async function byPassword(visit: OwnVisit, form: Params): Promise<Reply> {
    const asked = form.get('return');
    const { session, visitor } = visit;
    const password = form.get('password') ?? '';
    const proven = await signon.signIn.reauthenticate(session, password, visitor);
    if (proven.ok) return desk.signedIn(visit, proven.value, localPath(asked) ?? '/account');
    const failed =
      proven.error === 'sign_in_refused'
        ? frameText(visit.frame).account.confirm.wrong
        : failureText(visit.language, proven);
    return show(visit, asked, failed, statusOf(proven.error));
  }

  function askEmail(visit: Visit, query: Params): Reply {
    const token = query.get('token') ?? '';
    if (token === '' || token.length > tokenCharsMax) return told(visit, false);
    return desk.show(visit, (frame) => emailConfirmPage(frame, { csrf: visit.csrf, token }));
  }

  async function confirmEmail(visit: Visit, form: Params): Promise<Reply> {
    const token = form.get('token') ?? '';
    const done = await signon.emailChange.confirm(token, visit.visitor);
    if (!done.ok && done.error !== 'invalid_link') return desk.problem(visit, done);
    return told(visit, done.ok);
  }

  function told(visit: Visit, changed: boolean): Reply {
    return desk.show(visit, (frame) => emailConfirmedPage(frame, changed), {
      status: changed ? 200 : 400,
    });
  }

  return [
    desk.page('/account/confirm', 'verified', (visit, query) => show(visit, query.get('return'))),
    desk.form('/account/confirm', 'verified', byPassword, { limit: 'signIn' }),
    desk.call('/account/confirm/passkey/options', 'verified', (visit) =>
      signon.passkeys.reauthenticationOptions(visit.session),
    ),
    desk.call(
      '/account/confirm/passkey',
      'verified',
      async (visit, { response }) => {
        const { session, visitor } = visit;
        const proven = await signon.passkeys.reauthenticate(session, response, visitor);
        if (!proven.ok) return proven;
        return { ok: true, value: {}, headers: desk.sessionCookies(proven.value) };
      },
      { limit: 'signIn' },
    ),
    desk.page('/account/email/confirm', 'anyone', askEmail),
    desk.form('/account/email/confirm', 'anyone', confirmEmail),
  ];
}
