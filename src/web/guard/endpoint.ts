/**
 * The declaration of an endpoint: everything that is known of it before a request comes. The guard
 * works by it, and what is published (OpenAPI, manifest, tables of limits, robots.txt, the list of
 * routes) is derived from it, so nothing about an endpoint is written a second time.
 */

import type { ClientLimitName } from '../../config/limits.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { Failure } from '../../core/result.ts';
import { codingHeader } from '../../http/answer/refusal.ts';
import { logFieldsOf, type Request } from '../../http/request/message.ts';
import type { Route, RouteFacts } from '../../http/router.ts';
import type { EndpointDocs } from '../openapi.ts';
import type { ErrorShape } from '../shape.ts';
import { formBytesMax } from './intake/form.ts';

/**
 * The callers that an endpoint admits.
 * - `anyone`: no proof is asked for; a page may know its visitor all the same
 * - `api-key`: a key of an account, in the header `Key`, the query or the body's fields
 * - `bouncer`: a key with that scope, in the header `X-Api-Key`; the handler asks for it
 * - `agent`: a token that was given for a key with that scope, as bearer; the handler asks for it
 * - `operator`: this machine, or the bearer of METRICS_TOKEN
 * - the others of `Access`: a person with a session
 */
export type Who = Access | 'api-key' | 'bouncer' | 'agent' | 'operator';

/**
 * The visitors that a page of sign-on admits. Others are sent to sign in, to verify or to the review, and come back.
 * - `signed-in`: a session, verified or not
 * - `verified`: a session of an account whose mail address is verified, neither review nor second factor being due
 * - `reviewing`: as `verified`, and while a review or a second factor is due
 * - `enrolling`: as `verified`, and while a second factor is to be set up
 * - `confirmed`: as `verified`, with a recent proof of identity
 * - `signed-in operator`: as `verified`, of an account that has the operator's role and a passkey or an
 *   authenticator, which the last proof of identity was given with. Without the role there is no such page
 * - `confirmed operator`: the same, and that proof is recent
 */
export type Access =
  | 'anyone'
  | 'signed-in'
  | 'reviewing'
  | 'enrolling'
  | 'verified'
  | 'confirmed'
  | 'signed-in operator'
  | 'confirmed operator';

/** The accepted types of a body. `json-call` is JSON of our own scripts, with the form's token in it. */
type BodyType = 'form' | 'multipart' | 'json' | 'text' | 'csv' | 'bytes' | 'json-call';

export interface Endpoint {
  readonly method: Route['method'];
  /** As in the router: exact, with one `:name`, or ending in `/*`. */
  readonly path: string;
  readonly who: Who;
  /** The format of its errors. */
  readonly shape: ErrorShape;
  /** `any`: every front-end thread answers it from shared memory. */
  readonly thread: 'any' | 'main';
  /** Counted by the guard, once for each request that is admitted; see `clientLimits`. */
  readonly limits?: readonly ClientLimitName[];
  /**
   * Counted by the handler, which knows better for whom: a browser, an account, the owner of a link.
   * A request is refused when those that apply to it are used up.
   */
  readonly handlerLimits?: readonly ClientLimitName[];
  /** Its cost in an API key's quota: one unit, or one unit as `more` says (`for each address`). */
  readonly cost?: { readonly quota: 'read' | 'write'; readonly more?: string };
  /** Lower-case names of the request headers that the handler reads in addition to the guard's. */
  readonly headers?: readonly string[];
  readonly body?: {
    readonly types: readonly BodyType[];
    /** Also of a packed body, once it is unpacked. */
    readonly bytesMax: number;
    /** Instead of the transport's own time for it to arrive. */
    readonly arrivesWithinMs?: number;
    /** It may be packed by gzip. */
    readonly takesGzip?: boolean;
  };
  readonly queryCharsMax?: number;
  /** Milliseconds for the whole exchange, where the server's own deadline does not fit. */
  readonly timeoutMs?: number;
  /** Scripts of other origins may use it. `exposeHeaders`: what they may read of the answer. */
  readonly cors?: {
    readonly allowHeaders: readonly string[];
    readonly exposeHeaders?: readonly string[];
  };
  /** A health check: it is answered even when all slots for requests in flight are taken. */
  readonly isProbe?: boolean;
  /** A GET that changes something: HEAD gets 405. */
  readonly noHead?: boolean;
  /** The page to return to after a fresh proof of identity, and from the address of a form. */
  readonly backTo?: string;
  /** A site's request may come by: a window that the site opened for it stays in touch with the site. */
  readonly keepsOpener?: boolean;
  /** A page under another site's host: nothing of this one's sessions and choices is in it. */
  readonly isGuest?: boolean;
  /** Errors of its own. `errorsOf` adds those of the guard and the transport. */
  readonly errors: readonly ErrorCode[];
  /** Crawlers are asked to stay away. */
  readonly robots?: 'disallow';
  /** Parameters that may come more than once, and as `name[]` and `name[0]`. */
  readonly lists?: readonly string[];
  /** Its OpenAPI description, or the kind of an answer that is no JSON. */
  readonly docs: EndpointDocs | 'page' | 'text' | 'file';
}

