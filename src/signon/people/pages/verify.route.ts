/**
 * /verify: the link of a registration's mail, and another one for who is signed in without having
 * opened it. Opening a link changes nothing: mail scanners open links too, so a button does it.
 */

import type { ErrorCode } from '../../../core/errors.ts';
import type { Failure } from '../../../core/result.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { doneIn, doneMark } from '../../../web/done-mark.ts';
import { jsonOf } from '../../../web/guard/intake/form.ts';
import { sessionCall, sessionForm, sessionPage } from '../../../web/guard/session-endpoint.ts';
import type { RequestContext } from '../../request-context.route.ts';
import { failureText } from '../../sessions/failure.page.tsx';
import { onwardHref } from '../../sessions/onward.page.tsx';
import { carriesRequest, keptOnward, onwardKept, targetOf } from '../../sessions/onward.route.ts';
import { catalogueFor } from '../../words.ts';
import { paceOfQuery, paceQuery } from './pace-query.ts';
import { linkWait } from './recover.route.ts';
import { type RegisterOptions, tooMany } from './register.route.ts';
import { linkButtonPage, unverifiedPage } from './verify.page.tsx';

/** The errors after which the form of the link can be sent again. */
const askedAgain: readonly ErrorCode[] = [
  'sign_in_refused',
  'too_many_attempts',
  'weak_password',
  'invalid_parameter',
];

export const verifyEndpoints = {
  ask: sessionPage('/verify', 'anyone', carriesRequest),
  verify: sessionForm('/verify', 'anyone', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: [...askedAgain, 'invalid_link', 'conflict', 'forbidden'],
  }),
  passkeyOptions: sessionCall('/verify/passkey/options', 'anyone', {
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link'],
  }),
  resend: sessionForm('/verify/resend', 'signed-in', {
    ...carriesRequest,
    handlerLimits: ['ownMail'],
    errors: ['invalid_parameter'],
  }),
};

export function verifyRoutes(
  options: Pick<RegisterOptions, 'pageBuilder' | 'signon' | 'onwards' | 'clock' | 'callers'>,
): PlainRoute[] {
  const { pageBuilder, signon, onwards, callers, clock } = options;

  /** Returns a tag that is valid in this browser: a session may begin or end with what was done. */
  function markOf(context: RequestContext, name: string): string {
    return doneMark(context.browserId, name, clock.now());
  }

  async function waitFor(context: RequestContext, token: string): Promise<number> {
    return linkWait(callers, context, token, await signon.registration.isOpen(token));
  }

  async function show(context: RequestContext, token: string, failure?: Failure) {
    const asks = await signon.registration.asks(token, context.visitor);
    const text = catalogueFor(context.language).signon;
    // "The password is wrong" would be no help where a passkey was refused.
    const isPasskey = asks === 'passkey' && failure?.error === 'sign_in_refused';
    const sentence = failure && failureText(context.language, failure);
    const shown = failure?.error === 'invalid_parameter' ? text.passwordLength : sentence;
    const error = isPasskey ? text.verify.proveFailed : shown;
    const worksFrom = asks === 'later' ? await signon.registration.worksFrom(token) : 0;
    const account = await signon.registration.accountOf(token);
    const data = { csrf: context.csrf, token, action: '/verify', account, asks, worksFrom, error };
    const needs = { connect: asks === 'passkey' };
    return pageBuilder.show(context, (frame) => linkButtonPage(frame, data), { needs, failure });
  }

  return [
    pageBuilder.page(verifyEndpoints.ask, async (context, query) => {
      const { csrf, session } = context;
      const token = query.get('token');
      if (token !== undefined) return show(context, token);
      const onward = onwards.ofQuery(context, query);
      if (session === undefined) return pageBuilder.go(context, onwardHref('/signin', onward));
      if (session.confirmed) return pageBuilder.go(context, targetOf(onward, true));
      const { formerEmail } = session.person.account;
      const { email } = session;
      const { worksFrom } = paceOfQuery(query, clock.now());
      const sent = doneIn(context.browserId, clock.now(), query.get('done')) === 'sent';
      const data = { ...onward, csrf, email, formerEmail, sent, worksFrom };
      return pageBuilder.show(context, (frame) => unverifiedPage(frame, data));
    }),
    pageBuilder.form(verifyEndpoints.verify, async (context, form) => {
      const token = form.get('token') ?? '';
      const { visitor, session } = context;
      const waitSeconds = await waitFor(context, token);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const passkey = jsonOf(form.get('passkey'));
      const given = { password: form.get('password'), passkey, session };
      const done = await signon.registration.verify(token, visitor, given);
      if (!done.ok) {
        return askedAgain.includes(done.error)
          ? show(context, token, done)
          : pageBuilder.problem(context, done);
      }
      const { token: renewed, browser } = done.value;
      const known = browser === undefined ? [] : [pageBuilder.browserCookie(browser)];
      const onward = onwardKept(done.value.onward);
      if (renewed !== undefined) {
        return pageBuilder.signedIn(context, { token: renewed, browser }, targetOf(onward, true));
      }
      return pageBuilder.go(
        context,
        onwardHref('/signin', onward, { done: markOf(context, 'verified') }),
        known,
      );
    }),
    pageBuilder.call(verifyEndpoints.passkeyOptions, async (context, body) => {
      const token = typeof body.token === 'string' ? body.token : '';
      const waitSeconds = await waitFor(context, token);
      if (waitSeconds > 0) return tooMany(waitSeconds);
      return signon.registration.proofOptions(token);
    }),
    pageBuilder.form(verifyEndpoints.resend, async (context, form) => {
      const { session, visitor } = context;
      // The limit is the account's: other clients behind the same address can't use it up.
      const waitSeconds = callers.takeFor('ownMail', session.accountId);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const onward = onwards.ofForm(context, form.get);
      const held = await onwards.hold(context, onward, 'verify');
      const kept = keptOnward(held);
      const done = session.verified
        ? await signon.emailChange.confirmAnew(session, visitor)
        : await signon.registration.resend(session.person, visitor, kept);
      if (!done.ok && done.error !== 'conflict') return pageBuilder.problem(context, done);
      const from = done.ok && done.value ? paceQuery(done.value).from : undefined;
      return pageBuilder.go(
        context,
        onwardHref('/verify', held, { done: markOf(context, 'sent'), from }),
      );
    }),
  ];
}
