/**
 * All hooks in their order: the way of a request from a front end to its handler. The first of a list
 * is the outermost. `web/guard/hooks.ts` runs them.
 */

import { negotiate } from '../http/answer/negotiate.ts';
import { firstHeader, type Request } from '../http/request/message.ts';
import type { Route } from '../http/router.ts';
import { policyHook } from '../integrations/dovecot/policy.route.ts';
import { hostOfAuthority, isLoopbackAddress } from '../ip/loopback.ts';
import { feedRoutes } from '../reputation/blocklists/feeds.route.ts';
import type { Published } from '../reputation/blocklists/publish.ts';
import type { SignInLog } from '../signon/sessions/sign-in-log.ts';
import { signInLogging } from '../signon/signon.route.ts';
import { staticEndpoint } from '../site/home/static.endpoint.ts';
import type { SharedAssets } from '../web/assets.ts';
import { appearance } from '../web/guard/appearance.ts';
import type { Cookies } from '../web/guard/cookies.ts';
import { type FailureNotes, isPage } from '../web/guard/endpoint.ts';
import { headerPerson } from '../web/guard/header-person.ts';
import type { Hook } from '../web/guard/hooks.ts';
import type { SessionLike } from '../web/guard/request-context.ts';
import type { PageTools } from '../web/page-tools.ts';
import { noStore } from '../web/shape.ts';
import type { FrontEnd } from './threads/front-end.ts';

/**
 * In a front end: what it answers itself, before the main thread is asked.
 * @param within around each look at the index
 */
export function frontEndHooks(
  frontEnd: FrontEnd,
  held: () => Served,
  within: <T>(work: () => T) => T,
): Hook<Route>[] {
  const own = new Set<Route>(frontEnd.routes);
  const nothing = () => undefined;
  return [
    { name: 'index reads', appliesTo: (route) => own.has(route), onArrival: () => within(nothing) },
    servedFiles(held),
    ...servedFeeds(held, frontEnd),
    policyHook(frontEnd, within),
  ];
}

/** In the main thread. */
export function mainHooks<Session extends SessionLike>(needs: {
  readonly demo: boolean;
  readonly config: { readonly baseUrl: string; readonly port: number };
  readonly cookies: Cookies;
  readonly tools: PageTools;
  readonly sessions: { find(token: string): Promise<Session | undefined> };
  readonly prefersGlass: (session: Session) => Promise<boolean>;
  readonly signInLog: Pick<SignInLog, 'during'>;
  /** Called for each failure that is answered. */
  readonly onFailure: NonNullable<FailureNotes['failed']>;
}): Hook[] {
  return [
    ...(needs.demo ? [oneOrigin(needs.config)] : []),
    appearance(needs.cookies),
    headerPerson(needs),
    signInLogging(needs.signInLog),
    { name: 'counts of errors', appliesTo: () => true, onFailure: needs.onFailure },
  ];
}

// Serves feeds and static files in front ends, from memory that the main thread has filled and
// shares with them. Until it has, and for all that is not there, the main thread is asked.

/** Each part replaces the former. */
export interface Served {
  readonly feeds?: Published;
  readonly assets?: SharedAssets;
}

function servedFiles(held: () => Served): Hook<Route> {
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
function servedFeeds(
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

// Gives a demo one name. It listens on a loopback address, but links, cookies and passkeys belong to the
// `localhost` of BASE_URL, so a page asked for by address redirects there. Calls of programs are answered
// where they arrive.

function oneOrigin({ baseUrl, port }: { baseUrl: string; port: number }): Hook {
  const base = new URL(baseUrl);
  // A port that nobody named is in no link.
  const isNamed = port !== 0 && Number(base.port || 80) === port;
  const isOn = base.hostname === 'localhost' && isNamed;
  return {
    name: 'one origin',
    appliesTo: (declared) => isOn && declared.method === 'GET' && isPage(declared),
    headers: ['host', 'accept'],
    onRequest(request) {
      if (!isByAddress(request)) return undefined;
      const query = request.query === '' ? '' : `?${request.query}`;
      const location = `${baseUrl}${request.path}${query}`;
      return { status: 307, headers: [['Location', location], noStore] };
    },
  };
}

function isByAddress(request: Request): boolean {
  const accept = firstHeader(request, 'accept') ?? '';
  const isProgram = accept.includes('application/json') && !accept.includes('text/html');
  return !isProgram && isLoopbackAddress(hostOfAuthority(firstHeader(request, 'host') ?? ''));
}
