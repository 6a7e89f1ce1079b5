/**
 * Reads letters from a picture in which they are brighter than the rest. It knows the face, the
 * size and roughly the place of each letter, so it is harder to defeat than an OCR that must find
 * them. A coarse pass over all letters, then the best are fitted: turn and place.
 */

import { createGlyphSet, type GlyphSet } from '../../../src/captcha/picture/glyphs.ts';
import { letterCentre, stamp } from '../../../src/captcha/picture/motion-scene.ts';
import { alphabet, type PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import { outlines } from './frames.ts';
import { blur, type Picture } from './readers.ts';

export interface TemplateReader {
  /** Whether the picture shows the word: each letter is read alone. */
  reads(picture: Picture, word: string): boolean;
  /** How well each letter of the alphabet agrees at each place, -1 to 1. */
  scores(picture: Picture): readonly Float64Array[];
}

/** Letters are compared at half the picture's size. */
const cellWidth = 18;
/** Turns are counted in these. */
const degreesUnit = 2;
const turnMax = 3;
const offsetMax = 3;
/** Candidates of the coarse pass that are fitted. */
const fitted = 7;

interface Fit {
  readonly letter: string;
  /** Whole units. */
  readonly turn: number;
  /** Where the letter's middle is off its place. */
  readonly x: number;
  readonly y: number;
}

interface Half {
  readonly width: number;
  readonly height: number;
  readonly dots: Float64Array;
}

/** A letter as it fits best, and how well. */
interface Found {
  readonly fit: Fit;
  readonly score: number;
}

export function createTemplateReader(profile: PictureProfile, sigmaDots: number): TemplateReader {
  const height = profile.heightDots >> 1;
  const glyphs = createGlyphSet(outlines, profile);
  const templateOf = createTemplates(profile, sigmaDots, height, glyphs);
  const coarse = coarseFits(profile);
  const middle = (i: number) => Math.round((letterCentre(profile, i) - cellWidth) / 2);

  /** The best fit of each letter, the best first. */
  function readCell(half: Half, i: number, starts: readonly Fit[], climbing = fitted): Found[] {
    const cells = new Map<number, Float64Array>();
    const cellAt = (x: number, y: number) => {
      const name = 100 * x + y;
      let cell = cells.get(name);
      if (cell === undefined) {
        cell = normalised(cut(half, middle(i) + x, y, height));
        cells.set(name, cell);
      }
      return cell;
    };
    const score = (fit: Fit) => product(templateOf(fit).normal, cellAt(fit.x, fit.y));
    const best = new Map<string, Found>();
    for (const fit of starts) {
      const found = { fit, score: score(fit) };
      const { letter } = fit;
      if (found.score > (best.get(letter)?.score ?? -1)) best.set(letter, found);
    }
    const sorted = [...best.values()].sort(byScore);
    return [
      ...sorted.slice(0, climbing).map(({ fit }) => climb(fit, score)),
      ...sorted.slice(climbing),
    ].sort(byScore);
  }

  /** Of each letter, by the coarse pass alone. */
  function coarseScores(half: Half, i: number): Map<string, number> {
    const found = readCell(half, i, coarse, 0);
    return new Map(found.map(({ fit, score }) => [fit.letter, score]));
  }

  /** The picture without the letter at place `i`. */
  function without(half: Half, i: number, { fit }: Found): Half {
    const { ink, normal, length } = templateOf(fit);
    const level = product(normal, cut(half, middle(i) + fit.x, fit.y, height)) / length;
    const dots = half.dots.slice();
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < cellWidth; x++) {
        const [px, py] = [middle(i) + fit.x + x, fit.y + y];
        if (px < 0 || py < 0 || px >= half.width || py >= half.height) continue;
        dots[py * half.width + px]! -= level * ink[y * cellWidth + x]!;
      }
    }
    return { ...half, dots };
  }

  function scores(picture: Picture): Float64Array[] {
    const half = halved(picture, profile.widthDots, profile.heightDots);
    const places = Array.from({ length: profile.letters }, (_, i) => i);
    const first = places.map((i) => readCell(half, i, coarse));
    return places.map((i) => {
      const alone = [i - 1, i + 1].reduce(
        (rest, j) => (first[j] === undefined ? rest : without(rest, j, first[j][0]!)),
        half,
      );
      const again = readCell(
        alone,
        i,
        first[i]!.map(({ fit }) => fit),
      );
      const values = new Float64Array(alphabet.length).fill(-1);
      for (const { fit, score } of again) values[alphabet.indexOf(fit.letter)] = score;
      return values;
    });
  }
  function reads(picture: Picture, word: string): boolean {
    const half = halved(picture, profile.widthDots, profile.heightDots);
    // Most pictures that don't show the word are told after a look at a letter or two.
    const unlikely = [...word].some((letter, i) => {
      const first = coarseScores(half, i);
      return [...first.values()].filter((score) => score > first.get(letter)!).length >= fitted;
    });
    return !unlikely && bestWord(scores(picture)) === word;
  }
  return { scores, reads };
}

