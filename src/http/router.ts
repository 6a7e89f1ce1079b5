/**
 * The table of routes: which handler a method and a path lead to, and what a path allows.
 * Static paths are one map look-up. Paths are compared as sent; only a `:param` is decoded, and some
 * static paths are found with stray slashes, too.
 */

import type { Head } from './answer/head.ts';
import type { ResolvedClient } from './request/client-ip.ts';
import type { Header, Method, Reply, Request } from './request/message.ts';
import { decodeComponent } from './request/query.ts';

/** Lets a handler learn that nobody waits for its reply any more. */
export interface Caller {
  /** At most one listener; called at once if the client is gone already. */
  onGone(listener: () => void): void;
}

/** The pattern of the route for all paths that no other route matches. */
export const unknownPath = '/*';

interface RouteBase {
  /** HEAD comes with every GET route (but see `noHead`), OPTIONS with every route that has `cors`. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Exact, or with one whole segment `:name`, or ending in `/*` (one or more characters). */
  readonly path: string;
  /** Lower-case names of the request headers that the handler reads. */
  readonly headers?: readonly string[];
  readonly cors?: { readonly allowHeaders: readonly string[] };
  /** On a GET that changes something: HEAD gets 405 and never reaches the handler. */
  readonly noHead?: boolean;
  /** A body packed by gzip is taken: its handler unpacks it, see `request/unpacking.ts`. */
  readonly takesGzip?: boolean;
  /** Reached by its path with more slashes between its parts, too, and with one at the end. */
  readonly takesStraySlashes?: boolean;
  /** With `unknownPath`: reached only with this cookie; without it the transport answers 404. */
  readonly withCookie?: string;
  /** Name of the form that errors of this path have; the transport only passes it on. */
  readonly shape?: string;
  /** The guard's name for those who may call; the transport only passes it on. */
  readonly who?: string;
  /** For errors of this path (web/shape.ts): their page may stand in a window that a site opened. */
  readonly keepsOpener?: boolean;
  /** For errors of this path: the page that a form belongs to, where it is not the nearest one above its path. */
  readonly backTo?: string;
}

/** A plain route without its handler. */
export interface RouteFacts extends RouteBase {
  /** 0 if left out. */
  readonly bodyBytesMax?: number;
  /** Instead of the server's own limit: for parameters that are long once percent-encoded. */
  readonly queryCharsMax?: number;
  /** A health check: it has slots of its own, so that it is answered when all others are taken. */
  readonly isProbe?: boolean;
  /** Instead of the server's own deadline. */
  readonly timeoutMs?: number;
  /** Instead of the server's own time for a body to arrive: for a large one over a slow line. */
  readonly bodyTimeoutMs?: number;
}

export interface PlainRoute extends RouteFacts {
  readonly kind: 'plain';
  readonly handle: (request: Request, caller: Caller) => Reply | Promise<Reply>;
}

/** The body arrives in pieces, as fast as the handler takes them. */
export interface StreamRoute extends RouteBase {
  readonly kind: 'stream';
  readonly bodyBytesMax: number;
  /** The bound of the whole exchange, body and handler. */
  readonly timeoutMs: number;
  readonly handle: (request: Request, body: AsyncIterable<Uint8Array>) => Promise<Reply>;
}

/** Reused for every request of the thread: nothing of it may be kept after the handler returns. */
export interface HotRequest {
  readonly query: string;
  /** By position in the route's `headers`; lines of a repeated header joined by `, `. */
  readonly values: readonly (string | undefined)[];
  /** The method as sent, on a route with `takesAllBelow`; else empty, and so is `path`. */
  readonly method: string;
  readonly path: string;
  /** Costs over a microsecond; ask only when needed. */
  client(): ResolvedClient;
  /** The request's id, made when it is first asked for: from then on `answer` sends it, and the access log has it. */
  id(): string;
  /** Must be called once before the handler returns, or `defer`. The length of the body is added. */
  answer(head: Head, body: string | Uint8Array): void;
  /**
   * As `answer`, by bytes that may be overwritten once the handler has returned.
   * @param head as `renderHead` makes it, with `fields` behind
   */
  answerBytes(status: number, head: Uint8Array, body: Uint8Array): void;
  /** Lines at the end of every head; `answer` adds them by itself. */
  readonly fields: string;
  /**
   * Hands the request to the plain route of the same path, which handles it from the start. Nothing may have been
   * spent on it.
   */
  defer(): void;
}

/**
 * Answered in the same turn: no await, no object per request, no body. GET only. What it can't
 * answer so goes to a plain route of the same method and path, if there is one.
 */
export interface HotRoute extends RouteBase {
  readonly kind: 'hot';
  readonly method: 'GET';
  /**
   * Its path ends in `/*`, and all below is its own: any method, a query of any length. For programs that
   * pass on what others ask.
   */
  readonly takesAllBelow?: boolean;
  readonly handle: (request: HotRequest) => void;
}

export type Route = PlainRoute | StreamRoute | HotRoute;

/** Everything registered for one path. */
export interface Resource {
  readonly path: string;
  /** No parameter: its path is the whole of what is matched. */
  readonly isStatic: boolean;
  readonly byMethod: ReadonlyMap<Method, Route>;
  /** Value of the `Allow` header. */
  readonly allow: string;
  readonly cors: RouteBase['cors'] | undefined;
}

