/**
 * GET /authorize.php, and where it goes on after a sign-in. The domain decides what comes next;
 * here each decision becomes an answer. Until client and redirect address are known to belong
 * together, nothing that leads there is sent: no redirect and no link.
 *
 * HEAD is refused: these GETs keep requests and issue codes, and programs send HEAD on their own.
 */

import type { Failure } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { consentPage } from '../../pages/signon/consent.ts';
import {
  endedFormPage,
  nameTargetPage,
  refusalPage,
  verifyFirstPage,
} from '../../pages/signon/consent-notes.ts';
import { onwardHref } from '../../pages/signon/onward.ts';
import type { Authorization, SignedIn } from '../../signon/authorization.ts';
import {
  type AuthorizationRequest,
  type AuthorizeReading,
  errorAddress,
} from '../../signon/authorize.ts';
import type { ErrorAnswer, FlowDecision } from '../../signon/authorize-flow.ts';
import type { Session } from '../../signon/sessions.ts';
import type { Desk } from './desk.ts';
import type { Visit } from './visit.ts';

export const authorizePath = '/authorize.php';
export const continuePath = '/authorize.php/continue';
export const consentPath = '/authorize.php/consent';
const verifyPath = '/verify';

/** state and redirect_uri of full length, every character of them escaped. */
const queryCharsMax = 12_288;
/** Each further one means that the consent was changed at this very moment. */
const attemptsMax = 3;

export interface AuthorizeOptions {
  readonly desk: Desk;
  readonly authorization: Pick<
    Authorization,
    'read' | 'decide' | 'transactions' | 'askedScopes' | 'issue'
  >;
}

/** A request that is kept already: it goes on under its id, and remembers when it was first seen. */
interface Kept {
  readonly id: string;
  readonly holder: string;
  readonly askedAt: number;
}

/** A request on its way to an answer. */
interface Course {
  readonly visit: Visit;
  readonly reading: AuthorizeReading;
  readonly kept: Kept | undefined;
}

type Answerable = Exclude<FlowDecision, { next: 'issue-code' }>;

export function continueHref(id: string): string {
  return `${continuePath}?id=${encodeURIComponent(id)}`;
}

/** The form there is filled with the hint. */
export function signInHref(id: string, loginHint?: string): string {
  return onwardHref('/signin', { continueId: id }, { hint: loginHint });
}

export function signedInOf(session: Session): SignedIn {
  const { id, accountId, authenticatedAt, verified } = session;
  return { sessionId: id, accountId, signedInAt: authenticatedAt, verified };
}

export function authorizeRoutes({ desk, authorization }: AuthorizeOptions): PlainRoute[] {
  const { transactions } = authorization;

  /** By the id of a request that is kept for this session or this browser. */
  async function resume(visit: Visit, id: string): Promise<Reply> {
    for (const holder of [visit.session?.id, visit.browserId]) {
      const found = holder === undefined ? undefined : await transactions.find(id, holder);
      if (holder === undefined || found === undefined) continue;
      const { request, askedAt } = found;
      const kept = { id, holder, askedAt };
      return follow({ visit, reading: { kind: 'request', request }, kept });
    }
    return desk.show(visit, (frame) => endedFormPage(frame), { status: 403 });
  }

  async function follow(course: Course): Promise<Reply> {
    const { visit, reading, kept } = course;
    const who = visit.session && signedInOf(visit.session);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const decision = await authorization.decide(reading, who, kept?.askedAt);
      if (decision.next !== 'issue-code') return answer(course, decision);
      const issued = await authorization.issue(decision.request, who!);
      if (issued.ok) return desk.go(visit, issued.value);
    }
    return cannotSave(course);
  }

  function answer(course: Course, decision: Answerable): Reply | Promise<Reply> {
    const { visit } = course;
    switch (decision.next) {
      case 'refuse':
        return desk.show(visit, (frame) => refusalPage(frame, decision), { status: 400 });
      case 'sign-in':
        return signIn(course, decision.request);
      case 'verify':
        return verify(course, decision.request);
      case 'consent':
        return ask(course, decision.request);
      case 'redirect-error':
        return desk.go(visit, addressOf(decision));
      case 'name-target':
        return desk.show(visit, (frame) => nameTargetPage(frame, decision, addressOf(decision)));
      default:
        decision satisfies never;
        throw new TypeError('no such decision');
    }
  }

  /** The id of the request, kept for `holder` from now on. Undefined: it can't be kept. */
  async function keep(
    { kept }: Course,
    request: AuthorizationRequest,
    holder: string,
  ): Promise<string | undefined> {
    if (kept?.holder === holder) return kept.id;
    const id =
      kept === undefined
        ? await transactions.begin(request, holder)
        : await transactions.rebind(kept.id, kept.holder, holder);
    return id.ok ? id.value : undefined;
  }

  async function signIn(course: Course, request: AuthorizationRequest): Promise<Reply> {
    const id = await keep(course, request, course.visit.browserId);
    if (id === undefined) return cannotSave(course);
    return desk.go(course.visit, signInHref(id, request.loginHint));
  }

  async function verify(course: Course, request: AuthorizationRequest): Promise<Reply> {
    const { visit } = course;
    const id = await keep(course, request, visit.browserId);
    if (id === undefined) return cannotSave(course);
    const { email } = visit.session!;
    const againHref = onwardHref(verifyPath, { continueId: id });
    const data = { email, nextHref: continueHref(id), againHref };
    return desk.show(visit, (frame) => verifyFirstPage(frame, data));
  }

  async function ask(course: Course, request: AuthorizationRequest): Promise<Reply> {
    const { visit, kept } = course;
    const session = visit.session!;
    const id = await keep(course, request, session.id);
    if (id === undefined) return cannotSave(course);
    // The old id has ended: a page that is loaded again must ask for the new one.
    if (kept !== undefined && kept.id !== id) return desk.go(visit, continueHref(id));
    const data = {
      client: request.client,
      redirectHost: request.redirect.host,
      email: session.email,
      scopes: await authorization.askedScopes(request, signedInOf(session)),
      action: consentPath,
      id,
      csrf: visit.csrf,
    };
    // What the form is answered with leads to the site, and Chromium applies form-action to that.
    const needs = { formAction: 'unrestricted' } as const;
    return desk.show(visit, (frame) => consentPage(frame, data), { needs });
  }

  /** Told to the site of a request that was read: nothing is saved for any other. */
  function cannotSave(course: Course): Reply | Promise<Reply> {
    const { reading, visit } = course;
    if (reading.kind !== 'request') throw new TypeError('nothing was to be saved');
    const next = visit.session?.verified === true ? 'redirect-error' : 'name-target';
    const error = 'temporarily_unavailable';
    return answer(course, { next, target: reading.request, error, detail: '' });
  }

  function badQuery(visit: Visit, { detail = '' }: Failure): Reply {
    const refusal = { error: 'invalid_request', detail };
    return desk.show(visit, (frame) => refusalPage(frame, refusal), { status: 400 });
  }

  const begin = desk.page(
    authorizePath,
    'anyone',
    (visit, query) => follow({ visit, reading: authorization.read(query), kept: undefined }),
    { limit: 'authorize', queryCharsMax, badQuery },
  );
  const goOn = desk.page(
    continuePath,
    'anyone',
    (visit, query) => resume(visit, query.get('id') ?? ''),
    { limit: 'consent' },
  );
  return [
    { ...begin, noHead: true },
    { ...goOn, noHead: true },
  ];
}

function addressOf({ target, error, detail }: ErrorAnswer): string {
  return errorAddress(target, error, detail);
}
