/**
 * Counters of one process, in memory: approximate quotas need no disk. A counter starts again
 * from 0 at its expiry. At the bound the counter that was made first goes, whatever its total.
 */

import type { CountDelta } from './store.ts';

export interface Counts {
  /** Totals after adding, in the order of the deltas. */
  add(deltas: readonly CountDelta[], nowMs: number): number[];
}

export function createCounts(countersMax: number): Counts {
  const counters = new Map<string, { total: number; expiresAt: number }>();

  function addOne({ name, add, expiresAt }: CountDelta, nowMs: number): number {
    const counter = counters.get(name);
    if (counter !== undefined && counter.expiresAt > nowMs) {
      counter.total += add;
      return counter.total;
    }
    // Made anew, it moves to the end of the map: the map's order stays the order of making.
    counters.delete(name);
    if (counters.size >= countersMax) counters.delete(counters.keys().next().value!);
    counters.set(name, { total: add, expiresAt });
    return add;
  }

  return { add: (deltas, nowMs) => deltas.map((delta) => addOne(delta, nowMs)) };
}
