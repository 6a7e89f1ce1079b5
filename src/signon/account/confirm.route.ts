/**
 * /account/confirm: the proof of identity once more, by password (with the code of a second factor)
 * or passkey, then back to where it was asked for. /account/review: where a session comes until the
 * review after a reset is done. Every page of the account leads there before (page-builder.ts), and
 * so does a site's request.
 */

import { statusOf } from '../../core/errors.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionCall, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { localPath } from '../../web/guard/intake/unsaved.ts';
import { reviewPath } from '../../web/guard/page-builder.ts';
import { type Decide, decisions, reviewNames } from '../people/review.ts';
import { tooMany } from '../proofs/attempts.ts';
import { siteRequestOptions, targetOf } from '../sessions/onward.route.ts';
import { failureText, type Onward, onwardHref } from '../sessions/parts.page.tsx';
import { frameText } from '../words.ts';
import type { AccountArea, AccountRequest } from './account.route.ts';
import { confirmPage, reviewPage } from './confirm.page.tsx';

const proof = {
  handlerLimits: ['signInOwner'],
  errors: ['sign_in_refused', 'passkey_refused', 'invalid_code', 'reauthentication_required'],
} as const;

export const confirmEndpoints = {
  show: sessionPage('/account/confirm', 'reviewing'),
  byPassword: sessionForm('/account/confirm', 'reviewing', proof),
  passkeyOptions: sessionCall('/account/confirm/passkey/options', 'reviewing'),
  byPasskey: sessionCall('/account/confirm/passkey', 'reviewing', proof),
};

export function confirmRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, signon, callers } = area;

  async function show(
    context: AccountRequest,
    asked: string | undefined,
    failure?: Failure,
  ): Promise<Reply> {
    const { accountId, person } = context.session;
    const wantsCode = await signon.secondFactors.isEnabled(accountId);
    const needsPasskey = await isPasskeyNeeded(context, asked);
    const view = {
      csrf: context.csrf,
      account: context.session.email,
      returnTo: localPath(asked) ?? '/account',
      hasPassword: person.credentials.passwordHash !== '',
      wantsCode,
      needsPasskey,
      failed: failure && wordsOf(context, failure, wantsCode),
    };
    return pageBuilder.show(context, (frame) => confirmPage(frame, view), {
      status: failure === undefined ? 200 : statusOf(failure.error),
      needs: { connect: true },
      failure,
    });
  }

  /**
   * Only a passkey opens pages that change how the account is opened, and every page while a second factor is
   * demanded, if the account has a passkey.
   */
  async function isPasskeyNeeded({ session }: AccountRequest, asked: string | undefined) {
    const path = (localPath(asked) ?? '/account').split('?', 1)[0]!;
    const changes = path === '/account' || path.startsWith('/account/security');
    const isDemanded = session.operator || session.factorDue !== undefined;
    return (changes || isDemanded) && (await signon.changes.needsPasskey(session.accountId));
  }

  function wordsOf(context: AccountRequest, failure: Failure, wantsCode: boolean): string {
    if (failure.error === 'reauthentication_required') {
      return frameText(context.frame).account.confirm.passkeyNeeded;
    }
    if (failure.error !== 'sign_in_refused') return failureText(context.language, failure);
    const text = frameText(context.frame).account.confirm;
    return wantsCode ? text.wrongOfTwo : text.wrong;
  }

  /**
   * Returns whole seconds to wait. The limit is the session's own: other clients behind the same
   * address can't use it up.
   */
  function waitFor({ session }: AccountRequest): number {
    return callers.takeOrWaitFor('signInOwner', `session ${session.id}`);
  }

  async function byPassword(context: AccountRequest, form: Params): Promise<Reply> {
    const asked = form.get('return');
    const { session, visitor } = context;
    if (await isPasskeyNeeded(context, asked)) {
      return show(context, asked, fail('reauthentication_required'));
    }
    const waitSeconds = waitFor(context);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const given = { password: form.get('password') ?? '', code: form.get('code') ?? '' };
    const proven = await signon.signIn.reauthenticate(session, given, visitor);
    if (proven.ok)
      return pageBuilder.signedIn(context, proven.value, localPath(asked) ?? '/account');
    return show(context, asked, proven);
  }

  return [
    pageBuilder.page(confirmEndpoints.show, (context, query) => show(context, query.get('return'))),
    pageBuilder.form(confirmEndpoints.byPassword, byPassword),
    pageBuilder.call(confirmEndpoints.passkeyOptions, (context) =>
      signon.passkeys.reauthenticationOptions(context.session),
    ),
    pageBuilder.call(confirmEndpoints.byPasskey, async (context, { response }) => {
      const { session, visitor } = context;
      const waitSeconds = waitFor(context);
      if (waitSeconds > 0) return tooMany(waitSeconds);
      const proven = await signon.passkeys.reauthenticate(session, response, visitor);
      if (!proven.ok) return proven;
      return { ok: true, value: {}, headers: pageBuilder.sessionCookies(proven.value) };
    }),
  ];
}

