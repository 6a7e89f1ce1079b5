/**
 * A model of an eye that reads a motion challenge. It knows how letters look, and nothing of the way that the
 * clouds take nor of the places where letters stand. In a look of 160 ms it compares neighbouring frames along
 * all short steps, each against its opposite (opponent motion energy), adds noise of its own as strong as that
 * of the picture, and blurs. Where steps stand out of their surround they give an axis; which way along it is
 * up goes on from place to place, and the background is what takes more of the picture. Then it sums over the
 * ink of each letter, at each place and turned a little, and takes the best row of letters that don't overlap.
 * Several looks are added up. It is no person: where it fails people may manage.
 */

import { boxDots, createGlyphSet } from '../../../src/captcha/picture/glyphs.ts';
import { stamp } from '../../../src/captcha/picture/motion-scene.ts';
import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import { seededRandom } from '../seeded.ts';
import { type Challenge, outlines } from './frames.ts';

export interface EyeOptions {
  /** Its own noise, against that of dots that agree by chance: 1 makes use of half of what is there. */
  readonly noise: number;
  readonly blurDots: number;
  readonly looks: number;
}

/** Blurs 3 CSS pixels at three a dot. */
export const goodEye: EyeOptions = { noise: 1, blurDots: 1, looks: 6 };
/** Makes use of a fifth. It tells recipes apart that the good one reads alike. */
export const poorEye: EyeOptions = { noise: 2, blurDots: 1.5, looks: 6 };

interface Eye {
  /** The word that it makes out. */
  read(challenge: Pick<Challenge, 'frames'>, seed: number): string;
  /** All looks as one picture: letters bright, of deviation 1. */
  picture(challenge: Pick<Challenge, 'frames'>, seed: number): Float32Array;
}

/** How many words of these it reads in full, which share of the letters, and how often it takes one for another. */
export function wordsSeen(eye: Eye, challenges: readonly Challenge[]) {
  const read = challenges.map((challenge, i) => eye.read(challenge, i));
  const letters = challenges.map(
    ({ answer }, i) => [...answer].filter((c, at) => read[i]![at] === c).length / answer.length,
  );
  return {
    words: letters.filter((share) => share === 1).length,
    letters: letters.reduce((sum, share) => sum + share, 0) / letters.length,
    confused: confusedPairs(challenges.map(({ answer }, i) => ({ answer, read: read[i]! }))),
  };
}

/**
 * Pairs of letters, what was there and what was read, with the share of what was there (`shown` times); the most confused
 * first.
 */
export function confusedPairs(
  words: readonly { readonly answer: string; readonly read: string }[],
) {
  const shown = new CountsOf();
  const taken = new CountsOf();
  for (const { answer, read } of words) {
    for (const [at, letter] of [...answer].entries()) {
      shown.add(letter);
      if (read[at] !== letter) taken.add(`${letter}>${read[at]}`);
    }
  }
  const pairs = [...taken].map(([pair, count]) => {
    const there = shown.get(pair[0]!)!;
    return { pair, share: count / there, shown: there };
  });
  return pairs.sort((a, b) => b.share - a.share);
}

class CountsOf extends Map<string, number> {
  add(name: string): void {
    this.set(name, (this.get(name) ?? 0) + 1);
  }
}

/** How many pairs of neighbouring frames a look has. */
export function pairsOfLook({ frameMs }: PictureProfile): number {
  return Math.floor(lookMs / frameMs);
}

const lookMs = 160;
/** Longest step of a dot from a frame to the next that it follows, dots. */
const stepDotsMax = 3.2;
/** Places at which an axis is told, and how far around them it is gathered. */
const cellDots = 3;
const surroundDots = 6;
const turns = [-4, 0, 4];

interface Step {
  readonly x: number;
  readonly y: number;
  readonly angle: number;
}

/** Each once with its opposite. */
const steps: readonly Step[] = (() => {
  const list: Step[] = [];
  const most = Math.floor(stepDotsMax);
  for (let y = 0; y <= most; y++) {
    for (let x = -most; x <= most; x++) {
      if (Math.hypot(x, y) > stepDotsMax || !(y > 0 || x > 0)) continue;
      list.push({ x, y, angle: Math.atan2(y, x) });
    }
  }
  return list;
})();

