/**
 * Letters as bit masks: outlines of DejaVu Sans Condensed Bold, flattened once, filled by scan
 * lines (non-zero winding, sampled at the dots' centres), turned by whole degrees. Each pose is
 * filled once and kept: letters × degrees of a profile bound the cache (600 poses, 200 KiB).
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import opentype from 'opentype.js';
import { alphabet, type Profile } from '../challenge/profile.ts';

const face = 'dejavu-fonts-ttf/ttf/DejaVuSansCondensed-Bold.ttf';
const curveSteps = 6;

/** Closed contours, x and y in turn; the letter's box is centred on 0, 0 and y grows downwards. */
export interface Outline {
  readonly contours: readonly Float64Array[];
  /** Width when the capitals are 1 high. */
  readonly width: number;
}

export type Outlines = ReadonlyMap<string, Outline>;

/** A letter in one pose. Dot x of row y is bit `x & 31` of `rows[y * wordsPerRow + (x >> 5)]`. */
export interface GlyphBitmap {
  readonly width: number;
  readonly height: number;
  readonly wordsPerRow: number;
  readonly rows: Int32Array;
}

export interface GlyphSet {
  /** `degrees` is a whole number within the profile's turn. */
  pose(letter: string, degrees: number): GlyphBitmap;
}

/** Reads the font (some 250 ms): for a worker's start, not for an event loop. */
export function loadOutlines(): Outlines {
  const file = readFileSync(createRequire(import.meta.url).resolve(face));
  const font = opentype.parse(
    file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength) as ArrayBuffer,
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

export function createGlyphSet(outlines: Outlines, profile: Profile): GlyphSet {
  const span = 2 * profile.turnDegrees + 1;
  const poses = new Map<string, (GlyphBitmap | undefined)[]>();
  for (const letter of outlines.keys()) poses.set(letter, new Array(span));
  return {
    pose(letter, degrees) {
      const kept = poses.get(letter)!;
      const i = degrees + profile.turnDegrees;
      kept[i] ??= fillGlyph(outlines.get(letter)!, profile, degrees);
      return kept[i];
    },
  };
}

/** The letter at the profile's size, turned, in the smallest box that holds it. */
export function fillGlyph(outline: Outline, profile: Profile, degrees: number): GlyphBitmap {
  const scaleY = profile.capHeightDots;
  const scaleX = Math.min(scaleY, profile.letterWidthDotsMax / outline.width);
  const cos = Math.cos((degrees * Math.PI) / 180);
  const sin = Math.sin((degrees * Math.PI) / 180);
  const contours = outline.contours.map((points) => {
    const turned = new Float64Array(points.length);
    for (let i = 0; i < points.length; i += 2) {
      const x = points[i]! * scaleX;
      const y = points[i + 1]! * scaleY;
      turned[i] = cos * x + sin * y;
      turned[i + 1] = cos * y - sin * x;
    }
    return turned;
  });
  const halfWidth = Math.ceil(extent(contours, 0));
  const halfHeight = Math.ceil(extent(contours, 1));
  const width = 2 * halfWidth;
  const height = 2 * halfHeight;
  const wordsPerRow = (width + 31) >> 5;
  const rows = new Int32Array(wordsPerRow * height);
  for (let y = 0; y < height; y++) {
    const crossings = crossingsAt(contours, y + 0.5 - halfHeight);
    let winding = 0;
    for (let i = 0; i + 1 < crossings.length; i++) {
      winding += crossings[i]!.direction;
      if (winding === 0) continue;
      const from = Math.ceil(crossings[i]!.x + halfWidth - 0.5);
      const to = Math.ceil(crossings[i + 1]!.x + halfWidth - 0.5);
      for (let x = from; x < to; x++) rows[y * wordsPerRow + (x >> 5)]! |= 1 << (x & 31);
    }
  }
  return { width, height, wordsPerRow, rows };
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

/** Where the outline crosses a horizontal line, from left to right. */
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
