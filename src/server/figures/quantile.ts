/** Quantiles of a histogram, as exact as its bounds allow. */

import { type Histogram, timingBounds } from '../../core/work/timings.ts';

/** Returns the difference of two readings of one histogram. */
export function sinceThen(now: Histogram, then: Histogram): Histogram {
  const cumulative = now.cumulative.map((count, i) => count - then.cumulative[i]!);
  return { cumulative, sum: now.sum - then.sum };
}

/**
 * Seconds, on a line between the two bounds around it; the last bound for what is above all of them.
 * @param share 0 to 1
 * @returns undefined when nothing was counted
 */
export function quantileOf({ cumulative }: Histogram, share: number): number | undefined {
  const count = cumulative.at(-1)!;
  if (count <= 0) return undefined;
  const wanted = share * count;
  const bucket = cumulative.findIndex((below) => below >= wanted);
  if (bucket >= timingBounds.length) return timingBounds.at(-1)!;
  const before = bucket === 0 ? 0 : cumulative[bucket - 1]!;
  const from = bucket === 0 ? 0 : timingBounds[bucket - 1]!;
  return (
    from + ((wanted - before) / (cumulative[bucket]! - before)) * (timingBounds[bucket]! - from)
  );
}
