/** The facts of routes that front-end threads need, as plain data: most of the code stays unloaded there. */

import type { PublicParts } from '../../http/answer/access-log.ts';
import type { Route, RouteFacts } from '../../http/router.ts';
import type { Areas } from '../../web/shape.ts';

/** Chooses the shape of an error by the beginning of its path, where no endpoint declares one. */
export const areas: Areas = [
  ['/api/', 'api'],
  ['/v1/', 'bouncer'],
  ['/policy/', 'policy'],
  ['/gate/', 'api'],
  ['/feeds/', 'text'],
  ['/captcha/img/', 'captcha'],
  ['/captcha/audio/', 'captcha'],
];

/** Parameters that are no secret, of paths and of queries; all others stay out of the access log. */
export const shownInAccessLog: PublicParts = {
  patterns: new Set(['/ip/:address', '/feeds/*', '/static/*', '/docs/:page']),
  parameters: new Set([
    'ipAddress',
    'network',
    'maxAgeInDays',
    'verbose',
    'page',
    'perPage',
    'limit',
    'confidenceMinimum',
    'onlyCountries',
    'exceptCountries',
    'ipVersion',
    'plaintext',
  ]),
};

/** A route of the main thread as front ends know it. */
export interface ForwardedRoute extends RouteFacts {
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
