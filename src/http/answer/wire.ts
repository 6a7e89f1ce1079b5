/**
 * The library's response object as the rest of `http/` sees it, the ways to end an answer on it, and a well-framed
 * request as `server.ts` hands it over: copied out of the library's memory.
 */

import type { Request } from '../request/message.ts';
import type { Match } from '../router.ts';

/** The part of the library's response object that is used outside of `server.ts`. */
export interface Wire {
  onAborted(handler: () => void): unknown;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
  writeStatus(text: string | Uint8Array): unknown;
  writeHeader(name: string | Uint8Array, value: string | Uint8Array): unknown;
  end(body: string | Uint8Array, closeConnection: boolean): unknown;
  endWithoutBody(): unknown;
  tryEnd(rest: Uint8Array, total: number): [hasRoom: boolean, isDone: boolean];
  pause(): unknown;
  resume(): unknown;
  close(): unknown;
}

/**
 * Sends the parts from the caller's memory as the socket takes them, and calls `done` at the end. Until
 * then the response stays pending, so a client that pipelines more is dropped by
 * the library, and one that doesn't read is closed by its timeout.
 */
export function sendWithBackpressure(
  wire: Wire,
  parts: readonly Uint8Array[],
  done: () => void,
): void {
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  let part = 0;
  /** Bytes of the parts before `part`. */
  let before = 0;
  const attempt = (offset: number): boolean => {
    for (;;) {
      while (offset >= before + parts[part]!.length) before += parts[part++]!.length;
      const rest = offset === before ? parts[part]! : parts[part]!.subarray(offset - before);
      const [hasRoom, isDone] = wire.tryEnd(rest, total);
      if (isDone) done();
      if (isDone || !hasRoom) return hasRoom;
      offset += rest.length;
    }
  };
  if (!attempt(0)) wire.onWritable(attempt);
}

/** Nothing more is read behind the answer that is being written, and what nobody takes is cut off in time. */
export function endAfter(wire: Wire): void {
  wire.writeHeader('Connection', 'close');
  wire.pause();
}

export function endBodiless(wire: Wire, close: boolean, shouldEnd: () => boolean): void {
  if (close) wire.writeHeader('Connection', 'close');
  else if (shouldEnd()) endAfter(wire);
  wire.endWithoutBody();
}

export interface Arrival {
  readonly wire: Wire;
  readonly match: Match | undefined;
  readonly method: string;
  readonly path: string;
  /** Raw, without the `?`. */
  readonly query: string;
  readonly clientIp: string;
  readonly id: string;
  readonly trace: string | undefined;
  readonly headers: Record<string, string[]>;
  /** 0 if none is declared. */
  readonly contentLength: number;
  readonly isChunked: boolean;
  /** Coding of the body, as it came. */
  readonly contentEncoding: string | undefined;
  readonly wantsClose: boolean;
}

export function hasBody(arrival: Arrival): boolean {
  return arrival.isChunked || arrival.contentLength > 0;
}

/** Makes the request that a handler gets. */
export function requestOf(arrival: Arrival, body: Uint8Array): Request {
  return {
    method: arrival.method as Request['method'],
    path: arrival.path,
    param: arrival.match?.param ?? '',
    query: arrival.query,
    headers: arrival.headers,
    body,
    clientIp: arrival.clientIp,
    id: arrival.id,
    ...(arrival.trace === undefined ? {} : { trace: arrival.trace }),
  };
}

/** No client can send a header of this name: it has the problem that a refusal is made of. */
export const problemHeader = ':problem';

/** Returns whether the cookie may be there. The route that it leads to parses it. */
export function hasCookie(lines: Arrival['headers'], name: string | undefined): boolean {
  return name !== undefined && lines.cookie?.some((line) => line.includes(`${name}=`)) === true;
}