/** Returns whether the page is for accounts with the operator's role. */
export function isForOperators(who: Who): boolean {
  return who === 'signed-in operator' || who === 'confirmed operator';
}

/** Returns whether a browser shows it as a page of this service: no file or text, and no guest of another site. */
export function isPage({ shape, docs, isGuest = false }: Endpoint): boolean {
  return shape === 'page' && docs !== 'file' && docs !== 'text' && !isGuest;
}

/** Returns whether a recent proof of identity is required. */
export function requiresRecentProof(who: Who): boolean {
  return who === 'confirmed' || who === 'confirmed operator';
}

/** Gives the declaration its type and keeps its literals. */
export function endpoint<const E extends Endpoint>(declaration: E): E {
  return declaration;
}

/** The defaults of endpoints that need no key. */
const open = { method: 'GET', who: 'anyone', thread: 'main', errors: [] } as const;

/** A page that anyone may read. */
export function openPage(path: string, more: Partial<Endpoint> = {}): Endpoint {
  return { ...open, path, shape: 'page', docs: 'page', ...more };
}

/** A file, a text or another thing that is no page and no JSON. */
export function publicFileEndpoint(path: string, more: Partial<Endpoint> = {}): Endpoint {
  return { ...open, path, shape: 'page', docs: 'file', ...more };
}

/** The transport's errors on every path. */
const ofTransport: readonly ErrorCode[] = [
  'bad_request',
  'method_not_allowed',
  'not_found',
  'client_limit_exceeded',
  'overloaded',
  'deadline_exceeded',
  'internal',
];

/** The transport's errors where a body is accepted. */
const ofBody: readonly ErrorCode[] = [
  'body_too_large',
  'body_timeout',
  'length_required',
  'unsupported_media_type',
];

/** A form may come from elsewhere, be too old, or come without the cookie that it was made with. */
const ofForms = ['form_expired', 'foreign_form', 'cookies_required'] as const;

/** Every error that a caller of the endpoint can meet. */
export function errorsOf(declared: Endpoint): ReadonlySet<ErrorCode> {
  const { who, body, cost, shape } = declared;
  const isSession = !['anyone', 'api-key', 'bouncer', 'agent', 'operator'].includes(who);
  const isLimited = limitsOf(declared).length > 0;
  return new Set<ErrorCode>([
    ...ofTransport,
    ...(body === undefined ? [] : ofBody),
    ...(['api-key', 'agent', 'operator'].includes(who) ? (['unauthenticated'] as const) : []),
    ...(who === 'api-key' ? (['wrong_scope'] as const) : []),
    ...(who === 'bouncer' ? (['forbidden'] as const) : []),
    ...(cost === undefined ? [] : (['quota_exceeded'] as const)),
    ...(who === 'api-key' && cost !== undefined ? (['invalid_parameter'] as const) : []),
    ...(isSession && shape === 'page' ? ([...ofForms, 'forbidden'] as const) : []),
    ...(shape === 'page' && declared.method === 'POST' ? ofForms : []),
    ...(isLimited ? (['too_many_attempts'] as const) : []),
    ...(requiresRecentProof(who) ? (['reauthentication_required'] as const) : []),
    ...(isForOperators(who) ? (['factor_required'] as const) : []),
    ...declared.errors,
  ]);
}

/** Names of the parameters that it knows, the key's among them. */
export function parametersOf({ docs }: Endpoint): ReadonlySet<string> {
  const { query = {} } = typeof docs === 'string' ? {} : docs;
  return new Set(['key', ...Object.keys(query)]);
}

/** All limits per client that a caller of the endpoint can meet. */
export function limitsOf({
  limits = [],
  handlerLimits = [],
}: Pick<Endpoint, 'limits' | 'handlerLimits'>): readonly ClientLimitName[] {
  return [...limits, ...handlerLimits];
}

/** Returns what a request costs of an API key's quota, in words; undefined when it costs nothing. */
export function costText({ cost }: Pick<Endpoint, 'cost'>): string | undefined {
  return cost && [`one ${cost.quota}`, cost.more].filter((words) => words !== undefined).join(' ');
}

export interface FailureNotes {
  error(facts: object, text: string): void;
  /** Called for each failure, declared or not. */
  failed?(code: ErrorCode, declared: Endpoint): void;
}

/** Counts a failure. One that the declaration does not name is a bug of ours, and is logged. */
export function noteFailure(
  log: FailureNotes,
  declared: Endpoint,
  { error: code }: Failure,
  request?: Request,
): void {
  log.failed?.(code, declared);
  if (errorsOf(declared).has(code)) return;
  const { method, path } = declared;
  const facts = { method, path, code, ...(request && logFieldsOf(request)) };
  log.error(facts, 'an error that the endpoint does not declare');
}

