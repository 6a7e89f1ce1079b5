/**
 * Filters that make a recording sound as through another apparatus, and in a room. A person hears the
 * same word; a program that compares with recordings of its own finds another sound each time.
 * Pure: the same `between` gives the same sound.
 */

import { speechRateHz } from './speech.ts';

/** Anything from low to high, each as likely. */
export type Between = (low: number, high: number) => number;

/** Octaves about the middle that a band of the equaliser reaches, one in each of these ranges. */
const bands = [
  [200, 600],
  [600, 1_500],
  [1_500, 3_400],
] as const;

/** Each band is louder or softer by up to `gainDb`. */
export function equalised(sound: Float32Array, gainDb: number, between: Between): Float32Array {
  return bands.reduce(
    (heard, [low, high]) => peaking(heard, between(low, high), between(-gainDb, gainDb)),
    sound,
  );
}

/** A filter of second order with one hump (Bristow-Johnson's cookbook), one octave wide. */
function peaking(sound: Float32Array, centreHz: number, gainDb: number): Float32Array {
  const w = (2 * Math.PI * centreHz) / speechRateHz;
  const amplitude = 10 ** (gainDb / 40);
  const alpha = Math.sin(w) * Math.sinh((Math.LN2 / 2) * (w / Math.sin(w)));
  const scale = 1 + alpha / amplitude;
  const b0 = (1 + alpha * amplitude) / scale;
  const b2 = (1 - alpha * amplitude) / scale;
  const middle = (-2 * Math.cos(w)) / scale;
  const a2 = (1 - alpha / amplitude) / scale;
  const out = new Float32Array(sound.length);
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  for (let i = 0; i < sound.length; i++) {
    const x = sound[i]!;
    const y = b0 * x + middle * x1 + b2 * x2 - middle * y1 - a2 * y2;
    [x2, x1, y2, y1] = [x1, x, y1, y];
    out[i] = y;
  }
  return out;
}

/** Walls answer within these times; what comes later would blur one sound into the next. */
const reflectionsMs = [4, 90] as const;
const decayMs = 35;

/** The sound with `reflections` of itself, softer the later they come. */
export function inRoom(sound: Float32Array, reflections: number, between: Between): Float32Array {
  const out = sound.slice();
  for (let n = 0; n < reflections; n++) {
    const delayMs = between(...reflectionsMs);
    const gain = between(-0.6, 0.6) * Math.exp(-delayMs / decayMs);
    const delay = Math.round((delayMs * speechRateHz) / 1_000);
    for (let i = delay; i < out.length; i++) out[i]! += gain * sound[i - delay]!;
  }
  return out;
}

/** Mean of the squares. */
export function powerOf(sound: Float32Array): number {
  let sum = 0;
  for (const v of sound) sum += v * v;
  return sound.length === 0 ? 0 : sum / sound.length;
}
