/**
 * Counts the questions of integrations by outcome, in shared memory: those who answer count, the main
 * thread reads. Where front ends answer, each has a row.
 */

export function createCounters<Outcome extends string>(
  outcomes: readonly Outcome[],
  buffer = new SharedArrayBuffer(outcomes.length * 8),
) {
  const counts = new Float64Array(buffer);
  const rowOf = new Map(outcomes.map((outcome, row) => [outcome, row]));
  return {
    buffer,
    count(outcome: Outcome): void {
      counts[rowOf.get(outcome)!]! += 1;
    },
    read: () => outcomes.map((outcome, row) => [outcome, counts[row]!] as const),
  };
}

/** Yields counts as /metrics takes them, by one label. */
export function* labelled(
  label: string,
  counts: Iterable<readonly [string, number]>,
): Generator<[Record<string, string>, number]> {
  for (const [name, count] of counts) yield [{ [label]: name }, count];
}

const integrationOutcomes = {
  gate: ['allow', 'pass', 'challenge', 'block', 'over_pass', 'bad_policy', 'no_address'],
  decisions: ['listed', 'unlisted', 'over_limit', 'bad_request', 'forbidden', 'failed'],
  dovecot: ['allow', 'delay', 'refuse', 'told', 'over_limit', 'bad_request', 'forbidden'],
} as const;

type Integration = keyof typeof integrationOutcomes;
export type IntegrationOutcome<D extends Integration> = (typeof integrationOutcomes)[D][number];

export type IntegrationCounters = ReturnType<typeof createIntegrationCounters>;

const columns = Object.entries(integrationOutcomes).flatMap(([integration, outcomes]) =>
  outcomes.map((outcome) => `${integration} ${outcome}`),
);
const columnOf = new Map(columns.map((name, column) => [name, column]));

export function createIntegrationCounters(
  threads: number,
  buffer = new SharedArrayBuffer(threads * columns.length * 8),
) {
  const counts = new Float64Array(buffer);
  return {
    buffer,
    recorder<D extends Integration>(integration: D, thread: number) {
      const cells = new Map<string, number>(
        integrationOutcomes[integration].map((outcome) => [
          outcome,
          thread * columns.length + columnOf.get(`${integration} ${outcome}`)!,
        ]),
      );
      return (outcome: IntegrationOutcome<D>): void => {
        counts[cells.get(outcome)!]! += 1;
      };
    },
    read: (integration: Integration) =>
      integrationOutcomes[integration].map((outcome): [string, number] => {
        const column = columnOf.get(`${integration} ${outcome}`)!;
        let sum = 0;
        for (let thread = 0; thread < threads; thread++) {
          sum += counts[thread * columns.length + column]!;
        }
        return [outcome, sum];
      }),
  };
}
