/** Questions to the gate by their answers, in shared memory: each front end has a row, the main thread reads. */

export const outcomes = ['allow', 'pass', 'challenge', 'block', 'over_pass', 'bad_policy'] as const;

export type Outcome = (typeof outcomes)[number];

export interface GateCounters {
  readonly buffer: SharedArrayBuffer;
  recorder(thread: number): (outcome: Outcome) => void;
  read(): Iterable<[Outcome, number]>;
}

export function createGateCounters(
  threads: number,
  buffer = new SharedArrayBuffer(threads * outcomes.length * 8),
): GateCounters {
  const counts = new Float64Array(buffer);
  const columnOf = new Map(outcomes.map((outcome, column) => [outcome, column]));
  return {
    buffer,
    recorder: (thread) => (outcome) => {
      counts[thread * outcomes.length + columnOf.get(outcome)!]! += 1;
    },
    read: () =>
      outcomes.map((outcome, column): [Outcome, number] => {
        let sum = 0;
        for (let thread = 0; thread < threads; thread++) {
          sum += counts[thread * outcomes.length + column]!;
        }
        return [outcome, sum];
      }),
  };
}
