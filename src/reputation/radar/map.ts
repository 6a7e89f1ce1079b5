/**
 * The map of IPv4: entries counted by /16 and band in one reading of all of them, and drawn as 256 by 256
 * dots along the Hilbert curve. An entry that is wider than a /16 counts where it begins, and colours all
 * that it holds. The picture is a PNG with a palette, since each theme has ten colours and no two themes
 * differ in anything else.
 */

import { crc32 } from 'node:zlib';
import { zlibSync } from 'fflate';
import { bandStarts, entryFlags, scoreBand } from '../../contracts/reputation.ts';
import {
  ceilingOf,
  flagsOf,
  listScoreOf,
  metaOf,
  type Records,
  scan4,
  strengthOf,
} from '../../index/records.ts';
import { specialUse } from '../../ip/special.ts';
import { halfLivesAt, leastStrength } from '../check/score.ts';

/** Levels of a place on the map, by the worst entry in it. */
export const mapLevels = ['known', 'suspect', 'malicious'] as const;
export const cellCount = 65_536;

export interface MapCounts {
  /** Entries by /16, of each level, one behind the other. */
  readonly entries: Uint32Array;
  /** 1 and the level's number where an entry holds the whole /16; 0: none does. */
  readonly covers: Uint8Array;
  /** Entries of IPv4 in all. */
  readonly total: number;
}

export function mapLevelOfScore(score: number): number {
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
    const listed = mapLevelOfScore(listScoreOf(meta));
    if ((flags & entryFlags.knownGood) !== 0) return listed;
    const strength = strengthOf(records, entry);
    const ceiling = ceilingOf(meta);
    if (strength >= malicious[ceiling]!) return 2;
    return strength >= suspect[ceiling]! ? Math.max(1, listed) : listed;
  };
}

