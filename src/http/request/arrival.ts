/** A well-framed request as `server.ts` hands it over: copied out of the library's memory. */

import type { Wire } from '../answer/wire.ts';
import type { Match } from '../router.ts';
import type { Request } from './message.ts';

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
