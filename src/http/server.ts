/**
 * The wrapper around uWebSockets.js, and the only file that knows it. Turns bytes into
 * `Request` snapshots and `Reply` values into bytes; refuses by closing whatever is framed
 * ambiguously. What each hostile request gets is written and measured in docs/HTTP.md.
 */

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { Admission } from './admission.ts';
import { type AddressRules, peerText, resolveClientIp } from './client-ip.ts';
import { createProbe, type Wire } from './exchange.ts';
import { HeaderScan } from './framing.ts';
import { createHotLane, type HotLane } from './hot-lane.ts';
import { defaultLimits, type HttpLimits } from './limits.ts';
import type { Header, RenderProblem } from './message.ts';
import { inspectNative } from './native.ts';
import { createRouter, type HotRoute, type Route, type Router } from './router.ts';

export interface ServerOptions {
  readonly routes: readonly Route[];
  readonly renderProblem: RenderProblem;
  readonly addresses: AddressRules;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<HttpLimits>;
  /**
   * Asked for each request; must be cheap. While true, one request in 64 ends its connection
   * unanswered, which frees what clients who don't read make the library hold for them.
   */
  readonly isUnderPressure?: () => boolean;
  /** Added to every reply that doesn't set them itself; not to hot routes. */
  readonly defaultHeaders?: readonly Header[];
  /**
   * `path` is the route's pattern (`''` if none matched), status 0 means that the client left
   * first. Hot routes are not timed: their `elapsedMs` is undefined.
   */
  readonly onFinished?: (path: string, status: number, elapsedMs: number | undefined) => void;
}

export interface HttpServer {
  /** Resolves with the port; rejects with an `OperatorError` if it can't be had. Port 0: any. */
  listen(host: string, port: number): Promise<number>;
  /** Stops accepting, lets requests in flight finish for at most `graceMs`, then closes all. */
  close(graceMs: number): Promise<void>;
  /** At once. A worker thread must call it before it dies, or the whole process does. */
  closeNow(): void;
  /** Requests let in and not yet answered; hot routes are never among them. */
  inFlight(): number;
}

type Handler = (res: HttpResponse, req: HttpRequest) => void;

/** What this version of the library has but its types don't, or the other way round. */
interface App {
  get(path: string, handler: Handler): unknown;
  head(path: string, handler: Handler): unknown;
  any(path: string, handler: Handler): unknown;
  listen(host: string, port: number, done: (socket: us_listen_socket | false) => void): unknown;
  close(): void;
}

interface Lanes {
  readonly router: Router;
  readonly scan: HeaderScan;
  readonly limits: HttpLimits;
  readonly admission: Admission;
  readonly hot: HotLane;
  readonly clientIpOf: (wire: Wire) => string;
  readonly shouldShed: () => boolean;
}

const defaultHeaders: readonly Header[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
];

export function createServer(options: ServerOptions): HttpServer {
  const native = inspectNative();
  if (!native.isKnown) {
    options.log.warn({ file: native.path, sha256: native.sha256 }, 'unknown build of the server');
  }
  let isClosing = false;
  const lanes = openLanes(options, () => isClosing);
  const app = uws.App() as unknown as App;
  for (const route of lanes.router.hotRoutes) {
    app.get(route.path, (res, req) => serveHot(route, false, res, req, lanes));
    app.head(route.path, (res, req) => serveHot(route, true, res, req, lanes));
  }
  app.any('/*', (res, req) => dispatch(res, req, lanes));

  const listening: us_listen_socket[] = [];
  let isOpen = true;
  function stopListening(): void {
    isClosing = true;
    for (const socket of listening.splice(0)) uws.us_listen_socket_close(socket);
  }
  function closeNow(): void {
    stopListening();
    if (isOpen) app.close();
    isOpen = false;
  }
  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        app.listen(host, port, (socket) => {
          if (socket === false) {
            // A thread that ends over this error must not leave an open server behind.
            if (listening.length === 0) closeNow();
            reject(new OperatorError(`cannot listen on port ${port} of ${host}`));
            return;
          }
          listening.push(socket);
          resolve(uws.us_socket_local_port(socket as never));
        });
      }),
    close: async (graceMs) => {
      stopListening();
      await lanes.admission.inFlight.drained(graceMs);
      // The last answers still lie in the library's cork buffer; it flushes at the end of the turn.
      await new Promise((resolve) => setImmediate(resolve));
      closeNow();
      // The library lets go of closed sockets when the event loop turns; a thread that ended
      // before would take the process with it.
      await new Promise((resolve) => setTimeout(resolve, loopTurnsMs));
    },
    closeNow,
    inFlight: () => lanes.admission.inFlight.total,
  };
}

