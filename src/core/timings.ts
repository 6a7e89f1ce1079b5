/**
 * Durations of work as histograms in shared memory: each thread writes its own row without
 * atomics, the main thread adds them up when /metrics is asked. Noting one costs about 50 ns.
 */

import { PerformanceObserver } from 'node:perf_hooks';

export type TimedWork = 'check' | 'forward' | 'commit' | 'render';

const kinds: readonly TimedWork[] = ['check', 'forward', 'commit', 'render'];

/** Upper ends in seconds; what takes longer is counted above all of them. */
export const timingBounds: readonly number[] = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 0.5, 1, 2.5, 5, 10,
];
/** Counts, the last of them above all ends, and the sum in seconds. */
const width = timingBounds.length + 2;
const garbageAt = kinds.length * width;
/** Behind the histograms: seconds and runs of the garbage collection. */
const columns = garbageAt + 2;

export interface Histogram {
  /** Counts by bound, each with all below it; the last one is all there are. */
  readonly cumulative: readonly number[];
  /** Seconds. */
  readonly sum: number;
}

export function createTimings(rows: number, buffer = new SharedArrayBuffer(rows * columns * 8)) {
  const values = new Float64Array(buffer);
  return {
    buffer,
    recorder(row: number) {
      return (kind: TimedWork, ms: number): void => {
        const base = row * columns + kinds.indexOf(kind) * width;
        const seconds = ms / 1_000;
        let bucket = 0;
        while (bucket < timingBounds.length && seconds > timingBounds[bucket]!) bucket++;
        values[base + bucket]! += 1;
        values[base + width - 1]! += seconds;
      };
    },
    /** Records the garbage collections of the calling thread from now on. */
    watchGarbage(row: number): void {
      const at = row * columns + garbageAt;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) {
          values[at]! += duration / 1_000;
          values[at + 1]! += 1;
        }
      }).observe({ entryTypes: ['gc'] });
    },
    read(kind: TimedWork): Histogram {
      const cumulative = new Array<number>(width - 1).fill(0);
      let sum = 0;
      for (let row = 0; row < rows; row++) {
        const base = row * columns + kinds.indexOf(kind) * width;
        let below = 0;
        for (let bucket = 0; bucket < width - 1; bucket++) {
          below += values[base + bucket]!;
          cumulative[bucket]! += below;
        }
        sum += values[base + width - 1]!;
      }
      return { cumulative, sum };
    },
    garbage(row: number) {
      const at = row * columns + garbageAt;
      return { seconds: values[at]!, runs: values[at + 1]! };
    },
  };
}

export type Timings = ReturnType<typeof createTimings>;
