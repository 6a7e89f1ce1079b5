/**
 * Digests of the nodes' memories, and what they say of one another. Only digests at the same event
 * of the journal can be compared, so each node publishes some: its newest, and those at round
 * numbers of events.
 *
 * Invariant: whether a number is round depends on the number alone, so all nodes publish the same
 * ones.
 */

/** Event to digest, as hex. */
export type Digests = ReadonlyMap<bigint, string>;

/**
 * `outvoted`: more than half of the nodes that were at the same event agree on another memory.
 * `unknown`: no other node published a digest at the same event.
 */
export const memoryVerdicts = ['agrees', 'differs', 'outvoted', 'unknown'] as const;
export type MemoryVerdict = (typeof memoryVerdicts)[number];

/** Each level is kept by itself: nodes far apart share the rounder ones. */
const levels = [262_144n, 4_096n, 64n];
const keptOfLevel = 4;

export const digestEvery = 64n;

export function createDigestRing() {
  const rings = levels.map(() => [] as [bigint, string][]);
  return {
    add(seq: bigint, digest: string): void {
      const ring = rings[levels.findIndex((level) => seq % level === 0n)];
      if (ring === undefined) throw new RangeError(`${seq} is no round number of events`);
      ring.push([seq, digest]);
      if (ring.length > keptOfLevel) ring.shift();
    },
    kept: (): Map<bigint, string> => new Map(rings.flat()),
  };
}

export type DigestRing = ReturnType<typeof createDigestRing>;

export function encodeDigests(digests: Digests): string {
  return [...digests].map(([seq, digest]) => `${seq}:${digest}`).join(' ');
}

export function decodeDigests(text: string | null): Digests {
  const pairs = text === null ? [] : text.split(' ').filter((pair) => /^\d+:\w+$/.test(pair));
  return new Map(
    pairs.map((pair) => {
      const [seq, digest] = pair.split(':');
      return [BigInt(seq!), digest!];
    }),
  );
}

/** Compares digests at the newest event that this node shares with another. */
export function judge(own: Digests, others: readonly Digests[]): MemoryVerdict {
  const shared = [...own.keys()].filter((seq) => others.some((digests) => digests.has(seq)));
  if (shared.length === 0) return 'unknown';
  const seq = shared.sort((a, b) => Number(b - a))[0]!;
  const theirs = others.flatMap((digests) => digests.get(seq) ?? []);
  const different = theirs.filter((digest) => digest !== own.get(seq));
  if (different.length === 0) return 'agrees';
  const counts = different.map((one) => different.filter((digest) => digest === one).length);
  return Math.max(...counts) * 2 > theirs.length + 1 ? 'outvoted' : 'differs';
}
