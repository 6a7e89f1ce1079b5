/**
 * The messages of the transport: a `Request` snapshot in, a `Reply` value out. Both survive
 * `structuredClone`, so a front-end thread can send the one and receive the other.
 */

import type { ErrorCode } from '../../core/errors.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** Name and value. Names and values are checked when the reply is written. */
export type Header = readonly [name: string, value: string];

export interface Request {
  readonly method: Method;
  /** As sent: never percent-decoded, starts with `/`, printable ASCII. */
  readonly path: string;
  /** The decoded `:param` or `*` part of the route's path; empty for an exact path. */
  readonly param: string;
  /** Raw, without the `?`; empty when there is none. */
  readonly query: string;
  /** Only the names that the route asked for, lower case; every line of a repeated header. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** The whole body; empty on a streamed route. */
  readonly body: Uint8Array;
  /** Canonical text of the client's address, after trusted proxies; `unix` of a peer without one. */
  readonly clientIp: string;
  /** Its name in its answer and in the log. */
  readonly id: string;
  /** The trace id of the client's `traceparent`. */
  readonly trace?: string | undefined;
  /** Values that the front end has read from the body, in place of the body; the route unpacks them. */
  readonly reading?: PackedReading | undefined;
}

/** Flat, for a request crosses between threads as one list. */
export type PackedReading = readonly (string | number)[];

/** Packs the readings of one route. A request has no other, for its path names the route. */
export interface Packing<Reading> {
  pack(reading: Reading): PackedReading;
  unpack(packed: PackedReading): Reading;
}

export function packing<Reading, Values extends PackedReading>(
  pack: (reading: Reading) => Values,
  unpack: (values: Values) => Reading,
): Packing<Reading> {
  return { pack, unpack: (packed) => unpack(packed as Values) };
}

/** Stands in the body of an error where the transport writes the id of the request. */
export const requestIdPlaceholder = '{{request-id}}';

/** Returns the fields that every log line about a request has. */
export function logFieldsOf({ id, trace }: Pick<Request, 'id' | 'trace'>) {
  return trace === undefined ? { request: id } : { request: id, trace };
}

export interface Reply {
  readonly status: number;
  readonly headers: readonly Header[];
  /**
   * Text is sent as UTF-8. A large `Uint8Array` is written straight from its memory as the
   * socket takes it, without a copy: it must not change afterwards. Several are sent behind one
   * another. Left out on 204 and 304.
   */
  readonly body?: string | Uint8Array | readonly Uint8Array[];
}

/** A refusal by the transport itself; `renderProblem` turns it into the body that fits the path. */
export interface Problem {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  /** `Allow`, `Retry-After`: added to the rendered reply by the transport. */
  readonly headers: readonly Header[];
}

/** The known parts of a refused request; its headers may not have been kept. */
export interface RequestLine {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The header as it came, where headers were read. */
  readonly acceptLanguage?: string | undefined;
}

export type RenderProblem = (problem: Problem, line: RequestLine) => Reply;

/** First line of a header, or undefined. */
export function firstHeader(request: Request, lowerCaseName: string): string | undefined {
  return request.headers[lowerCaseName]?.[0];
}

export function problem(
  code: ErrorCode,
  status: number,
  detail: string,
  headers: readonly Header[] = [],
): Problem {
  return { code, status, detail, headers };
}