export interface Match {
  readonly resource: Resource;
  /** Decoded; undefined if the segment is badly encoded. */
  readonly param: string | undefined;
}

interface Pattern {
  readonly prefix: string;
  /** Undefined for `/*`: the rest of the path, slashes included. */
  readonly suffix: string | undefined;
  readonly resource: Resource;
}

/** Throws on a table that contradicts itself: that is a bug, found at start. */
export function createRouter(routes: readonly Route[]) {
  const byPath = new Map<string, Route[]>();
  const forUnknown = routes.find((route) => route.path === unknownPath);
  for (const route of routes) {
    if (route === forUnknown) continue;
    const same = byPath.get(route.path) ?? [];
    byPath.set(route.path, [...same, route]);
  }
  const exact = new Map<string, Match>();
  const patterns: Pattern[] = [];
  const tidied = new Map<string, Match>();
  for (const [path, same] of byPath) {
    const resource = resourceOf(path, same);
    const pattern = patternOf(resource, same);
    if (pattern !== undefined) patterns.push(pattern);
    else {
      exact.set(path, { resource, param: '' });
      if (same.some((route) => route.takesStraySlashes)) tidied.set(path, exact.get(path)!);
    }
  }
  // The longest fixed beginning wins, so the order of the table doesn't matter.
  patterns.sort((a, b) => b.prefix.length - a.prefix.length);
  return {
    match: (path: string): Match | undefined =>
      exact.get(path) ?? matchPattern(patterns, path) ?? tidied.get(withoutStraySlashes(path)),
    /** The route for unmatched paths and the cookie that it needs; undefined without such a route. */
    unknown: forUnknown && {
      match: { resource: resourceOf(unknownPath, [forUnknown]), param: '' },
      withCookie: forUnknown.withCookie ?? '',
    },
    hotRoutes: routes.filter((route) => route.kind === 'hot'),
  };
}

export type Router = ReturnType<typeof createRouter>;

function withoutStraySlashes(path: string): string {
  return path.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
}

function resourceOf(path: string, routes: readonly Route[]): Resource {
  if (!/^\/[\x21-\x7e]*$/.test(path) || path.includes('?')) throw new Error(`bad path ${path}`);
  const byMethod = new Map<Method, Route>();
  for (const route of routes) {
    const other = byMethod.get(route.method);
    if (other === undefined) byMethod.set(route.method, route);
    else byMethod.set(route.method, plainOfPair(path, other, route));
  }
  const get = byMethod.get('GET');
  if (get !== undefined && get.noHead !== true) byMethod.set('HEAD', get);
  const cors = routes.find((route) => route.cors !== undefined)?.cors;
  const allow = [...byMethod.keys(), ...(cors === undefined ? [] : ['OPTIONS'])].join(', ');
  const isStatic = !path.includes('/:') && !path.endsWith('/*');
  return { path, isStatic, byMethod, allow, cors };
}

/** Two routes of one method: a hot one, and the plain one for what it defers. */
function plainOfPair(path: string, one: Route, other: Route): Route {
  const kinds = [one.kind, other.kind];
  if (!kinds.includes('hot') || !kinds.includes('plain')) {
    throw new Error(`${one.method} ${path} is there twice`);
  }
  return one.kind === 'plain' ? one : other;
}

function patternOf(resource: Resource, routes: readonly Route[]): Pattern | undefined {
  const { path } = resource;
  const colon = path.indexOf('/:') + 1;
  const star = path.endsWith('/*');
  if (colon === 0 && !star) return undefined;
  if (routes.some((route) => route.kind === 'hot' && route.takesAllBelow !== true)) {
    throw new Error(`hot route ${path} must be exact`);
  }
  if (star) return { prefix: path.slice(0, -1), suffix: undefined, resource };
  const slash = path.indexOf('/', colon);
  const suffix = slash === -1 ? '' : path.slice(slash);
  if (suffix.includes(':')) throw new Error(`${path} has more than one parameter`);
  return { prefix: path.slice(0, colon), suffix, resource };
}

function matchPattern(patterns: readonly Pattern[], path: string): Match | undefined {
  for (const { prefix, suffix, resource } of patterns) {
    if (!path.startsWith(prefix)) continue;
    const end = suffix === undefined ? path.length : path.length - suffix.length;
    const raw = path.slice(prefix.length, end);
    if (raw === '') continue;
    if (suffix !== undefined && (!path.endsWith(suffix) || raw.includes('/'))) continue;
    return { resource, param: decodeComponent(raw) };
  }
  return undefined;
}

/** Preflight answer: any origin, no credentials. */
export function corsHeaders(resource: Resource): readonly Header[] {
  const names = resource.cors?.allowHeaders.join(', ') ?? '';
  const headers: Header[] = [
    ['Access-Control-Allow-Origin', '*'],
    ['Access-Control-Allow-Methods', resource.allow],
    ['Access-Control-Max-Age', '86400'],
  ];
  if (names !== '') headers.push(['Access-Control-Allow-Headers', names]);
  return headers;
}
