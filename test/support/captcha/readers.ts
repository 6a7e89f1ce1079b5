/**
 * Pictures made from the frames of a motion challenge: what an attacker computes, and what a
 * person's eye does with motion.
 */

import type { NoiseField } from '../../../src/captcha/picture/motion-scene.ts';
import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import type { Challenge } from './frames.ts';

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
 * Agreement of frames with those `gap` later along the way of the letters' cloud less along its
 * opposite, over `pairs` pairs from frame `from` on: what an eye that follows both clouds sees.
 */
export function motionMap(challenge: Challenge, from: number, pairs: number, gap = 1): Picture {
  const { frames, path, profile } = challenge;
  const { widthDots: w, heightDots: h } = profile;
  const map = new Float64Array(w * h);
  for (let p = 0; p < pairs; p++) {
    const k = (from + p) % frames.length;
    const next = (k + gap) % frames.length;
    for (let y = 0, i = 0; y < h; y++) {
      for (let x = 0; x < w; x++, i++) {
        const bit = frames[k]![i]!;
        map[i]! +=
          agree(bit, frames[next]!, movedTo(path, k, next, x, y, 1, profile)) -
          agree(bit, frames[next]!, movedTo(path, k, next, x, y, -1, profile));
      }
    }
  }
  return map;
}

/** Where a dot of a cloud is in another frame; `sign` 1 is the letters' cloud. -1 outside. */
function movedTo(
  path: NoiseField,
  k: number,
  next: number,
  x: number,
  y: number,
  sign: 1 | -1,
  { widthDots: w, heightDots: h }: PictureProfile,
): number {
  const row = y + sign * path.dy(k, x);
  const toX = x + sign * (path.dx(k, row, x) - path.dx(next, row, x));
  if (toX < 0 || toX >= w) return -1;
  const toY = row - sign * path.dy(next, toX);
  return toY < 0 || toY >= h ? -1 : toY * w + toX;
}

function agree(bit: number, frame: Uint8Array, at: number): number {
  if (at < 0) return 0.5;
  return frame[at] === bit ? 1 : 0;
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

/**
 * What an eye sees in `pairs` pairs of frames: it pools motion over a neighbourhood, and moves no
 * part of it along with the field. So at each dot the frames are compared shifted by one step, that
 * of the letters' cloud there, and by its opposite, all around it alike.
 */
export function localMotion(
  challenge: Challenge,
  from: number,
  pairs: number,
  sigmaDots: number,
): Picture {
  const { frames, path, profile } = challenge;
  const { widthDots: w, heightDots: h } = profile;
  const map = new Float64Array(w * h);
  for (let p = 0; p < pairs; p++) {
    const k = (from + p) % frames.length;
    const next = (k + 1) % frames.length;
    const opponents = new Map<string, Picture>();
    for (let y = 0, i = 0; y < h; y++) {
      for (let x = 0; x < w; x++, i++) {
        const stepX = path.dx(k, y, x) - path.dx(next, y, x);
        const stepY = path.dy(k, x) - path.dy(next, x);
        const name = `${stepX},${stepY}`;
        let opponent = opponents.get(name);
        if (opponent === undefined) {
          const energy = opponentEnergy(frames[k]!, frames[next]!, stepX, stepY, profile);
          opponent = blur(energy, w, h, sigmaDots);
          opponents.set(name, opponent);
        }
        map[i]! += opponent[i]!;
      }
    }
  }
  return map;
}

/** Agreement of each dot with the next frame one step on, less that one step back. */
export function opponentEnergy(
  frame: Uint8Array,
  next: Uint8Array,
  stepX: number,
  stepY: number,
  { widthDots: w, heightDots: h }: PictureProfile,
): Picture {
  const energy = new Float64Array(w * h);
  const inside = (x: number, y: number) => (x < 0 || y < 0 || x >= w || y >= h ? -1 : y * w + x);
  for (let y = 0, i = 0; y < h; y++) {
    for (let x = 0; x < w; x++, i++) {
      energy[i] =
        agree(frame[i]!, next, inside(x + stepX, y + stepY)) -
        agree(frame[i]!, next, inside(x - stepX, y - stepY));
    }
  }
  return energy;
}
