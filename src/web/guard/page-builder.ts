/**
 * The builder of all pages of sign-on. A declaration (endpoint.ts) says who may use it, how
 * often, and how it can fail; the route says what it answers. The page builder reads the session,
 * checks forms, counts limits, redirects or refuses visitors without access, and puts headers and
 * cookies on the answer. So no page can forget a check.
 *
 * - `page(declared, handle)`: GET
 * - `form(declared, handle)`: POST of an urlencoded form
 * - `upload(declared, handle)`: POST of a multipart form
 * - `call(declared, handle)`: POST of JSON by a script of our own, answered with JSON
 * - answers: `show` (a page), `go` (303), `problem` (an expected failure as a page), `signedIn` and
 *   `signedOut` (303 with cookies)
 *
 * A form that can't be taken because its session ended, or because its page is of an earlier
 * session, is no dead end: the answer leads to its page again, with what was typed
 * (intake/unsaved.ts).
 *
 * Forms carry the context's `csrf` in a hidden field of that name (web/components/form.tsx does it).
 * What needs no session is read by `intake/`, which any thread could do; the page builder runs on
 * the main thread.
 */

import { equalBytes } from '../../core/crypto.ts';
import { statusOf } from '../../core/errors.ts';
import type { Language } from '../../core/language.ts';
import { type Failure, fail, type Result } from '../../core/result.ts';
import { daySeconds, hourSeconds } from '../../core/time.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import { type Caller, createRouter, type PlainRoute } from '../../http/router.ts';
import type { PageFrame } from '../layout/layout.tsx';
import type { PageNeeds, PageTools } from '../page-tools.ts';
import { apiErrorBody, jsonReply, jsonReplyOf, noStore } from '../shape.ts';
import type { Callers } from './callers.ts';
import type { Cookies } from './cookies.ts';
import {
  type Access,
  type FailureNotes,
  isForOperators,
  noteFailure,
  requiresRecentProof,
  routeFacts,
  type SessionEndpoint,
} from './endpoint.ts';
import {
  type CallBody,
  type ParsedForm,
  readCall,
  readForm,
  readUpload,
  type Upload,
} from './intake/form.ts';
import {
  draftIn,
  localPath,
  readUnsaved,
  refillForm,
  type SentForm,
  type UnsavedSeals,
  unsavedName,
  withUnsaved,
  withUnsavedButtons,
} from './intake/unsaved.ts';
import {
  type AnyRequestContext,
  browserIdOf,
  type ProofStrength,
  type SessionLike,
  withSession,
} from './request-context.ts';

type RequestContextOf<S extends SessionLike, A extends Access> = A extends 'anyone'
  ? AnyRequestContext<S>
  : AnyRequestContext<S> & { readonly session: S };

export interface ShowOptions {
  /** 200 by default; with a failure 422, or 429 where it passes. */
  readonly status?: number;
  /** The failure that the page shows. A temporary one also sets `Retry-After`. */
  readonly failure?: Failure | undefined;
  /** Additions to the content security policy; `formAction: 'unrestricted'` is for sign-in and consent only. */
  readonly needs?: PageNeeds;
  readonly headers?: readonly Header[];
}

type ReplyOrPromise = Reply | Promise<Reply>;

