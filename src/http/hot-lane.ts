/**
 * The fast lane for routes that answer in the same turn: the library's own router, one
 * object for all requests of a thread, one pass over the headers, three calls to write.
 * Nothing is awaited, so the state of one request is gone before the next one comes.
 */

import type { Log } from '../core/log/log.ts';
import { bytesOf, sendAsTaken, type Wire } from './exchange.ts';
import type { HeaderScan } from './framing.ts';
import { type Head, renderHead, statusOf } from './head.ts';
import type { HttpLimits } from './limits.ts';
import { type Problem, problem, type RenderProblem } from './message.ts';
import type { HotRequest, HotRoute } from './router.ts';

export interface HotLaneOptions {
  readonly scan: HeaderScan;
  readonly limits: HttpLimits;
  readonly log: Log;
  readonly renderProblem: RenderProblem;
  /** Lines at the end of every head, see `fieldsOf`. */
  readonly fields: string;
  readonly clientIpOf: (wire: Wire) => string;
  readonly isClosing: () => boolean;
  readonly shouldProbe: () => boolean;
  readonly onFinished?:
    | ((path: string, status: number, elapsedMs: number | undefined) => void)
    | undefined;
}

/** `serve` expects that the scan went over the headers and found nothing to refuse. */
export interface HotLane {
  /** False: not answered, the route defers to the plain one of its path. */
  serve(route: HotRoute, isHead: boolean, wire: Wire, query: string): boolean;
}

/** One request in so many is timed. */
const timedEvery = 64;

const noHandler = (): void => undefined;

export function createHotLane(options: HotLaneOptions): HotLane {
  const { scan, limits, clientIpOf, isClosing, shouldProbe, onFinished, fields } = options;
  let wire!: Wire;
  let query = '';
  let head: string | Uint8Array | undefined;
  let body: string | Uint8Array = '';
  let status = 0;
  let isHead = false;
  let isDeferred = false;
  let served = 0;
  const request: HotRequest = {
    get query() {
      return query;
    },
    values: scan.values,
    clientIp: () => clientIpOf(wire),
    fields,
    answer: say,
    answerBytes(replyStatus, replyHead, replyBody) {
      status = replyStatus;
      head = replyHead;
      body = replyBody;
    },
    defer() {
      isDeferred = true;
    },
  };

  function say(replyHead: Head, replyBody: string | Uint8Array): void {
    status = statusOf(replyHead);
    head = replyHead + fields;
    body = replyBody;
  }

  /** One function for all requests, not a closure for each. */
  function write(): void {
    const close = scan.wantsClose || isClosing();
    wire.writeStatus(head!);
    if (!isHead) {
      wire.end(body, close);
      return;
    }
    if (close) wire.writeHeader('Connection', 'close');
    wire.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    wire.endWithoutBody();
  }

  function probe(): void {
    wire.onAborted(noHandler);
    wire.writeStatus(head!);
    if (scan.wantsClose || isClosing()) wire.writeHeader('Connection', 'close');
    // A copy: what the client does not take at once waits, and the route may reuse its buffer.
    sendAsTaken(wire, [Buffer.from(body as Uint8Array)], noHandler);
  }

  function refuse(path: string, what: Problem): void {
    try {
      const reply = options.renderProblem(what, { method: 'GET', path, query });
      say(renderHead(reply.status, reply.headers), bytesOf(reply.body ?? ''));
    } catch (error) {
      options.log.error({ err: error, path }, 'a problem cannot be rendered');
      say(renderHead(500, []), '');
    }
  }

  function handle(route: HotRoute): void {
    try {
      if (query.length > limits.queryCharsMax) {
        refuse(route.path, problem('bad_request', 400, 'The query is too long.'));
      } else route.handle(request);
      if (head === undefined && !isDeferred)
        throw new Error('a hot route returned without an answer');
    } catch (error) {
      isDeferred = false;
      options.log.error({ err: error, path: route.path }, 'a hot route failed');
      refuse(route.path, problem('internal', 500, 'The service failed to answer.'));
    }
  }

  return {
    serve(route, forHead, requestWire, rawQuery) {
      wire = requestWire;
      query = rawQuery;
      isHead = forHead;
      head = undefined;
      isDeferred = false;
      const startMs = ++served % timedEvery === 0 ? performance.now() : undefined;
      handle(route);
      if (isDeferred) return false;
      // The library's own cork holds 16 KB of pipelined answers: uncorked, each piece of an
      // answer would be a packet of its own.
      if (shouldProbe() && !isHead && body.length > 0) probe();
      else wire.cork(write);
      if (onFinished !== undefined) {
        const elapsedMs = startMs === undefined ? undefined : performance.now() - startMs;
        onFinished(route.path, status, elapsedMs);
      }
      return true;
    },
  };
}
