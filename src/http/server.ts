/**
 * The wrapper around uWebSockets.js, which `native.ts` loads. Turns bytes into
 * `Request` snapshots and `Reply` values into bytes; refuses by closing whatever is framed
 * ambiguously. What each hostile request gets is written and measured in docs/HTTP.md.
 */

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { type Random, systemRandom } from '../core/random.ts';
import type { AccessLog } from './answer/access-log.ts';
import { fieldsOf, isValidRequestId, newRequestId, traceOf } from './answer/head.ts';
import { hasCookie, type Wire } from './answer/wire.ts';
import { createConnectionEndSampler, createSlowReaderSampler } from './exchange.ts';
import { createHotLane, type HotLane, type RequestBelow } from './hot-lane.ts';
import { Admission, type AnswerLimits, createAnswerLimits } from './limits/admission.ts';
import { defaultLimits, type HttpLimits } from './limits/limits.ts';
import { loadNative, type NativeServer } from './native.ts';
import {
  type AddressRules,
  peerText,
  type ResolvedClient,
  resolveClient,
  unixPeer,
} from './request/client-ip.ts';
import { HeaderScan } from './request/framing.ts';
import type { Header, RenderProblem } from './request/message.ts';
import { createRouter, type HotRoute, type Route, type Router } from './router.ts';
import {
  bindingFault,
  checkSocketPath,
  openSocketFile,
  removeSocketFile,
  type SocketFile,
  type UnixSocket,
} from './unix-socket.ts';

export interface ServerOptions {
  readonly routes: readonly Route[];
  readonly renderProblem: RenderProblem;
  readonly addresses: AddressRules;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<HttpLimits>;
  /** Default: what is known of the build, see `native.ts`. */
  readonly takesChunked?: boolean;
  /** Default: none. */
  readonly answerLimits?: AnswerLimits;
  /** Browsers reach the service over https: every answer says that it shall stay so. */
  readonly https?: boolean;
  /** Default: the build of this thread, see `native.ts`. */
  readonly native?: NativeServer;
  /**
   * `path` is the route's pattern (`''` if none matched), status 0 means that the client left
   * first. Of hot routes one request in 64 is timed: of the others `elapsedMs` is undefined.
   */
  readonly onFinished?: (path: string, status: number, elapsedMs: number | undefined) => void;
  /** Called for each answer. Default: no log. */
  readonly accessLog?: AccessLog | undefined;
  /** The source of the ids of requests. Default: the system's. */
  readonly random?: Random;
}

export interface TransportUsage {
  readonly in_flight: number;
  readonly probes: number;
  readonly arriving_bodies: number;
  readonly unread_answers: number;
  readonly unread_bytes: number;
  readonly refused_bodies: number;
  readonly body_bytes: number;
}

type Handler = (res: HttpResponse, req: HttpRequest) => void;
type ListenCallback = (socket: us_listen_socket | false) => void;

/** The methods that differ between this version of the library and its types. */
interface App {
  get(path: string, handler: Handler): unknown;
  head(path: string, handler: Handler): unknown;
  any(path: string, handler: Handler): unknown;
  listen(host: string, port: number, done: ListenCallback): unknown;
  listen_unix(done: ListenCallback, path: string): unknown;
  close(): void;
  setIdleTimeout?(seconds: number): unknown;
  setResponseTimeout?(seconds: number): unknown;
}

/** Timeout for a client that sends or reads nothing. The newer build's own default is 30. */
const idleSeconds = 10;

/**
 * Listening sockets of a thread. Each queues 512 connections; if the queue is full, the kernel drops the first packet
 * and the client tries again after a second. A flood that reconnects after each refusal fills one queue between two
 * turns of the event loop.
 */
const listenSocketsPerThread = 8;
const listenTriesMax = 20;
const listenPauseMs = 50;

interface ListenerParts {
  readonly router: Router;
  readonly scan: HeaderScan;
  readonly limits: HttpLimits;
  readonly admission: Admission;
  readonly hot: HotLane;
  readonly clientOf: (wire: Wire) => ResolvedClient;
  readonly idOf: (wire: Wire) => string;
}

const defaultHeaders: readonly Header[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
];

/** Browsers shall not come back over http. */
const strictTransport: Header = ['Strict-Transport-Security', 'max-age=31536000'];

/** The library's switch for the header that names it; it counts for the loop of this thread. */
const omitServerHeaderCode = '999999990007';