/** Returns the transport's part of a declaration. */
export function routeFacts(declared: Endpoint, guardHeaders: readonly string[] = []): RouteFacts {
  const { method, path, who, shape, body, queryCharsMax, timeoutMs, cors, noHead, isProbe } =
    declared;
  const { keepsOpener, backTo } = declared;
  const coding = body?.takesGzip === true ? [codingHeader] : [];
  return {
    method,
    path,
    who,
    shape,
    headers: [...new Set([...guardHeaders, ...coding, ...(declared.headers ?? [])])],
    ...(body === undefined ? {} : { bodyBytesMax: body.bytesMax }),
    ...(body?.arrivesWithinMs === undefined ? {} : { bodyTimeoutMs: body.arrivesWithinMs }),
    ...(body?.takesGzip === true ? { takesGzip: true } : {}),
    ...(queryCharsMax === undefined ? {} : { queryCharsMax }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(cors === undefined ? {} : { cors }),
    ...(noHead === undefined ? {} : { noHead }),
    ...(isProbe === undefined ? {} : { isProbe }),
    ...(keepsOpener === undefined ? {} : { keepsOpener }),
    ...(backTo === undefined ? {} : { backTo }),
    // Clients join a base address that ends in a slash with a path that begins with one.
    ...(path.startsWith('/api/v2/') ? { takesStraySlashes: true } : {}),
  };
}

/** The same of a streamed body, whose bounds must be declared. */
export function streamFacts(
  declared: Endpoint & Required<Pick<Endpoint, 'body' | 'timeoutMs'>>,
): RouteFacts & { bodyBytesMax: number; timeoutMs: number } {
  const { body, timeoutMs } = declared;
  return { ...routeFacts(declared), bodyBytesMax: body.bytesMax, timeoutMs };
}

// Declarations of the routes that the page builder (page-builder.ts) makes: the pages of sign-on,
// their forms, uploads and the calls of their scripts. What they have in common stands here; a
// route adds limits and errors.

/** Headers that every route of sign-on reads. */
export const visitHeaders = [
  'accept-language',
  'content-type',
  'cookie',
  'host',
  'origin',
  'sec-fetch-site',
  'user-agent',
] as const;

export interface SessionEndpoint<A extends Access = Access> extends Endpoint {
  readonly who: A;
  readonly isOfSession: true;
}

type More = Partial<
  Pick<
    Endpoint,
    'limits' | 'handlerLimits' | 'queryCharsMax' | 'noHead' | 'errors' | 'backTo' | 'keepsOpener'
  >
>;

/** JSON of our own scripts: a passkey's answer is the longest. */
const callBytesMax = 131_072;

const common = { isOfSession: true, shape: 'page', thread: 'main', headers: visitHeaders } as const;

export function isSessionEndpoint(declared: Endpoint): declared is SessionEndpoint {
  return 'isOfSession' in declared;
}

/** GET of a page. Crawlers have no business where somebody must be signed in. */
export function sessionPage<A extends Access>(
  path: string,
  who: A,
  { errors = [], ...more }: More = {},
): SessionEndpoint<A> {
  const robots = who === 'anyone' ? {} : ({ robots: 'disallow' } as const);
  return { ...common, method: 'GET', path, who, docs: 'page', ...robots, errors, ...more };
}

function post<A extends Access>(
  path: string,
  who: A,
  body: NonNullable<Endpoint['body']>,
  { errors = [], ...more }: More,
): SessionEndpoint<A> {
  const all = ['unsupported_media_type', 'store_unavailable', ...errors] as const;
  return { ...common, method: 'POST', path, who, docs: 'page', body, errors: all, ...more };
}

/** POST of an urlencoded form. */
export function sessionForm<A extends Access>(
  path: string,
  who: A,
  more: More = {},
): SessionEndpoint<A> {
  return post(path, who, { types: ['form'], bytesMax: formBytesMax }, more);
}

/** POST of a form with a file in it. */
export function sessionUpload<A extends Access>(
  path: string,
  who: A,
  more: More & { readonly bytesMax: number; readonly arrivesWithinMs?: number },
): SessionEndpoint<A> {
  const { bytesMax, arrivesWithinMs, ...others } = more;
  const time = arrivesWithinMs === undefined ? {} : { arrivesWithinMs };
  return post(path, who, { types: ['multipart'], bytesMax, ...time }, others);
}

/** POST of JSON by a script of our own, answered with JSON. */
export function sessionCall<A extends Access>(
  path: string,
  who: A,
  more: More = {},
): SessionEndpoint<A> {
  return post(path, who, { types: ['json-call'], bytesMax: callBytesMax }, more);
}
