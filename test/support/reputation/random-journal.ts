/**
 * A random but plausible reputation journal: several sources of both kinds, runs that are
 * interrupted or overtaken, rows that come again, lists that end, allow rules, manual entries. Prefixes of both
 * families nest, and come from a pool small enough that events meet.
 */

import type { Prefix } from '../../../src/ip/prefix.ts';
import type { ListRef, RowBatch } from '../../../src/reputation/state/events.ts';
import type { seededRandom } from '../seeded.ts';
import type { ReputationEvent } from './events.ts';

type Seeded = ReturnType<typeof seededRandom>;

interface JournalOptions {
  /** Chooses the pool, and what happens unless `next` does. */
  readonly random: Seeded;
  readonly next?: Seeded;
  /** Makes run names unique when several journals follow each other. */
  readonly name: string;
  readonly poolSize?: number;
  readonly rowsMax?: number;
  readonly startMs?: number;
}

interface RandomJournal {
  readonly pool: readonly Prefix[];
  next(): { event: ReputationEvent; at: number };
  /** An address in or near the pool. */
  address(): { family: 4 | 6; words: Uint32Array };
}

const dayMs = 86_400_000;
const names = [
  { list: 'seed', source: 'a' },
  { list: 'seed', source: 'b' },
  { list: 'seed', source: 'c' },
  { list: 'anon', source: 'a' },
  { list: 'anon', source: 'tor' },
] as const;
const runsRemembered = 12;

export function createRandomJournal(options: JournalOptions): RandomJournal {
  const { random, name, poolSize = 60, rowsMax = 12, startMs = Date.UTC(2026, 0, 1) } = options;
  let source = random;
  const below = (n: number) => Math.floor(source.next() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const pool = Array.from({ length: poolSize }, () => randomPrefix(below));
  source = options.next ?? random;
  const runs: ListRef[] = [];
  let runCount = 0;
  let at = startMs;

  function begin(): ReputationEvent {
    const ref = { ...pick(names), run: `${name}-${runCount++}` };
    runs.push(ref);
    if (runs.length > runsRemembered) runs.shift();
    return { kind: 'list.begun', ref, holdDays: below(20) };
  }

  function next(): { event: ReputationEvent; at: number } {
    at += below(below(8) === 0 ? 6 * dayMs : 10_000);
    const choice = below(100);
    // The newest runs are the likeliest, older ones (ended, overtaken) come too.
    const ref = runs[runs.length - 1 - Math.floor(source.next() ** 2 * runs.length)];
    if (ref === undefined || choice < 14) return { event: begin(), at };
    if (choice < 62) return { event: { kind: 'list.rows', ref, rows: batch() }, at };
    if (choice < 76) return { event: { kind: 'list.ended', ref }, at };
    if (choice < 84) return { event: { kind: 'list.expired', ref }, at };
    const { family, words, length } = pick(pool);
    if (choice < 92) {
      const kind = choice < 89 ? 'allow.added' : 'allow.removed';
      return { event: { kind, family, words, length }, at };
    }
    const kind = choice < 97 ? 'entry.set' : 'entry.removed';
    const said = { score: 1 + below(100), category: below(24) };
    const setSecond = Math.floor(at / 1_000);
    const endSecond = below(2) * (setSecond + below(1_000_000));
    return { event: { kind, family, words, length, ...said, setSecond, endSecond }, at };
  }

  function batch(): RowBatch {
    return batchOf(
      Array.from({ length: below(rowsMax) }, () => ({ prefix: pick(pool), score: below(101) })),
    );
  }

  function address(): { family: 4 | 6; words: Uint32Array } {
    const { family, words, length } = pick(pool);
    const out = Uint32Array.from(words);
    const bits = family === 4 ? 32 : 128;
    // Any bit may differ, the last ones most of all, so that it falls on both sides of edges.
    for (let bit = below(bits); bit < bits; bit++) {
      if (below(2) === 0 || (bit < length && below(8) > 0)) continue;
      out[bit >> 5]! ^= 1 << (31 - (bit & 31));
    }
    return { family, words: out };
  }

  return { pool, next, address };
}

export function batchOf(rows: readonly { prefix: Prefix; score: number }[]): RowBatch {
  const batch = {
    count: rows.length,
    families: new Uint8Array(rows.length),
    words: new Uint32Array(4 * rows.length),
    lengths: new Uint8Array(rows.length),
    scores: new Uint8Array(rows.length),
  };
  for (const [i, { prefix, score }] of rows.entries()) {
    batch.families[i] = prefix.family;
    batch.words.set(prefix.words.subarray(0, prefix.family === 4 ? 1 : 4), 4 * i);
    batch.lengths[i] = prefix.length;
    batch.scores[i] = score;
  }
  return batch;
}

/** Half of them in one /12 or one /36, so that they nest; every length comes up. */
function randomPrefix(below: (n: number) => number): Prefix {
  const family = below(2) === 0 ? 4 : 6;
  const words = new Uint32Array(4);
  const isDense = below(2) === 0;
  if (family === 4) {
    words[0] = isDense ? 0xc610_0000 + below(1 << 10) : below(2 ** 32);
  } else {
    words[0] = 0x2001_0db8;
    for (let i = isDense ? 2 : 1; i < 4; i++) words[i] = below(isDense ? 4 : 2 ** 32);
  }
  const bits = family === 4 ? 32 : 128;
  const length = below(3) === 0 ? bits : below(bits + 1);
  for (let bit = length; bit < 128; bit++) words[bit >> 5]! &= ~(1 << (31 - (bit & 31)));
  return { family, words, length };
}