function byScore(a: Found, b: Found): number {
  return b.score - a.score;
}

/** The scores of several looks at the same letters. */
export function summed(looks: readonly (readonly Float64Array[])[]): Float64Array[] {
  return looks[0]!.map((cell, i) =>
    cell.map((_, at) => looks.reduce((sum, scores) => sum + scores[i]![at]!, 0)),
  );
}

/** The letters with the best scores. */
export function bestWord(scores: readonly Float64Array[]): string {
  return scores.map((cell) => alphabet[cell.indexOf(Math.max(...cell))]).join('');
}

function coarseFits({ alphabet }: PictureProfile): Fit[] {
  const fits: Fit[] = [];
  for (const letter of alphabet) {
    for (const turn of [-1, 1]) {
      for (const x of [-1, 1]) {
        for (const y of [-2, 0, 2]) fits.push({ letter, turn, x, y });
      }
    }
  }
  return fits;
}

/** From one fit to the best one near it, a step at a time. */
function climb(from: Fit, score: (fit: Fit) => number): Found {
  let found: Found = { fit: from, score: score(from) };
  for (;;) {
    const better = neighbours(found.fit)
      .map((fit) => ({ fit, score: score(fit) }))
      .reduce((a, b) => (b.score > a.score ? b : a));
    if (better.score <= found.score) return found;
    found = better;
  }
}

function neighbours(fit: Fit): Fit[] {
  const near: Fit[] = [];
  for (const step of [-1, 1]) {
    near.push({ ...fit, x: bounded(fit.x + step, offsetMax) });
    near.push({ ...fit, y: bounded(fit.y + step, offsetMax) });
    near.push({ ...fit, turn: bounded(fit.turn + step, turnMax) });
  }
  return near;
}

function bounded(value: number, most: number): number {
  return Math.max(-most, Math.min(most, value));
}

interface Template {
  /** 0 to 1, blurred. */
  readonly ink: Float64Array;
  readonly normal: Float64Array;
  /** Of the ink less its mean. */
  readonly length: number;
}

/** Templates, each drawn once. */
function createTemplates(
  profile: PictureProfile,
  sigmaDots: number,
  height: number,
  glyphs: GlyphSet,
) {
  const kept = new Map<string, Template>();
  const wide = 2 * cellWidth;
  const words = (wide + 31) >> 5;
  return ({ letter, turn }: Fit): Template => {
    const name = `${letter}${turn}`;
    let template = kept.get(name);
    if (template !== undefined) return template;
    const mask = new Int32Array(words * profile.heightDots);
    stamp(mask, words, glyphs.glyph(letter), {
      degrees: turn * degreesUnit,
      centreX: cellWidth,
      centreY: profile.heightDots / 2,
    });
    const dots = Float64Array.from({ length: wide * profile.heightDots }, (_, i) => {
      const x = i % wide;
      return (mask[((i - x) / wide) * words + (x >> 5)]! >>> (x & 31)) & 1;
    });
    const half = halved(dots, wide, profile.heightDots);
    const ink = blur(half.dots, cellWidth, height, sigmaDots / 2).map((v) => v / 4);
    template = { ink, normal: normalised(ink), length: spread(ink) };
    kept.set(name, template);
    return template;
  };
}

function halved(picture: Picture, wide: number, high: number): Half {
  const width = wide >> 1;
  const height = high >> 1;
  const dots = new Float64Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 2 * y * wide + 2 * x;
      dots[y * width + x] =
        picture[at]! + picture[at + 1]! + picture[at + wide]! + picture[at + wide + 1]!;
    }
  }
  return { width, height, dots };
}

/** What is outside of the picture counts as its mean. */
function cut({ width, height: high, dots }: Half, left: number, top: number, height: number) {
  const cell = new Float64Array(cellWidth * height);
  const mean = dots.reduce((sum, v) => sum + v, 0) / dots.length;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < cellWidth; x++) {
      const [px, py] = [left + x, top + y];
      const inside = px >= 0 && py >= 0 && px < width && py < high;
      cell[y * cellWidth + x] = inside ? dots[py * width + px]! : mean;
    }
  }
  return cell;
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/** Mean 0, length 1. */
function normalised(picture: Picture): Picture {
  const mean = picture.reduce((sum, v) => sum + v, 0) / picture.length;
  const length = spread(picture);
  return picture.map((v) => (v - mean) / length);
}

/** Length of the picture less its mean. */
function spread(picture: Picture): number {
  const mean = picture.reduce((sum, v) => sum + v, 0) / picture.length;
  return Math.sqrt(picture.reduce((sum, v) => sum + (v - mean) ** 2, 0)) || 1;
}