/** The review itself is done by both: opening it ends one that has nothing to decide. */
const errors = [
  'invalid_parameter',
  'reauthentication_required',
  'too_many_attempts',
  'store_unavailable',
] as const;

export const reviewEndpoints = {
  ask: sessionPage(reviewPath, 'reviewing', { ...siteRequestOptions, errors }),
  decide: sessionForm(reviewPath, 'reviewing', { ...siteRequestOptions, errors }),
};

const undecided: Decide = () => undefined;

export function reviewRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, review, signon, onwards } = area;

  async function show(
    context: AccountRequest,
    onward: Onward,
    decide: Decide,
    isIncomplete: boolean,
  ): Promise<Reply> {
    const { accountId } = context.session;
    const reviewed = await review.of(accountId);
    const hasFactor = await signon.secondFactors.isEnabled(accountId);
    const { csrf } = context;
    const view = { ...onward, csrf, reviewed, hasFactor, decide, isIncomplete };
    return pageBuilder.show(context, (frame) => reviewPage(frame, view), {
      status: isIncomplete ? 422 : 200,
    });
  }

  async function ask(context: AccountRequest, query: Params): Promise<Reply> {
    const onward = notHere(onwards.ofQuery(context, query));
    if (!context.session.reviewing) return pageBuilder.go(context, targetOf(onward, true));
    // All of it was removed meanwhile by the operator: there is nothing to decide.
    const isEmpty = reviewNames(await review.of(context.session.accountId)).length === 0;
    return isEmpty && context.session.fresh
      ? finish(context, onward, undecided)
      : show(context, onward, undecided, false);
  }

  async function decided(context: AccountRequest, form: Params): Promise<Reply> {
    const onward = notHere(onwards.ofForm(context, form.get));
    if (!context.session.reviewing) return pageBuilder.go(context, targetOf(onward, true));
    return finish(context, onward, (name) => decisions.find((known) => known === form.get(name)));
  }

  async function finish(context: AccountRequest, onward: Onward, decide: Decide): Promise<Reply> {
    const done = await review.finish(context.session, decide, context.visitor);
    if (done.ok) {
      await area.catchUp();
      return pageBuilder.signedIn(context, done.value, targetOf(onward, true));
    }
    if (done.error === 'invalid_parameter') return show(context, onward, decide, true);
    if (done.error !== 'reauthentication_required') return pageBuilder.problem(context, done);
    const back = onwardHref(reviewPath, onward);
    return pageBuilder.go(context, onwardHref('/account/confirm', { back }));
  }

  return [
    pageBuilder.page(reviewEndpoints.ask, ask),
    pageBuilder.form(reviewEndpoints.decide, decided),
  ];
}

/** Back to the review itself leads nowhere. */
function notHere(onward: Onward): Onward {
  return onward.back?.startsWith(reviewPath) ? { ...onward, back: undefined } : onward;
}