export interface AnyPageBuilder<S extends SessionLike = SessionLike> {
  /** @param badQuery in place of the page of a malformed request: for a repeated name or a broken escape */
  page<A extends Access>(
    declared: SessionEndpoint<A>,
    handle: (context: RequestContextOf<S, A>, query: Params, caller: Caller) => ReplyOrPromise,
    badQuery?: (context: AnyRequestContext<S>, failure: Failure) => Reply,
  ): PlainRoute;
  /**
   * @param repeatable names that may come more than once
   * @param again answers instead of the failure page when the form's token is old or its cookie missing; the
   *   fields are unverified
   */
  form<A extends Access>(
    declared: SessionEndpoint<A>,
    handle: (context: RequestContextOf<S, A>, form: Params) => ReplyOrPromise,
    repeatable?: readonly string[],
    again?: (context: RequestContextOf<S, A>, form: Params, failure: Failure) => ReplyOrPromise,
  ): PlainRoute;
  upload<A extends Access>(
    declared: SessionEndpoint<A>,
    handle: (context: RequestContextOf<S, A>, upload: Upload) => ReplyOrPromise,
  ): PlainRoute;
  /** The value is sent as JSON; a failure as `{"errors":[{"detail","status"}]}` in the language. */
  call<A extends Access>(
    declared: SessionEndpoint<A>,
    handle: (context: RequestContextOf<S, A>, body: CallBody) => Promise<CallOk | Failure>,
  ): PlainRoute;
  show(
    context: AnyRequestContext,
    render: (frame: PageFrame) => string,
    options?: ShowOptions,
  ): Reply;
  /** 303 to a path of our own, or (consent) an address that was checked. */
  go(context: AnyRequestContext, target: string, headers?: readonly Header[]): Reply;
  /** Status, `Retry-After` and words by the failure. */
  problem(context: AnyRequestContext, failure: Failure): Reply;
  /**
   * Returns the refusal or redirect of a visitor without that access; undefined when they may enter. For
   * pages whose settings say who may use them.
   */
  refusalOf(context: AnyRequestContext<S>, access: Access): Promise<Reply | undefined>;
  /** `Set-Cookie` by which an account knows this browser again. */
  browserCookie(browser: string): Header;
  /** `Set-Cookie` by which a mailed link to sign in works in this browser. */
  askedCookie(asked: string): Header;
  /** `Set-Cookie` by which the second step of a sign-in can be loaded again; empty: it is over. */
  ticketCookie(ticket: string): Header;
  /** `Set-Cookie` by which this browser is trusted. */
  trustedCookie(trusted: string, lifeMs: number): Header;
  /** `Set-Cookie` of a session that began or was renewed. */
  sessionCookies(signedIn: OwnCookies): Header[];
  /** 303 with them. */
  signedIn(context: AnyRequestContext, signedIn: OwnCookies, target: string): Reply;
  signedOut(context: AnyRequestContext, target: string): Reply;
  /** Returns the address of a page with what was typed into its form and not sent. */
  withTyped(request: Request, page: string, form: SentForm): string;
  /** Returns the context with the session's new cookie, for a page shown in answer to a change. */
  renewed<V extends AnyRequestContext<S> & { readonly session: S }>(
    context: V,
    token: string,
  ): Promise<V>;
}

/** The cookies of a session that began or was renewed. */
interface OwnCookies {
  readonly token: string;
  readonly browser?: string | undefined;
}

interface CallOk {
  readonly ok: true;
  readonly value: object;
  readonly headers?: readonly Header[];
}

/** The texts for an expected failure, in the reader's language. */
export interface FailureWords {
  sentence(language: Language, failure: Failure): string;
  /** @param path of the request */
  page(frame: PageFrame, failure: Failure, path: string): string;
}

interface PageBuilderOptions<S extends SessionLike> {
  readonly failures: FailureWords;
  readonly tools: PageTools;
  readonly cookies: Cookies;
  readonly unsaved: UnsavedSeals;
  /** Shown above a page whose form was not saved; `isKept`: with what was typed. */
  readonly unsavedNotice: (language: Language, isKept: boolean) => string;
  readonly contextOf: (
    request: Request,
    declared: SessionEndpoint,
  ) => Promise<AnyRequestContext<S>>;
  readonly callers: Pick<Callers, 'takeOrWait'>;
  readonly sessions: { find(token: string): Promise<S | undefined> };
  /** Asked for the pages of operators. */
  readonly strengthOf: (session: S) => Promise<ProofStrength>;
  readonly baseUrl: string;
  readonly log: FailureNotes;
}

/** The cookie lives as long as a session can. */
const sessionCookieSeconds = 90 * daySeconds;
/** The cookie lives as long as the mailed link. */
const askedCookieSeconds = 2 * hourSeconds;
/** The cookie lives as long as the second step may take. */
const ticketCookieSeconds = 600;
/** The longest that browsers keep one. */
const browserCookieSeconds = 400 * daySeconds;
/** The address of a page that takes the usual query. */
const pageCharsMax = 4_000;
const signInPath = '/signin';
const verifyPath = '/verify';
const confirmPath = '/account/confirm';
export const reviewPath = '/account/review';
/** The page where a required second factor is set up. */
export const enrolPath = '/account/security';

/** Returns the page where an operator proves who they are, or adds what such a proof needs. */
function proofPath(isMissing: boolean, back: string): string {
  return `${isMissing ? enrolPath : confirmPath}?return=${encodeURIComponent(back)}`;
}

