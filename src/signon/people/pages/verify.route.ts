/**
 * /verify: the link of a registration's mail, and another one for who is signed in without having
 * opened it. Opening a link changes nothing: mail scanners open links too, so a button does it.
 */

import type { ErrorCode } from '../../../core/errors.ts';
import type { Failure } from '../../../core/result.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { doneIn, doneMark } from '../../../web/done-mark.ts';
import { deskCall, deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import { jsonOf } from '../../../web/guard/intake/form.ts';
import type { Visit } from '../../desk.route.ts';
import { failureText } from '../../sessions/failure.page.ts';
import { onwardHref } from '../../sessions/onward.page.ts';
import { carriesRequest, keptOnward, onwardKept, targetOf } from '../../sessions/onward.route.ts';
import { catalogueFor } from '../../words/words.ts';
import { paceOfQuery, paceQuery } from './pace-query.ts';
import { linkWait } from './recover.route.ts';
import { type RegisterOptions, tooMany } from './register.route.ts';
import { linkButtonPage, unverifiedPage } from './verify.page.ts';

/** The errors after which the form of the link can be sent again. */
const askedAgain: readonly ErrorCode[] = [
  'sign_in_refused',
  'too_many_attempts',
  'weak_password',
  'invalid_parameter',
];

export const verifyEndpoints = {
  ask: deskPage('/verify', 'anyone', carriesRequest),
  verify: deskForm('/verify', 'anyone', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: [...askedAgain, 'invalid_link', 'conflict', 'forbidden'],
  }),
  passkeyOptions: deskCall('/verify/passkey/options', 'anyone', {
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link'],
  }),
  resend: deskForm('/verify/resend', 'signed-in', {
    ...carriesRequest,
    handlerLimits: ['ownMail'],
    errors: ['invalid_parameter'],
  }),
};

export function verifyRoutes(
  options: Pick<RegisterOptions, 'desk' | 'signon' | 'onwards' | 'clock' | 'callers'>,
): PlainRoute[] {
  const { desk, signon, onwards, callers, clock } = options;

  /** Returns a tag that is valid in this browser: a session may begin or end with what was done. */
  function markOf(visit: Visit, name: string): string {
    return doneMark(visit.browserId, name, clock.now());
  }

  async function waitFor(visit: Visit, token: string): Promise<number> {
    return linkWait(callers, visit, token, await signon.registration.isOpen(token));
  }

  async function show(visit: Visit, token: string, failure?: Failure) {
    const asks = await signon.registration.asks(token, visit.visitor);
    const text = catalogueFor(visit.language).signon;
    // "The password is wrong" would be no help where a passkey was refused.
    const isPasskey = asks === 'passkey' && failure?.error === 'sign_in_refused';
    const sentence = failure && failureText(visit.language, failure);
    const shown = failure?.error === 'invalid_parameter' ? text.passwordLength : sentence;
    const error = isPasskey ? text.verify.proveFailed : shown;
    const worksFrom = asks === 'later' ? await signon.registration.worksFrom(token) : 0;
    const account = await signon.registration.accountOf(token);
    const data = { csrf: visit.csrf, token, action: '/verify', account, asks, worksFrom, error };
    const needs = { connect: asks === 'passkey' };
    return desk.show(visit, (frame) => linkButtonPage(frame, data), { needs, failure });
  }

  return [
    desk.page(verifyEndpoints.ask, async (visit, query) => {
      const { csrf, session } = visit;
      const token = query.get('token');
      if (token !== undefined) return show(visit, token);
      const onward = onwards.ofQuery(visit, query);
      if (session === undefined) return desk.go(visit, onwardHref('/signin', onward));
      if (session.confirmed) return desk.go(visit, targetOf(onward, true));
      const { formerEmail } = session.person.account;
      const { email } = session;
      const { worksFrom } = paceOfQuery(query, clock.now());
      const sent = doneIn(visit.browserId, clock.now(), query.get('done')) === 'sent';
      const data = { ...onward, csrf, email, formerEmail, sent, worksFrom };
      return desk.show(visit, (frame) => unverifiedPage(frame, data));
    }),
    desk.form(verifyEndpoints.verify, async (visit, form) => {
      const token = form.get('token') ?? '';
      const { visitor, session } = visit;
      const waitSeconds = await waitFor(visit, token);
      if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
      const passkey = jsonOf(form.get('passkey'));
      const given = { password: form.get('password'), passkey, session };
      const done = await signon.registration.verify(token, visitor, given);
      if (!done.ok) {
        return askedAgain.includes(done.error)
          ? show(visit, token, done)
          : desk.problem(visit, done);
      }
      const { token: renewed, browser } = done.value;
      const known = browser === undefined ? [] : [desk.browserCookie(browser)];
      const onward = onwardKept(done.value.onward);
      if (renewed !== undefined) {
        return desk.signedIn(visit, { token: renewed, browser }, targetOf(onward, true));
      }
      return desk.go(
        visit,
        onwardHref('/signin', onward, { done: markOf(visit, 'verified') }),
        known,
      );
    }),
    desk.call(verifyEndpoints.passkeyOptions, async (visit, body) => {
      const token = typeof body.token === 'string' ? body.token : '';
      const waitSeconds = await waitFor(visit, token);
      if (waitSeconds > 0) return tooMany(waitSeconds);
      return signon.registration.proofOptions(token);
    }),
    desk.form(verifyEndpoints.resend, async (visit, form) => {
      const { session, visitor } = visit;
      // The limit is the account's: strangers behind the same address can't use it up.
      const waitSeconds = callers.takeFor('ownMail', session.accountId);
      if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
      const onward = onwards.ofForm(visit, form.get);
      const held = await onwards.hold(visit, onward, 'verify');
      const kept = keptOnward(held);
      const done = session.verified
        ? await signon.emailChange.confirmAnew(session, visitor)
        : await signon.registration.resend(session.person, visitor, kept);
      if (!done.ok && done.error !== 'conflict') return desk.problem(visit, done);
      const from = done.ok && done.value ? paceQuery(done.value).from : undefined;
      return desk.go(visit, onwardHref('/verify', held, { done: markOf(visit, 'sent'), from }));
    }),
  ];
}
