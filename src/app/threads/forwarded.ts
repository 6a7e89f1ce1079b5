/** Describes the main thread's routes to front-end threads, as plain data. */

import type { PlainRoute, Route } from '../../http/router.ts';

/** A route without its handler. */
export interface ForwardedRoute extends Omit<PlainRoute, 'kind' | 'handle'> {
  readonly bodyBytesMax: number;
  /** Its body is passed on as it comes. */
  readonly isStream: boolean;
}

/** Routes answered by the main thread alone, described for the front ends. */
export function describeForwarded(routes: readonly Route[]): ForwardedRoute[] {
  return routes.flatMap((route) => {
    if (route.kind === 'hot') return [];
    const { kind, handle: _handle, ...facts } = route;
    return [{ bodyBytesMax: 0, ...facts, isStream: kind === 'stream' }];
  });
}

/** The order in which /metrics counts them; the same in every thread. */
export function pathsOf(...tables: readonly (readonly { readonly path: string }[])[]): string[] {
  return [...new Set(tables.flat().map((route) => route.path))].sort();
}
