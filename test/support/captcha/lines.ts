/**
 * The flaw of a straight loop, used to the full: a cloud that runs straight around the edges shows
 * all dots of such a line the same bits in turn, so over a whole loop each dot of the background
 * has one and the same mean, and each dot of the letters another one.
 */

import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import { straightLoop } from './frames.ts';
import { blur, type Picture } from './readers.ts';

const firstSigmaDots = 1.5;
/** Weight of means that are one bit off: dots at the edges of letters, which come and go. */
const nextLevelWeight = 0.3;

/**
 * How far each dot is from the mean of its line's background to that of its letters, 0 to 1,
 * blurred. Lines in which the two are near count less.
 */
export function lineLevels(picture: Picture, profile: PictureProfile, sigmaDots: number): Picture {
  const { widthDots: w, heightDots: h } = profile;
  const lines = linesOf(profile);
  const guess = stretched(blur(firstGuess(picture, lines), w, h, firstSigmaDots));
  const once = refined(picture, guess, lines, profile, firstSigmaDots);
  return refined(picture, once, lines, profile, sigmaDots);
}

function linesOf(profile: PictureProfile): number[][] {
  const { widthDots: w, heightDots: h, frames } = profile;
  const loop = straightLoop(profile);
  const seen = new Uint8Array(w * h);
  const lines: number[][] = [];
  for (let i = 0; i < seen.length; i++) {
    if (seen[i] === 1) continue;
    const line = Array.from({ length: frames }, (_, k) => {
      const x = ((i % w) + loop.dx(k, 0, 0)) % w;
      return ((Math.floor(i / w) + loop.dy(k, 0)) % h) * w + x;
    });
    for (const at of line) seen[at] = 1;
    lines.push(line);
  }
  return lines;
}

/**
 * With v the distance from the background, which most dots show, and s the letters', s·v − s²/2
 * says which is nearer; s is estimated as Σv³/Σv², right when the rest of the line has v near 0.
 */
function firstGuess(picture: Picture, lines: readonly number[][]): Picture {
  /** Keeps lines whose two levels are alike from shouting. */
  const floor = 0.01;
  const out = new Float64Array(picture.length);
  for (const line of lines) {
    const means = line.map((at) => picture[at]!);
    const background = means.toSorted((a, b) => a - b)[means.length >> 1]!;
    const distances = means.map((v) => v - background);
    const squares = distances.reduce((sum, v) => sum + v * v, 0) || 1;
    const level = distances.reduce((sum, v) => sum + v ** 3, 0) / squares;
    for (const [k, at] of line.entries()) {
      out[at] = (level * distances[k]! - (level * level) / 2) / (level * level + floor);
    }
  }
  return out;
}

/** A picture from the two levels of each line as the guess has them. */
function refined(
  picture: Picture,
  guess: Picture,
  lines: readonly number[][],
  { widthDots: w, heightDots: h, frames }: PictureProfile,
  sigmaDots: number,
): Picture {
  const sum = new Float64Array(picture.length);
  const weight = new Float64Array(picture.length);
  for (const line of lines) {
    const means = line.map((at) => picture[at]!);
    const background = commonest(
      means,
      line.map((at) => (1 - guess[at]!) ** 3),
      frames,
    );
    const distance =
      commonest(
        means,
        line.map((at) => guess[at]! ** 3),
        frames,
      ) - background;
    if (Math.abs(distance) * frames < 0.5) continue;
    for (const [k, at] of line.entries()) {
      weight[at] = Math.min(1, distance * distance * frames);
      sum[at] = weight[at]! * clamped((means[k]! - background) / distance);
    }
  }
  const blurredWeight = blur(weight, w, h, sigmaDots);
  return blur(sum, w, h, sigmaDots).map((v, i) => v / (blurredWeight[i]! || 1));
}

function commonest(means: readonly number[], weights: readonly number[], frames: number): number {
  let best = 0;
  let most = Number.NEGATIVE_INFINITY;
  for (const level of new Set(means)) {
    let votes = 0;
    for (let i = 0; i < means.length; i++) {
      const bits = Math.abs(means[i]! - level) * frames;
      if (bits < 0.5) votes += weights[i]!;
      else if (bits < 1.5) votes += nextLevelWeight * weights[i]!;
    }
    if (votes > most) {
      most = votes;
      best = level;
    }
  }
  return best;
}

/** About a fifth of the dots are background beyond doubt, a fourteenth letters. */
function stretched(picture: Picture): Picture {
  const sorted = picture.toSorted();
  const low = sorted[Math.floor(sorted.length * 0.2)]!;
  const high = sorted[Math.floor(sorted.length * 0.93)]!;
  return picture.map((v) => clamped((v - low) / (high - low || 1)));
}

function clamped(v: number): number {
  return Math.max(0, Math.min(1, v));
}
