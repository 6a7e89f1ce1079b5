/**
 * /account/confirm: the proof of identity once more, by password (with the code of a second factor)
 * or passkey, then back to where it was asked for.
 */

import { type Failure, fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { statusOf } from '../../web/errors.ts';
import { deskCall, deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { localPath } from '../../web/guard/intake/local-path.ts';
import { tooMany } from '../people/pages/register.route.ts';
import { failureText } from '../sessions/failure.page.ts';
import { frameText } from '../words/words.ts';
import { confirmPage } from './pages/confirm.page.ts';
import type { OwnVisit, Space } from './space.route.ts';

const proof = {
  handlerLimits: ['signInOwner'],
  errors: ['sign_in_refused', 'invalid_code', 'reauthentication_required'],
} as const;

export const confirmEndpoints = {
  show: deskPage('/account/confirm', 'reviewing'),
  byPassword: deskForm('/account/confirm', 'reviewing', proof),
  passkeyOptions: deskCall('/account/confirm/passkey/options', 'reviewing'),
  byPasskey: deskCall('/account/confirm/passkey', 'reviewing', proof),
};

export function confirmRoutes(space: Space): PlainRoute[] {
  const { desk, signon, callers } = space;

  async function show(
    visit: OwnVisit,
    asked: string | undefined,
    failure?: Failure,
  ): Promise<Reply> {
    const { accountId, person } = visit.session;
    const wantsCode = await signon.secondFactors.isEnabled(accountId);
    const needsPasskey = await isPasskeyNeeded(visit, asked);
    const view = {
      csrf: visit.csrf,
      account: visit.session.email,
      returnTo: localPath(asked) ?? '/account',
      hasPassword: person.credentials.passwordHash !== '',
      wantsCode,
      needsPasskey,
      failed: failure && wordsOf(visit, failure, wantsCode),
    };
    return desk.show(visit, (frame) => confirmPage(frame, view), {
      status: failure === undefined ? 200 : statusOf(failure.error),
      needs: { connect: true },
      failure,
    });
  }

  /**
   * Only a passkey opens pages that change how the account is opened, and every page while a second factor is demanded,
   * if the account has a passkey.
   */
  async function isPasskeyNeeded({ session }: OwnVisit, asked: string | undefined) {
    const path = (localPath(asked) ?? '/account').split('?', 1)[0]!;
    const changes = path === '/account' || path.startsWith('/account/security');
    const isDemanded = session.operator || session.factorDue !== undefined;
    return (changes || isDemanded) && (await signon.changes.needsPasskey(session.accountId));
  }

  function wordsOf(visit: OwnVisit, failure: Failure, wantsCode: boolean): string {
    if (failure.error === 'reauthentication_required') {
      return frameText(visit.frame).account.confirm.passkeyNeeded;
    }
    if (failure.error !== 'sign_in_refused') return failureText(visit.language, failure);
    const text = frameText(visit.frame).account.confirm;
    return wantsCode ? text.wrongOfTwo : text.wrong;
  }

  /** Returns whole seconds to wait. The limit is the session's own: strangers behind the same address can't use it up. */
  function waitFor({ session }: OwnVisit): number {
    return callers.takeFor('signInOwner', `session ${session.id}`);
  }

  async function byPassword(visit: OwnVisit, form: Params): Promise<Reply> {
    const asked = form.get('return');
    const { session, visitor } = visit;
    if (await isPasskeyNeeded(visit, asked)) {
      return show(visit, asked, fail('reauthentication_required'));
    }
    const waitSeconds = waitFor(visit);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const given = { password: form.get('password') ?? '', code: form.get('code') ?? '' };
    const proven = await signon.signIn.reauthenticate(session, given, visitor);
    if (proven.ok) return desk.signedIn(visit, proven.value, localPath(asked) ?? '/account');
    return show(visit, asked, proven);
  }

  return [
    desk.page(confirmEndpoints.show, (visit, query) => show(visit, query.get('return'))),
    desk.form(confirmEndpoints.byPassword, byPassword),
    desk.call(confirmEndpoints.passkeyOptions, (visit) =>
      signon.passkeys.reauthenticationOptions(visit.session),
    ),
    desk.call(confirmEndpoints.byPasskey, async (visit, { response }) => {
      const { session, visitor } = visit;
      const waitSeconds = waitFor(visit);
      if (waitSeconds > 0) return tooMany(waitSeconds);
      const proven = await signon.passkeys.reauthenticate(session, response, visitor);
      if (!proven.ok) return proven;
      return { ok: true, value: {}, headers: desk.sessionCookies(proven.value) };
    }),
  ];
}