export function createEye(profile: PictureProfile, options: EyeOptions): Eye {
  const shapes = shapesOf(profile);

  function looks({ frames }: Pick<Challenge, 'frames'>, seed: number): Float32Array[] {
    const noise = createNoise(seed);
    const signed = frames.map((frame) => Int8Array.from(frame, (bit) => 2 * bit - 1));
    const first = noise.below(frames.length);
    return Array.from({ length: options.looks }, (_, i) => {
      const from = first + Math.round((i * frames.length) / options.looks);
      return look(signed, from, profile, options, noise);
    });
  }

  return {
    read(challenge, seed) {
      const sums = shapes.map(() => new Float64Array(profile.widthDots));
      for (const seen of looks(challenge, seed)) addScores(seen, shapes, profile, sums);
      return bestRow(sums, shapes, profile);
    },
    picture(challenge, seed) {
      const seen = looks(challenge, seed);
      const scale = Math.sqrt(seen.length);
      return seen[0]!.map((_, i) => seen.reduce((sum, one) => sum + one[i]!, 0) / scale);
    },
  };
}

interface Noise {
  below(limit: number): number;
  /** Adds to each number a normal one of this deviation. */
  add(numbers: Float32Array, deviation: number): void;
}

const normals = 1 << 17;
let table: Float32Array | undefined;

/** A piece of one long table at a time: drawing each number anew would take most of the time. */
function createNoise(seed: number): Noise {
  const random = seededRandom(seed);
  table ??= normalTable();
  const kept = table;
  const below = (limit: number) => Math.floor(random.next() * limit);
  return {
    below,
    add(numbers, deviation) {
      const start = below(normals);
      for (let i = 0; i < numbers.length; i++) {
        numbers[i]! += deviation * kept[(start + i) & (normals - 1)]!;
      }
    },
  };
}

function normalTable(): Float32Array {
  const random = seededRandom(7);
  return Float32Array.from({ length: normals }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random.next()));
    return radius * Math.cos(2 * Math.PI * random.next());
  });
}

/** What a look brings out of the picture: letters bright, of deviation 1. */
function look(
  frames: readonly Int8Array[],
  from: number,
  profile: PictureProfile,
  { noise: strength, blurDots }: EyeOptions,
  noise: Noise,
): Float32Array {
  const { widthDots: w, heightDots: h } = profile;
  const pairs = pairsOfLook(profile);
  const energies = steps.map((step) => {
    const energy = opponents(frames, from, pairs, step, w, h);
    noise.add(energy, strength * Math.sqrt(2 * pairs));
    return blurred(energy, w, h, blurDots);
  });
  const cells = axesOf(energies, w, h);
  const seen = new Float32Array(w * h);
  for (let y = 0, i = 0; y < h; y++) {
    for (let x = 0; x < w; x++, i++) {
      const weights = cells.weights[cells.at(x, y)]!;
      let sum = 0;
      for (let s = 0; s < steps.length; s++) sum += weights[s]! * energies[s]![i]!;
      seen[i] = sum;
    }
  }
  const total = seen.reduce((sum, v) => sum + v, 0);
  const deviation = Math.sqrt(seen.reduce((sum, v) => sum + v * v, 0) / seen.length) || 1;
  const sign = total > 0 ? -1 : 1;
  return seen.map((v) => (sign * v) / deviation);
}

/** Of each dot how much more its surroundings move along the step than against it, over the pairs of a look. */
function opponents(
  frames: readonly Int8Array[],
  from: number,
  pairs: number,
  step: Step,
  w: number,
  h: number,
): Float32Array {
  const energy = new Float32Array(w * h);
  // The dot is in the middle of both ends.
  const [left, up] = [Math.floor(step.x / 2), Math.floor(step.y / 2)];
  const [right, down] = [step.x - left, step.y - up];
  const before = -up * w - left;
  const after = down * w + right;
  const [x0, x1] = [Math.max(left, -right, 0), w - Math.max(right, -left, 0)];
  for (let p = 0; p < pairs; p++) {
    const now = frames[(from + p) % frames.length]!;
    const next = frames[(from + p + 1) % frames.length]!;
    for (let y = up; y < h - down; y++) {
      for (let x = x0, i = y * w + x0; x < x1; x++, i++) {
        energy[i]! += now[i + before]! * next[i + after]! - now[i + after]! * next[i + before]!;
      }
    }
  }
  return energy;
}

