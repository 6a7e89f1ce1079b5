/**
 * Is a single frame uniform noise? Standard scores of what a fair coin would give, dots inside the
 * letters against the rest, over many challenges. A sum of n independent scores is again one.
 */

import type { Challenge } from './frames.ts';

interface NoiseScores {
  /** Share of ones inside the letters less outside. */
  density: number;
  /** Ones in all. */
  ones: number;
  /** Counts of ones in blocks of 5 × 5 dots, chi-square against the binomial. */
  blocks: number;
  /** Equal neighbours inside the letters less outside, to the right and below. */
  neighbours: number;
  /** The strongest of the agreements of a frame with itself, shifted by 2, 4 … 64 dots either way. */
  shifted: number;
}

/** Frame 0 of each challenge. A score under 5 is chance; the strongest of the shifts included. */
export function noiseScores(challenges: readonly Challenge[]): NoiseScores {
  const sums = { density: 0, ones: 0, blocks: 0, neighbours: 0 };
  const agreeing = new Map<number, number>();
  const compared = new Map<number, number>();
  for (const { frames, masks, profile } of challenges) {
    const frame = frames[0]!;
    const mask = masks[0]!;
    const { widthDots: w, heightDots: h } = profile;
    const ones = frame.reduce((sum, v) => sum + v, 0);
    sums.ones += (ones - frame.length / 2) / Math.sqrt(frame.length / 4);
    sums.density += contrast(mask, (i) => frame[i]!);
    sums.neighbours += contrast(mask, (i) => {
      const right = i % w < w - 1 ? i + 1 : i - 1;
      return frame[i] === frame[right] ? 1 : 0;
    });
    sums.neighbours += contrast(mask, (i) => {
      const below = i + w < frame.length ? i + w : i - w;
      return frame[i] === frame[below] ? 1 : 0;
    });
    sums.blocks += blockScore(frame, w, h);
    for (let shift = 2; shift <= 64; shift += 2) {
      for (const [dx, dy] of [
        [shift, 0],
        [0, shift],
      ] as const) {
        if (dy >= h) continue;
        const key = dx * 1_000 + dy;
        let equal = 0;
        let count = 0;
        for (let y = 0; y < h - dy; y++) {
          for (let x = 0; x < w - dx; x++, count++) {
            equal += frame[y * w + x] === frame[(y + dy) * w + x + dx] ? 1 : 0;
          }
        }
        agreeing.set(key, (agreeing.get(key) ?? 0) + equal);
        compared.set(key, (compared.get(key) ?? 0) + count);
      }
    }
  }
  const root = Math.sqrt(challenges.length);
  const shifted = [...agreeing].map(([key, equal]) => {
    const count = compared.get(key)!;
    return Math.abs(equal - count / 2) / Math.sqrt(count / 4);
  });
  return {
    density: Math.abs(sums.density) / root,
    ones: Math.abs(sums.ones) / root,
    blocks: Math.abs(sums.blocks) / root,
    neighbours: Math.abs(sums.neighbours) / Math.sqrt(2) / root,
    shifted: Math.max(...shifted),
  };
}

/** Standard score of the difference of two means of fair coins, inside the mask and outside. */
function contrast(mask: Uint8Array, coin: (i: number) => number): number {
  const sum = [0, 0];
  const count = [0, 0];
  for (let i = 0; i < mask.length; i++) {
    sum[mask[i]!]! += coin(i);
    count[mask[i]!]!++;
  }
  const difference = sum[1]! / count[1]! - sum[0]! / count[0]!;
  return difference / Math.sqrt(0.25 / count[0]! + 0.25 / count[1]!);
}

const blockDots = 5;

function blockScore(frame: Uint8Array, w: number, h: number): number {
  const dots = blockDots * blockDots;
  let chiSquare = 0;
  let blocks = 0;
  for (let top = 0; top + blockDots <= h; top += blockDots) {
    for (let left = 0; left + blockDots <= w; left += blockDots, blocks++) {
      let ones = 0;
      for (let y = 0; y < blockDots; y++) {
        for (let x = 0; x < blockDots; x++) ones += frame[(top + y) * w + left + x]!;
      }
      chiSquare += (ones - dots / 2) ** 2 / (dots / 4);
    }
  }
  // One term has mean 1 and variance 2 − 2/n for a binomial of n fair coins.
  return (chiSquare - blocks) / Math.sqrt(blocks * (2 - 2 / dots));
}
