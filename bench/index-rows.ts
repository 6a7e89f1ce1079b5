/** How the index benches say a timing, with or without a peer. */

import type { Timing } from './rounds.ts';
import type { BenchRow } from './row.ts';

export function round(value: number): number {
  return Number(value.toPrecision(4));
}

export function goalRow(name: string, { median, min }: Timing, goalNs?: number): BenchRow {
  const goal = goalNs === undefined ? {} : { goal: `<= ${goalNs} ns`, ok: median <= goalNs };
  return { name, unit: 'ns', ours: round(median), ...goal, note: `min ${round(min)}` };
}

/** The ratio is ours by theirs; the goal says how many times ours theirs must be. */
export function peerRow(
  name: string,
  ours: Timing,
  peer: string,
  theirs: Timing,
  times?: number,
): BenchRow {
  const ratio = ours.median / theirs.median;
  const goal =
    times === undefined ? {} : { goal: `peer >= ${times} times ours`, ok: ratio <= 1 / times };
  return {
    name,
    unit: 'ns',
    ours: round(ours.median),
    peer,
    peerValue: round(theirs.median),
    ratio: Number(ratio.toPrecision(3)),
    ...goal,
    note: `${round(1 / ratio)} times faster; min ${round(ours.min)} and ${round(theirs.min)}`,
  };
}

export function millisecondsOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/** Sorts in place. */
export function medianOf(values: number[]): number {
  values.sort((a, b) => a - b);
  return values[values.length >> 1]!;
}
