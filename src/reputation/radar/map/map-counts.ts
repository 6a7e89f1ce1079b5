/**
 * Entries of IPv4 counted by /16 and band, by one walk over the index. An entry that is wider than a /16
 * counts where it begins, and colours all that it holds.
 */

import { bandStarts, scoreBand } from '../../../core/names/score-band.ts';
import type { IpIndexReader } from '../../../index/reader.ts';
import { halfLivesAt } from '../../check/score.ts';
import { ownScore } from '../../counts/entry-bands.ts';

/** What a place shows: the worst that is known in it. */
export const levels = ['known', 'suspect', 'malicious'] as const;
export type Level = (typeof levels)[number];

export const cellCount = 65_536;

export interface MapCounts {
  /** Entries by /16, of each level, one behind the other. */
  readonly entries: Uint32Array;
  /** 1 and the level's number where an entry holds the whole /16; 0: none does. */
  readonly covers: Uint8Array;
  /** Entries of IPv4 in all. */
  readonly total: number;
}

/** Entries between two looks at whether the writer waits: some tens of microseconds. */
const entriesPerStep = 2_048;

export function levelOf(score: number): number {
  if (score < bandStarts.suspect) return 0;
  return scoreBand(score) === 'suspect' ? 1 : 2;
}

export function countMap(index: IpIndexReader, nowMs: number): MapCounts {
  const entries = new Uint32Array(levels.length * cellCount);
  const covers = new Uint8Array(cellCount);
  const now = halfLivesAt(nowMs);
  const words = new Uint32Array(4);
  const all = { family: 4, words: new Uint32Array(4), length: 0 } as const;
  let total = 0;
  const count = (entry: number) => {
    const length = index.readPrefix(entry, words);
    const cell = words[0]! >>> 16;
    const level = levelOf(ownScore(index.records, entry, now));
    entries[level * cellCount + cell]!++;
    total++;
    if (length > 16) return;
    const end = cell + (1 << (16 - length));
    for (let at = cell; at < end; at++) covers[at] = Math.max(covers[at]!, 1 + level);
  };
  let after: ReturnType<IpIndexReader['walk']>;
  do {
    index.enter();
    after = index.walk(all, count, { after, limit: entriesPerStep });
    index.leave();
  } while (after !== undefined);
  return { entries, covers, total };
}