export function createServer(options: ServerOptions) {
  const native = options.native ?? loadNative();
  const uws = native.library;
  if (!native.isTested) {
    options.log.warn({ file: native.path, sha256: native.sha256 }, 'untested build of the server');
  }
  (uws as unknown as { _cfg?(code: string): void })._cfg?.(omitServerHeaderCode);
  let isClosing = false;
  const takesChunked = options.takesChunked ?? native.parsesChunksStrictly;
  const listeners = openListeners({ ...options, takesChunked }, () => isClosing);
  const openApp = (of: ListenerParts) => registerRoutes(uws.App() as unknown as App, of);
  const app = openApp(listeners.ofPort);
  /**
   * An app of its own: the address of a peer is empty here, and also where the peer of a port is gone already,
   * who must not be taken for one of a socket.
   */
  let unixApp: App | undefined;

  const listening: us_listen_socket[] = [];
  let isOpen = true;
  let isStopped = false;
  let listened: { host: string; port: number; sockets: readonly UnixSocket[] } | undefined;
  const files: SocketFile[] = [];
  function stopListening(): void {
    for (const file of files.splice(0)) removeSocketFile(file);
    for (const socket of listening.splice(0)) uws.us_listen_socket_close(socket);
  }
  /** Closes at once. A worker thread must call it before it dies, or the whole process does. */
  function closeNow(): void {
    isClosing = true;
    isStopped = true;
    stopListening();
    if (isOpen) for (const each of [app, unixApp]) each?.close();
    isOpen = false;
  }
  function listenOnce(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      app.listen(host, port, (socket) => {
        if (socket === false) {
          reject(new OperatorError(`cannot listen on port ${port} of ${host}`));
          return;
        }
        listening.push(socket);
        resolve(uws.us_socket_local_port(socket as never));
      });
    });
  }
  /** Another process that looks for a free port may hold the claimed one for a moment. */
  async function listenPatiently(host: string, port: number): Promise<number> {
    for (let tries = 1; ; tries++) {
      try {
        return await listenOnce(host, port);
      } catch (error) {
        if (tries === listenTriesMax || isStopped) throw error;
        await sleep(listenPauseMs);
      }
    }
  }
  async function listenAtPort(host: string, port: number): Promise<number> {
    const found = await listenPatiently(host, port);
    // A port that the library picked itself can't be shared.
    for (let i = port === 0 ? listenSocketsPerThread : 1; i < listenSocketsPerThread; i++)
      await listenOnce(host, port);
    return found;
  }
  async function listenAtSocket(socket: UnixSocket): Promise<void> {
    await checkSocketPath(socket.path);
    if (isStopped) return;
    unixApp ??= openApp(listeners.ofSocket);
    let isBound = false;
    let fault: unknown;
    unixApp.listen_unix((listened) => {
      if (!listened) return;
      isBound = true;
      listening.push(listened);
      try {
        files.push(openSocketFile(socket));
      } catch (error) {
        fault = error;
      }
    }, socket.path);
    if (!isBound) throw await bindingFault(socket.path);
    if (fault !== undefined) throw fault;
  }
  async function listenAtSockets(sockets: readonly UnixSocket[]): Promise<void> {
    for (const socket of sockets) {
      if (!files.some(({ path }) => path === socket.path)) await listenAtSocket(socket);
    }
    // The server was closed meanwhile: an open socket would end the process with the thread.
    if (isStopped) stopListening();
  }
  return {
    /** Resolves with the port; rejects with an `OperatorError` if it or a socket can't be had. Port 0: any. */
    listen: async (
      host: string,
      port: number,
      sockets: readonly UnixSocket[] = [],
    ): Promise<number> => {
      try {
        const found = await listenAtPort(host, port);
        await listenAtSockets(sockets);
        listened = { host, port: found, sockets };
        return found;
      } catch (error) {
        // A thread that ends over this error must not leave an open server behind.
        closeNow();
        throw error;
      }
    },
    /** Ends the connection with each answer from now on, so that a client's next one goes elsewhere. */
    drain(): void {
      isClosing = true;
    },
    /** Stops taking connections with false, until true. Waiting connections are refused. */
    async accept(isOn: boolean): Promise<void> {
      if (!isOn) stopListening();
      else if (!isStopped && listened !== undefined) {
        if (listening.length === 0) await listenAtPort(listened.host, listened.port);
        await listenAtSockets(listened.sockets);
      }
    },
    /** Stops accepting, lets requests in flight finish for at most `graceMs`, then closes all. */
    close: async (graceMs: number): Promise<void> => {
      isClosing = true;
      isStopped = true;
      // The system resets the connections that wait to be accepted when their socket closes.
      await quietTurn();
      stopListening();
      // Connections accepted in the last turns have not sent their request yet.
      await new Promise((resolve) => setTimeout(resolve, Math.min(graceMs, lastRequestsMs)));
      const endMs = performance.now() + graceMs;
      do {
        await listeners.admission.inFlight.drained(Math.max(0, endMs - performance.now()));
        // The last answers still lie in the library's cork buffer, which it flushes at the end of the turn, and
        // requests that came meanwhile in the system's.
        await quietTurn();
      } while (listeners.admission.inFlight.total > 0 && performance.now() < endMs);
      closeNow();
      // The library lets go of closed sockets when the event loop turns; a thread that ended
      // before would take the process with it.
      for (let turn = 0; turn < loopTurns; turn++) await loopTurn();
    },
    closeNow,
    /** Requests let in and not yet answered; hot routes are never among them. */
    inFlight: (): number => listeners.admission.inFlight.total,
    /** Returns the slots of each kind that are taken (request-slots.ts), and bytes of bodies in memory. */
    taken: (): TransportUsage => listeners.admission.taken(),
  };
}

