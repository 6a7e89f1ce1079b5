/** Rate-limit headers, on every answer to a request with a valid key. */

import type { Quotas } from '../access/quota.ts';
import { type Head, numberField, withNumber } from '../http/head.ts';
import type { Header } from '../http/message.ts';

type Findings = Pick<Quotas, 'limit' | 'remaining' | 'resetSecond' | 'retryAfterSeconds'>;

const limitField = numberField('X-RateLimit-Limit');
const remainingField = numberField('X-RateLimit-Remaining');
const resetField = numberField('X-RateLimit-Reset');
const retryAfterField = numberField('Retry-After');

/** For hot routes: string concatenation only. */
export function withQuota(head: Head, q: Findings): Head {
  return withNumber(
    withNumber(withNumber(head, limitField, q.limit), remainingField, q.remaining),
    resetField,
    q.resetSecond,
  );
}

/** As `withQuota`, for a refusal. */
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
  return `The ${kind} rate limit of ${q.limit} per minute is exceeded. Retry in ${q.retryAfterSeconds} s.`;
}
