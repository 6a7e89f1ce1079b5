/** Queries by what became of them, in shared memory: the DNS thread counts, the main thread reads. */

export const outcomes = [
  'listed',
  'unlisted',
  'no_data',
  'refused_zone',
  'refused_client',
  'refused_key',
  'refused_quota',
  'refused_type',
  'malformed',
  'dropped',
  'truncated',
  'rate_limited',
  'failed',
] as const;

export type DnsOutcome = (typeof outcomes)[number];

export interface DnsCounters {
  readonly buffer: SharedArrayBuffer;
  count(outcome: DnsOutcome): void;
  read(): Iterable<[DnsOutcome, number]>;
}

export function createCounters(buffer = new SharedArrayBuffer(outcomes.length * 8)): DnsCounters {
  const counts = new Float64Array(buffer);
  const rowOf = new Map(outcomes.map((outcome, row) => [outcome, row]));
  return {
    buffer,
    count(outcome) {
      counts[rowOf.get(outcome)!]! += 1;
    },
    read: () => outcomes.map((outcome, row): [DnsOutcome, number] => [outcome, counts[row]!]),
  };
}
