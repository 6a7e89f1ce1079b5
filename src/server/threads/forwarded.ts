/** What a front-end thread must know of the routes that the main thread answers. Plain data. */

import type { Route } from '../../http/router.ts';

/** What a front-end thread must know of a route that the main thread answers. Plain data. */
export interface ForwardedRoute {
  readonly method: Route['method'];
  readonly path: string;
  readonly headers: readonly string[];
  readonly bodyBytesMax: number;
  readonly timeoutMs: number | undefined;
  readonly cors: Route['cors'];
  readonly noHead: boolean;
  readonly queryCharsMax: number | undefined;
  readonly shape: string | undefined;
  readonly isProbe: boolean;
  readonly withCookie: string | undefined;
}

/** Routes answered by the main thread alone, described for the other threads. */
export function describeForwarded(routes: readonly Route[]): ForwardedRoute[] {
  return routes.map((route) => ({
    method: route.method,
    path: route.path,
    headers: route.headers ?? [],
    bodyBytesMax: route.kind === 'hot' ? 0 : (route.bodyBytesMax ?? 0),
    timeoutMs: route.kind === 'hot' ? undefined : route.timeoutMs,
    cors: route.cors,
    noHead: route.noHead === true,
    queryCharsMax: route.kind === 'plain' ? route.queryCharsMax : undefined,
    shape: route.shape,
    isProbe: route.kind === 'plain' && route.isProbe === true,
    withCookie: route.withCookie,
  }));
}

/** The order in which /metrics counts them; the same in every thread. */
export function pathsOf(...tables: readonly (readonly { readonly path: string }[])[]): string[] {
  return [...new Set(tables.flat().map((route) => route.path))].sort();
}
