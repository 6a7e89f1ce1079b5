/** Counters of questions by outcome, in shared memory: one thread counts, the main thread reads. */

export interface Counters<Outcome extends string> {
  readonly buffer: SharedArrayBuffer;
  count(outcome: Outcome): void;
  read(): Iterable<[Outcome, number]>;
}

export function createCounters<Outcome extends string>(
  outcomes: readonly Outcome[],
  buffer = new SharedArrayBuffer(outcomes.length * 8),
): Counters<Outcome> {
  const counts = new Float64Array(buffer);
  const rowOf = new Map(outcomes.map((outcome, row) => [outcome, row]));
  return {
    buffer,
    count(outcome) {
      counts[rowOf.get(outcome)!]! += 1;
    },
    read: () => outcomes.map((outcome, row): [Outcome, number] => [outcome, counts[row]!]),
  };
}

/** Yields counts as /metrics takes them, by one label. */
export function* labelled(
  label: string,
  counts: Iterable<[string, number]>,
): Generator<[Record<string, string>, number]> {
  for (const [name, count] of counts) yield [{ [label]: name }, count];
}
