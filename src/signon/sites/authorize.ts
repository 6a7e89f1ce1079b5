/**
 * The request at /authorize.php as an ordered list of small checks, and the table of what comes next. First
 * client and redirect: until both hold, the address is not trusted with anything, not even with an error.
 * Then the rest, whose failures may be sent to the client. The first failure ends the list. Pure.
 */

import type { ErrorCode } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { type Client, type ClientRules, parseClientId } from './client-id.ts';
import { answerAddress, parseRedirectUri, type RedirectUri } from './redirect-uri.ts';
import { parseScope, type Scope } from './scopes.ts';

export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirect: RedirectUri;
  /** Undefined when none was sent; an empty one is returned too. */
  readonly state: string | undefined;
  readonly scopes: readonly Scope[];
  /** The SHA-256 of the verifier (RFC 7636). */
  readonly codeChallenge: string | undefined;
  readonly prompt: readonly Prompt[];
}

/** The fields that an answer to the client needs. */
type AnswerTarget = Pick<AuthorizationRequest, 'client' | 'redirect' | 'state'>;

export const prompts = ['none', 'login', 'consent'] as const;
type Prompt = (typeof prompts)[number];

/** The errors that a client may get, by the names of RFC 6749 and OpenID Connect. */
export const authorizeErrors = [
  'unsupported_response_type',
  'invalid_scope',
  'invalid_request',
  'access_denied',
  'temporarily_unavailable',
  'login_required',
  'consent_required',
] as const satisfies readonly ErrorCode[];
export type AuthorizeError = (typeof authorizeErrors)[number];

/**
 * `refused`: a page of our own with status 400, without redirect and without a link there.
 * `error`: may be sent to the client, but not unasked: see `decideFlow`.
 */
export type AuthorizeReading =
  | {
      readonly kind: 'refused';
      readonly error: 'invalid_client_id' | 'invalid_redirect_uri';
      readonly detail: string;
    }
  | {
      readonly kind: 'error';
      readonly target: AnswerTarget;
      readonly error: AuthorizeError;
      readonly detail: string;
    }
  | { readonly kind: 'request'; readonly request: AuthorizationRequest };

/** Decoded parameters, each at most once: repeated ones and bad escapes were refused before. */
export interface AuthorizeParameters {
  get(name: string): string | undefined;
}

/** All parameters of a request. */
const parameterNames = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'login_hint',
] as const;

export const responseType = 'code';
export const codeChallengeMethod = 'S256';
export const stateCharsMax = 2_048;
export const loginHintCharsMax = 320;
const challengePattern = /^[A-Za-z0-9\-._~]{43,128}$/;
const loneSurrogate = /\p{Cs}/u;

type PartialRequest = {
  -readonly [name in keyof AuthorizationRequest]?: AuthorizationRequest[name];
};

/** A check reads its parameters and returns what it found; a failure ends the list. */
type Check = (parameters: AuthorizeParameters, found: PartialRequest) => Result<PartialRequest>;

/** The checks in order; `state` first, so that every later failure can carry it. */
const redirectedChecks: readonly Check[] = [
  checkState,
  checkResponseType,
  checkScope,
  checkCodeChallenge,
  checkPrompt,
  checkLoginHint,
];

export function readAuthorizeRequest(
  parameters: AuthorizeParameters,
  rules: ClientRules,
): AuthorizeReading {
  const client = parseClientId(parameters.get('client_id') ?? '', rules);
  if (!client.ok) return refused('invalid_client_id', client.detail);
  const redirect = parseRedirectUri(parameters.get('redirect_uri') ?? '', client.value, rules);
  if (!redirect.ok) return refused('invalid_redirect_uri', redirect.detail);
  let found: PartialRequest = { client: client.value, redirect: redirect.value };
  for (const check of redirectedChecks) {
    const result = check(parameters, found);
    if (!result.ok) {
      const target = { client: client.value, redirect: redirect.value, state: found.state };
      const error = result.error as AuthorizeError;
      return { kind: 'error', target, error, detail: result.detail ?? '' };
    }
    found = { ...found, ...result.value };
  }
  return { kind: 'request', request: found as AuthorizationRequest };
}

/**
 * Returns the query of a request, each parameter as it was written and nothing else: never longer than what
 * came. `login_hint` may be a mail address: leave it out where the query is stored.
 */
