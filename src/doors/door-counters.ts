/**
 * What became of questions that front ends answer for a door, in shared memory: each front end has a row,
 * the main thread reads.
 */

export const doorOutcomes = {
  gate: ['allow', 'pass', 'challenge', 'block', 'over_pass', 'bad_policy', 'no_address'],
  decisions: ['listed', 'unlisted', 'over_limit', 'bad_request', 'forbidden', 'failed'],
  dovecot: ['allow', 'delay', 'refuse', 'told', 'over_limit', 'bad_request', 'forbidden'],
} as const;

type Door = keyof typeof doorOutcomes;
export type DoorOutcome<D extends Door> = (typeof doorOutcomes)[D][number];

export interface DoorCounters {
  readonly buffer: SharedArrayBuffer;
  recorder<D extends Door>(door: D, thread: number): (outcome: DoorOutcome<D>) => void;
  read(door: Door): Iterable<[string, number]>;
}

const columns = Object.entries(doorOutcomes).flatMap(([door, outcomes]) =>
  outcomes.map((outcome) => `${door} ${outcome}`),
);
const columnOf = new Map(columns.map((name, column) => [name, column]));

export function createDoorCounters(
  threads: number,
  buffer = new SharedArrayBuffer(threads * columns.length * 8),
): DoorCounters {
  const counts = new Float64Array(buffer);
  return {
    buffer,
    recorder(door, thread) {
      const places = new Map<string, number>(
        doorOutcomes[door].map((outcome) => [
          outcome,
          thread * columns.length + columnOf.get(`${door} ${outcome}`)!,
        ]),
      );
      return (outcome) => {
        counts[places.get(outcome)!]! += 1;
      };
    },
    read: (door) =>
      doorOutcomes[door].map((outcome): [string, number] => {
        const column = columnOf.get(`${door} ${outcome}`)!;
        let sum = 0;
        for (let thread = 0; thread < threads; thread++) {
          sum += counts[thread * columns.length + column]!;
        }
        return [outcome, sum];
      }),
  };
}
