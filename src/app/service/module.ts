/** The service's own routes: readiness, metrics, robots.txt and their like; some of them on ADMIN_LISTEN too. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import { bodyBytesOf } from '../../http/exchange.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute, Route } from '../../http/router.ts';
import { canonicalIp } from '../../ip/address.ts';
import type { Membership } from '../../storage/nodes/nodes.ts';
import type { Store } from '../../storage/store.ts';
import type { Assets } from '../../web/assets.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { noStore, textType } from '../../web/shape.ts';
import type { State } from '../state.ts';
import { healthEndpoint } from './health.route.ts';
import {
  changePasswordEndpoint,
  metricsEndpoint,
  passkeyEndpointsEndpoint,
  readinessEndpoint,
  readinessOf,
  robotsEndpoint,
  securityTxtEndpoint,
  serviceRoutes,
  webManifestEndpoint,
} from './service.route.ts';

export const serviceEndpoints: readonly Endpoint[] = [
  healthEndpoint,
  readinessEndpoint,
  robotsEndpoint,
  securityTxtEndpoint,
  changePasswordEndpoint,
  passkeyEndpointsEndpoint,
  webManifestEndpoint,
  metricsEndpoint,
];

export function openService(needs: {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Store;
  readonly state: State;
  readonly member: Membership | undefined;
  readonly guard: Guard;
  readonly assets: Pick<Assets, 'url' | 'brand'>;
  readonly metrics: Metrics;
  /** All of the service, for robots.txt. */
  readonly endpoints: readonly Endpoint[];
  readonly frontEndRoutes: readonly Route[];
}) {
  const { config, clock, log, store, state, member } = needs;
  let isDraining = false;
  const routes = serviceRoutes({
    config,
    clock,
    guard: needs.guard,
    assets: needs.assets,
    metrics: needs.metrics,
    endpoints: needs.endpoints,
    readiness: () => readinessOf(state, store, clock, isDraining, member),
  });
  return {
    routes,
    /** Says at /readyz that the server is about to stop. */
    drain(): void {
      isDraining = true;
    },
    /** Opens the listener of ADMIN_LISTEN; a server without the setting has none. */
    async listen() {
      const { adminListen } = config;
      if (adminListen === undefined) return {};
      return openAdminListener({
        ...adminListen,
        routes: [...needs.frontEndRoutes, ...routes],
        log,
      });
    },
  };
}

// Health and metrics on a port of their own (`ADMIN_LISTEN`), for load balancers and Prometheus. It is served
// by Node's own HTTP server, which answers what the library of the public port leaves hanging: HTTP/1.0,
// absolute targets, `OPTIONS *`, any header name, a line end before the request. Nothing else is there. The
// main thread answers, by the same routes; who may read /metrics is asked as on the public port.
//
// Small heads, no bodies, short times. Beyond 256 connections the oldest is closed.

const connectionsMax = 256;
const headBytesMax = 65_536;
const requestMsMax = 10_000;
const idleMsMax = 15_000;
const pollMs = 1_000;
const allow: Header = ['Allow', 'GET, HEAD, OPTIONS'];

const served: readonly string[] = [healthEndpoint, readinessEndpoint, metricsEndpoint].map(
  ({ path }) => path,
);

/** @throws OperatorError when it can't listen there */
async function openAdminListener(options: {
  readonly host: string;
  readonly port: number;
  /** The server's routes, of which three are served here. */
  readonly routes: readonly Route[];
  readonly log: Log;
}) {
  const { host, port, log } = options;
  const routes = new Map(
    options.routes
      .filter((route): route is PlainRoute => route.kind === 'plain' && served.includes(route.path))
      .map((route) => [route.path, route]),
  );
  const open = new Set<Socket>();

  async function answer(request: IncomingMessage): Promise<Reply> {
    const { path: asked, query } = targetOf(request.url ?? '');
    // HAProxy's check asks `OPTIONS /` unless configured otherwise: it means to know whether the
    // server is ready.
    const path = asked === '/' ? readinessEndpoint.path : asked;
    const method = asked === '/' && request.method === 'OPTIONS' ? 'GET' : request.method;
    if (method === 'OPTIONS' && (path === '*' || routes.has(path))) {
      return { status: 204, headers: [allow] };
    }
    const route = routes.get(path);
    if (route === undefined) return reply(404, 'There is nothing at this path.');
    if (method !== 'GET' && method !== 'HEAD') {
      return reply(405, 'GET, HEAD and OPTIONS are possible here.', [allow]);
    }
    return route.handle(requestOf(request, method, path, query, route), { onGone() {} });
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A body that nobody reads ends the connection: what follows might be taken for a request.
    const hasBody =
      request.headers['transfer-encoding'] !== undefined ||
      (request.headers['content-length'] ?? '0') !== '0';
    const reply = await answer(request);
    const body = bodyBytesOf(reply.body ?? '');
    response.statusCode = reply.status;
    response.setHeader('X-Content-Type-Options', 'nosniff');
    for (const [name, value] of reply.headers) response.setHeader(name, value);
    if (hasBody) response.setHeader('Connection', 'close');
    if (reply.status !== 204) response.setHeader('Content-Length', body.length);
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  const server = createServer(
    {
      requestTimeout: requestMsMax,
      headersTimeout: requestMsMax,
      maxHeaderSize: headBytesMax,
      keepAliveTimeout: idleMsMax,
      connectionsCheckingInterval: pollMs,
      // Any head: nothing depends on it here, and nothing is passed on.
      insecureHTTPParser: true,
      requireHostHeader: false,
    },
    (request, response) => {
      serve(request, response).catch((error: unknown) => {
        log.error({ err: error, path: request.url?.slice(0, 100) }, 'admin: a handler failed');
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    },
  );
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > connectionsMax) open.values().next().value?.destroy();
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => reject(new OperatorError(`ADMIN_LISTEN: ${message}`)));
    server.listen(port, host, resolve);
  });
  server.on('error', (error) => log.warn({ err: error }, 'admin: the listener failed'));
  const taken = (server.address() as AddressInfo).port;
  log.info({ host, port: taken }, 'admin: listening');
  return {
    port: taken,
    tables: [{ name: 'admin_connections', used: () => open.size, limit: connectionsMax }],
    async close(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Path and query, also of an absolute target (RFC 9112, 3.2.2). */
function targetOf(target: string): { path: string; query: string } {
  const bare = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const [path = '', query = ''] = bare.split('?', 2);
  return { path: path === '' ? '/' : path, query };
}

function requestOf(
  { headers, socket }: IncomingMessage,
  method: 'GET' | 'HEAD',
  path: string,
  query: string,
  route: PlainRoute,
): Request {
  const kept: Record<string, readonly string[]> = {};
  for (const name of route.headers ?? []) {
    const value = headers[name];
    if (value !== undefined) kept[name] = [value].flat();
  }
  const clientIp = canonicalIp(socket.remoteAddress ?? '') ?? '';
  return {
    method,
    path,
    param: '',
    query,
    headers: kept,
    clientIp,
    id: 'admin',
    body: new Uint8Array(0),
  };
}

function reply(status: number, detail: string, headers: readonly Header[] = []): Reply {
  return { status, headers: [textType, noStore, ...headers], body: `${detail}\n` };
}
