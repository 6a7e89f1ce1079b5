/** The squares of the map and of its pieces, with what is known in each. */

import type { Pace } from '../../core/work/turns.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { formatNetwork } from '../../ip/prefix.ts';
import { halfLivesAt } from '../check/score.ts';
import { ownScore } from '../counts/entry-bands.ts';
import { blockSide, rowsOfBlock } from './map/hilbert.ts';
import { cellCount, levelOf, levels, type MapCounts } from './map/map-counts.ts';

/** Of one network: how many entries of each level, and the worst, one above its number; 0: nothing. */
export interface Known {
  readonly first: number;
  readonly counts: readonly number[];
  readonly shown: number;
}

const pieces = 256;
/** A whole /16 of addresses and networks, and as many again. */
const entriesMax = 131_072;
const entriesPerStep = 1_024;

/** The numbers of the 256 /8s, and of the pieces of one, row by row. */
export function rowsOf(block?: { readonly side: number; readonly at: number }): Uint32Array {
  return block === undefined ? rowsOfBlock(blockSide, 0) : rowsOfBlock(block.side, block.at);
}

/** What is known of one /16, or of some that begin there. */
function knownIn({ entries, covers }: MapCounts, cell: number, cells: number): Known {
  const counts = levels.map((_, level) => {
    let sum = 0;
    for (let at = cell; at < cell + cells; at++) sum += entries[level * cellCount + at]!;
    return sum;
  });
  let shown = 0;
  for (let at = cell; at < cell + cells; at++) shown = Math.max(shown, covers[at]!);
  for (const [level, count] of counts.entries()) if (count > 0) shown = Math.max(shown, 1 + level);
  return { first: (cell << 16) >>> 0, counts, shown };
}

/** Of the 256 /8s, by number. */
export function knownOfAll(map: MapCounts): Known[] {
  return Array.from({ length: pieces }, (_, octet) => knownIn(map, octet * pieces, pieces));
}

/** Of the 256 /16s of a /8, by number. */
export function knownOfEighth(map: MapCounts, octet: number): Known[] {
  return Array.from({ length: pieces }, (_, i) => knownIn(map, octet * pieces + i, 1));
}

/** Of the 256 /24s of a /16, by number; walks over the index in slices. */
export async function knownOfSixteenth(
  cell: number,
  options: {
    readonly index: Pick<IpIndex, 'walk' | 'records' | 'readPrefix'>;
    readonly turns: Pace;
    readonly nowMs: number;
    /** Score of an entry that holds all of it; undefined: none does. */
    readonly whole: number | undefined;
  },
): Promise<{ readonly known: Known[]; readonly isPart: boolean }> {
  const { index, turns, nowMs, whole } = options;
  const now = halfLivesAt(nowMs);
  const counts = Array.from({ length: pieces }, () => levels.map(() => 0));
  const shown = new Uint8Array(pieces).fill(whole === undefined ? 0 : 1 + levelOf(whole));
  const words = new Uint32Array(4);
  const within = {
    family: 4,
    words: Uint32Array.of((cell << 16) >>> 0, 0, 0, 0),
    length: 16,
  } as const;
  let seen = 0;
  const look = (entry: number) => {
    seen++;
    const length = index.readPrefix(entry, words);
    const piece = (words[0]! >>> 8) & 255;
    const level = levelOf(ownScore(index.records, entry, now));
    counts[piece]![level]!++;
    const end = piece + (length < 24 ? 1 << (24 - length) : 1);
    for (let at = piece; at < end; at++) shown[at] = Math.max(shown[at]!, 1 + level);
  };
  await turns.next();
  let after: ReturnType<IpIndex['walk']>;
  do {
    after = index.walk(within, look, { after, limit: entriesPerStep });
    if (after !== undefined && turns.isOver()) await turns.next();
  } while (after !== undefined && seen < entriesMax);
  const known = counts.map((of, i) => ({
    first: ((cell << 16) | (i << 8)) >>> 0,
    counts: of,
    shown: shown[i]!,
  }));
  return { known, isPart: after !== undefined };
}

export function networkText(first: number, length: number): string {
  return formatNetwork({ family: 4, words: Uint32Array.of(first, 0, 0, 0), length });
}
