/**
 * /register. A challenge of our own stands before registration; its answer is the same whether the
 * address has an account or not. With a passkey in place of a password, the browser makes it after
 * the challenge, on a page of its own. Where the person was going is kept with the link of the mail.
 * A slip costs neither the password nor the solved challenge: the next form carries both (kept-form.ts).
 */

import type { Clock } from '../../../core/clock.ts';
import { readMailAddress } from '../../../core/names/mail-address.ts';
import { type Failure, fail } from '../../../core/result.ts';
import type { Params } from '../../../http/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { statusOf } from '../../../web/errors.ts';
import type { Callers } from '../../../web/guard/callers.ts';
import { deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import {
  asksForAnother,
  type ChallengeAnswer,
  type FormChallenges,
} from '../../../web/guard/form-challenges.ts';
import { jsonOf } from '../../../web/guard/intake/form.ts';
import type { Desk, Visit } from '../../desk.route.ts';
import type { Signon } from '../../open-signon.ts';
import { failureText } from '../../sessions/failure.page.ts';
import { type Onward, onwardHref } from '../../sessions/onward.page.ts';
import {
  carriesRequest,
  hintOf,
  keptOnward,
  type Onwards,
  targetOf,
} from '../../sessions/onward.route.ts';
import { catalogueFor } from '../../words/words.ts';
import type { PersonPace } from '../pacing.ts';
import type { KeptForm } from './kept-form.ts';
import { paceOfQuery, paceQuery } from './pace-query.ts';
import {
  createPasskeyPage,
  emailLengthMax,
  passwordLengthMax,
  type RegisterPageData,
  registerPage,
} from './register.page.ts';
import { registeredPage } from './sent.page.ts';

const path = '/register';
const needs = { media: true, connect: true } as const;

const passkeyPath = `${path}/passkey`;
const sentPath = `${path}/sent`;
const againPath = `${path}/again`;
/** The operator makes the accounts: each path says so, whatever is sent there. */
const closedError = 'registration_closed';

export const registerEndpoints = {
  ask: deskPage(path, 'anyone', { ...carriesRequest, errors: [closedError] }),
  register: deskForm(path, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['captchaVerify', 'captchaFree', 'register'],
    errors: [closedError, 'invalid_parameter', 'weak_password'],
  }),
  /** Its form is the answer to a challenge: there is nothing to come back to. */
  noPasskey: deskPage(passkeyPath, 'anyone', { ...carriesRequest, errors: [closedError] }),
  registerPasskey: deskForm(passkeyPath, 'anyone', {
    ...carriesRequest,
    limits: ['passkeyRegister'],
    errors: [closedError, 'invalid_code', 'conflict', 'invalid_parameter'],
  }),
  sent: deskPage(sentPath, 'anyone', { ...carriesRequest, errors: [closedError] }),
  again: deskForm(againPath, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['register'],
    errors: [closedError],
  }),
};

export interface RegisterOptions {
  readonly desk: Desk;
  readonly signon: Signon;
  readonly callers: Callers;
  readonly challenges: FormChallenges;
  readonly registrationOpen: boolean;
  readonly clock: Clock;
  readonly onwards: Onwards;
}

const nothingKept: KeptForm = { password: '', solved: '' };

/** The values that the form is filled with. */
type Filled = Onward & Pick<RegisterPageData, 'email'>;

