/**
 * Programs that read a motion challenge without knowing how its clouds run. `globalMotion` looks for
 * one shift of the whole picture, for each pair of frames; `stripMotion` for one of each fifth. `energyMap` looks for the motion of each
 * part: which way its dots go, or come, and how that continues from part to part and in time.
 */

import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import type { Challenge } from './frames.ts';
import { blur, opponentEnergy, type Picture } from './readers.ts';

interface Step {
  readonly x: number;
  readonly y: number;
}

/** All steps of up to `reach` dots, of each two opposite ones the one. */
function stepsWithin(reach: number): Step[] {
  const steps: Step[] = [];
  for (let y = 0; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      if (Math.hypot(x, y) <= reach && (y > 0 || x > 0)) steps.push({ x, y });
    }
  }
  return steps;
}

const gaps = [1, 2];

/** The background takes more of the picture: the best shift is its own, the letters go the other way. */
export function globalMotion({ frames, profile }: Challenge): Picture {
  const sum = new Float64Array(frames[0]!.length);
  for (const gap of gaps) {
    const steps = stepsWithin(2 * gap);
    for (const [k, frame] of frames.entries()) {
      const later = frames[(k + gap) % frames.length]!;
      let best = { energy: new Float64Array(0) as Picture, most: 0 };
      for (const { x, y } of steps) {
        const energy = opponentEnergy(frame, later, x, y, profile);
        const total = energy.reduce((a, b) => a + b, 0);
        if (Math.abs(total) > Math.abs(best.most)) best = { energy, most: total };
      }
      const sign = best.most > 0 ? -1 : 1;
      for (let i = 0; i < best.energy.length; i++) sum[i]! += sign * best.energy[i]!;
    }
  }
  return sum;
}

/** Each fifth of the picture as a picture of its own. */
export function stripMotion({ frames, profile, ...rest }: Challenge): Picture {
  const { widthDots: w, heightDots: h } = profile;
  const widthDots = w / 5;
  const sum = new Float64Array(w * h);
  for (let left = 0; left < w; left += widthDots) {
    const place = (i: number) => Math.floor(i / widthDots) * w + left + (i % widthDots);
    const places = Array.from({ length: widthDots * h }, (_, i) => place(i));
    const strip = frames.map((frame) => Uint8Array.from(places, (at) => frame[at]!));
    const found = globalMotion({ ...rest, frames: strip, profile: { ...profile, widthDots } });
    for (const [i, at] of places.entries()) sum[at] = found[i]!;
  }
  return sum;
}

const tileDots = 5;
const gap = 2;
const pairs = 5;
const stride = 2;
const sigmaDots = 1.5;
/** How far around a tile its energy is gathered, tiles. */
const gathered = 2;

/** A window of frames: of each step the energy of each dot, and which step each tile goes along. */
interface Window {
  readonly energies: readonly Picture[];
  /** Of each tile the number of the step. */
  readonly along: readonly number[];
}

/** The parts' opponent energies, brought together by what continues. Letters may come out darker. */
export function energyMap({ frames, profile }: Challenge): Picture {
  const steps = stepsWithin(4);
  const { widthDots: w, heightDots: h } = profile;
  const columns = Math.ceil(w / tileDots);
  const rows = Math.ceil(h / tileDots);
  const tileOf = (i: number) =>
    Math.floor(Math.floor(i / w) / tileDots) * columns + Math.floor((i % w) / tileDots);
  const sum = new Float64Array(w * h);
  let signs: number[] | undefined;
  let before: Step[] = [];
  for (let k = 0; k < frames.length; k += stride) {
    const { energies, along } = windowAt(frames, k, steps, profile, columns, rows, tileOf);
    const ways = along.map((step) => steps[step]!);
    signs = signs === undefined ? spread(ways, columns, rows) : continued(ways, before, columns);
    before = ways.map(({ x, y }, tile) => ({ x: x * signs![tile]!, y: y * signs![tile]! }));
    for (let i = 0; i < sum.length; i++) {
      const tile = tileOf(i);
      sum[i]! += signs[tile]! * energies[along[tile]!]![i]!;
    }
  }
  return sum;
}

function windowAt(
  frames: readonly Uint8Array[],
  from: number,
  steps: readonly Step[],
  profile: PictureProfile,
  columns: number,
  rows: number,
  tileOf: (i: number) => number,
): Window {
  const { widthDots: w, heightDots: h } = profile;
  const powers: Picture[] = [];
  const energies = steps.map(({ x, y }) => {
    const total = new Float64Array(w * h);
    for (let p = 0; p < pairs; p++) {
      const k = (from + p) % frames.length;
      const one = opponentEnergy(frames[k]!, frames[(k + gap) % frames.length]!, x, y, profile);
      for (let i = 0; i < total.length; i++) total[i]! += one[i]!;
    }
    const energy = blur(total, w, h, sigmaDots);
    const power = new Float64Array(columns * rows);
    for (let i = 0; i < energy.length; i++) power[tileOf(i)]! += energy[i]! ** 2;
    powers.push(blur(power, columns, rows, gathered));
    return energy;
  });
  const along = Array.from({ length: columns * rows }, (_, tile) =>
    powers.reduce((best, power, step) => (power[tile]! > powers[best]![tile]! ? step : best), 0),
  );
  return { energies, along };
}

/** From the middle outwards: each tile goes on as those around it do. */
function spread(ways: readonly Step[], columns: number, rows: number): number[] {
  const signs = new Array<number>(ways.length).fill(0);
  const start = (rows >> 1) * columns + (columns >> 1);
  signs[start] = 1;
  const queue = [start];
  for (let at = 0; at < queue.length; at++) {
    for (const near of around(queue[at]!, columns, ways.length)) {
      if (signs[near] !== 0) continue;
      let agreement = 0;
      for (const other of around(near, columns, ways.length)) {
        agreement += signs[other]! * dot(ways[near]!, ways[other]!);
      }
      signs[near] = agreement < 0 ? -1 : 1;
      queue.push(near);
    }
  }
  return signs;
}

/** From one window to the next: motion turns slowly. */
function continued(ways: readonly Step[], before: readonly Step[], columns: number): number[] {
  return ways.map((way, tile) => {
    const near = around(tile, columns, ways.length);
    const agreement =
      2 * dot(way, before[tile]!) + near.reduce((sum, other) => sum + dot(way, before[other]!), 0);
    return agreement < 0 ? -1 : 1;
  });
}

function around(tile: number, columns: number, count: number): number[] {
  const near: number[] = [];
  if (tile % columns > 0) near.push(tile - 1);
  if (tile % columns < columns - 1) near.push(tile + 1);
  if (tile >= columns) near.push(tile - columns);
  if (tile + columns < count) near.push(tile + columns);
  return near;
}

function dot(a: Step, b: Step): number {
  return a.x * b.x + a.y * b.y;
}
