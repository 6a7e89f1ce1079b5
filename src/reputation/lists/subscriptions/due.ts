/**
 * When a subscribed list is fetched. After a good answer: after its own time. After failures: after a
 * minute, twice as long each time, and at last as rarely as its own time says, or hourly. All of it
 * a tenth sooner or later, so that many servers don't ask at one moment. A server that says in
 * `Retry-After` when to come back is not asked sooner, for a day at most.
 */

import { retryAfterMsMax } from '../import/retry-after.ts';
import type { Subscription } from './subscriptions.ts';

const retryMsMin = 60_000;
const retryMsMax = 3_600_000;
const jitter = 0.1;

/** @param failures in a row, 0 after a good answer */
function pauseMs(everyMs: number, failures: number): number {
  if (failures === 0) return everyMs;
  const longestMs = Math.max(everyMs, retryMsMax);
  // Beyond 30 the longest is reached whatever it is.
  return Math.min(longestMs, retryMsMin * 2 ** Math.min(30, failures - 1));
}

/** @param fraction of chance, 0 to 1 */
export function dueAfter(
  { everyMs, failures }: Pick<Subscription, 'everyMs' | 'failures'>,
  now: number,
  fraction: number,
): number {
  return now + Math.round(pauseMs(everyMs, failures) * (1 - jitter + 2 * jitter * fraction));
}

/** A clock that was ahead and was set back must not hold a list up for as long. */
export function isDue(row: Subscription, now: number): boolean {
  if (row.state !== 'active') return false;
  const pause = pauseMs(row.everyMs, row.failures) * (1 + jitter) + 1;
  const longestMs = row.failures === 0 ? pause : Math.max(pause, retryAfterMsMax);
  return row.dueAt <= now || row.dueAt - now > longestMs;
}
