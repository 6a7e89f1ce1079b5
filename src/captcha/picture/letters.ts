/**
 * The movement of a word's letters: each stands a little off its place, bobs and turns. A small turn is two slants,
 * of columns and then of rows, which are shifts of bits: no letter is ever drawn anew for a frame.
 */

import { boxDots, type GlyphRows, type GlyphSet } from './glyphs.ts';
import type { Keystream } from './keystream.ts';
import type { PictureProfile } from './profiles.ts';

const turn = 2 * Math.PI;
/** The least distance between a letter and the border. */
const clearDots = 2;
/** A turned letter is higher by as much above and below. */
const turnRowsMax = 8;

/** A letter of the word, and its own slow movement, one full swing a loop. */
export interface Letter {
  readonly rows: GlyphRows;
  readonly centreX: number;
  readonly centreY: number;
  readonly bobPhase: number;
  readonly turnPhase: number;
}

export interface Pose {
  /** Counter-clockwise. */
  readonly degrees: number;
  readonly centreX: number;
  readonly centreY: number;
}

/** Returns the centre of letter `i` before jitter, in dots from the left. */
export function letterCentre(profile: PictureProfile, i: number): number {
  const first = profile.marginDots + profile.letterWidthDotsMax / 2;
  return first + (i * (profile.widthDots - 2 * first)) / (profile.letters - 1);
}

export function drawLetters(
  profile: PictureProfile,
  glyphs: GlyphSet,
  word: string,
  stream: Keystream,
): Letter[] {
  const { heightDots, widthDots, jitterXDots, jitterYDots, bobDots } = profile;
  const jitter = (most: number) => stream.below(2 * most + 1) - most;
  return [...word].map((letter, i) => {
    const rows = glyphs.glyph(letter);
    const lean = Math.tan((profile.turnDegrees * Math.PI) / 180);
    const [halfWidth, halfHeight] = [halfWidthOf(rows), rows.length / 2];
    const reachX = halfWidth + lean * halfHeight + clearDots;
    const reachY = halfHeight + lean * halfWidth + bobDots + clearDots;
    return {
      rows,
      centreX: within(letterCentre(profile, i) + jitter(jitterXDots), reachX, widthDots),
      centreY: within(heightDots / 2 + jitter(jitterYDots), reachY, heightDots),
      bobPhase: stream.unit() * turn,
      turnPhase: stream.unit() * turn,
    };
  });
}

/** Half of what the letter takes of its box, to the farther side. */
function halfWidthOf(rows: GlyphRows): number {
  const all = rows.reduce((a, b) => a | b, 0);
  const left = Math.clz32(all & -all) ^ 31;
  const right = 32 - Math.clz32(all);
  return Math.max(boxDots / 2 - left, right - boxDots / 2);
}

/** Moves the centre so that the letter stays inside, or to the middle where it is too large. */
function within(centre: number, reach: number, size: number): number {
  if (2 * reach >= size) return size / 2;
  return Math.max(reach, Math.min(size - reach, centre));
}

export function poseAt(profile: PictureProfile, letter: Letter, k: number): Pose {
  const { bobDots, turnDegrees, frames } = profile;
  const swing = (phase: number) => Math.sin(phase + (turn * k) / frames);
  return {
    degrees: Math.round(turnDegrees * swing(letter.turnPhase)),
    centreX: letter.centreX,
    centreY: letter.centreY + bobDots * swing(letter.bobPhase),
  };
}

/** Columns of the box that a turn moves by the same number of rows. */
interface Slope {
  readonly down: number;
  readonly columns: number;
}
const slopes = new Map<number, readonly Slope[]>();

function slopesOf(degrees: number): readonly Slope[] {
  let list = slopes.get(degrees);
  if (list === undefined) {
    const lean = Math.tan((degrees * Math.PI) / 180);
    const columns = new Map<number, number>();
    for (let x = 0; x < boxDots; x++) {
      const down = Math.round(-lean * (x + 0.5 - boxDots / 2));
      columns.set(down, (columns.get(down) ?? 0) | (1 << x));
    }
    list = [...columns].map(([down, bits]) => ({ down, columns: bits }));
    slopes.set(degrees, list);
  }
  return list;
}

const turned = new Int32Array(128);

/** Adds the letter to a mask of `wordsPerRow` words a row; what is outside of it is cut off. */
export function stamp(
  mask: Int32Array,
  wordsPerRow: number,
  rows: GlyphRows,
  { degrees, centreX, centreY }: Pose,
): void {
  const height = rows.length + 2 * turnRowsMax;
  turned.fill(0, 0, height);
  for (const { down, columns } of slopesOf(degrees)) {
    const to = turnRowsMax + down;
    for (let y = 0; y < rows.length; y++) turned[y + to]! |= rows[y]! & columns;
  }
  const lean = Math.tan((degrees * Math.PI) / 180);
  const top = Math.round(centreY - height / 2);
  const last = mask.length / wordsPerRow;
  for (let y = Math.max(0, -top); y < height && top + y < last; y++) {
    const bits = turned[y]!;
    if (bits === 0) continue;
    const x = Math.round(centreX - boxDots / 2 + lean * (y + 0.5 - height / 2));
    const word = x >> 5;
    const at = (top + y) * wordsPerRow + word;
    if (word >= 0 && word < wordsPerRow) mask[at]! |= bits << (x & 31);
    if (word + 1 >= 0 && word + 1 < wordsPerRow) mask[at + 1]! |= (bits >>> 1) >>> (31 - (x & 31));
  }
}
