/** Interleaved rounds: every subject runs once in each, so noise falls on all alike. */

export interface Timing {
  /** Nanoseconds per operation. */
  readonly median: number;
  readonly min: number;
}

export interface Subject {
  /** Operations of one run. */
  readonly operations: number;
  /** Returns something that depends on the work, so that it is not optimised away. */
  run(): number;
}

/** Where results go to be used. */
export interface Sink {
  value: number;
}

export function measure<Name extends string>(
  subjects: Readonly<Record<Name, Subject>>,
  rounds: number,
  sink: Sink = { value: 0 },
): Record<Name, Timing> {
  const names = Object.keys(subjects) as Name[];
  const times = new Map<Name, number[]>(names.map((name) => [name, []]));
  // The first round warms up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const name of names) {
      const subject = subjects[name];
      const start = performance.now();
      sink.value ^= subject.run();
      const elapsed = performance.now() - start;
      if (round > 0) times.get(name)!.push((elapsed * 1e6) / subject.operations);
    }
  }
  const timings = names.map((name) => {
    const sorted = times.get(name)!.sort((a, b) => a - b);
    return [name, { median: sorted[sorted.length >> 1]!, min: sorted[0]! }] as const;
  });
  return Object.fromEntries(timings) as Record<Name, Timing>;
}
