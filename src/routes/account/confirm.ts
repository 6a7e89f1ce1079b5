/**
 * /account/confirm: the proof of identity once more, by password or passkey, then back to where it
 * was asked for.
 */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { confirmPage } from '../../pages/account/confirm.ts';
import { frameText } from '../../pages/layout.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { statusOf } from '../problem.ts';
import { localPath } from '../signon/local-path.ts';
import type { OwnVisit, Space } from './space.ts';

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
  ];
}