/** @param records the entries of the index; see `scan4` for what is seen while it changes */
export function countMap(records: Records, nowMs: number): MapCounts {
  const entries = new Uint32Array(mapLevels.length * cellCount);
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

// The Hilbert curve over a square: what is near in number is near in the picture, and each power of four
// of numbers is a square. Of all IPv4 a /8 is a square of sixteen by sixteen /16s, and each of these one
// of sixteen by sixteen /24s: the places of a finer picture lie within those of the coarser one.

interface Dot {
  readonly x: number;
  readonly y: number;
}

/** Returns the point of a number on the curve. @param side of the square, a power of two; `at` is below its square */
export function pointOnCurve(side: number, at: number): Dot {
  let x = 0;
  let y = 0;
  let rest = at;
  for (let s = 1; s < side; s *= 2) {
    const right = (rest >>> 1) & 1;
    const down = (rest ^ right) & 1;
    if (down === 0) {
      if (right === 1) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      [x, y] = [y, x];
    }
    x += s * right;
    y += s * down;
    rest >>>= 2;
  }
  return { x, y };
}

export const blockSide = 16;
const blockSize = blockSide * blockSide;

/**
 * The 256 numbers of a block, row by row as the picture shows them.
 * @param side of the square that the block is a piece of
 * @param block its number: those of its pieces begin at 256 times as many
 */
export function rowsOfBlock(side: number, block: number): Uint32Array {
  const numbers = new Uint32Array(blockSize);
  for (let i = 0; i < blockSize; i++) {
    const number = block * blockSize + i;
    const { x, y } = pointOnCurve(side, number);
    numbers[(y % blockSide) * blockSide + (x % blockSide)] = number;
  }
  return numbers;
}

export const mapSide = 256;
export const mapThemes = ['light', 'dark'] as const;
type MapTheme = (typeof mapThemes)[number];

/** Entries of a /16 from which on its dot is darker. */
const someFrom = 4;
const manyFrom = 32;
const shades = 3;
/** Nothing known, and nothing that could be: not routed in public. */
const emptyColour = 0;
const specialColour = 1;
const levelsFrom = 2;

/** Few, some and many of each level, behind the two of nothing. The style sheet has the same. */
const palettes: Readonly<Record<MapTheme, readonly string[]>> = {
  light: [
    ...['eef1f0', 'e0e5e4'],
    ...['5f8dc0', '3b6ca3', '1d4776'],
    ...['b97c12', '9c6605', '663c00'],
    ...['d0605c', 'b23535', '7f111c'],
  ],
  dark: [
    ...['0f1922', '0a1219'],
    ...['74aae6', '9cc7f5', 'cfe6ff'],
    ...['d9a441', 'efc468', 'fde6b0'],
    ...['f07f79', 'ff9d97', 'ffd0cb'],
  ],
};

/** With fewer dots than these each is drawn larger, by so many on each side: one of 65,536 is hardly seen alone. */
const growths = [
  { below: cellCount / 256, by: 2 },
  { below: cellCount / 32, by: 1 },
] as const;

/** Numbers of colours, row by row. */
export function drawMap({ entries, covers }: MapCounts): Uint8Array {
  const dots = new Uint8Array(cellCount);
  let shown = 0;
  for (let cell = 0; cell < cellCount; cell++) {
    const { x, y } = pointOnCurve(mapSide, cell);
    const colour = colourOf(cell, entries, covers);
    if (colour >= levelsFrom) shown++;
    dots[y * mapSide + x] = colour;
  }
  const growth = growths.find(({ below }) => shown < below);
  return growth === undefined ? dots : grown(dots, growth.by);
}

/** Returns the dots, each of a level larger by so many on each side; where two meet the worse one is seen. */
function grown(dots: Uint8Array, by: number): Uint8Array {
  const wide = Uint8Array.from(dots);
  for (const [at, colour] of dots.entries()) {
    if (colour < levelsFrom) continue;
    const [x, y] = [at % mapSide, Math.floor(at / mapSide)];
    for (let row = Math.max(0, y - by); row <= Math.min(mapSide - 1, y + by); row++) {
      for (let column = Math.max(0, x - by); column <= Math.min(mapSide - 1, x + by); column++) {
        const dot = row * mapSide + column;
        if (dots[dot]! < levelsFrom) wide[dot] = Math.max(wide[dot]!, colour);
      }
    }
  }
  return wide;
}

function colourOf(cell: number, entries: Uint32Array, covers: Uint8Array): number {
  for (let level = mapLevels.length - 1; level >= 0; level--) {
    const count = entries[level * cellCount + cell]!;
    const isWhole = covers[cell]! === 1 + level;
    if (count === 0 && !isWhole) continue;
    const shade = isWhole || count >= manyFrom ? 2 : count >= someFrom ? 1 : 0;
    return levelsFrom + shades * level + shade;
  }
  return isPublic(cell) ? emptyColour : specialColour;
}

const words = new Uint32Array(4);

function isPublic(cell: number): boolean {
  words[0] = (cell << 16) >>> 0;
  return specialUse(4, words)?.globallyReachable ?? true;
}

/** A PNG of the dots for each theme (W3C, Portable Network Graphics): all but the palette is one. */
export function pngsOf(dots: Uint8Array): Record<MapTheme, Uint8Array> {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(mapSide, 0);
  head.writeUInt32BE(mapSide, 4);
  // Four bits a dot, by palette.
  head.set([4, 3], 8);
  const rowBytes = 1 + mapSide / 2;
  const rows = Buffer.alloc(mapSide * rowBytes);
  for (let y = 0; y < mapSide; y++) {
    // Each row begins with the number of its filter: none.
    for (let x = 0; x < mapSide; x += 2) {
      const at = y * mapSide + x;
      rows[y * rowBytes + 1 + x / 2] = (dots[at]! << 4) | dots[at + 1]!;
    }
  }
  const begin = [Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head)];
  const end = [chunk('IDAT', zlibSync(rows)), chunk('IEND', Buffer.alloc(0))];
  const pngOf = (theme: MapTheme) =>
    Buffer.concat([...begin, chunk('PLTE', Buffer.from(palettes[theme].join(''), 'hex')), ...end]);
  return { light: pngOf('light'), dark: pngOf('dark') };
}

function chunk(name: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

export interface DrawnMap {
  /** ms since 1970. */
  readonly at: number;
  readonly counts: MapCounts;
  /** PNG. */
  readonly pictures: Readonly<Record<MapTheme, Uint8Array>>;
}
