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
export function compareDigests(own: Digests, others: readonly Digests[]): MemoryVerdict {
  const shared = [...own.keys()].filter((seq) => others.some((digests) => digests.has(seq)));
  if (shared.length === 0) return 'unknown';
  const seq = shared.sort((a, b) => Number(b - a))[0]!;
  const theirs = others.flatMap((digests) => digests.get(seq) ?? []);
  const different = theirs.filter((digest) => digest !== own.get(seq));
  if (different.length === 0) return 'agrees';
  const counts = different.map((one) => different.filter((digest) => digest === one).length);
  return Math.max(...counts) * 2 > theirs.length + 1 ? 'outvoted' : 'differs';
}

/**
 * Sums hashes: 64 bits show whether two collections hold the same, in whatever order they came. What is added can be
 * taken away again. For accidents alone: who chooses the words can make two sums agree. Two lanes of MurmurHash3's
 * rounds and its last step.
 */
export function createMix() {
  let a = 0;
  let b = 0;
  return {
    /** Begins the hash of another member. */
    clear(): void {
      a = 0x9747_b28c;
      b = 0x3c6e_f372;
    },
    word(value: number): void {
      a = Math.imul(rotated(a ^ Math.imul(value, 0xcc9e_2d51), 15), 5) + 0xe654_6b64;
      b = Math.imul(rotated(b ^ Math.imul(value, 0x239b_961b), 13), 9) + 0x561c_cd1b;
    },
    /** Adds (1) or subtracts (−1) the member's digest. */
    into(sum: Uint32Array, sign: 1 | -1): void {
      // Typed arrays keep the low 32 bits, whatever the sign.
      sum[0]! += sign * last(a ^ rotated(b, 16));
      sum[1]! += sign * last(b);
    },
  };
}

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function last(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2_ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
