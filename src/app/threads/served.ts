/**
 * Serves feeds and static files in front ends, from memory that the main thread has filled and
 * shares with them. Until it has, and for all that is not there, the main thread is asked.
 */

import { negotiate } from '../../http/answer/negotiate.ts';
import type { Route } from '../../http/router.ts';
import { feedRoutes } from '../../reputation/blocklists/feeds.route.ts';
import type { Published } from '../../reputation/blocklists/publish.ts';
import { staticEndpoint } from '../../site/home/static.endpoint.ts';
import type { SharedAssets } from '../../web/assets.ts';
import type { Hook } from '../../web/guard/hooks.ts';
import type { FrontEnd } from './front-end.ts';

/** Each part replaces the former. */
export interface Served {
  readonly feeds?: Published;
  readonly assets?: SharedAssets;
}

export function servedFiles(held: () => Served): Hook<Route> {
  return {
    name: 'static files',
    appliesTo: ({ path }) => path === staticEndpoint.path,
    onRequest(request) {
      const found = held().assets?.get(request.path);
      return found && negotiate(request, found);
    },
  };
}

/** Returns a hook for each feed: its answer is made as in the main thread. */
export function servedFeeds(
  held: () => Served,
  { guard, spotMark }: Pick<FrontEnd, 'guard' | 'spotMark'>,
): Hook<Route>[] {
  const current = () => held().feeds;
  const publisher = { current, first: async () => current() };
  return feedRoutes({ publisher, guard, spotMark }).map((feed) => ({
    name: `feed ${feed.path}`,
    appliesTo: ({ path }) => path === feed.path,
    onRequest: (request, caller) =>
      current() === undefined ? undefined : feed.handle(request, caller),
  }));
}
