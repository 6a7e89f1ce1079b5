/**
 * Micro benchmarks by tinybench, with the rivals interleaved: every subject runs once in each round,
 * so noise falls on all alike. tinybench takes the times, warms up and makes the statistics; it would
 * run one subject after the other by itself.
 */

import { Bench, type FnOptions, type Statistics } from 'tinybench';

/** Nanoseconds per operation. */
export interface Timing {
  readonly median: number;
  readonly min: number;
  /** Half of the 95 % interval of the mean, as a share of it. */
  readonly marginPercent: number;
}

export interface Subject {
  /** Operations of one run. */
  readonly operations: number;
  /** Untimed, before each run. */
  prepare?(): void;
  /** Returns something that depends on the work, so that it is not optimised away. */
  run(): number;
}

interface AsyncSubject extends Omit<Subject, 'run'> {
  run(): Promise<number>;
}

/** Takes what subjects return. */
const sink = { value: 0 };

export function measure<Name extends string>(
  subjects: Readonly<Record<Name, Subject>>,
  rounds: number,
): Record<Name, Timing> {
  const race = new Race(subjects);
  for (const name of race.names) {
    const run = () => {
      sink.value ^= subjects[name].run();
    };
    race.add(name, run, false);
  }
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    // A task that has run once would not run again, and tell the times of its first, cold run.
    race.bench.reset();
    race.bench.runSync();
    if (round > 0) race.keep();
  }
  return race.timings();
}

/** The same where subjects have to wait. */
export async function measureAsync<Name extends string>(
  subjects: Readonly<Record<Name, AsyncSubject>>,
  rounds: number,
): Promise<Record<Name, Timing>> {
  const race = new Race(subjects);
  for (const name of race.names) {
    const run = async () => {
      sink.value ^= await subjects[name].run();
    };
    race.add(name, run, true);
  }
  for (let round = 0; round <= rounds; round++) {
    race.bench.reset();
    await race.bench.run();
    if (round > 0) race.keep();
  }
  return race.timings();
}

/** Each run of `bench` is one round: one call of each subject. */
class Race<Name extends string> {
  readonly names: readonly Name[];
  readonly bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true });
  readonly #subjects: Readonly<Record<Name, Pick<Subject, 'operations' | 'prepare'>>>;
  readonly #samples = new Map<Name, number[]>();

  constructor(subjects: Readonly<Record<Name, Pick<Subject, 'operations' | 'prepare'>>>) {
    this.#subjects = subjects;
    this.names = Object.keys(subjects) as Name[];
    for (const name of this.names) this.#samples.set(name, []);
  }

  add(name: Name, run: () => void | Promise<void>, async: boolean): void {
    const subject = this.#subjects[name];
    const options: FnOptions = { async };
    if (subject.prepare !== undefined) options.beforeEach = () => subject.prepare?.();
    this.bench.add(name, run, options);
  }

  keep(): void {
    for (const name of this.names) this.#samples.get(name)!.push(this.#statistics(name).min);
  }

  timings(): Record<Name, Timing> {
    const timings = this.names.map((name) => {
      const { p50, min, rme } = statisticsOf(this.#samples.get(name)!);
      const { operations } = this.#subjects[name];
      const nanoseconds = (ms: number) => (ms * 1e6) / operations;
      return [
        name,
        { median: nanoseconds(p50), min: nanoseconds(min), marginPercent: rme },
      ] as const;
    });
    return Object.fromEntries(timings) as Record<Name, Timing>;
  }

  #statistics(name: Name): Statistics {
    const { result } = this.bench.getTask(name)!;
    if (!('latency' in result)) throw new Error(`${name}: ${result.state}`);
    return result.latency;
  }
}

/** By tinybench, to which the times are told in place of measured ones. */
function statisticsOf(samples: readonly number[]): Statistics {
  let at = 0;
  const bench = new Bench({ iterations: samples.length, time: 0, warmup: false, throws: true });
  bench.add('samples', () => ({ overriddenDuration: samples[at++ % samples.length]! }), {
    async: false,
  });
  bench.runSync();
  const { result } = bench.getTask('samples')!;
  if (!('latency' in result)) throw new Error(`statistics: ${result.state}`);
  return result.latency;
}
