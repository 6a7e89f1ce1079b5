/**
 * /register. A challenge of our own stands before registration; its answer is the same whether the
 * address has an account or not. With a passkey in place of a password, the browser makes it after
 * the challenge, on a page of its own. Where the person was going is kept with the link of the mail.
 * A slip costs neither the password nor the solved challenge: the next form carries both (registration.ts).
 */

import type { Clock } from '../../core/clock.ts';
import { statusOf } from '../../core/errors.ts';
import { readMailAddress } from '../../core/mail-address.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  asksForAnother,
  type ChallengeAnswer,
  type FormChallenges,
} from '../../web/components/challenge.tsx';
import type { Callers } from '../../web/guard/callers.ts';
import { sessionCall, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { type CallBody, jsonOf } from '../../web/guard/intake/form.ts';
import type { Signon } from '../open-signon.ts';
import { tooMany } from '../proofs/attempts.ts';
import {
  hintOf,
  type Onwards,
  onwardQuery,
  type PageBuilder,
  type RequestContext,
  siteRequestOptions,
  targetOf,
} from '../sessions/onward.route.ts';
import { failureText, type Onward, onwardHref } from '../sessions/parts.page.tsx';
import { translationsFor } from '../words.ts';
import { type RegistrationTerms, termsOfQuery, termsQuery } from './pacing.ts';
import {
  createPasskeyPage,
  emailLengthMax,
  passwordLengthMax,
  type RegisterPageData,
  registeredPage,
  registerPage,
} from './register.page.tsx';
import type { KeptForm } from './registration.ts';

const path = '/register';
const needs = { media: true, connect: true } as const;

const passkeyPath = `${path}/passkey`;
const sentPath = `${path}/sent`;
const againPath = `${path}/again`;
/** The operator makes the accounts: each path says so, whatever is sent there. */
const closedError = 'registration_closed';

export const registerEndpoints = {
  ask: sessionPage(path, 'anyone', { ...siteRequestOptions, errors: [closedError] }),
  register: sessionForm(path, 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['captchaVerify', 'captchaFree', 'register'],
    errors: [closedError, 'invalid_parameter', 'weak_password'],
  }),
  /** Its form is the answer to a challenge: there is nothing to come back to. */
  noPasskey: sessionPage(passkeyPath, 'anyone', { ...siteRequestOptions, errors: [closedError] }),
  registerPasskey: sessionForm(passkeyPath, 'anyone', {
    ...siteRequestOptions,
    limits: ['passkeyRegister'],
    errors: [closedError, 'invalid_passkey', 'conflict', 'invalid_parameter'],
  }),
  judge: sessionCall('/register/password', 'anyone', {
    limits: ['newPassword'],
    errors: [closedError, 'invalid_parameter'],
  }),
  sent: sessionPage(sentPath, 'anyone', { ...siteRequestOptions, errors: [closedError] }),
  again: sessionForm(againPath, 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['register'],
    errors: [closedError],
  }),
};

export interface RegisterOptions {
  readonly pageBuilder: PageBuilder;
  readonly signon: Signon;
  readonly callers: Callers;
  readonly formChallenges: FormChallenges;
  readonly registrationOpen: boolean;
  readonly clock: Clock;
  readonly onwards: Onwards;
}

const nothingKept: KeptForm = { password: '', solved: '' };

/** The values that the form is filled with. */
type RegisterValues = Onward & Pick<RegisterPageData, 'email'>;