export function requestQuery(query: string, hint: 'with hint' | 'without hint'): string {
  const known: readonly string[] =
    hint === 'with hint' ? parameterNames : parameterNames.filter((name) => name !== 'login_hint');
  return (
    query
      .split('&')
      .filter((pair) => known.includes(decodedName(pair)))
      .join('&')
      // A header can carry no other characters.
      .replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
  );
}

function decodedName(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  try {
    return decodeURIComponent(name);
  } catch {
    return '';
  }
}

function refused(
  error: 'invalid_client_id' | 'invalid_redirect_uri',
  detail = '',
): AuthorizeReading {
  return { kind: 'refused', error, detail };
}

function checkState(parameters: AuthorizeParameters): Result<PartialRequest> {
  const state = parameters.get('state');
  if (state === undefined) return ok({ state: undefined });
  // Cutting it would fool the client's comparison, so what can't be returned whole is refused.
  if (state.length > stateCharsMax) {
    return fail('invalid_request', `state is longer than ${stateCharsMax} characters`);
  }
  if (loneSurrogate.test(state)) return fail('invalid_request', 'state is not valid text');
  return ok({ state });
}

function checkResponseType(parameters: AuthorizeParameters): Result<PartialRequest> {
  const type = parameters.get('response_type') ?? '';
  if (type === '') return fail('invalid_request', 'response_type is missing');
  return type === responseType
    ? ok({})
    : fail('unsupported_response_type', 'response_type must be code');
}

function checkScope(parameters: AuthorizeParameters): Result<PartialRequest> {
  const scopes = parseScope(parameters.get('scope'));
  return scopes.ok ? ok({ scopes: scopes.value }) : scopes;
}

function checkCodeChallenge(parameters: AuthorizeParameters): Result<PartialRequest> {
  const codeChallenge = parameters.get('code_challenge');
  const method = parameters.get('code_challenge_method');
  if (codeChallenge === undefined) {
    return method === undefined
      ? ok({ codeChallenge })
      : fail('invalid_request', 'code_challenge is missing');
  }
  // RFC 7636 lets a missing method mean `plain`, which protects from nobody who reads the request.
  if (method !== codeChallengeMethod)
    return fail('invalid_request', 'code_challenge_method must be S256');
  return challengePattern.test(codeChallenge)
    ? ok({ codeChallenge })
    : fail('invalid_request', 'code_challenge must be 43 to 128 unreserved characters');
}

function checkPrompt(parameters: AuthorizeParameters): Result<PartialRequest> {
  const text = parameters.get('prompt') ?? '';
  if (text === '') return ok({ prompt: [] });
  const names = text.length > 64 ? [] : text.split(' ').filter((name) => name !== '');
  const prompt = prompts.filter((name) => names.includes(name));
  const allKnown = names.every((name) => (prompts as readonly string[]).includes(name));
  if (names.length === 0 || !allKnown) {
    return fail('invalid_request', `prompt may be ${prompts.join(', ')}`);
  }
  return prompt.includes('none') && prompt.length > 1
    ? fail('invalid_request', 'prompt=none stands alone')
    : ok({ prompt });
}

/** It is no part of the request: the sign-in form reads it from the query (`hintOf`). */
function checkLoginHint(parameters: AuthorizeParameters): Result<PartialRequest> {
  const hint = parameters.get('login_hint') ?? '';
  return hint.length > loginHintCharsMax || /[\p{Cc}\p{Cs}]/u.test(hint)
    ? fail('invalid_request', 'login_hint is too long or not text')
    : ok({});
}

/**
 * Returns the address to which the browser goes with a code.
 * @param issuer BASE_URL: by `iss` a site of several services knows whose answer it is (RFC 9207)
 */
export function codeAddress(target: AnswerTarget, issuer: string, code: string): string {
  return answerAddress(target.redirect, [['code', code], ['iss', issuer], ...stateOf(target)]);
}

/** Returns the address to which the browser goes with an error. `detail` is for developers: ASCII, no data. */
export function errorAddress(
  target: AnswerTarget,
  issuer: string,
  error: AuthorizeError,
  detail = '',
): string {
  const description = detail === '' ? [] : [['error_description', detail] as const];
  const answer = [['error', error] as const, ...description, ['iss', issuer] as const];
  return answerAddress(target.redirect, [...answer, ...stateOf(target)]);
}

function stateOf({ state }: AnswerTarget): readonly (readonly [string, string])[] {
  return state === undefined ? [] : [['state', state]];
}

