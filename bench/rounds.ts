/**
 * Micro benchmarks by tinybench, with the rivals interleaved: every subject runs once in each round,
 * so noise falls on all alike. tinybench would run one subject after the other by itself.
 */

import { Bench } from 'tinybench';
import { median } from './row.ts';

/** Nanoseconds per operation. */
export interface Timing {
  readonly median: number;
  readonly min: number;
}

export interface Subject {
  /** Operations of one run. */
  readonly operations: number;
  /** Returns something that depends on the work, so that it is not optimised away. */
  run(): number | Promise<number>;
}

/** Takes what subjects return. */
const sink = { value: 0 };

export async function measure<Name extends string>(
  subjects: Readonly<Record<Name, Subject>>,
  rounds: number,
): Promise<Record<Name, Timing>> {
  const bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true });
  const all = Object.entries<Subject>(subjects).map(([name, { operations, run }]) => {
    const once = async () => {
      sink.value ^= await run();
    };
    bench.add(name, once, { async: true });
    return { name, operations, samples: [] as number[] };
  });
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    // A task that has run once would not run again, and tell the times of its first, cold run.
    bench.reset();
    await bench.run();
    for (const { name, operations, samples } of all) {
      const { result } = bench.getTask(name)!;
      if (!('latency' in result)) throw new Error(`${name}: ${result.state}`);
      if (round > 0) samples.push((result.latency.min * 1e6) / operations);
    }
  }
  const timings = all.map(({ name, samples }) => {
    return [name, { median: median(samples), min: Math.min(...samples) }] as const;
  });
  return Object.fromEntries(timings) as Record<Name, Timing>;
}