export function registerRoutes(options: RegisterOptions): PlainRoute[] {
  const { pageBuilder, signon, callers, formChallenges, onwards } = options;

  /** @param kept the values that the form need not ask again */
  function show(
    context: RequestContext,
    filled: RegisterValues,
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
      csrf: context.csrf,
      challenge: isSolved ? 'solved' : formChallenges.make(context.request),
      byMailOnly: signon.registration.isByMailOnly(context.visitor),
      hasDomains: signon.registration.hasDomains,
      kept: isKept ? signon.keptForms.seal(sealed, context.browserId) : undefined,
      hasPassword,
      ...filled,
      ...more,
    };
    const wrong = failure === undefined ? 422 : statusOf(failure.error);
    const status = errors === undefined ? 200 : wrong;
    const headers = formChallenges.headers(context.request);
    return pageBuilder.show(context, (frame) => registerPage(frame, data), {
      status,
      needs,
      headers,
    });
  }

  /** Returns the errors that are found without reading the store. */
  function misspelt(
    context: RequestContext,
    email: string,
    password: string | undefined,
  ): NonNullable<RegisterPageData['errors']> {
    const { signon: text } = translationsFor(context.language);
    if (readMailAddress(email) === undefined) return { email: text.emailMalformed };
    if (!signon.registration.takesDomain(email)) return { email: text.emailDomain };
    if (password === undefined) return {};
    return [...password].length < 8 ? { password: text.passwordLength } : {};
  }

  /** Whoever has to solve the challenge again hears at once that the password won't do. */
  async function weak(context: RequestContext, email: string, password: string | undefined) {
    if (password === undefined || callers.takeOrWait('newPassword', context.request) > 0) return {};
    const fault = await signon.registration.passwordFault(password, email);
    return fault?.error === 'weak_password'
      ? { password: failureText(context.language, fault) }
      : {};
  }

  /** Tells the page's script what is wrong with a password, before the challenge has to be solved. */
  async function checkPassword(context: RequestContext, { email, password }: CallBody) {
    if (typeof password !== 'string' || password.length > 2 * passwordLengthMax) {
      return fail('invalid_parameter', undefined, 'password');
    }
    const typed = typeof email === 'string' ? email.slice(0, emailLengthMax) : '';
    const fault = await signon.registration.passwordFault(password, typed);
    const { passwordLength } = translationsFor(context.language).signon;
    const isWeak = fault?.error === 'weak_password';
    const sentence = fault && (isWeak ? failureText(context.language, fault) : passwordLength);
    return { ok: true, value: { fault: sentence ?? null } } as const;
  }

  function refused(
    context: RequestContext,
    failure: Failure,
    filled: RegisterValues,
    kept: KeptForm,
  ) {
    const sentence = failureText(context.language, failure);
    const { passwordLength, emailMalformed } = translationsFor(context.language).signon;
    if (failure.error === 'weak_password')
      return show(context, filled, { password: sentence }, kept);
    if (failure.error !== 'invalid_parameter') return pageBuilder.problem(context, failure);
    const errors =
      failure.parameter === 'password' ? { password: passwordLength } : { email: emailMalformed };
    return show(context, filled, errors, kept);
  }

  /** Returns the name of the challenge that this form solved, now or before; empty: none. */
  async function solvedBy(answer: ChallengeAnswer, before: KeptForm): Promise<string> {
    const judged = await answer.judge();
    if (judged === 'right') return signon.keptForms.solved();
    return judged === 'none' && signon.keptForms.isOpen(before.solved) ? before.solved : '';
  }

  /** Shows the form with another picture, and nothing lost. */
  function askAgain(context: RequestContext, form: Params) {
    const before = signon.keptForms.open(form.get('kept') ?? '', context.browserId) ?? nothingKept;
    const typed = form.get('password') || before.password;
    const kept = { ...before, password: typed.length > passwordLengthMax ? '' : typed };
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    return show(context, { ...onwards.ofForm(context, form.get), email }, undefined, kept);
  }

  async function register(context: RequestContext, form: Params) {
    if (asksForAnother(form)) return askAgain(context, form);
    const answer = formChallenges.answerIn(context.request, form);
    if ('waitSeconds' in answer) return pageBuilder.problem(context, tooMany(answer.waitSeconds));
    const before = signon.keptForms.open(form.get('kept') ?? '', context.browserId) ?? nothingKept;
    const email = form.get('email') ?? '';
    const byMailOnly =
      form.get('with') === 'mail' || signon.registration.isByMailOnly(context.visitor);
    const byPasskey = !byMailOnly && form.get('with') === 'passkey';
    // An empty field means the password that the page says it has.
    const typed = form.get('password') || before.password;
    const password = byMailOnly || byPasskey ? undefined : typed;
    const onward = onwards.ofForm(context, form.get);
    const filled = { ...onward, email: email.slice(0, emailLengthMax) };
    const solved = await solvedBy(answer, before);
    // One that is refused for its length is typed again: a part of it would be another password.
    const kept = { password: typed.length > passwordLengthMax ? '' : typed, solved };
    const { challengeWrong } = translationsFor(context.language).signon;
    const errors = {
      ...(solved === ''
        ? { answer: challengeWrong, ...(await weak(context, email, password)) }
        : {}),
      ...misspelt(context, email, password),
    };
    if (Object.keys(errors).length > 0) return show(context, filled, errors, kept);
    const waitSeconds = callers.takeOrWait('register', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    // The challenge counts once, however many of these forms are sent at the same time.
    if (!signon.keptForms.take(solved)) {
      return show(context, filled, { answer: challengeWrong }, { ...kept, solved: '' });
    }
    if (byPasskey) return askForPasskey(context, email, onward);
    const held = await onwards.hold(context, onward, 'verify');
    const request = { email, password, visitor: context.visitor, onward: onwardQuery(held) };
    const done = await signon.registration.register(request);
    if (done.ok) return sent(context, held, done.value);
    signon.keptForms.release(solved);
    return refused(context, done, filled, kept);
  }

  /** The challenge is answered: what follows is the same for every address. */
  async function askForPasskey(context: RequestContext, email: string, onward: Onward) {
    const options = await signon.registration.passkeyOptions(email);
    if (!options.ok) return refused(context, options, { ...onward, email }, nothingKept);
    const data = { ...onward, csrf: context.csrf, email, options: options.value };
    return pageBuilder.show(context, (frame) => createPasskeyPage(frame, data));
  }

  async function registerPasskey(context: RequestContext, form: Params) {
    const onward = onwards.ofForm(context, form.get);
    const { visitor, language } = context;
    const held = await onwards.hold(context, onward, 'verify');
    const request = { visitor, response: jsonOf(form.get('passkey')), onward: onwardQuery(held) };
    const done = await signon.registration.registerPasskey(request);
    if (done.ok) return sent(context, held, done.value);
    if (done.error !== 'invalid_passkey' && done.error !== 'conflict') {
      return pageBuilder.problem(context, done);
    }
    const email = form.get('email')?.slice(0, emailLengthMax);
    const { refused: sentence } = translationsFor(language).signon.createPasskey;
    return show(context, { ...onward, email }, { form: sentence });
  }

  function sent(
    context: RequestContext,
    onward: Onward,
    terms: RegistrationTerms,
    more: { again?: string } = {},
  ) {
    return pageBuilder.go(context, onwardHref(sentPath, onward, { ...termsQuery(terms), ...more }));
  }

  /** Whoever is signed in by now goes on; anybody else gets the form again. */
  function again(context: RequestContext, form: Params, failure: Failure) {
    const onward = onwards.ofStale(context, form);
    if (context.session !== undefined) return pageBuilder.go(context, targetOf(onward, true));
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    const before = signon.keptForms.open(form.get('kept') ?? '', context.browserId) ?? nothingKept;
    const typed = form.get('password') || before.password;
    const password = typed.length > passwordLengthMax ? '' : typed;
    const solved = signon.keptForms.isOpen(before.solved) ? before.solved : '';
    const errors = { form: failureText(context.language, failure) };
    return show(context, { ...onward, email }, errors, { password, solved }, failure);
  }

  async function sendAgain(context: RequestContext, form: Params) {
    // Nothing is kept or counted for a browser that registered nothing.
    if (signon.registration.mailedTo(context.visitor) === undefined) {
      return pageBuilder.problem(context, fail('form_expired'));
    }
    const waitSeconds = callers.takeOrWait('register', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const held = await onwards.hold(context, onwards.ofForm(context, form.get), 'verify');
    const done = await signon.registration.registerAgain(context.visitor, onwardQuery(held));
    return done.ok
      ? sent(context, held, done.value, { again: '1' })
      : pageBuilder.problem(context, done);
  }

  if (!options.registrationOpen) return closedRoutes(options);
  return [
    pageBuilder.page(registerEndpoints.ask, (context, query) => {
      const onward = onwards.ofQuery(context, query);
      if (context.session !== undefined) return pageBuilder.go(context, targetOf(onward, true));
      return show(context, { ...onward, email: hintOf(query) });
    }),
    pageBuilder.form(registerEndpoints.register, register, [], again),
    pageBuilder.page(registerEndpoints.noPasskey, (context, query) =>
      pageBuilder.go(context, onwardHref(path, onwards.ofQuery(context, query))),
    ),
    pageBuilder.form(registerEndpoints.registerPasskey, registerPasskey, [], again),
    pageBuilder.call(registerEndpoints.judge, checkPassword),
    pageBuilder.page(registerEndpoints.sent, (context, query) => {
      const onward = onwards.ofQuery(context, query);
      const terms = termsOfQuery(query, options.clock.now());
      const email = signon.registration.mailedTo(context.visitor);
      const data = { ...onward, csrf: context.csrf, email, terms, isAgain: query.has('again') };
      return pageBuilder.show(context, (frame) => registeredPage(frame, data));
    }),
    pageBuilder.form(registerEndpoints.again, sendAgain),
  ];
}

function closedRoutes({ pageBuilder, callers }: RegisterOptions): PlainRoute[] {
  const closed = (context: RequestContext) => pageBuilder.problem(context, fail(closedError));
  const at = registerEndpoints;
  return [
    ...[at.ask, at.noPasskey, at.sent].map((declared) => pageBuilder.page(declared, closed)),
    pageBuilder.form(at.register, (context) => {
      const waitSeconds = callers.takeOrWait('captchaVerify', context.request);
      return waitSeconds > 0 ? pageBuilder.problem(context, tooMany(waitSeconds)) : closed(context);
    }),
    ...[at.registerPasskey, at.again].map((declared) => pageBuilder.form(declared, closed)),
    pageBuilder.call(at.judge, async () => fail(closedError)),
  ];
}
