/** Rate-limit headers, on every answer to a request with a valid key. */

import type { Quotas } from '../../access/quota/quota.ts';
import { type Head, numberField, withNumber } from '../../http/answer/head.ts';
import type { Header } from '../../http/request/message.ts';
import { writeNumber } from '../../ip/address-writer.ts';

type Findings = Pick<Quotas, 'limit' | 'remaining' | 'resetSecond' | 'retryAfterSeconds'>;

const limitField = numberField('X-RateLimit-Limit');
const remainingField = numberField('X-RateLimit-Remaining');
const resetField = numberField('X-RateLimit-Reset');
const retryAfterField = numberField('Retry-After');

/** The size of a number in the head, including the bytes that whole words overwrite after it. */
const numberBytesMax = 16;

/**
 * As `withQuota` for one head, as bytes that the next call overwrites. Limit and reset, which change by
 * the second at most, stay in it; what remains is written anew, and behind it `fields`, which are the same
 * at each call.
 */
export function quotaHeadBytes(base: Head): (q: Findings, fields: string) => Uint8Array {
  let limit = -1;
  let resetSecond = -1;
  let bytes = Buffer.alloc(0);
  let view!: DataView;
  let numberAt = 0;
  let end = Buffer.alloc(0);
  /** By length: a new view for each answer would cost more than writing it. */
  let views: (Uint8Array | undefined)[] = [];
  function keep(q: Findings, fields: string): void {
    limit = q.limit;
    resetSecond = q.resetSecond;
    const kept = withNumber(withNumber(base, limitField, limit), resetField, resetSecond);
    const start = Buffer.from(kept + remainingField);
    end = Buffer.from(fields);
    numberAt = start.length;
    const length = numberAt + numberBytesMax + end.length;
    if (length !== bytes.length) {
      bytes = Buffer.alloc(length);
      view = new DataView(bytes.buffer, bytes.byteOffset, length);
      views = [];
    }
    bytes.set(start);
  }
  return (q, fields) => {
    if (q.limit !== limit || q.resetSecond !== resetSecond) keep(q, fields);
    let at = writeNumber(view, numberAt, q.remaining);
    if (end.length > 0) {
      bytes.set(end, at);
      at += end.length;
    }
    const whole = views[at] ?? bytes.subarray(0, at);
    views[at] = whole;
    return whole;
  };
}

/** Adds the headers of a quota by string concatenation only, for hot routes. */
export function withQuota(head: Head, q: Findings): Head {
  return withNumber(
    withNumber(withNumber(head, limitField, q.limit), remainingField, q.remaining),
    resetField,
    q.resetSecond,
  );
}

/** Does what `withQuota` does, for a refusal. */
export function withRefusal(head: Head, q: Findings): Head {
  return withNumber(withQuota(head, q), retryAfterField, q.retryAfterSeconds);
}

export function quotaHeaders(q: Findings): Header[] {
  const headers: Header[] = [
    ['X-RateLimit-Limit', String(q.limit)],
    ['X-RateLimit-Remaining', String(q.remaining)],
    ['X-RateLimit-Reset', String(q.resetSecond)],
  ];
  if (q.retryAfterSeconds > 0) headers.push(['Retry-After', String(q.retryAfterSeconds)]);
  return headers;
}

export function quotaDetail(q: Findings, kind: 'read' | 'write'): string {
  // Clients of AbuseIPDB search for these words, and for the number before "seconds".
  return (
    `Per-minute ${kind} rate limit of ${q.limit} requests exceeded for this endpoint. ` +
    `Try again in ${q.retryAfterSeconds} seconds. See headers for additional details.`
  );
}