export function createPageBuilder<S extends SessionLike>(
  options: PageBuilderOptions<S>,
): AnyPageBuilder<S> {
  const { tools, cookies, contextOf, callers, sessions, baseUrl, failures, log, strengthOf } =
    options;
  const { unsaved: seals, unsavedNotice } = options;
  const addresses = createPageAddresses();

  /** Returns the page that the form belongs to, with what was sent. */
  function pageWith(context: AnyRequestContext, form: Params | undefined): string {
    const { path: action } = context.request;
    const page = addresses.of(context.request, context.endpoint.backTo);
    return withUnsaved(page, { action, form }, (text) => seals.seal(text, context.browserId));
  }

  function withNotice(context: AnyRequestContext, markup: string): string {
    if (context.unsaved === undefined) return markup;
    const filled = refillForm(markup, context.unsaved);
    if (context.unsaved.isQuiet) return filled;
    const notice = unsavedNotice(context.language, filled !== markup);
    return filled.replace(/<main [^>]*>/, (main) => main + notice);
  }

  function show(
    context: AnyRequestContext,
    render: (frame: PageFrame) => string,
    more: ShowOptions = {},
  ): Reply {
    const keepsOpener = context.endpoint.keepsOpener || leadsToSite(context.request.query);
    const needs = { ...more.needs, nonce: context.nonce, keepsOpener };
    const { refused } = context;
    const { failure = refused, status = refused && statusOf(refused.error) } = more;
    if (failure !== undefined) noteFailure(log, context.endpoint, failure);
    const passes = failure?.retryAfterSeconds !== undefined;
    return {
      status: status ?? (passes ? 429 : failure === undefined ? 200 : 422),
      headers: [
        ...tools.headers(context.language, needs),
        noStore,
        ...context.cookies,
        ...(failure === undefined ? [] : retryAfter(failure)),
        ...(more.headers ?? []),
      ],
      body: withUnsavedButtons(withNotice(context, render(context.frame))),
    };
  }

  function go(context: AnyRequestContext, target: string, headers: readonly Header[] = []): Reply {
    return {
      status: 303,
      headers: [
        ['Location', target],
        noStore,
        ['Referrer-Policy', 'no-referrer'],
        ...context.cookies,
        ...headers,
      ],
    };
  }

  function problem(context: AnyRequestContext, failure: Failure): Reply {
    const page = (frame: PageFrame) => failures.page(frame, failure, context.request.path);
    return show(context, page, { status: statusOf(failure.error), failure });
  }

  /**
   * Returns the answer to a visitor without the session that the access needs; undefined when they have it.
   * @param form what was sent; undefined where it can't be kept
   */
  function turnedAway(
    context: AnyRequestContext,
    access: Access,
    form: () => Params | undefined = () => undefined,
  ): Reply | undefined {
    const { request, session } = context;
    if (access === 'anyone') return undefined;
    const isForm = request.method === 'POST';
    const asked = request.query === '' ? request.path : `${request.path}?${request.query}`;
    const backTo = () => {
      // With nothing but a button, there is nothing to lose.
      const keeps = isForm && access !== 'signed-in';
      const above = isForm ? addresses.of(request) : asked;
      const back = localPath(keeps ? pageWith(context, form()) : above);
      if (isForm && back === '/') return '';
      return back === undefined ? '' : `?return=${encodeURIComponent(back)}`;
    };
    if (session === undefined) {
      // The page that it is on is from before the session's new cookie. Nothing happened.
      if (context.isRenewed && isForm) {
        const here = pageWith(context, form());
        return problem({ ...context, frame: { ...context.frame, here } }, fail('form_expired'));
      }
      return go(context, `${signInPath}${backTo()}`);
    }
    if (access === 'signed-in') return undefined;
    if (!session.verified) return go(context, verifyPath);
    if (access === 'reviewing') return undefined;
    if (session.reviewing) return go(context, `${reviewPath}${backTo()}`);
    if (session.factorDue === 'weak') return go(context, `${confirmPath}${backTo()}`);
    if (session.factorDue === undefined || access === 'enrolling') return undefined;
    return go(context, `${enrolPath}${backTo()}`);
  }

  /**
   * For anyone else an operator's page does not exist; without a second factor it leads to where one is added.
   * Undefined: let in.
   */
  async function operatorRefusal(
    context: AnyRequestContext<S>,
    access: Access,
  ): Promise<Reply | undefined> {
    const { session, endpoint, request } = context;
    if (session === undefined || !isForOperators(access)) return undefined;
    if (!session.operator) return problem(context, fail('not_found'));
    const proof = await strengthOf(session);
    if (proof === 'strong') return undefined;
    const { backTo = request.path, method } = endpoint;
    if (proof === 'missing' && method !== 'GET') return problem(context, fail('factor_required'));
    return go(context, proofPath(proof === 'missing', backTo));
  }

  /** Returns the refusal or redirect for a visitor who may not enter; undefined when they may. */
  async function refusalOf(
    context: AnyRequestContext<S>,
    access: Access = context.endpoint.who,
    form?: () => Params | undefined,
  ): Promise<Reply | undefined> {
    return turnedAway(context, access, form) ?? (await operatorRefusal(context, access));
  }

  /** Counts the limits and returns the failure of the first that is used up; undefined when none is. */
  function limited({ request, endpoint }: AnyRequestContext): Failure | undefined {
    for (const limit of endpoint.limits ?? []) {
      const retryAfterSeconds = callers.takeOrWait(limit, request);
      if (retryAfterSeconds > 0) return { ...fail('too_many_attempts'), retryAfterSeconds };
    }
    return undefined;
  }

  /**
   * Checks a form after it was read, and returns the failure: the token must be this visitor's own,
   * and the limits must allow it. They are counted for forms of ours alone: another site can't use
   * up a visitor's limits.
   */
  function refused(context: AnyRequestContext, sent: Result<ParsedForm>): Failure | undefined {
    if (!sent.ok) return sent;
    const isOwn = equalBytes(Buffer.from(context.csrf), Buffer.from(sent.value.csrf));
    if (isOwn) return limited(context);
    return fail(context.isCookieless ? 'cookies_required' : 'form_expired');
  }

  /**
   * Returns the redirect to the proof of identity where the page wants a fresh one; undefined when there is one.
   * @param form what was typed, which comes back after the proof
   */
  function toConfirm(context: AnyRequestContext, form?: Params): Reply | undefined {
    const { who, path, backTo = path } = context.endpoint;
    const page = backTo.includes(':') ? addresses.of(context.request, backTo) : backTo;
    if (!requiresRecentProof(who) || context.session?.fresh) return undefined;
    // With nothing but a button, there is nothing to lose.
    const isTyped = form?.names.some((name) => !/^(?:csrf|id|sure)$/.test(name));
    const filled = isTyped ? pageWith(context, form) : undefined;
    const back = filled !== undefined && draftIn(filled) === 'kept' ? localPath(filled) : undefined;
    return go(context, `${confirmPath}?return=${encodeURIComponent(back ?? page)}`);
  }

  /** The steps before the handler, the same for all that answer with pages. */
  function guarded<A extends Access>(
    declared: SessionEndpoint<A>,
    handle: (context: RequestContextOf<S, A>, caller: Caller) => ReplyOrPromise,
    formOf: (request: Request) => Params | undefined = () => undefined,
  ): PlainRoute {
    return {
      kind: 'plain',
      ...routeFacts(declared),
      async handle(request, caller) {
        const found = await contextOf(request, declared);
        const here = addresses.of(request, declared.backTo);
        const back = request.method === 'POST' ? here : undefined;
        const context = { ...found, frame: { ...found.frame, here, back } };
        const refusal = await refusalOf(context, declared.who, () => formOf(request));
        return refusal ?? handle(context as RequestContextOf<S, A>, caller);
      },
    };
  }

  function callReply(context: AnyRequestContext, called: CallOk | Failure): Reply {
    if (called.ok) {
      return jsonReplyOf(called.value, [...context.cookies, ...(called.headers ?? [])]);
    }
    noteFailure(log, context.endpoint, called, context.request);
    const status = statusOf(called.error);
    return jsonReply(
      apiErrorBody(status, failures.sentence(context.language, called), called.parameter),
      [...context.cookies, ...retryAfter(called)],
      status,
    );
  }

  return {
    page(declared, handle, badQuery) {
      addresses.add(declared.path);
      return guarded(declared, (context, caller) => {
        const failure = limited(context);
        if (failure !== undefined) return problem(context, failure);
        const { queryCharsMax: charsMax = 4_096 } = declared;
        const query = parseQuery(context.request.query, { charsMax });
        if (!query.ok) return badQuery?.(context, query) ?? problem(context, fail('bad_request'));
        const unsaved = readUnsaved(query.value.get(unsavedName), (text) =>
          seals.open(text, context.browserId),
        );
        const shown = unsaved === undefined ? context : { ...context, unsaved };
        return toConfirm(context) ?? handle(shown, query.value, caller);
      });
    },
    form(declared, handle, repeatable = [], again) {
      const read = (request: Request) => readForm(request, { baseUrl, repeatable });
      const formOf = (request: Request) => {
        const sent = read(request);
        return sent.ok ? sent.value.fields : undefined;
      };
      return guarded(
        declared,
        (context) => {
          const sent = read(context.request);
          const failure = refused(context, sent);
          if (failure === undefined && sent.ok) {
            return toConfirm(context, sent.value.fields) ?? handle(context, sent.value.fields);
          }
          const isStale = ['form_expired', 'cookies_required'].includes(failure!.error);
          if (!isStale || !sent.ok) return problem(context, failure!);
          if (again !== undefined) return again(context, sent.value.fields, failure!);
          if (declared.who === 'anyone') return problem(context, failure!);
          const here = pageWith(context, sent.value.fields);
          return problem({ ...context, frame: { ...context.frame, here } }, failure!);
        },
        formOf,
      );
    },
    upload: (declared, handle) =>
      guarded(declared, async (context) => {
        const sent = await readUpload(context.request, { baseUrl });
        const failure = refused(context, sent);
        if (failure !== undefined || !sent.ok) return problem(context, failure!);
        return toConfirm(context) ?? handle(context, sent.value.fields);
      }),
    call: (declared, handle) => ({
      kind: 'plain',
      ...routeFacts(declared),
      async handle(request) {
        const context = await contextOf(request, declared);
        if ((await refusalOf(context)) !== undefined) {
          return callReply(context, fail(context.isRenewed ? 'form_expired' : 'forbidden'));
        }
        const sent = readCall(request, { baseUrl });
        const failure = refused(context, sent);
        if (failure !== undefined || !sent.ok) return callReply(context, failure!);
        if (toConfirm(context) !== undefined) {
          return callReply(context, fail('reauthentication_required'));
        }
        type Own = RequestContextOf<S, typeof declared.who>;
        return callReply(context, await handle(context as Own, sent.value.fields));
      },
    }),
    show,
    go,
    problem,
    refusalOf,
    browserCookie,
    askedCookie: (asked) => cookies.set('asked', asked, askedCookieSeconds),
    ticketCookie: (ticket) =>
      ticket === '' ? cookies.clear('ticket') : cookies.set('ticket', ticket, ticketCookieSeconds),
    trustedCookie: (trusted, lifeMs) => cookies.set('trusted', trusted, Math.floor(lifeMs / 1_000)),
    sessionCookies,
    signedIn: (context, signedIn, target) => go(context, target, sessionCookies(signedIn)),
    // Never "cookies": that would forget the known browser, and those of sibling hosts.
    signedOut: (context, target) =>
      go(context, target, [cookies.clear('session'), ['Clear-Site-Data', '"cache", "storage"']]),
    withTyped(request, page, typed) {
      const known = cookies.read(request, 'form');
      if (known === undefined) return page;
      const keep = (text: string) => seals.seal(text, browserIdOf(known));
      const filled = withUnsaved(page, { ...typed, isQuiet: true }, keep);
      return filled.length > pageCharsMax ? page : filled;
    },
    async renewed(context, token) {
      const session = (await sessions.find(token)) ?? context.session;
      return withSession(context, session, sessionCookies({ token }));
    },
  };

  function browserCookie(browser: string): Header {
    return cookies.set('browser', browser, browserCookieSeconds);
  }

  function sessionCookies(signedIn: OwnCookies): Header[] {
    const session = cookies.set('session', signedIn.token, sessionCookieSeconds);
    if (signedIn.browser === undefined) return [session];
    return [session, browserCookie(signedIn.browser)];
  }
}