export type HttpServer = ReturnType<typeof createServer>;

/** Opens the listeners of the port and of the Unix-domain sockets, which differ only in the client's name. */
function openListeners(
  options: ServerOptions & { readonly takesChunked: boolean },
  isClosing: () => boolean,
): {
  readonly admission: Admission;
  readonly ofPort: ListenerParts;
  readonly ofSocket: ListenerParts;
} {
  const { addresses, renderProblem, log, clock, onFinished, accessLog } = options;
  const random = options.random ?? systemRandom();
  const limits: HttpLimits = { ...defaultLimits, ...options.limits };
  const scan = new HeaderScan({
    keepForwarded: addresses.hasProxies,
    maxHeaderBytes: limits.headerBytesMax,
  });
  const always = options.https === true ? [strictTransport] : [];
  const [shouldCheckReader, shouldEnd] = [createSlowReaderSampler(), createConnectionEndSampler()];
  const shared = {
    limits,
    renderProblem,
    log,
    isClosing,
    shouldCheckReader,
    shouldEnd,
    onFinished,
    accessLog,
  };
  const router = createRouter(options.routes);
  const forRefused = router.unknown?.match.resource.byMethod.get('GET');
  const admission = new Admission({
    ...shared,
    clock,
    answerLimits: options.answerLimits ?? createAnswerLimits(undefined, clock),
    takesChunked: options.takesChunked,
    refused:
      forRefused?.kind === 'plain'
        ? { route: forRefused, withCookie: router.unknown!.withCookie }
        : undefined,
    defaultHeaders: [...defaultHeaders, ...always],
  });
  const fields = fieldsOf(always);
  function listenerOf(peerOf: (wire: Wire) => string): ListenerParts {
    const clientOf = (wire: Wire) => resolveClient(peerOf(wire), scan.forwarding, addresses);
    const idOf = (wire: Wire): string => {
      const { requestId: given } = scan;
      const isTaken =
        given !== undefined &&
        addresses.hasProxies &&
        isValidRequestId(given) &&
        addresses.isTrusted(peerOf(wire));
      return isTaken ? given : newRequestId(random);
    };
    const hot = createHotLane({ ...shared, scan, clientOf, idOf, fields });
    return { router, scan, limits, admission, hot, clientOf, idOf };
  }
  const addressOf = (wire: Wire): string => {
    const bytes = new Uint8Array((wire as unknown as HttpResponse).getRemoteAddress());
    return peerText(bytes, addresses);
  };
  return { admission, ofPort: listenerOf(addressOf), ofSocket: listenerOf(() => unixPeer) };
}

/** Sends all requests of the library's app through the listener. */
function registerRoutes(app: App, listener: ListenerParts): App {
  app.setIdleTimeout?.(idleSeconds);
  app.setResponseTimeout?.(idleSeconds);
  for (const route of listener.router.hotRoutes) {
    if (route.takesAllBelow) {
      app.any(route.path, (res, req) => {
        const method = req.getCaseSensitiveMethod();
        serveHot(route, method === 'HEAD', res, req, listener, { method, path: req.getUrl() });
      });
      continue;
    }
    app.get(route.path, (res, req) => serveHot(route, false, res, req, listener));
    app.head(route.path, (res, req) => serveHot(route, true, res, req, listener));
  }
  app.any('/*', (res, req) => dispatch(res, req, listener));
  return app;
}

const loopTurns = 4;
/** Through timers, sockets and immediates, however late the thread is. */
async function loopTurn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 1));
  await new Promise((resolve) => setImmediate(resolve));
}
const quietTurnMs = 0.1;
const quietTurnWaitMs = 100;
/**
 * Resolves right behind a turn in which the sockets were looked at and little was to be done: what came before it
 * is accepted and read, and hardly anything has come since. A thread that never rests is waited for for a while.
 */
