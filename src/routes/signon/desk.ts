/**
 * What every page of sign-on is made with. A route says who may use it and what it answers; the
 * desk reads the session, checks forms, counts limits, sends away who may not enter, and puts
 * headers and cookies on the answer. So no page can forget a check.
 *
 * - `desk.page(path, access, handle)`: GET
 * - `desk.form(path, access, handle, { limit, repeatable })`: POST of an urlencoded form
 * - `desk.upload(path, access, handle, { bodyBytesMax })`: POST of a multipart form
 * - `desk.call(path, access, handle)`: POST of JSON by a script of our own, answered with JSON
 * - answers: `desk.show` (a page), `desk.go` (303), `desk.problem` (an expected failure as a
 *   page), `desk.signedIn` and `desk.signedOut` (303 with cookies)
 *
 * Forms carry `visit.csrf` in a hidden field `csrf` (pages/components/form.ts does it).
 */

import type { ClientLimitName } from '../../config.ts';
import type { Failure } from '../../core/result.ts';
import { fail } from '../../core/result.ts';
import type { Header, Reply, Request } from '../../http/message.ts';
import { type Params, parseQuery } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { PageFrame } from '../../pages/layout.ts';
import type { SecurityNeeds } from '../../pages/security-headers.ts';
import { failurePage, failureText } from '../../pages/signon/failure.ts';
import type { Session } from '../../signon/sessions.ts';
import type { Callers } from '../callers.ts';
import type { PageTools } from '../pages.ts';
import { apiErrorBody, jsonType, noStore, statusOf } from '../problem.ts';
import type { Cookies } from './cookies.ts';
import { formBytesMax, readCall, readForm, readUpload, type Upload } from './form-check.ts';
import { localPath } from './local-path.ts';
import { type Visit, visitHeaders } from './visit.ts';

/**
 * Who may use a route. `signed-in`: with a session, verified or not; `verified`: with a session
 * and a verified mail address. Others are sent to sign in or to verify, and come back.
 */
export type Access = 'anyone' | 'signed-in' | 'verified';

type VisitOf<A extends Access> = A extends 'anyone' ? Visit : Visit & { readonly session: Session };

export interface ShowOptions {
  /** 200 unless told. */
  readonly status?: number;
  /** Of the policy: `formAction: 'unrestricted'` for sign-in and consent only. */
  readonly needs?: Omit<SecurityNeeds, 'https' | 'nonce'>;
  readonly headers?: readonly Header[];
}

interface RouteOptions {
  readonly limit?: ClientLimitName;
}

interface PageRules extends Pick<PlainRoute, 'queryCharsMax'> {
  /** In place of the page of a malformed request: for a repeated name or a broken escape. */
  readonly badQuery?: (visit: Visit, failure: Failure) => Reply;
}

type Answer = Reply | Promise<Reply>;

export interface Desk {
  page<A extends Access>(
    path: string,
    access: A,
    handle: (visit: VisitOf<A>, query: Params) => Answer,
    options?: RouteOptions & PageRules,
  ): PlainRoute;
  form<A extends Access>(
    path: string,
    access: A,
    handle: (visit: VisitOf<A>, form: Params) => Answer,
    options?: RouteOptions & { readonly repeatable?: readonly string[] },
  ): PlainRoute;
  upload<A extends Access>(
    path: string,
    access: A,
    handle: (visit: VisitOf<A>, upload: Upload) => Answer,
    options: RouteOptions & { readonly bodyBytesMax: number },
  ): PlainRoute;
  /** The value is sent as JSON; a failure as `{"errors":[{"detail","status"}]}` in the language. */
  call<A extends Access>(
    path: string,
    access: A,
    handle: (
      visit: VisitOf<A>,
      body: { readonly [name: string]: unknown },
    ) => Promise<Called | Failure>,
    options?: RouteOptions,
  ): PlainRoute;
  show(visit: Visit, render: (frame: PageFrame) => string, options?: ShowOptions): Reply;
  /** 303 to a path of our own, or (consent) an address that was checked. */
  go(visit: Visit, target: string, headers?: readonly Header[]): Reply;
  /** Status, `Retry-After` and words by the failure. */
  problem(visit: Visit, failure: Failure): Reply;
  /** `Set-Cookie` of a session that began or was renewed. */
  sessionCookies(signedIn: { readonly token: string; readonly browser?: string }): Header[];
  /** 303 with them. */
  signedIn(visit: Visit, signedIn: { token: string; browser?: string }, target: string): Reply;
  signedOut(visit: Visit, target: string): Reply;
}

export interface Called {
  readonly ok: true;
  readonly value: object;
  readonly headers?: readonly Header[];
}

export interface DeskOptions {
  readonly tools: PageTools;
  readonly cookies: Cookies;
  readonly visitOf: (request: Request) => Promise<Visit>;
  readonly callers: Pick<Callers, 'take'>;
  readonly baseUrl: string;
}

/** As long as a session can last. */
const sessionCookieSeconds = 90 * 86_400;
/** The longest that browsers keep one. */
const browserCookieSeconds = 400 * 86_400;
const callBytesMax = 131_072;
const signInPath = '/signin';
const verifyPath = '/verify';