/** The page comes before a site's request goes on: a proof of identity, a second factor that is demanded. */
function leadsToSite(query: string): boolean {
  return /(?:^|&)return=[^&]*(?:\/|2F)authorize\.php/i.test(query);
}

/** Whole seconds, of a failure that passes. */
function retryAfter({ retryAfterSeconds }: Failure): Header[] {
  return retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)]];
}

// The address that shows the page of a request once more. The answer to a form may stand on a path that
// nobody can open: then it is the nearest page above it. The query stays, for it says what the page is about.

function createPageAddresses() {
  const paths = new Set<string>();
  let router: ReturnType<typeof routerOf> | undefined;

  function isPage(path: string): boolean {
    router ??= routerOf([...paths]);
    return router.match(path) !== undefined;
  }

  return {
    /** @param path of a page that can be opened, as declared */
    add(path: string): void {
      paths.add(path);
      router = undefined;
    },
    /** @param above the page that a form belongs to, where it is not the nearest one above its path */
    of(
      {
        path,
        param,
        query,
      }: { readonly path: string; readonly param: string; readonly query: string },
      above?: string,
    ): string {
      let page = path;
      if (!isPage(page) && above !== undefined) {
        return above.replace(/:\w+$/, encodeURIComponent(param));
      }
      while (page !== '' && !isPage(page)) page = page.slice(0, page.lastIndexOf('/'));
      const shown = page === '' ? '/' : page;
      return query === '' ? shown : `${shown}?${query}`;
    },
  };
}

function routerOf(paths: readonly string[]) {
  const handle = () => ({ status: 404, headers: [] });
  return createRouter(paths.map((path) => ({ kind: 'plain', method: 'GET', path, handle })));
}