export interface SessionFacts {
  /** The time of the last proof of identity, ms since 1970. */
  readonly signedInAt: number;
  /** The mail address was verified: nothing but verification works before. */
  readonly verified: boolean;
}

export interface FlowFacts {
  /** Undefined without a live session. */
  readonly session: SessionFacts | undefined;
  /** The time at which this request was first seen, ms since 1970: a sign-in since then satisfies `prompt=login`. */
  readonly askedAt: number;
  /** Every requested scope was decided on before, for this client and redirect origin. */
  readonly isRemembered: boolean;
  /** The site is open to the person who is signed in (groups.ts). */
  readonly isAdmitted: boolean;
}

export type FlowDecision =
  /**
   * 400, or 403 for a site that is blocked or not open to the person: our own page, no redirect and no link
   * there.
   */
  | { readonly next: 'refuse'; readonly error: string; readonly detail: string }
  /** The sign-in page; `again`: although there is a session. */
  | { readonly next: 'sign-in'; readonly request: AuthorizationRequest; readonly again: boolean }
  /** The page that asks to verify the mail address first. */
  | { readonly next: 'verify'; readonly request: AuthorizationRequest }
  | { readonly next: 'consent'; readonly request: AuthorizationRequest }
  /** Nobody needs to be asked: straight back with a code. */
  | { readonly next: 'issue-code'; readonly request: AuthorizationRequest }
  /** The answer is 303 with the error. */
  | ({ readonly next: 'redirect-error' } & ErrorAnswer)
  /** A page that names the target's host; its link carries the error. */
  | ({ readonly next: 'name-target' } & ErrorAnswer);

export interface ErrorAnswer {
  readonly target: AnswerTarget;
  readonly error: AuthorizeError;
  readonly detail: string;
}

/**
 * Decides the next step of a request.
 *
 * Any domain can be a client, so an error that is sent back unasked would make this service a
 * redirector to wherever somebody likes. It is sent back after sign-in only, or by a link on a
 * page that names the target. `login_hint` decides nothing: with `prompt=none` a site could find
 * out by it who the visitor is.
 */
export function decideFlow(reading: AuthorizeReading, facts: FlowFacts): FlowDecision {
  switch (reading.kind) {
    case 'refused':
      return { next: 'refuse', error: reading.error, detail: reading.detail };
    case 'error': {
      const { target, error, detail } = reading;
      return refuse(isSignedIn(facts), { target, error, detail });
    }
    case 'request':
      return reading.request.prompt.includes('none')
        ? decideSilently(reading.request, facts)
        : decideWithPerson(reading.request, facts);
    default:
      reading satisfies never;
      throw new TypeError('no such reading');
  }
}

/** A person whose address is not verified counts as not signed in. */
function isSignedIn({ session }: FlowFacts): boolean {
  return session?.verified === true;
}

function refuse(mayRedirect: boolean, answer: ErrorAnswer): FlowDecision {
  return { next: mayRedirect ? 'redirect-error' : 'name-target', ...answer };
}

/** `prompt=none`: no page that asks anything. */
function decideSilently(request: AuthorizationRequest, facts: FlowFacts): FlowDecision {
  if (!isSignedIn(facts)) {
    const detail = 'there is no sign-in';
    return refuse(false, { target: request, error: 'login_required', detail });
  }
  if (!facts.isAdmitted) {
    const detail = 'the site is not open to the person';
    return refuse(true, { target: request, error: 'access_denied', detail });
  }
  if (!facts.isRemembered) {
    const detail = 'the person has to be asked';
    return refuse(true, { target: request, error: 'consent_required', detail });
  }
  return { next: 'issue-code', request };
}

function decideWithPerson(request: AuthorizationRequest, facts: FlowFacts): FlowDecision {
  const { session, askedAt, isRemembered } = facts;
  if (session === undefined) return { next: 'sign-in', request, again: false };
  if (!session.verified) return { next: 'verify', request };
  // Before the refusal: the next sign-in may be that of another account.
  if (request.prompt.includes('login') && session.signedInAt < askedAt) {
    return { next: 'sign-in', request, again: true };
  }
  if (!facts.isAdmitted) return { next: 'refuse', error: 'site_not_open', detail: '' };
  const mustAsk = request.prompt.includes('consent') || !isRemembered;
  return { next: mustAsk ? 'consent' : 'issue-code', request };
}
