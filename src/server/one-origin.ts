/**
 * One name for a demo. It listens on a loopback address, but links, cookies and passkeys belong to
 * the `localhost` of BASE_URL: a page that is asked for by address leads there. Calls of programs are
 * answered where they come in.
 */

import type { Config } from '../config.ts';
import { guestPath } from '../doors/gate/way-back.ts';
import { firstHeader, type Request } from '../http/message.ts';
import type { PlainRoute, Route } from '../http/router.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import { noStore } from '../web/shape.ts';

const loopbackAddress = /^(127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

export function withOneOrigin(
  routes: readonly Route[],
  { baseUrl, port }: Pick<Config, 'baseUrl' | 'port'>,
  endpoints: readonly Endpoint[],
): readonly Route[] {
  const base = new URL(baseUrl);
  // A port that nobody named is in no link.
  const isNamed = port !== 0 && Number(base.port || 80) === port;
  if (base.hostname !== 'localhost' || !isNamed) return routes;
  const paths = new Set(endpoints.filter(isPage).map(({ path }) => path));
  return routes.map((route) =>
    route.kind === 'plain' && route.method === 'GET' && paths.has(route.path)
      ? redirecting(route, baseUrl)
      : route,
  );
}

/** What a browser shows under a host of ours: no file, text or JSON alone, and not what stands on other sites. */
export function isPage({ path, shape, docs }: Endpoint): boolean {
  const isOurs = !path.startsWith(guestPath);
  return isOurs && shape === 'page' && docs !== 'file' && docs !== 'text';
}

function redirecting(route: PlainRoute, baseUrl: string): PlainRoute {
  return {
    ...route,
    headers: [...new Set([...(route.headers ?? []), 'host', 'accept'])],
    handle(request, caller) {
      if (!isByAddress(request)) return route.handle(request, caller);
      const query = request.query === '' ? '' : `?${request.query}`;
      const location = `${baseUrl}${request.path}${query}`;
      return { status: 307, headers: [['Location', location], noStore] };
    },
  };
}

function isByAddress(request: Request): boolean {
  const accept = firstHeader(request, 'accept') ?? '';
  const isProgram = accept.includes('application/json') && !accept.includes('text/html');
  return !isProgram && loopbackAddress.test(firstHeader(request, 'host') ?? '');
}
