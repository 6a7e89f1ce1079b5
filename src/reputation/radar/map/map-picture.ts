/**
 * The map as a picture: 256 by 256 dots, one a /16, along the Hilbert curve. A PNG with a palette, since
 * each theme has ten colours and no two themes differ in anything else.
 */

import { crc32 } from 'node:zlib';
import { zlibSync } from 'fflate';
import { specialUse } from '../../../ip/special.ts';
import { placeOf } from './hilbert.ts';
import { cellCount, levels, type MapCounts } from './map-counts.ts';

export const mapSide = 256;
export const mapThemes = ['light', 'dark'] as const;
export type MapTheme = (typeof mapThemes)[number];

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
    ...['b4cbe4', '7ba4d0', '2a5d90'],
    ...['eecb86', 'd99b2b', '9a5f00'],
    ...['e59a96', 'cc4f4c', 'a7202a'],
  ],
  dark: [
    ...['0f1922', '0a1219'],
    ...['33608f', '4a7db3', '8fbdea'],
    ...['80601f', 'ab7f2c', 'f0c469'],
    ...['8f3a3c', 'c05651', 'ff9a92'],
  ],
};

/** Numbers of colours, row by row. */
export function drawMap({ entries, covers }: MapCounts): Uint8Array {
  const dots = new Uint8Array(cellCount);
  for (let cell = 0; cell < cellCount; cell++) {
    const { x, y } = placeOf(mapSide, cell);
    dots[y * mapSide + x] = colourOf(cell, entries, covers);
  }
  return dots;
}

function colourOf(cell: number, entries: Uint32Array, covers: Uint8Array): number {
  for (let level = levels.length - 1; level >= 0; level--) {
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
