/**
 * Entries of IPv4 counted by /16 and band, by one reading of all of them. An entry that is wider than a /16
 * counts where it begins, and colours all that it holds.
 */

import { entryFlags } from '../../../contracts/reputation.ts';
import { bandStarts, scoreBand } from '../../../core/score-band.ts';
import {
  ceilingOf,
  flagsOf,
  metaOf,
  type Records,
  seedScoreOf,
  strengthOf,
} from '../../../index/records.ts';
import { scan4 } from '../../../index/scan.ts';
import { halfLivesAt, leastStrength } from '../../check/score.ts';

/** Levels of a place on the map, by the worst entry in it. */
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

export function levelOf(score: number): number {
  if (score < bandStarts.suspect) return 0;
  return scoreBand(score) === 'suspect' ? 1 : 2;
}

/**
 * The level of an entry's own score, without the score: from which strength on reports give a level is
 * known for each ceiling, so an entry costs two comparisons and no exponential.
 */
function levelsAt(records: Records, nowMs: number): (entry: number) => number {
  const now = halfLivesAt(nowMs);
  const least = [bandStarts.suspect, bandStarts.malicious].map((score) =>
    Float64Array.from({ length: 256 }, (_, ceiling) => leastStrength(ceiling, score, now)),
  );
  const [suspect, malicious] = [least[0]!, least[1]!];
  return (entry) => {
    const meta = metaOf(records, entry);
    const flags = flagsOf(meta);
    if ((flags & entryFlags.allowlisted) !== 0) return 0;
    const listed = levelOf(seedScoreOf(meta));
    if ((flags & entryFlags.knownGood) !== 0) return listed;
    const strength = strengthOf(records, entry);
    const ceiling = ceilingOf(meta);
    if (strength >= malicious[ceiling]!) return 2;
    return strength >= suspect[ceiling]! ? Math.max(1, listed) : listed;
  };
}

/** @param records the entries of the index; see scan.ts for what is seen while it changes */
export function countMap(records: Records, nowMs: number): MapCounts {
  const entries = new Uint32Array(levels.length * cellCount);
  const covers = new Uint8Array(cellCount);
  const levelAt = levelsAt(records, nowMs);
  let total = 0;
  scan4(records, (entry, first, length) => {
    const cell = first >>> 16;
    const level = levelAt(entry);
    entries[level * cellCount + cell]!++;
    total++;
    if (length > 16) return;
    const end = cell + (1 << (16 - length));
    for (let at = cell; at < end; at++) covers[at] = Math.max(covers[at]!, 1 + level);
  });
  return { entries, covers, total };
}