export function registerRoutes(options: RegisterOptions): PlainRoute[] {
  const { desk, signon, callers, challenges, onwards } = options;

  /** @param kept the values that the form need not ask again */
  function show(
    visit: Visit,
    filled: Filled,
    errors?: RegisterPageData['errors'],
    kept: KeptForm = nothingKept,
    failure?: Failure,
  ) {
    const isSolved = kept.solved !== '';
    const hasPassword = kept.password !== '' && errors?.password === undefined;
    const sealed = { ...kept, password: hasPassword ? kept.password : '' };
    const isKept = isSolved || hasPassword;
    const more = errors === undefined ? {} : { errors };
    const data: RegisterPageData = {
      csrf: visit.csrf,
      challenge: isSolved ? 'solved' : challenges.make(visit.request),
      byMailOnly: signon.registration.isByMailOnly(visit.visitor),
      kept: isKept ? signon.keptForms.seal(sealed, visit.browserId) : undefined,
      hasPassword,
      ...filled,
      ...more,
    };
    const wrong = failure === undefined ? 422 : statusOf(failure.error);
    const status = errors === undefined ? 200 : wrong;
    const headers = challenges.headers(visit.request);
    return desk.show(visit, (frame) => registerPage(frame, data), { status, needs, headers });
  }

  /** Returns the errors that are found without reading the store. */
  function misspelt(
    visit: Visit,
    email: string,
    password: string | undefined,
  ): NonNullable<RegisterPageData['errors']> {
    const { signon: text } = catalogueFor(visit.language);
    if (readMailAddress(email) === undefined) return { email: text.emailMalformed };
    if (password === undefined) return {};
    return [...password].length < 8 ? { password: text.passwordLength } : {};
  }

  function refused(visit: Visit, failure: Failure, filled: Filled, kept: KeptForm) {
    const sentence = failureText(visit.language, failure);
    const { passwordLength, emailMalformed } = catalogueFor(visit.language).signon;
    if (failure.error === 'weak_password') return show(visit, filled, { password: sentence }, kept);
    if (failure.error !== 'invalid_parameter') return desk.problem(visit, failure);
    const errors =
      failure.parameter === 'password' ? { password: passwordLength } : { email: emailMalformed };
    return show(visit, filled, errors, kept);
  }

  /** Returns the name of the challenge that this form solved, now or before; empty: none. */
  async function solvedBy(answer: ChallengeAnswer, before: KeptForm): Promise<string> {
    const judged = await answer.judge();
    if (judged === 'right') return signon.keptForms.solved();
    return judged === 'none' && signon.keptForms.isOpen(before.solved) ? before.solved : '';
  }

  /** Shows the form with another picture, and nothing lost. */
  function askAgain(visit: Visit, form: Params) {
    const before = signon.keptForms.open(form.get('kept') ?? '', visit.browserId) ?? nothingKept;
    const typed = form.get('password') || before.password;
    const kept = { ...before, password: typed.length > passwordLengthMax ? '' : typed };
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    return show(visit, { ...onwards.ofForm(visit, form.get), email }, undefined, kept);
  }

  async function register(visit: Visit, form: Params) {
    if (asksForAnother(form)) return askAgain(visit, form);
    const answer = challenges.answerIn(visit.request, form);
    if ('waitSeconds' in answer) return desk.problem(visit, tooMany(answer.waitSeconds));
    const before = signon.keptForms.open(form.get('kept') ?? '', visit.browserId) ?? nothingKept;
    const email = form.get('email') ?? '';
    const byMailOnly =
      form.get('with') === 'mail' || signon.registration.isByMailOnly(visit.visitor);
    const byPasskey = !byMailOnly && form.get('with') === 'passkey';
    // An empty field means the password that the page says it has.
    const typed = form.get('password') || before.password;
    const password = byMailOnly || byPasskey ? undefined : typed;
    const onward = onwards.ofForm(visit, form.get);
    const filled = { ...onward, email: email.slice(0, emailLengthMax) };
    const solved = await solvedBy(answer, before);
    // One that is refused for its length is typed again: a part of it would be another password.
    const kept = { password: typed.length > passwordLengthMax ? '' : typed, solved };
    const { challengeWrong } = catalogueFor(visit.language).signon;
    const errors = {
      ...misspelt(visit, email, password),
      ...(solved === '' ? { answer: challengeWrong } : {}),
    };
    if (Object.keys(errors).length > 0) return show(visit, filled, errors, kept);
    const waitSeconds = callers.take('register', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    // The challenge counts once, however many of these forms are sent at the same time.
    if (!signon.keptForms.take(solved)) {
      return show(visit, filled, { answer: challengeWrong }, { ...kept, solved: '' });
    }
    if (byPasskey) return askForPasskey(visit, email, onward);
    const held = await onwards.hold(visit, onward, 'verify');
    const request = { email, password, visitor: visit.visitor, onward: keptOnward(held) };
    const done = await signon.registration.register(request);
    if (done.ok) return sent(visit, held, done.value);
    signon.keptForms.giveBack(solved);
    return refused(visit, done, filled, kept);
  }

  /** The challenge is answered: what follows is the same for every address. */
  async function askForPasskey(visit: Visit, email: string, onward: Onward) {
    const options = await signon.registration.passkeyOptions(email);
    if (!options.ok) return refused(visit, options, { ...onward, email }, nothingKept);
    const data = { ...onward, csrf: visit.csrf, email, options: options.value };
    return desk.show(visit, (frame) => createPasskeyPage(frame, data));
  }

  async function registerPasskey(visit: Visit, form: Params) {
    const onward = onwards.ofForm(visit, form.get);
    const { visitor, language } = visit;
    const held = await onwards.hold(visit, onward, 'verify');
    const request = { visitor, response: jsonOf(form.get('passkey')), onward: keptOnward(held) };
    const done = await signon.registration.registerPasskey(request);
    if (done.ok) return sent(visit, held, done.value);
    if (done.error !== 'invalid_code' && done.error !== 'conflict') {
      return desk.problem(visit, done);
    }
    const email = form.get('email')?.slice(0, emailLengthMax);
    const { refused: sentence } = catalogueFor(language).signon.createPasskey;
    return show(visit, { ...onward, email }, { form: sentence });
  }

  function sent(visit: Visit, onward: Onward, pace: PersonPace, more: { again?: string } = {}) {
    return desk.go(visit, onwardHref(sentPath, onward, { ...paceQuery(pace), ...more }));
  }

  /** Whoever is signed in by now goes on; anybody else gets the form again. */
  function again(visit: Visit, form: Params, failure: Failure) {
    const onward = onwards.ofStale(visit, form);
    if (visit.session !== undefined) return desk.go(visit, targetOf(onward, true));
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    const before = signon.keptForms.open(form.get('kept') ?? '', visit.browserId) ?? nothingKept;
    const typed = form.get('password') || before.password;
    const password = typed.length > passwordLengthMax ? '' : typed;
    const solved = signon.keptForms.isOpen(before.solved) ? before.solved : '';
    const errors = { form: failureText(visit.language, failure) };
    return show(visit, { ...onward, email }, errors, { password, solved }, failure);
  }

  async function sendAgain(visit: Visit, form: Params) {
    // Nothing is kept or counted for a browser that registered nothing.
    if (signon.registration.mailedTo(visit.visitor) === undefined) {
      return desk.problem(visit, fail('form_expired'));
    }
    const waitSeconds = callers.take('register', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const held = await onwards.hold(visit, onwards.ofForm(visit, form.get), 'verify');
    const done = await signon.registration.registerAgain(visit.visitor, keptOnward(held));
    return done.ok ? sent(visit, held, done.value, { again: '1' }) : desk.problem(visit, done);
  }

  if (!options.registrationOpen) return closedRoutes(options);
  return [
    desk.page(registerEndpoints.ask, (visit, query) => {
      const onward = onwards.ofQuery(visit, query);
      if (visit.session !== undefined) return desk.go(visit, targetOf(onward, true));
      return show(visit, { ...onward, email: hintOf(query) });
    }),
    desk.form(registerEndpoints.register, register, [], again),
    desk.page(registerEndpoints.noPasskey, (visit, query) =>
      desk.go(visit, onwardHref(path, onwards.ofQuery(visit, query))),
    ),
    desk.form(registerEndpoints.registerPasskey, registerPasskey, [], again),
    desk.page(registerEndpoints.sent, (visit, query) => {
      const onward = onwards.ofQuery(visit, query);
      const pace = paceOfQuery(query, options.clock.now());
      const email = signon.registration.mailedTo(visit.visitor);
      const data = { ...onward, csrf: visit.csrf, email, pace, isAgain: query.has('again') };
      return desk.show(visit, (frame) => registeredPage(frame, data));
    }),
    desk.form(registerEndpoints.again, sendAgain),
  ];
}

function closedRoutes({ desk, callers }: RegisterOptions): PlainRoute[] {
  const closed = (visit: Visit) => desk.problem(visit, fail(closedError));
  const at = registerEndpoints;
  return [
    ...[at.ask, at.noPasskey, at.sent].map((declared) => desk.page(declared, closed)),
    desk.form(at.register, (visit) => {
      const waitSeconds = callers.take('captchaVerify', visit.request);
      return waitSeconds > 0 ? desk.problem(visit, tooMany(waitSeconds)) : closed(visit);
    }),
    ...[at.registerPasskey, at.again].map((declared) => desk.form(declared, closed)),
  ];
}

export function tooMany(retryAfterSeconds: number): Failure {
  return { ok: false, error: 'too_many_attempts', retryAfterSeconds };
}
