/**
 * /signin: password, second factor, passkey. Afterwards the visitor goes on to where they were
 * going (onward.ts), or to the account.
 */

import type { Failure, Result } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { failureText } from '../../pages/signon/failure.ts';
import type { Onward } from '../../pages/signon/onward.ts';
import { emailLengthMax } from '../../pages/signon/register.ts';
import { type SignInPageData, secondFactorPage, signInPage } from '../../pages/signon/sign-in.ts';
import type { Signon } from '../../signon/open.ts';
import type { SignedIn } from '../../signon/sign-in.ts';
import type { Desk } from './desk.ts';
import { hintOf, onwardOf, targetOf } from './onward.ts';
import type { Visit } from './visit.ts';

const path = '/signin';
const needs = { formAction: 'unrestricted', connect: true } as const;
const limit = { limit: 'signIn' } as const;
const doneNames = ['verified', 'reset'] as const;
/** Of what a person can get wrong: the form is shown again. */
const shownAgain: readonly Failure['error'][] = ['sign_in_refused', 'too_many_attempts'];

export function signInRoutes(options: { desk: Desk; signon: Signon }): PlainRoute[] {
  const { desk, signon } = options;

  function show(visit: Visit, data: Omit<SignInPageData, 'csrf'>, failure?: Failure): Reply {
    const error = failure && { error: failureText(visit.language, failure) };
    const whole = { csrf: visit.csrf, ...data, ...error };
    const status = failure === undefined ? 200 : failure.error === 'too_many_attempts' ? 429 : 422;
    const wait = failure?.retryAfterSeconds;
    return desk.show(visit, (frame) => signInPage(frame, whole), {
      status,
      needs,
      headers: wait === undefined ? [] : [['Retry-After', String(wait)]],
    });
  }

  function ask(visit: Visit, query: Params): Reply {
    const onward = onwardOf(query.get);
    // An authorization asks anew even if there is a session; it decides what is needed.
    if (visit.session !== undefined && onward.continueId === undefined) {
      return desk.go(visit, targetOf(onward, visit.session.verified));
    }
    const done = doneNames.find((name) => name === query.get('done'));
    return show(visit, { ...onward, done, hint: hintOf(query) });
  }

  /** Ends the session that this browser had: a browser has one. */
  async function leaveFormer({ session }: Visit): Promise<void> {
    // If it can't be ended now it ends by itself: the sign-in is worth more.
    if (session !== undefined) await signon.sessions.end(session.accountId, session.id);
  }

  async function enter(visit: Visit, signedIn: SignedIn, onward: Onward): Promise<Reply> {
    await leaveFormer(visit);
    return desk.signedIn(visit, signedIn, targetOf(onward, signedIn.verified));
  }

  async function withPassword(visit: Visit, form: Params): Promise<Reply> {
    const onward = onwardOf(form.get);
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const done = await signon.signIn.withPassword({ email, password, visitor: visit.visitor });
    if (!done.ok) {
      if (!shownAgain.includes(done.error)) return desk.problem(visit, done);
      return show(visit, { ...onward, email: email.slice(0, emailLengthMax) }, done);
    }
    if (done.value.kind === 'signed_in') return enter(visit, done.value, onward);
    return askForCode(visit, { ...onward, ticket: done.value.ticket });
  }

  function askForCode(visit: Visit, data: Onward & { ticket: string }, failure?: Failure): Reply {
    const error = failure && { error: failureText(visit.language, failure) };
    const whole = { csrf: visit.csrf, ...data, ...error };
    const wait = failure?.retryAfterSeconds;
    return desk.show(visit, (frame) => secondFactorPage(frame, whole), {
      status: wait !== undefined ? 429 : failure === undefined ? 200 : 422,
      needs,
      headers: wait === undefined ? [] : [['Retry-After', String(wait)]],
    });
  }

  async function withSecondFactor(visit: Visit, form: Params): Promise<Reply> {
    const onward = onwardOf(form.get);
    const ticket = form.get('ticket') ?? '';
    const code = form.get('code') ?? '';
    const done = await signon.signIn.withSecondFactor({ ticket, code, visitor: visit.visitor });
    if (done.ok) return enter(visit, done.value, onward);
    const again = done.error === 'invalid_code' || done.error === 'too_many_attempts';
    return again ? askForCode(visit, { ...onward, ticket }, done) : desk.problem(visit, done);
  }

  async function withPasskey(visit: Visit, body: { readonly [name: string]: unknown }) {
    const done: Result<SignedIn> = await signon.passkeys.signIn(body.response, visit.visitor);
    if (!done.ok) return done;
    await leaveFormer(visit);
    const next = targetOf(
      onwardOf((name) => body[name]),
      done.value.verified,
    );
    const headers = desk.sessionCookies(done.value);
    return { ok: true as const, value: { next }, headers };
  }

  return [
    desk.page(path, 'anyone', ask),
    desk.form(path, 'anyone', withPassword, limit),
    // Its form is the answer to a password: there is nothing to come back to.
    desk.page(`${path}/second-factor`, 'anyone', (visit) => desk.go(visit, path)),
    desk.form(`${path}/second-factor`, 'anyone', withSecondFactor, limit),
    desk.call(`${path}/passkey/options`, 'anyone', () => signon.passkeys.signInOptions(), limit),
    desk.call(`${path}/passkey`, 'anyone', withPasskey, limit),
  ];
}