function blurred(from: Float32Array, w: number, h: number, sigma: number): Float32Array {
  const radius = Math.ceil(2.5 * sigma);
  const kernel = Float32Array.from({ length: 2 * radius + 1 }, (_, i) =>
    Math.exp(-((i - radius) ** 2) / (2 * sigma * sigma)),
  );
  const sum = kernel.reduce((a, b) => a + b, 0);
  const across = new Float32Array(w * h);
  const out = new Float32Array(w * h);
  for (let k = 0; k < kernel.length; k++) {
    const [weight, shift] = [kernel[k]! / sum, k - radius];
    const [x0, x1] = [Math.max(0, -shift), Math.min(w, w - shift)];
    for (let y = 0; y < h; y++) {
      for (let i = y * w + x0; i < y * w + x1; i++) across[i]! += weight * from[i + shift]!;
    }
  }
  for (let k = 0; k < kernel.length; k++) {
    const [weight, shift] = [kernel[k]! / sum, k - radius];
    const [y0, y1] = [Math.max(0, -shift), Math.min(h, h - shift)];
    for (let i = y0 * w; i < y1 * w; i++) out[i]! += weight * across[i + shift * w]!;
  }
  return out;
}

interface Cells {
  /** The cell of a dot. */
  at(x: number, y: number): number;
  /** Of each cell and step how much it says, negative where it runs against the cell's way. */
  readonly weights: readonly Float32Array[];
}

function axesOf(energies: readonly Float32Array[], w: number, h: number): Cells {
  const columns = Math.ceil(w / cellDots);
  const rows = Math.ceil(h / cellDots);
  const at = (x: number, y: number) =>
    Math.floor(y / cellDots) * columns + Math.floor(x / cellDots);
  const powers = energies.map((energy) => {
    const power = new Float32Array(columns * rows);
    for (let y = 0, i = 0; y < h; y++) {
      for (let x = 0; x < w; x++, i++) power[at(x, y)]! += energy[i]! * energy[i]!;
    }
    return blurred(power, columns, rows, surroundDots / cellDots);
  });
  const excess = Array.from({ length: columns * rows }, (_, cell) => {
    const values = powers.map((power) => power[cell]!);
    // Most steps are none that dots take here, and show how strong chance is.
    const chance = values.toSorted((a, b) => a - b)[values.length >> 1]!;
    return Float32Array.from(values, (v) => Math.max(0, v / chance - 1));
  });
  const axes = excess.map((of) => {
    let [x, y] = [0, 0];
    for (const [s, { angle }] of steps.entries()) {
      x += of[s]! * Math.cos(2 * angle);
      y += of[s]! * Math.sin(2 * angle);
    }
    return { angle: Math.atan2(y, x) / 2, strength: Math.hypot(x, y) };
  });
  const signs = continued(axes, columns);
  const weights = excess.map((of, cell) =>
    of.map((v, s) => signs[cell]! * v * Math.cos(steps[s]!.angle - axes[cell]!.angle)),
  );
  return { at, weights };
}

interface Axis {
  readonly angle: number;
  readonly strength: number;
}

/** Which way along its axis each cell is counted: a maximum spanning tree joins those that agree best. */
function continued(axes: readonly Axis[], columns: number): Int8Array {
  const signs = new Int8Array(axes.length);
  const best = new Float64Array(axes.length).fill(-1);
  const sign = new Int8Array(axes.length).fill(1);
  best[axes.reduce((most, { strength }, i) => (strength > axes[most]!.strength ? i : most), 0)] = 0;
  for (let joined = 0; joined < axes.length; joined++) {
    let cell = -1;
    for (let i = 0; i < axes.length; i++) {
      if (signs[i] === 0 && best[i]! >= 0 && (cell < 0 || best[i]! > best[cell]!)) cell = i;
    }
    signs[cell] = sign[cell]!;
    const here = axes[cell]!;
    const x = cell % columns;
    for (const [dx, step] of [
      [-1, -1],
      [1, 1],
      [0, -columns],
      [0, columns],
    ] as const) {
      const near = cell + step;
      if (x + dx < 0 || x + dx >= columns || signs[near] !== 0) continue;
      const there = axes[near]!;
      const agreement = Math.cos(here.angle - there.angle);
      const value = Math.abs(agreement) * Math.min(here.strength, there.strength);
      if (value <= best[near]!) continue;
      best[near] = value;
      sign[near] = agreement < 0 ? -signs[cell]! : signs[cell]!;
    }
  }
  return signs;
}

