/** A filled index with what was put in, in typed arrays: the bench must not load the heap. */

import { createIpIndex, type IpIndex } from '../src/index/ip-index.ts';
import { hostMask, type IndexPrefix } from '../src/index/prefix.ts';
import { setReports } from '../src/index/records.ts';
import { seededRandom } from '../test/support/seeded.ts';
import type { Timing } from './rounds.ts';
import { atMost, type BenchRow, besidePeer, round as roundTo } from './row.ts';

export interface IndexPlan {
  readonly entries: number;
  readonly queries: number;
  readonly rounds: number;
  readonly blockRules: number;
  readonly slowdownMs: number;
}

export const indexPlans: Readonly<Record<'tiny' | 'full', IndexPlan>> = {
  tiny: { entries: 2_000, queries: 200, rounds: 1, blockRules: 100, slowdownMs: 20 },
  full: { entries: 1_000_000, queries: 1 << 18, rounds: 25, blockRules: 10_000, slowdownMs: 300 },
};

export interface Table {
  readonly index: IpIndex;
  /** Four words per entry (IPv4: the first), in order of insertion, which is random. */
  readonly words: Uint32Array;
  readonly lengths: Uint8Array;
  readonly insertNs: number;
}

export function fill(source: Iterable<IndexPrefix>, entries: number): Table {
  const index = createIpIndex({ entriesMax: Math.max(entries, 1000) * 2 });
  const words = new Uint32Array(entries * 4);
  const lengths = new Uint8Array(entries);
  let [count, insertMs, attempts] = [0, 0, 0];
  let batch: IndexPrefix[] = [];

  function flush(): void {
    const start = performance.now();
    for (const prefix of batch) {
      if (count === entries) break;
      const entry = index.insert(prefix);
      setReports(index.records, entry, 1);
      attempts++;
      if (index.size() === count) continue;
      words.set(prefix.words, count * 4);
      lengths[count++] = prefix.length;
    }
    insertMs += performance.now() - start;
    batch = [];
  }

  for (const prefix of source) {
    batch.push(prefix);
    if (batch.length === 256) flush();
    if (count === entries) break;
  }
  flush();
  const used = { words: words.subarray(0, count * 4), lengths: lengths.subarray(0, count) };
  return { index, ...used, insertNs: (insertMs * 1e6) / attempts };
}

export function prefixAt({ words, lengths }: Table, family: 4 | 6, i: number): IndexPrefix {
  const at = i * 4;
  return { family, words: words.slice(at, at + (family === 4 ? 1 : 4)), length: lengths[i]! };
}

export const round = (value: number) => roundTo(value, 4);

export function goalRow(name: string, { median, min }: Timing, goalNs?: number): BenchRow {
  const goal = goalNs === undefined ? {} : atMost(median, goalNs, 'ns');
  return { name, unit: 'ns', ours: round(median), ...goal, note: `min ${round(min)}` };
}

/** The ratio is ours by theirs; the goal says how many times ours theirs must be. */
export function peerRow(
  name: string,
  ours: Timing,
  peer: string,
  theirs: Timing,
  times?: number,
): BenchRow {
  const ratio = ours.median / theirs.median;
  const goal =
    times === undefined ? {} : { goal: `peer >= ${times} times ours`, ok: ratio <= 1 / times };
  return {
    ...besidePeer(name, 'ns', round(ours.median), peer, round(theirs.median)),
    ...goal,
    note: `${round(1 / ratio)} times faster; min ${round(ours.min)} and ${round(theirs.min)}`,
  };
}

export function prefix4(address: number, length: number): IndexPrefix {
  return { family: 4, words: Uint32Array.of(address & ~hostMask(length)), length };
}

export function prefix6(words: ArrayLike<number>, length: number): IndexPrefix {
  const out = Uint32Array.from({ length: 4 }, (_, i) => words[i]! & ~hostMask(length - 32 * i));
  return { family: 6, words: out, length };
}

export interface Dice {
  next(): number;
  below(limit: number): number;
  word(): number;
}

export function dice(seed: number): Dice {
  const { next } = seededRandom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  return { next, below, word: () => below(4_294_967_296) };
}

/** Endless; may repeat itself. */
export function* clustered({ next, below, word }: Dice, cidrShare = 0): Generator<IndexPrefix> {
  const sites = Array.from({ length: 2_000 }, () => word() & 0xffff_0000);
  const nets = Array.from({ length: 12_000 }, () => sites[below(2_000)]! | (below(256) << 8));
  for (;;) {
    const net = nets[below(nets.length)]!;
    yield prefix4(net | below(256), next() >= cidrShare ? 32 : 20 + below(9));
  }
}

export function* sparse({ word }: Dice): Generator<IndexPrefix> {
  for (;;) yield prefix4(word(), 32);
}

/** Hosts in /64s of providers' /32s, one in fifty a /48 to /64. */
export function* clustered6({ next, below, word }: Dice): Generator<IndexPrefix> {
  const sites = Array.from({ length: 3_000 }, () => 0x2400_0000 | below(0x0c00_0000));
  const nets = Array.from({ length: 60_000 }, () => [sites[below(3_000)]!, word()] as const);
  for (;;) {
    const [w0, w1] = nets[below(nets.length)]!;
    const isDense = next() < 0.5;
    const host = isDense ? [0, below(4096)] : [word(), word()];
    yield prefix6([w0, w1, ...host], next() < 0.98 ? 128 : 48 + below(17));
  }
}
