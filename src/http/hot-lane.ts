/**
 * The fast lane for routes that answer in the same turn: the library's own router, one
 * object for all requests of a thread, one pass over the headers, three calls to write.
 * Nothing is awaited, so the state of one request is gone before the next one comes.
 */

import type { Log } from '../core/log.ts';
import type { AccessLog } from './answer/access-log.ts';
import {
  type Head,
  openErrorBodies,
  renderHead,
  statusOfHead,
  withRequestId,
} from './answer/head.ts';
import { endAfter, endBodiless, sendWithBackpressure, type Wire } from './answer/wire.ts';
import { bodyBytesOf } from './exchange.ts';
import type { HttpLimits } from './limits/limits.ts';
import type { ResolvedClient } from './request/client-ip.ts';
import type { HeaderScan } from './request/framing.ts';
import { type Problem, problem, type RenderProblem } from './request/message.ts';
import type { HotRequest, HotRoute } from './router.ts';

/** The options of both lanes of a server: the hot lane, and the one of all other routes (admission.ts). */
export interface LaneOptions {
  readonly renderProblem: RenderProblem;
  readonly log: Log;
  readonly limits: HttpLimits;
  readonly isClosing: () => boolean;
  readonly shouldCheckReader: () => boolean;
  readonly shouldEnd: () => boolean;
  readonly onFinished?:
    | ((path: string, status: number, elapsedMs: number | undefined) => void)
    | undefined;
  readonly accessLog?: AccessLog | undefined;
}

interface HotLaneOptions extends LaneOptions {
  readonly scan: HeaderScan;
  /** Lines at the end of every head, see `fieldsOf`. */
  readonly fields: string;
  readonly clientOf: (wire: Wire) => ResolvedClient;
  /** The id of a request, which a trusted proxy may have chosen. Most have none here, see docs/HTTP.md. */
  readonly idOf: (wire: Wire) => string;
}

/** The method and path of a request to a route with `takesAllBelow`. */
export type RequestBelow = Pick<HotRequest, 'method' | 'path'>;

/** One request in so many is timed. */
const timedEvery = 64;

const nothingBelow: RequestBelow = { method: '', path: '' };
const noHandler = (): void => undefined;

/** Expects that the headers were scanned and nothing was refused. */
export function createHotLane(options: HotLaneOptions) {
  const {
    scan,
    limits,
    clientOf,
    idOf,
    isClosing,
    shouldCheckReader,
    shouldEnd,
    onFinished,
    accessLog,
    fields,
  } = options;
  const errorBody = openErrorBodies();
  let wire!: Wire;
  let query = '';
  let head: string | Uint8Array | undefined;
  let body: string | Uint8Array = '';
  let status = 0;
  let isHead = false;
  let below = nothingBelow;
  let isDeferred = false;
  let id: string | undefined;
  let served = 0;
  const request: HotRequest = {
    get query() {
      return query;
    },
    get method() {
      return below.method;
    },
    get path() {
      return below.path;
    },
    values: scan.values,
    client: () => clientOf(wire),
    id: requestId,
    fields,
    answer: respond,
    answerBytes(replyStatus, replyHead, replyBody) {
      status = replyStatus;
      head = replyHead;
      body = replyBody;
    },
    defer() {
      isDeferred = true;
    },
  };

  function requestId(): string {
    id ??= idOf(wire);
    return id;
  }

  function respond(replyHead: Head, replyBody: string | Uint8Array): void {
    status = statusOfHead(replyHead);
    head = (id === undefined ? replyHead : withRequestId(replyHead, id)) + fields;
    body = replyBody;
  }

  /** One function for all requests, not a closure for each. */
  function write(): void {
    const close = scan.wantsClose || isClosing();
    wire.writeStatus(head!);
    if (!isHead) {
      if (body.length === 0 && !close && shouldEnd()) endAfter(wire);
      wire.end(body, close);
      return;
    }
    wire.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    endBodiless(wire, close, shouldEnd);
  }

  function checkReader(): void {
    wire.onAborted(noHandler);
    wire.writeStatus(head!);
    // A copy: what the client does not take at once waits, and the route may reuse its buffer.
    sendWithBackpressure(wire, [Buffer.from(body as Uint8Array)], noHandler);
  }

  function refuse(path: string, what: Problem): void {
    const name = requestId();
    try {
      const reply = options.renderProblem(what, { method: 'GET', path, query });
      const plain = renderHead(reply.status, reply.headers);
      const text = bodyBytesOf(reply.body ?? '').toString();
      respond(plain, errorBody(plain, text, name));
    } catch (error) {
      options.log.error({ err: error, path, request: name }, 'a problem cannot be rendered');
      respond(renderHead(500, []), '');
    }
  }

  function handle(route: HotRoute): void {
    try {
      if (query.length > limits.queryCharsMax && route.takesAllBelow !== true) {
        const why = problem('bad_request', 400, 'The query is too long.');
        refuse(route.path, why);
      } else route.handle(request);
      if (head === undefined && !isDeferred)
        throw new Error('a hot route returned without an answer');
    } catch (error) {
      isDeferred = false;
      options.log.error(
        { err: error, path: route.path, request: requestId() },
        'a hot route failed',
      );
      refuse(route.path, problem('internal', 500, 'The service failed to answer.'));
    }
  }

  return {
    /** Returns false when the route deferred the request to the plain route of its path. */
    serve(
      route: HotRoute,
      forHead: boolean,
      requestWire: Wire,
      rawQuery: string,
      asked: RequestBelow = nothingBelow,
    ): boolean {
      wire = requestWire;
      query = rawQuery;
      isHead = forHead;
      below = asked;
      head = undefined;
      isDeferred = false;
      id = undefined;
      const isTimed = ++served % timedEvery === 0;
      const startMs = isTimed || accessLog !== undefined ? performance.now() : undefined;
      handle(route);
      if (isDeferred) return false;
      // Once it is answered the library's object is dead.
      const clientIp = accessLog === undefined ? '' : clientOf(wire).ip;
      // The library's own cork holds 16 KB of pipelined answers: uncorked, each piece of an
      // answer would be a packet of its own.
      if (!isHead && body.length > 0 && !scan.wantsClose && !isClosing() && shouldCheckReader())
        checkReader();
      else wire.cork(write);
      const elapsedMs = startMs === undefined ? undefined : performance.now() - startMs;
      onFinished?.(route.path, status, isTimed ? elapsedMs : undefined);
      accessLog?.({
        clientIp,
        method: isHead ? 'HEAD' : 'GET',
        pattern: route.path,
        path: route.path,
        query,
        status,
        ms: elapsedMs ?? 0,
        id,
        trace: undefined,
      });
      return true;
    },
  };
}

export type HotLane = ReturnType<typeof createHotLane>;
