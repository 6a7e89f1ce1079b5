/** The Range header (RFC 9110, 14.2): one range with a first byte; all other forms ask for the whole. */

import { firstHeader, type Request } from '../http/message.ts';

/** First and last byte, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Undefined: answer with the whole. The route must read `range`. */
export function byteRange(
  request: Request,
  length: number,
): ByteRange | 'unsatisfiable' | undefined {
  const asked = /^bytes=(\d{1,9})-(\d{0,9})$/.exec(firstHeader(request, 'range') ?? '');
  if (asked === null || request.method !== 'GET') return undefined;
  const first = Number(asked[1]);
  const last = Math.min(length - 1, asked[2] === '' ? length - 1 : Number(asked[2]));
  if (first >= length) return 'unsatisfiable';
  // 14.1.1: a range whose last byte comes before its first is no range at all.
  return last < first ? undefined : { first, last };
}
