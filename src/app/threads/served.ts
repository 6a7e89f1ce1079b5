/**
 * Serves feeds and static files in front ends, from memory that the main thread has filled and
 * shares with them. Until it has, and for all that is not there, the main thread is asked.
 */

import { negotiate } from '../../http/negotiate.ts';
import type { PlainRoute } from '../../http/router.ts';
import { feedRoutes } from '../../reputation/blocklists/feeds.route.ts';
import type { Published } from '../../reputation/blocklists/publish.ts';
import { staticEndpoint } from '../../site/home/static.endpoint.ts';
import type { SharedAssets } from '../../web/assets.ts';
import type { FrontEnd } from './front-end.ts';

/** Each part replaces the former. */
export interface Served {
  readonly feeds?: Published;
  readonly assets?: SharedAssets;
}

/**
 * @param held what is served at the moment
 * @returns the same route, or one that asks the given one only for what is not held
 */
export function openServed(
  held: () => Served,
  { guard, spotMark }: Pick<FrontEnd, 'guard' | 'spotMark'>,
): (asking: PlainRoute) => PlainRoute {
  const current = () => held().feeds;
  const feeds = feedRoutes({
    publisher: { current, first: async () => current() },
    guard,
    spotMark,
  });
  const feedOf = new Map(feeds.map((route) => [route.path, route]));
  return (asking) => {
    if (asking.path === staticEndpoint.path) {
      return {
        ...asking,
        handle(request, caller) {
          const found = held().assets?.get(request.path);
          return found === undefined ? asking.handle(request, caller) : negotiate(request, found);
        },
      };
    }
    const feed = feedOf.get(asking.path);
    if (feed === undefined) return asking;
    return {
      ...asking,
      handle: (request, caller) =>
        (current() === undefined ? asking : feed).handle(request, caller),
    };
  };
}