function openLanes(options: ServerOptions, isClosing: () => boolean): Lanes {
  const { addresses, renderProblem, log, clock, onFinished } = options;
  const limits: HttpLimits = { ...defaultLimits, ...options.limits };
  const scan = new HeaderScan({
    keepForwarded: addresses.hasProxies,
    maxHeaderBytes: limits.headerBytesMax,
  });
  const clientIpOf = (wire: Wire): string => {
    const bytes = new Uint8Array((wire as unknown as HttpResponse).getRemoteAddress());
    return resolveClientIp(peerText(bytes, addresses), scan.forwarded, addresses);
  };
  const shouldProbe = createProbe();
  const shared = { limits, renderProblem, log, isClosing, shouldProbe, onFinished };
  return {
    router: createRouter(options.routes),
    scan,
    limits,
    admission: new Admission({
      ...shared,
      clock,
      defaultHeaders: options.defaultHeaders ?? defaultHeaders,
    }),
    hot: createHotLane({ ...shared, scan, clientIpOf }),
    clientIpOf,
    shouldShed: createShedding(options.isUnderPressure),
  };
}

/** By count, not by connection: the library doesn't tell connections apart, and a flood sends most. */
function createShedding(isUnderPressure: (() => boolean) | undefined): () => boolean {
  let count = 0;
  return () => isUnderPressure?.() === true && (++count & 63) === 0;
}

const loopTurnsMs = 20;
const noNames: readonly string[] = [];

/** Copies what is needed from the request, which dies with this call, and hands it on. */
function dispatch(res: HttpResponse, req: HttpRequest, lanes: Lanes): void {
  const { scan } = lanes;
  const path = req.getUrl();
  const method = req.getCaseSensitiveMethod();
  const match = lanes.router.match(path);
  const route = match?.resource.byMethod.get(method as never);
  scan.begin(route?.headers ?? noNames, true);
  req.forEach(scan.visit);
  if (isRefused(method === 'GET' || method === 'HEAD', lanes)) {
    refuse(res);
    return;
  }
  lanes.admission.admit({
    wire: wireOf(res),
    match,
    method,
    path,
    query: queryOf(req),
    clientIp: lanes.clientIpOf(wireOf(res)),
    headers: scan.lines,
    contentLength: scan.contentLength,
    isChunked: scan.chunked,
    wantsClose: scan.wantsClose,
  });
}

/** What the route defers is dispatched as if the hot lane were not there. */
function serveHot(
  route: HotRoute,
  isHead: boolean,
  res: HttpResponse,
  req: HttpRequest,
  lanes: Lanes,
): void {
  if (!passes(res, req, route.headers ?? noNames, lanes)) return;
  if (!lanes.hot.serve(route, isHead, wireOf(res), queryOf(req))) dispatch(res, req, lanes);
}

/** The same first step for a hot route: false if the connection was ended instead. */
function passes(
  res: HttpResponse,
  req: HttpRequest,
  wanted: readonly string[],
  lanes: Lanes,
): boolean {
  lanes.scan.begin(wanted, false);
  req.forEach(lanes.scan.visit);
  if (!isRefused(true, lanes)) return true;
  refuse(res);
  return false;
}

/** A body on GET or HEAD has no meaning: a small one is discarded, others end the connection. */
function isRefused(isBodiless: boolean, { scan, limits, shouldShed }: Lanes): boolean {
  if (scan.isRefused() || shouldShed()) return true;
  return isBodiless && (scan.chunked || scan.contentLength > limits.strayBodyBytesMax);
}

/**
 * Unanswered: after an answer, the library would read on and run what follows as a request.
 * (`close()` on an object without an abort handler ends the whole process.)
 */
function refuse(res: HttpResponse): void {
  res.onAborted(() => undefined);
  res.close();
}

function wireOf(res: HttpResponse): Wire {
  return res as unknown as Wire;
}

function queryOf(req: HttpRequest): string {
  return req.getQuery() ?? ''; // undefined without a question mark
}
