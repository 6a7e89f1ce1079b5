/**
 * Upright letters as bit masks: outlines of a bold face of DejaVu, flattened once, filled by scan
 * lines (non-zero winding, sampled at the dots' centres). Each letter is filled once and kept.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import opentype from 'opentype.js';
import { alphabet, type PictureProfile } from './profiles.ts';

const face = 'DejaVuSansCondensed-Bold';
const curveSteps = 6;

/** Closed contours, x and y in turn; the letter's box is centred on 0, 0 and y grows downwards. */
interface Outline {
  readonly contours: readonly Float64Array[];
  /** Width when the capitals are 1 high. */
  readonly width: number;
}

export type Outlines = ReadonlyMap<string, Outline>;

/** Dots of a letter's box from left to right: its middle is between dots 15 and 16. */
export const boxDots = 32;

/** A row is a word, dot x its bit `x`; the letter's middle is in the middle of the rows. */
export type GlyphRows = Int32Array;

/** Reads the font: for a worker's start, not for an event loop. */
export function loadOutlines(): Outlines {
  const path = `dejavu-fonts-ttf/ttf/${face}.ttf`;
  const file = readFileSync(createRequire(import.meta.url).resolve(path));
  const font = opentype.parse(
    file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer,
    { lowMemory: true },
  );
  const capHeight = -font.charToGlyph('H').getPath(0, 0, 1_000).getBoundingBox().y1;
  const outlines = new Map<string, Outline>();
  for (const letter of alphabet) {
    const path = font.charToGlyph(letter).getPath(0, 0, 1_000 / (capHeight / 1_000));
    const box = path.getBoundingBox();
    const centreX = (box.x1 + box.x2) / 2;
    const contours = flatten(path.commands).map((points) =>
      Float64Array.from(
        points,
        (value, i) => (i % 2 === 0 ? value - centreX : value + 500) / 1_000,
      ),
    );
    outlines.set(letter, { contours, width: (box.x2 - box.x1) / 1_000 });
  }
  return outlines;
}

function flatten(commands: readonly opentype.PathCommand[]): number[][] {
  const contours: number[][] = [];
  let points: number[] = [];
  for (const c of commands) {
    if (c.type === 'M') {
      points = [c.x, c.y];
      contours.push(points);
    } else if (c.type === 'L') {
      points.push(c.x, c.y);
    } else if (c.type === 'Q') {
      const x0 = points.at(-2)!;
      const y0 = points.at(-1)!;
      for (let step = 1; step <= curveSteps; step++) {
        const t = step / curveSteps;
        const s = 1 - t;
        points.push(
          s * s * x0 + 2 * s * t * c.x1 + t * t * c.x,
          s * s * y0 + 2 * s * t * c.y1 + t * t * c.y,
        );
      }
    } else if (c.type !== 'Z') {
      throw new Error(`outline command ${c.type}: a TrueType face has none`);
    }
  }
  return contours;
}

export function createGlyphSet(outlines: Outlines, profile: PictureProfile) {
  const kept = new Map<string, GlyphRows>();
  return {
    glyph(letter: string): GlyphRows {
      let rows = kept.get(letter);
      if (rows === undefined) {
        const outline = outlines.get(letter)!;
        const scaleY = profile.capHeightDots;
        rows = fillGlyph(
          outline,
          Math.min(scaleY, profile.letterWidthDotsMax / outline.width),
          scaleY,
        );
        kept.set(letter, rows);
      }
      return rows;
    },
  };
}

export type GlyphSet = ReturnType<typeof createGlyphSet>;

function fillGlyph(outline: Outline, scaleX: number, scaleY: number): GlyphRows {
  const contours = outline.contours.map((points) =>
    points.map((value, i) => value * (i % 2 === 0 ? scaleX : scaleY)),
  );
  if (extent(contours, 0) > boxDots / 2) throw new RangeError('the letter is wider than its box');
  const halfHeight = Math.ceil(extent(contours, 1));
  const rows = new Int32Array(2 * halfHeight);
  for (let y = 0; y < rows.length; y++) {
    const crossings = crossingsAt(contours, y + 0.5 - halfHeight);
    let winding = 0;
    for (let i = 0; i + 1 < crossings.length; i++) {
      winding += crossings[i]!.direction;
      if (winding === 0) continue;
      const from = Math.ceil(crossings[i]!.x + boxDots / 2 - 0.5);
      const to = Math.ceil(crossings[i + 1]!.x + boxDots / 2 - 0.5);
      for (let x = from; x < to; x++) rows[y]! |= 1 << x;
    }
  }
  return rows;
}

function extent(contours: readonly Float64Array[], axis: 0 | 1): number {
  let most = 0;
  for (const points of contours) {
    for (let i = axis; i < points.length; i += 2) most = Math.max(most, Math.abs(points[i]!));
  }
  return most;
}

interface Crossing {
  readonly x: number;
  readonly direction: 1 | -1;
}

/** Returns the crossings of the outline with a horizontal line, from left to right. */
function crossingsAt(contours: readonly Float64Array[], y: number): Crossing[] {
  const crossings: Crossing[] = [];
  for (const points of contours) {
    let x0 = points.at(-2)!;
    let y0 = points.at(-1)!;
    for (let i = 0; i < points.length; i += 2) {
      const x1 = points[i]!;
      const y1 = points[i + 1]!;
      if (y0 <= y !== y1 <= y) {
        const x = x0 + ((x1 - x0) * (y - y0)) / (y1 - y0);
        crossings.push({ x, direction: y1 > y0 ? 1 : -1 });
      }
      x0 = x1;
      y0 = y1;
    }
  }
  return crossings.sort((a, b) => a.x - b.x);
}
