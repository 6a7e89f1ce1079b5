/**
 * /register and /verify. A challenge of our own stands before registration; its answer is the
 * same whether the address has an account or not. Opening a link of a mail changes nothing: mail
 * scanners open links too, so a button does it.
 */

import { normaliseEmail } from '../../access/accounts.ts';
import type { Failure } from '../../core/result.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { catalogueFor } from '../../pages/language.ts';
import { failureText } from '../../pages/signon/failure.ts';
import {
  checkMailPage,
  linkButtonPage,
  type RegisterPageData,
  registerPage,
  unverifiedPage,
} from '../../pages/signon/register.ts';
import type { Signon } from '../../signon/open.ts';
import type { Callers } from '../callers.ts';
import { audioPath, type CaptchaOptions, imagePath, issueChallenge, judge } from '../captcha.ts';
import type { Desk } from './desk.ts';
import type { Visit } from './visit.ts';

const path = '/register';
const needs = { media: true } as const;

export function registerRoutes(options: {
  desk: Desk;
  signon: Signon;
  callers: Callers;
  captcha: CaptchaOptions;
}): PlainRoute[] {
  const { desk, signon, callers, captcha } = options;

  function show(visit: Visit, errors?: RegisterPageData['errors'], email?: string, status = 200) {
    const waitSeconds = callers.take('captchaNew', visit.request);
    const issued = waitSeconds > 0 ? undefined : issueChallenge(captcha, visit.request);
    const challenge = issued && {
      ...issued,
      imageHref: imagePath(issued.token),
      audioHref: audioPath(issued.token),
    };
    const data = {
      csrf: visit.csrf,
      challenge,
      ...(errors === undefined ? {} : { errors }),
      ...(email === undefined ? {} : { email }),
    };
    return desk.show(visit, (frame) => registerPage(frame, data), { status, needs });
  }

  /** What can be seen without the challenge, so that an answer is not wasted on it. */
  function misspelt(visit: Visit, email: string, password: string): RegisterPageData['errors'] {
    const { signon: text } = catalogueFor(visit.language);
    if (normaliseEmail(email) === undefined) return { email: text.emailMalformed };
    return [...password].length < 8 ? { password: text.passwordLength } : undefined;
  }

  function refused(visit: Visit, failure: Failure, email: string) {
    const sentence = failureText(visit.language, failure);
    const { passwordLength, emailMalformed } = catalogueFor(visit.language).signon;
    if (failure.error === 'weak_password') return show(visit, { password: sentence }, email, 422);
    if (failure.error !== 'invalid_parameter') return desk.problem(visit, failure);
    const errors =
      failure.parameter === 'password' ? { password: passwordLength } : { email: emailMalformed };
    return show(visit, errors, email, 422);
  }

  async function register(visit: Visit, form: Params) {
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const errors = misspelt(visit, email, password);
    if (errors !== undefined) return show(visit, errors, email, 422);
    const answered = judge(
      captcha,
      visit.request,
      form.get('captcha_token') ?? '',
      form.get('captcha_answer') ?? '',
    );
    if (!answered) {
      const { challengeWrong } = catalogueFor(visit.language).signon;
      return show(visit, { answer: challengeWrong }, email, 422);
    }
    const waitSeconds = callers.take('register', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const done = await signon.registration.register({ email, password, visitor: visit.visitor });
    return done.ok ? desk.go(visit, `${path}/sent`) : refused(visit, done, email);
  }

  return [
    desk.page(path, 'anyone', (visit) =>
      visit.session === undefined ? show(visit) : desk.go(visit, '/account'),
    ),
    desk.form(path, 'anyone', register, { limit: 'captchaVerify' }),
    desk.page(`${path}/sent`, 'anyone', (visit) =>
      desk.show(visit, (frame) => checkMailPage(frame, 'register')),
    ),
    ...verifyRoutes(desk, signon),
  ];
}

function verifyRoutes(desk: Desk, signon: Signon): PlainRoute[] {
  async function show(visit: Visit, token: string, failure?: Failure) {
    const askPassword = await signon.registration.asksPassword(token, visit.visitor);
    const error = failure && failureText(visit.language, failure);
    const data = { csrf: visit.csrf, token, action: '/verify', askPassword, error };
    const wait = failure?.retryAfterSeconds;
    return desk.show(visit, (frame) => linkButtonPage(frame, data), {
      status: wait !== undefined ? 429 : failure === undefined ? 200 : 422,
      headers: wait === undefined ? [] : [['Retry-After', String(wait)]],
    });
  }

  return [
    desk.page('/verify', 'anyone', async (visit, query) => {
      const { csrf, session } = visit;
      const token = query.get('token');
      if (token !== undefined) return show(visit, token);
      if (session === undefined) return desk.go(visit, '/signin');
      if (session.verified) return desk.go(visit, '/account');
      const data = { csrf, email: session.email, sent: query.has('sent') };
      return desk.show(visit, (frame) => unverifiedPage(frame, data));
    }),
    desk.form(
      '/verify',
      'anyone',
      async (visit, form) => {
        const token = form.get('token') ?? '';
        const { visitor, session } = visit;
        const given = { password: form.get('password'), session };
        const done = await signon.registration.verify(token, visitor, given);
        if (!done.ok) {
          const again = done.error === 'sign_in_refused' || done.error === 'too_many_attempts';
          return again ? show(visit, token, done) : desk.problem(visit, done);
        }
        const own = visit.session?.accountId === done.value.accountId;
        return desk.go(visit, own ? '/account' : '/signin?done=verified');
      },
      { limit: 'signIn' },
    ),
    desk.form(
      '/verify/resend',
      'signed-in',
      async (visit) => {
        const done = await signon.registration.resend(visit.session.person, visit.visitor);
        if (done.ok || done.error === 'conflict') return desk.go(visit, '/verify?sent=1');
        return desk.problem(visit, done);
      },
      { limit: 'signIn' },
    ),
  ];
}

function tooMany(retryAfterSeconds: number): Failure {
  return { ok: false, error: 'too_many_attempts', retryAfterSeconds };
}
