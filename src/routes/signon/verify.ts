/**
 * /verify: the link of a registration's mail, and another one for who is signed in without having
 * opened it. Opening a link changes nothing: mail scanners open links too, so a button does it.
 */

import type { Failure } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import { catalogueFor } from '../../pages/language.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { onwardHref } from '../../pages/signon/onward.ts';
import { linkButtonPage, unverifiedPage } from '../../pages/signon/verify.ts';
import { jsonOf } from './form-check.ts';
import { keptOnward, onwardKept, onwardOf, targetOf } from './onward.ts';
import { hold, type RegisterOptions } from './register.ts';
import type { Visit } from './visit.ts';

export function verifyRoutes(
  options: Pick<RegisterOptions, 'desk' | 'signon' | 'authorization'>,
): PlainRoute[] {
  const { desk, signon } = options;

  async function show(visit: Visit, token: string, failure?: Failure) {
    const asks = await signon.registration.asks(token, visit.visitor);
    const text = catalogueFor(visit.language).signon;
    // Of a passkey, "the password is wrong" would be no help.
    const isPasskey = asks === 'passkey' && failure?.error === 'sign_in_refused';
    const sentence = failure && failureText(visit.language, failure);
    const error = isPasskey ? text.verify.proveFailed : sentence;
    const data = { csrf: visit.csrf, token, action: '/verify', asks, error };
    const wait = failure?.retryAfterSeconds;
    return desk.show(visit, (frame) => linkButtonPage(frame, data), {
      needs: { connect: asks === 'passkey' },
      status: wait !== undefined ? 429 : failure === undefined ? 200 : 422,
      headers: wait === undefined ? [] : [['Retry-After', String(wait)]],
    });
  }

  return [
    desk.page('/verify', 'anyone', async (visit, query) => {
      const { csrf, session } = visit;
      const token = query.get('token');
      if (token !== undefined) return show(visit, token);
      const onward = onwardOf(query.get);
      if (session === undefined) return desk.go(visit, onwardHref('/signin', onward));
      if (session.verified) return desk.go(visit, targetOf(onward, true));
      const data = { ...onward, csrf, email: session.email, sent: query.has('sent') };
      return desk.show(visit, (frame) => unverifiedPage(frame, data));
    }),
    desk.form(
      '/verify',
      'anyone',
      async (visit, form) => {
        const token = form.get('token') ?? '';
        const { visitor, session } = visit;
        const passkey = jsonOf(form.get('passkey'));
        const given = { password: form.get('password'), passkey, session };
        const done = await signon.registration.verify(token, visitor, given);
        if (!done.ok) {
          const again = done.error === 'sign_in_refused' || done.error === 'too_many_attempts';
          return again ? show(visit, token, done) : desk.problem(visit, done);
        }
        const { token: renewed } = done.value;
        const onward = onwardKept(done.value.onward);
        if (renewed !== undefined) {
          return desk.signedIn(visit, { token: renewed }, targetOf(onward, true));
        }
        return desk.go(visit, onwardHref('/signin', onward, { done: 'verified' }));
      },
      { limit: 'signIn' },
    ),
    desk.call(
      '/verify/passkey/options',
      'anyone',
      (_visit, { token }) =>
        signon.registration.proofOptions(typeof token === 'string' ? token : ''),
      { limit: 'signIn' },
    ),
    desk.form(
      '/verify/resend',
      'signed-in',
      async (visit, form) => {
        const onward = onwardOf(form.get);
        const { session, visitor } = visit;
        const kept = keptOnward(onward);
        const done = await signon.registration.resend(session.person, visitor, kept);
        if (!done.ok && done.error !== 'conflict') return desk.problem(visit, done);
        await hold(options, visit, onward, 'verify');
        return desk.go(visit, onwardHref('/verify', onward, { sent: '1' }));
      },
      { limit: 'signIn' },
    ),
  ];
}