export function createDesk(options: DeskOptions): Desk {
  const { tools, cookies, visitOf, callers, baseUrl } = options;

  function show(visit: Visit, render: (frame: PageFrame) => string, more: ShowOptions = {}): Reply {
    const needs = { ...more.needs, nonce: visit.nonce };
    return {
      status: more.status ?? 200,
      headers: [
        ...tools.headers(visit.language, needs),
        noStore,
        ...visit.cookies,
        ...(more.headers ?? []),
      ],
      body: render(visit.frame),
    };
  }

  function go(visit: Visit, target: string, headers: readonly Header[] = []): Reply {
    return {
      status: 303,
      headers: [
        ['Location', target],
        noStore,
        ['Referrer-Policy', 'no-referrer'],
        ...visit.cookies,
        ...headers,
      ],
    };
  }

  function problem(visit: Visit, failure: Failure): Reply {
    return show(visit, (frame) => failurePage(frame, failure), {
      status: statusOf(failure.error),
      headers: retryAfter(failure),
    });
  }

  /** Where somebody who may not enter goes; undefined: let in. */
  function turnedAway(visit: Visit, access: Access): Reply | undefined {
    if (access === 'anyone') return undefined;
    const { request, session } = visit;
    if (session === undefined) {
      const asked = request.query === '' ? request.path : `${request.path}?${request.query}`;
      const back = request.method === 'POST' ? undefined : localPath(asked);
      const query = back === undefined ? '' : `?return=${encodeURIComponent(back)}`;
      return go(visit, `${signInPath}${query}`);
    }
    return access === 'verified' && !session.verified ? go(visit, verifyPath) : undefined;
  }

  function limited(visit: Visit, limit: ClientLimitName | undefined): Failure | undefined {
    const waitSeconds = limit === undefined ? 0 : callers.take(limit, visit.request);
    if (waitSeconds === 0) return undefined;
    return { ...fail('too_many_attempts'), retryAfterSeconds: waitSeconds };
  }

  /** The steps before the handler, the same for all that answer with pages. */
  function guarded<A extends Access>(
    access: A,
    limit: ClientLimitName | undefined,
    handle: (visit: VisitOf<A>) => Answer,
  ): PlainRoute['handle'] {
    return async (request) => {
      const visit = await visitOf(request);
      const away = turnedAway(visit, access);
      if (away !== undefined) return away;
      const refused = limited(visit, limit);
      if (refused !== undefined) return problem(visit, refused);
      return handle(visit as VisitOf<A>);
    };
  }

  return {
    page: (path, access, handle, more = {}) => ({
      kind: 'plain',
      method: 'GET',
      path,
      headers: visitHeaders,
      ...(more.queryCharsMax === undefined ? {} : { queryCharsMax: more.queryCharsMax }),
      handle: guarded(access, more.limit, (visit) => {
        const query = parseQuery(visit.request.query, { charsMax: more.queryCharsMax ?? 4_096 });
        if (query.ok) return handle(visit, query.value);
        return more.badQuery?.(visit, query) ?? problem(visit, fail('bad_request'));
      }),
    }),
    form: (path, access, handle, more = {}) => ({
      kind: 'plain',
      method: 'POST',
      path,
      headers: visitHeaders,
      bodyBytesMax: formBytesMax,
      handle: guarded(access, undefined, (visit) => {
        const form = readForm(visit, { baseUrl, repeatable: more.repeatable ?? [] });
        if (!form.ok) return problem(visit, form);
        // Counted when it is a form of ours: another site can't use up a visitor's share.
        const refused = limited(visit, more.limit);
        return refused === undefined ? handle(visit, form.value) : problem(visit, refused);
      }),
    }),
    upload: (path, access, handle, more) => ({
      kind: 'plain',
      method: 'POST',
      path,
      headers: visitHeaders,
      bodyBytesMax: more.bodyBytesMax,
      handle: guarded(access, more.limit, async (visit) => {
        const upload = await readUpload(visit, { baseUrl });
        return upload.ok ? handle(visit, upload.value) : problem(visit, upload);
      }),
    }),
    call: (path, access, handle, more = {}) => ({
      kind: 'plain',
      method: 'POST',
      path,
      headers: visitHeaders,
      bodyBytesMax: callBytesMax,
      async handle(request) {
        const visit = await visitOf(request);
        if (turnedAway(visit, access) !== undefined) return callReply(visit, fail('forbidden'));
        const body = readCall(visit, { baseUrl });
        if (!body.ok) return callReply(visit, body);
        const refused = limited(visit, more.limit);
        if (refused !== undefined) return callReply(visit, refused);
        return callReply(visit, await handle(visit as VisitOf<typeof access>, body.value));
      },
    }),
    show,
    go,
    problem,
    sessionCookies,
    signedIn: (visit, signedIn, target) => go(visit, target, sessionCookies(signedIn)),
    signedOut: (visit, target) => go(visit, target, [cookies.clear('session')]),
  };

  function sessionCookies(signedIn: { token: string; browser?: string }): Header[] {
    const session = cookies.set('session', signedIn.token, sessionCookieSeconds);
    if (signedIn.browser === undefined) return [session];
    return [session, cookies.set('browser', signedIn.browser, browserCookieSeconds)];
  }
}

function callReply(visit: Visit, called: Called | Failure): Reply {
  if (called.ok) {
    return {
      status: 200,
      headers: [jsonType, noStore, ...visit.cookies, ...(called.headers ?? [])],
      body: JSON.stringify(called.value),
    };
  }
  const status = statusOf(called.error);
  return {
    status,
    headers: [jsonType, noStore, ...visit.cookies, ...retryAfter(called)],
    body: apiErrorBody(status, failureText(visit.language, called), called.parameter),
  };
}

/** Whole seconds, of a failure that passes. */
export function retryAfter({ retryAfterSeconds }: Failure): Header[] {
  return retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)]];
}
