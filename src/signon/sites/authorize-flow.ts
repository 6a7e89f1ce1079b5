/**
 * The next step of an authorization request: a table of facts to decisions. Pure, so the pages only show
 * what is decided here.
 *
 * Any domain can be a client, so an error that is sent back unasked would make this service a
 * redirector to wherever somebody likes. It is sent back after sign-in only, or by a link on a
 * page that names the target. `login_hint` decides nothing: with `prompt=none` a site could find
 * out by it who the visitor is.
 */

import type {
  AnswerTarget,
  AuthorizationRequest,
  AuthorizeError,
  AuthorizeReading,
} from './authorize.ts';

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
}

export type FlowDecision =
  /** 400, or 403 for a blocked site: our own page, no redirect and no link. */
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
  if (request.prompt.includes('login') && session.signedInAt < askedAt) {
    return { next: 'sign-in', request, again: true };
  }
  const mustAsk = request.prompt.includes('consent') || !isRemembered;
  return { next: mustAsk ? 'consent' : 'issue-code', request };
}
