/**
 * /register. A challenge of our own stands before registration; its answer is the same whether the
 * address has an account or not. With a passkey in place of a password, the browser makes it after
 * the challenge, on a page of its own. Where the person was going is kept with the link of the mail.
 */

import { normaliseEmail } from '../../access/accounts.ts';
import type { Failure } from '../../core/result.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { catalogueFor } from '../../pages/language.ts';
import { failureText } from '../../pages/signon/failure.ts';
import { type Onward, onwardHref } from '../../pages/signon/onward.ts';
import {
  checkMailPage,
  createPasskeyPage,
  emailLengthMax,
  type RegisterPageData,
  registerPage,
} from '../../pages/signon/register.ts';
import type { Signon } from '../../signon/open.ts';
import type { Transactions } from '../../signon/transactions.ts';
import type { Callers } from '../callers.ts';
import { audioPath, type CaptchaOptions, imagePath, issueChallenge, judge } from '../captcha.ts';
import type { Desk } from './desk.ts';
import { jsonOf } from './form-check.ts';
import { hintOf, keptOnward, onwardOf, targetOf } from './onward.ts';
import type { Visit } from './visit.ts';

const path = '/register';
const needs = { media: true } as const;

export interface RegisterOptions {
  readonly desk: Desk;
  readonly signon: Signon;
  readonly callers: Callers;
  readonly captcha: CaptchaOptions;
  readonly authorization: { readonly transactions: Pick<Transactions, 'prolong'> };
}

/** What the form is filled with. */
type Filled = Onward & Pick<RegisterPageData, 'email'>;

export function registerRoutes(options: RegisterOptions): PlainRoute[] {
  const { desk, signon, callers, captcha } = options;

  function show(visit: Visit, filled: Filled, errors?: RegisterPageData['errors']) {
    const waitSeconds = callers.take('captchaNew', visit.request);
    const issued = waitSeconds > 0 ? undefined : issueChallenge(captcha, visit.request);
    const challenge = issued && {
      ...issued,
      imageHref: imagePath(issued.token),
      audioHref: audioPath(issued.token),
    };
    const more = errors === undefined ? {} : { errors };
    const data = { csrf: visit.csrf, challenge, ...filled, ...more };
    const status = errors === undefined ? 200 : 422;
    return desk.show(visit, (frame) => registerPage(frame, data), { status, needs });
  }

  /** What can be seen without the challenge, so that an answer is not wasted on it. */
  function misspelt(
    visit: Visit,
    email: string,
    password: string | undefined,
  ): RegisterPageData['errors'] {
    const { signon: text } = catalogueFor(visit.language);
    if (normaliseEmail(email) === undefined) return { email: text.emailMalformed };
    if (password === undefined) return undefined;
    return [...password].length < 8 ? { password: text.passwordLength } : undefined;
  }

  function refused(visit: Visit, failure: Failure, filled: Filled) {
    const sentence = failureText(visit.language, failure);
    const { passwordLength, emailMalformed } = catalogueFor(visit.language).signon;
    if (failure.error === 'weak_password') return show(visit, filled, { password: sentence });
    if (failure.error !== 'invalid_parameter') return desk.problem(visit, failure);
    const errors =
      failure.parameter === 'password' ? { password: passwordLength } : { email: emailMalformed };
    return show(visit, filled, errors);
  }

  async function register(visit: Visit, form: Params) {
    const email = form.get('email') ?? '';
    const password = form.get('with') === 'passkey' ? undefined : (form.get('password') ?? '');
    const onward = onwardOf(form.get);
    const filled = { ...onward, email: email.slice(0, emailLengthMax) };
    const errors = misspelt(visit, email, password);
    if (errors !== undefined) return show(visit, filled, errors);
    const answered = judge(
      captcha,
      visit.request,
      form.get('captcha_token') ?? '',
      form.get('captcha_answer') ?? '',
    );
    if (!answered) {
      const { challengeWrong } = catalogueFor(visit.language).signon;
      return show(visit, filled, { answer: challengeWrong });
    }
    const waitSeconds = callers.take('register', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    if (password === undefined) return askForPasskey(visit, email, onward);
    const request = { email, password, visitor: visit.visitor, onward: keptOnward(onward) };
    const done = await signon.registration.register(request);
    return done.ok ? sent(visit, onward) : refused(visit, done, filled);
  }

  /** The challenge is answered: what follows is the same for every address. */
  async function askForPasskey(visit: Visit, email: string, onward: Onward) {
    const options = await signon.registration.passkeyOptions(email);
    if (!options.ok) return refused(visit, options, { ...onward, email });
    const data = { ...onward, csrf: visit.csrf, email, options: options.value };
    return desk.show(visit, (frame) => createPasskeyPage(frame, data));
  }

  async function registerPasskey(visit: Visit, form: Params) {
    const onward = onwardOf(form.get);
    const { visitor, language } = visit;
    const request = { visitor, response: jsonOf(form.get('passkey')), onward: keptOnward(onward) };
    const done = await signon.registration.registerPasskey(request);
    if (done.ok) return sent(visit, onward);
    if (done.error !== 'invalid_code' && done.error !== 'conflict') {
      return desk.problem(visit, done);
    }
    const email = form.get('email')?.slice(0, emailLengthMax);
    const { refused: sentence } = catalogueFor(language).signon.createPasskey;
    return show(visit, { ...onward, email }, { form: sentence });
  }

  async function sent(visit: Visit, onward: Onward) {
    await hold(options, visit, onward, 'verify');
    return desk.go(visit, onwardHref(`${path}/sent`, onward));
  }

  return [
    desk.page(path, 'anyone', (visit, query) => {
      const onward = onwardOf(query.get);
      if (visit.session !== undefined) return desk.go(visit, targetOf(onward, true));
      return show(visit, { ...onward, email: hintOf(query) });
    }),
    desk.form(path, 'anyone', register, { limit: 'captchaVerify' }),
    // Its page is the answer to a challenge: there is nothing to come back to.
    desk.page(`${path}/passkey`, 'anyone', (visit) => desk.go(visit, path)),
    desk.form(`${path}/passkey`, 'anyone', registerPasskey, { limit: 'signIn' }),
    desk.page(`${path}/sent`, 'anyone', (visit, query) =>
      desk.show(visit, (frame) => checkMailPage(frame, 'register', onwardOf(query.get))),
    ),
  ];
}

/** What waits for the person waits until the link in the mail (`until`) is over. */
export async function hold(
  { authorization }: Pick<RegisterOptions, 'authorization'>,
  visit: Visit,
  { continueId }: Onward,
  until: 'verify' | 'reset',
): Promise<void> {
  if (continueId === undefined) return;
  // If it can't be kept now the mail is worth more: it ends by itself.
  await authorization.transactions.prolong(continueId, visit.browserId, until);
}

function tooMany(retryAfterSeconds: number): Failure {
  return { ok: false, error: 'too_many_attempts', retryAfterSeconds };
}
