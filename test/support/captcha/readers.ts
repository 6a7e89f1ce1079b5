/**
 * Ways to read a motion challenge: pictures made from its frames (what an attacker computes, and
 * what a person's eye does with motion), and a template matcher that reads letters from such a
 * picture. The matcher knows the face, the size and roughly the place of each letter, so it is
 * harder to defeat than an OCR that must find them.
 */

import { alphabet, type Profile } from '../../../src/captcha/challenge/profile.ts';
import { createGlyphSet, type GlyphBitmap } from '../../../src/captcha/picture/glyphs.ts';
import { letterCentre } from '../../../src/captcha/picture/motion.ts';
import { type Challenge, outlines } from './frames.ts';

/** A number a dot; letters are meant to stand out, brighter or darker. */
export type Picture = Float64Array;

export function meanPicture({ frames }: Challenge): Picture {
  const sum = new Float64Array(frames[0]!.length);
  for (const frame of frames) for (let i = 0; i < sum.length; i++) sum[i]! += frame[i]!;
  return sum.map((v) => v / frames.length);
}

/** Share of frames in which a dot differs from the frame `lag` later. */
export function differencePicture({ frames }: Challenge, lag = 1): Picture {
  const sum = new Float64Array(frames[0]!.length);
  for (let k = 0; k < frames.length; k++) {
    const next = frames[(k + lag) % frames.length]!;
    for (let i = 0; i < sum.length; i++) sum[i]! += frames[k]![i]! ^ next[i]!;
  }
  return sum.map((v) => v / frames.length);
}

/** Brightest of `count` frames. */
export function maximumPicture({ frames }: Challenge, count: number): Picture {
  const most = new Float64Array(frames[0]!.length);
  for (const frame of frames.slice(0, count)) {
    for (let i = 0; i < most.length; i++) most[i] = Math.max(most[i]!, frame[i]!);
  }
  return most;
}

/**
 * Agreement of frames with their successors along the letters' path less along its opposite, over
 * `pairs` pairs from frame `from` on: what an eye that follows both clouds sees.
 */
export function motionMap(challenge: Challenge, from: number, pairs: number): Picture {
  const { frames, path, profile } = challenge;
  const { widthDots: w, heightDots: h } = profile;
  const map = new Float64Array(w * h);
  for (let p = 0; p < pairs; p++) {
    const k = (from + p) % frames.length;
    const next = (k + 1) % frames.length;
    const dx = path.dx[next]! - path.dx[k]!;
    const dy = path.dy[next]! - path.dy[k]!;
    const a = frames[k]!;
    const b = frames[next]!;
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const i = y * w + x;
        map[i]! += agree(a[i]!, b, x - dx, y - dy, w, h) - agree(a[i]!, b, x + dx, y + dy, w, h);
      }
    }
  }
  return map;
}

function agree(bit: number, frame: Uint8Array, x: number, y: number, w: number, h: number): number {
  if (x < 0 || y < 0 || x >= w || y >= h) return 0.5;
  return frame[y * w + x] === bit ? 1 : 0;
}

/** Gaussian blur. */
export function blur(picture: Picture, w: number, h: number, sigmaDots: number): Picture {
  const radius = Math.ceil(2.5 * sigmaDots);
  const kernel = Array.from({ length: 2 * radius + 1 }, (_, i) =>
    Math.exp(-((i - radius) ** 2) / (2 * sigmaDots * sigmaDots)),
  );
  const pass = (from: Picture, stepX: number, stepY: number): Picture => {
    const out = new Float64Array(from.length);
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        let sum = 0;
        let weight = 0;
        for (let i = -radius; i <= radius; i++) {
          const sx = x + i * stepX;
          const sy = y + i * stepY;
          if (sx < 0 || sy < 0 || sx >= w || sy >= h) continue;
          sum += kernel[i + radius]! * from[sy * w + sx]!;
          weight += kernel[i + radius]!;
        }
        out[y * w + x] = sum / weight;
      }
    }
    return out;
  };
  return pass(pass(picture, 1, 0), 0, 1);
}

export interface TemplateReader {
  /** Whether the picture shows the word, letters brighter than the rest: each letter is read alone. */
  reads(picture: Picture, word: string): boolean;
  /** The letters that agree best, and how well they do in all: larger is surer. */
  read(picture: Picture): { readonly word: string; readonly score: number };
}

const degreesTried = [-8, 0, 8];
const offsetsTried = [-3, 0, 3];

/** Matches each letter's cell against every letter in a few poses and places. */
export function createTemplateReader(profile: Profile, sigmaDots: number): TemplateReader {
  const w = 2 * Math.ceil(profile.letterWidthDotsMax / 2 + 4);
  const h = profile.heightDots;
  const glyphs = createGlyphSet(outlines, profile);
  const bank: { letter: string; dots: Picture }[] = [];
  for (const letter of alphabet) {
    for (const degrees of degreesTried) {
      for (const dx of offsetsTried) {
        for (const dy of offsetsTried) {
          const drawn = drawCentred(glyphs.pose(letter, degrees), w, h, dx, dy);
          bank.push({ letter, dots: normalised(blur(drawn, w, h, sigmaDots)) });
        }
      }
    }
  }
  function readCell(picture: Picture, i: number): { letter: string; score: number } {
    const cell = new Float64Array(w * h);
    const left = Math.round(letterCentre(profile, i) - w / 2);
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const px = Math.max(0, Math.min(profile.widthDots - 1, left + x));
        cell[y * w + x] = picture[y * profile.widthDots + px]!;
      }
    }
    const target = normalised(cell);
    let best = { letter: '', score: Number.NEGATIVE_INFINITY };
    for (const { letter, dots } of bank) {
      let score = 0;
      for (let j = 0; j < dots.length; j++) score += dots[j]! * target[j]!;
      if (score > best.score) best = { letter, score };
    }
    return best;
  }
  return {
    reads: (picture, word) =>
      [...word].every((letter, i) => readCell(picture, i).letter === letter),
    read(picture) {
      const cells = Array.from({ length: profile.letters }, (_, i) => readCell(picture, i));
      return {
        word: cells.map(({ letter }) => letter).join(''),
        score: cells.reduce((sum, cell) => sum + cell.score, 0),
      };
    },
  };
}

function drawCentred(g: GlyphBitmap, w: number, h: number, dx: number, dy: number): Picture {
  const out = new Float64Array(w * h);
  const left = Math.round((w - g.width) / 2) + dx;
  const top = Math.round((h - g.height) / 2) + dy;
  for (let y = 0; y < g.height; y++) {
    for (let x = 0; x < g.width; x++) {
      if (((g.rows[y * g.wordsPerRow + (x >> 5)]! >>> (x & 31)) & 1) === 0) continue;
      if (x + left < 0 || x + left >= w || y + top < 0 || y + top >= h) continue;
      out[(y + top) * w + x + left] = 1;
    }
  }
  return out;
}

/** Mean 0, length 1. */
function normalised(picture: Picture): Picture {
  const mean = picture.reduce((sum, v) => sum + v, 0) / picture.length;
  const length = Math.sqrt(picture.reduce((sum, v) => sum + (v - mean) ** 2, 0)) || 1;
  return picture.map((v) => (v - mean) / length);
}
