/**
 * /account/confirm: the proof of identity once more, by password (with the code of a second factor)
 * or passkey, then back to where it was asked for.
 */

import type { Failure } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { confirmPage } from '../../pages/account/confirm.ts';
import { frameText } from '../../pages/layout.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { statusOf } from '../problem.ts';
import { retryAfter } from '../signon/desk.ts';
import { localPath } from '../signon/local-path.ts';
import type { OwnVisit, Space } from './space.ts';

export function confirmRoutes(space: Space): PlainRoute[] {
  const { desk, signon } = space;

  async function show(
    visit: OwnVisit,
    asked: string | undefined,
    failure?: Failure,
  ): Promise<Reply> {
    const { accountId, person } = visit.session;
    const wantsCode = await signon.secondFactors.isEnabled(accountId);
    const view = {
      csrf: visit.csrf,
      returnTo: localPath(asked) ?? '/account',
      hasPassword: person.credentials.passwordHash !== '',
      wantsCode,
      failed: failure && wordsOf(visit, failure, wantsCode),
    };
    return desk.show(visit, (frame) => confirmPage(frame, view), {
      status: failure === undefined ? 200 : statusOf(failure.error),
      needs: { connect: true },
      headers: failure === undefined ? [] : retryAfter(failure),
    });
  }

  function wordsOf(visit: OwnVisit, failure: Failure, wantsCode: boolean): string {
    if (failure.error !== 'sign_in_refused') return failureText(visit.language, failure);
    const text = frameText(visit.frame).account.confirm;
    return wantsCode ? text.wrongOfTwo : text.wrong;
  }

  async function byPassword(visit: OwnVisit, form: Params): Promise<Reply> {
    const asked = form.get('return');
    const { session, visitor } = visit;
    const proof = { password: form.get('password') ?? '', code: form.get('code') ?? '' };
    const proven = await signon.signIn.reauthenticate(session, proof, visitor);
    if (proven.ok) return desk.signedIn(visit, proven.value, localPath(asked) ?? '/account');
    return show(visit, asked, proven);
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