/** A letter as it may stand in the picture: dots of ink in each row, from and to. */
interface Shape {
  readonly letter: string;
  readonly width: number;
  readonly height: number;
  /** Row, first dot and the one after the last, in turn. */
  readonly runs: Int32Array;
}

function shapesOf(profile: PictureProfile): Shape[] {
  const glyphs = createGlyphSet(outlines, profile);
  const shapes: Shape[] = [];
  for (const letter of profile.alphabet) {
    const rows = glyphs.glyph(letter);
    for (const degrees of turns) shapes.push(shapeOf(letter, rows, degrees));
  }
  return shapes;
}

function shapeOf(letter: string, rows: Int32Array, degrees: number): Shape {
  const [words, high] = [2, 64];
  const mask = new Int32Array(words * high);
  const centre = { centreX: boxDots, centreY: high / 2 };
  stamp(mask, words, rows, { degrees, ...centre });
  const inked = (x: number, y: number) => ((mask[y * words + (x >> 5)]! >>> (x & 31)) & 1) === 1;
  const runs: number[] = [];
  for (let y = 0; y < high; y++) {
    for (let x = 0, from = -1; x <= 32 * words; x++) {
      const ink = x < 32 * words && inked(x, y);
      if (ink && from < 0) from = x;
      if (ink || from < 0) continue;
      runs.push(y, from, x);
      from = -1;
    }
  }
  const left = Math.min(...runs.filter((_, i) => i % 3 === 1));
  const right = Math.max(...runs.filter((_, i) => i % 3 === 2));
  const top = runs[0]!;
  return {
    letter,
    width: right - left,
    height: runs.at(-3)! - top + 1,
    runs: Int32Array.from(runs, (v, i) => v - (i % 3 === 0 ? top : left)),
  };
}

/** Adds of each shape and first column the best sum over its ink, at any height. */
function addScores(
  seen: Float32Array,
  shapes: readonly Shape[],
  { widthDots: w, heightDots: h }: PictureProfile,
  sums: readonly Float64Array[],
): void {
  const wide = w + 1;
  const before = new Float64Array(wide * h);
  for (let y = 0; y < h; y++) {
    for (let x = 0; x < w; x++) before[y * wide + x + 1] = before[y * wide + x]! + seen[y * w + x]!;
  }
  for (const [i, { width, height, runs }] of shapes.entries()) {
    const offsets = new Int32Array((2 * runs.length) / 3);
    for (let r = 0, o = 0; r < runs.length; r += 3) {
      offsets[o++] = runs[r]! * wide + runs[r + 1]!;
      offsets[o++] = runs[r]! * wide + runs[r + 2]!;
    }
    for (let left = 0; left + width <= w; left++) {
      let best = Number.NEGATIVE_INFINITY;
      for (let top = 0; top + height <= h; top++) {
        const at = top * wide + left;
        let sum = 0;
        for (let o = 0; o < offsets.length; o += 2) {
          sum += before[at + offsets[o + 1]!]! - before[at + offsets[o]!]!;
        }
        if (sum > best) best = sum;
      }
      sums[i]![left]! += best;
    }
  }
}

/** The letters, as many as a word has, that together score most side by side. */
function bestRow(
  sums: readonly Float64Array[],
  shapes: readonly Shape[],
  { widthDots: w, letters }: PictureProfile,
): string {
  interface Row {
    readonly sum: number;
    readonly word: string;
  }
  /** The best of what ends before a column. */
  let rows: (Row | undefined)[] = Array.from({ length: w + 1 }, () => ({ sum: 0, word: '' }));
  for (let count = 0; count < letters; count++) {
    const longer: (Row | undefined)[] = Array.from({ length: w + 1 }, () => undefined);
    for (const [i, { letter, width }] of shapes.entries()) {
      for (let left = 0; left + width <= w; left++) {
        const row = rows[left];
        if (row === undefined) continue;
        const sum = row.sum + sums[i]![left]!;
        const end = left + width;
        if (sum > (longer[end]?.sum ?? Number.NEGATIVE_INFINITY)) {
          longer[end] = { sum, word: row.word + letter };
        }
      }
    }
    for (let end = 1; end <= w; end++) {
      const shorter = longer[end - 1];
      if (
        (shorter?.sum ?? Number.NEGATIVE_INFINITY) > (longer[end]?.sum ?? Number.NEGATIVE_INFINITY)
      ) {
        longer[end] = shorter;
      }
    }
    rows = longer;
  }
  return rows[w]?.word ?? '';
}