async function quietTurn(): Promise<void> {
  const endMs = performance.now() + quietTurnWaitMs;
  // The first turn has begun before.
  for (let isWhole = false; ; isWhole = true) {
    const startMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    const nowMs = performance.now();
    if (isWhole && (nowMs - startMs < quietTurnMs || nowMs > endMs)) return;
  }
}
/** Time for the request of an accepted connection to arrive, on any working network. */
const lastRequestsMs = 250;
const noNames: readonly string[] = [];
/** The headers that the page for unknown paths reads. */
const refusedNames: readonly string[] = ['accept-language'];

/** Copies what is needed from the request, which dies with this call, and hands it on. */
function dispatch(res: HttpResponse, req: HttpRequest, listener: ListenerParts): void {
  const { scan } = listener;
  const sent = req.getUrl();
  const method = req.getCaseSensitiveMethod();
  const known = listener.router.match(sent);
  // The checks below compare paths, so a path that matched with stray slashes loses them.
  const path = known?.resource.isStatic === true ? known.resource.path : sent;
  const unknown = known === undefined ? listener.router.unknown : undefined;
  const route = (known ?? unknown?.match)?.resource.byMethod.get(method as never);
  scan.begin(route?.headers ?? refusedNames, true);
  req.forEach(scan.visit);
  const goesToUnknownRoute = route !== undefined && hasCookie(scan.lines, unknown?.withCookie);
  const match = known ?? (goesToUnknownRoute ? unknown?.match : undefined);
  if (mustClose(method === 'GET' || method === 'HEAD', listener)) {
    closeUnanswered(res);
    return;
  }
  const wire = scan.awaitsContinue && scan.hasBody() ? withContinueSent(wireOf(res)) : wireOf(res);
  listener.admission.admit({
    wire,
    match,
    method,
    path,
    query: queryOf(req),
    clientIp: listener.clientOf(wireOf(res)).ip,
    id: listener.idOf(wireOf(res)),
    trace: traceOf(scan.traceparent),
    headers: scan.lines,
    contentLength: scan.contentLength,
    isChunked: scan.chunked,
    contentEncoding: scan.contentEncoding,
    wantsClose: scan.wantsClose,
  });
}

/** Serves by the hot lane; a request that its route defers is dispatched like any other. */
function serveHot(
  route: HotRoute,
  isHead: boolean,
  res: HttpResponse,
  req: HttpRequest,
  listener: ListenerParts,
  asked?: RequestBelow,
): void {
  if (!passes(res, req, route.headers ?? noNames, listener)) return;
  if (!listener.hot.serve(route, isHead, wireOf(res), queryOf(req), asked)) {
    dispatch(res, req, listener);
  }
}

/** Reads the headers for a hot route. Returns false if the connection was ended instead. */
function passes(
  res: HttpResponse,
  req: HttpRequest,
  wanted: readonly string[],
  listener: ListenerParts,
): boolean {
  listener.scan.begin(wanted, false);
  req.forEach(listener.scan.visit);
  if (!mustClose(true, listener)) return true;
  closeUnanswered(res);
  return false;
}

/** A body on GET or HEAD has no meaning: a small one is discarded, others end the connection. */
function mustClose(isBodiless: boolean, { scan, limits }: ListenerParts): boolean {
  if (scan.isAmbiguous()) return true;
  return isBodiless && (scan.chunked || scan.contentLength > limits.strayBodyBytesMax);
}

/**
 * Unanswered: after an answer, the library would read on and run what follows as a request.
 * (`close()` on an object without an abort handler ends the whole process.)
 */
function closeUnanswered(res: HttpResponse): void {
  res.onAborted(() => undefined);
  res.close();
}

/**
 * Sends the interim answer that a client waits for: the value of `Expect` has no case (RFC 9110, 10.1.1), and
 * Java writes `100-Continue`. The library counts the status as written then, so the final one goes out as the
 * beginning of a header.
 */
function withContinueSent(wire: Wire): Wire {
  wire.writeStatus('100 Continue\r\n');
  wire.writeStatus = (head) => {
    const whole = Buffer.concat([Buffer.from('HTTP/1.1 '), Buffer.from(head)]);
    const colon = whole.indexOf(': ');
    return wire.writeHeader(whole.subarray(0, colon), whole.subarray(colon + 2));
  };
  return wire;
}

function wireOf(res: HttpResponse): Wire {
  return res as unknown as Wire;
}

function queryOf(req: HttpRequest): string {
  return req.getQuery() ?? ''; // undefined without a question mark
}
