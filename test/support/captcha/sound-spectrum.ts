/** Spectra of sound for programs that listen: a transform, mel bands over time, and intelligibility. */

import { speechRateHz } from '../../../src/captcha/sound/speech.ts';

/** Of complex numbers in place; the length is a power of two. */
function transform(re: Float64Array, im: Float64Array): void {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; (j & bit) !== 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    [re[i], re[j]] = [re[j]!, re[i]!];
    [im[i], im[j]] = [im[j]!, im[i]!];
  }
  for (let size = 2; size <= n; size <<= 1) {
    const half = size >> 1;
    const [cos, sin] = turnsOf(half);
    for (let at = 0; at < n; at += size) {
      for (let k = 0; k < half; k++) {
        const [c, s] = [cos[k]!, -sin[k]!];
        const [a, b] = [at + k, at + k + half];
        const re1 = re[b]! * c - im[b]! * s;
        const im1 = re[b]! * s + im[b]! * c;
        re[b] = re[a]! - re1;
        im[b] = im[a]! - im1;
        re[a] = re[a]! + re1;
        im[a] = im[a]! + im1;
      }
    }
  }
}

const turns = new Map<number, [Float64Array, Float64Array]>();

function turnsOf(half: number): [Float64Array, Float64Array] {
  let known = turns.get(half);
  if (known === undefined) {
    const angle = (k: number) => (Math.PI * k) / half;
    known = [
      Float64Array.from({ length: half }, (_, k) => Math.cos(angle(k))),
      Float64Array.from({ length: half }, (_, k) => Math.sin(angle(k))),
    ];
    turns.set(half, known);
  }
  return known;
}

export const melBands = 20;
const frameSamples = 256;
export const hopSamples = 128;
const lowestHz = 120;
const highestHz = 3_900;

const melOf = (hz: number) => 2_595 * Math.log10(1 + hz / 700);
const hzOf = (mel: number) => 700 * (10 ** (mel / 2_595) - 1);

/** Share of each bin of the spectrum in each band: triangles that overlap. */
const melShares = Array.from({ length: melBands }, (_, band) => {
  const edge = (i: number) =>
    hzOf(melOf(lowestHz) + ((melOf(highestHz) - melOf(lowestHz)) * i) / (melBands + 1));
  const [low, middle, high] = [edge(band), edge(band + 1), edge(band + 2)];
  return Array.from({ length: frameSamples / 2 }, (_, bin) => {
    const hz = (bin * speechRateHz) / frameSamples;
    return Math.max(0, Math.min((hz - low) / (middle - low), (high - hz) / (high - middle)));
  });
});

function spectrumPowers(sound: Float32Array, onFrame: (powers: Float64Array) => void): void {
  const re = new Float64Array(frameSamples);
  const im = new Float64Array(frameSamples);
  const powers = new Float64Array(frameSamples / 2);
  for (let at = 0; at + frameSamples <= sound.length; at += hopSamples) {
    for (let i = 0; i < frameSamples; i++) {
      re[i] = sound[at + i]! * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / frameSamples));
    }
    im.fill(0);
    transform(re, im);
    for (let i = 0; i < powers.length; i++) powers[i] = re[i]! ** 2 + im[i]! ** 2;
    onFrame(powers);
  }
}

/** Logarithms of the bands, frame by frame; each band has the mean 0 over the clip, all the deviation 1. */
export function melFrames(sound: Float32Array): Float32Array[] {
  const frames: Float32Array[] = [];
  spectrumPowers(sound, (powers) => {
    frames.push(
      Float32Array.from(melShares, (shares) => {
        let sum = 1e-4;
        for (let i = 0; i < shares.length; i++) sum += shares[i]! * powers[i]!;
        return Math.log(sum);
      }),
    );
  });
  for (let band = 0; band < melBands; band++) {
    const mean = frames.reduce((sum, frame) => sum + frame[band]!, 0) / frames.length;
    for (const frame of frames) frame[band]! -= mean;
  }
  const squares = frames.reduce((sum, frame) => sum + frame.reduce((s, v) => s + v * v, 0), 0);
  const deviation = Math.sqrt(squares / (frames.length * melBands)) || 1;
  for (const frame of frames) for (let i = 0; i < melBands; i++) frame[i]! /= deviation;
  return frames;
}

const octaveThirds = 14;
const windowFrames = 24;
/** Frames this far below the loudest are silence. */
const silenceDb = 40;

function bandsOf(sound: Float32Array): Float64Array[] {
  const frames: Float64Array[] = [];
  spectrumPowers(sound, (powers) => {
    const bands = new Float64Array(octaveThirds);
    for (let bin = 1; bin < powers.length; bin++) {
      const hz = (bin * speechRateHz) / frameSamples;
      const band = Math.round(3 * Math.log2(hz / 150));
      if (band >= 0 && band < octaveThirds) bands[band]! += powers[bin]!;
    }
    frames.push(bands.map(Math.sqrt));
  });
  return frames;
}

/**
 * How much of the speech an ear gets, 0 to 1: the short-time objective intelligibility (Taal and others,
 * 2011), at our rate: correlation of third-octave envelopes over 0.4 s, the disturbed one clipped.
 */
export function intelligibility(spoken: Float32Array, heard: Float32Array): number {
  const [clean, noisy] = [bandsOf(spoken), bandsOf(heard)];
  const loud = clean.map((frame) => frame.reduce((sum, v) => sum + v * v, 0));
  const floor = Math.max(...loud) * 10 ** (-silenceDb / 10);
  const kept = loud.flatMap((power, i) => (power > floor ? [i] : []));
  let sum = 0;
  let count = 0;
  for (let m = windowFrames; m <= kept.length; m++) {
    const frames = kept.slice(m - windowFrames, m);
    for (let band = 0; band < octaveThirds; band++) {
      const x = frames.map((i) => clean[i]![band]!);
      const y = frames.map((i) => noisy[i]![band]!);
      const scale = Math.sqrt(squaresOf(x) / (squaresOf(y) || 1));
      const clipped = y.map((v, i) => Math.min(scale * v, x[i]! * (1 + 10 ** (15 / 20))));
      sum += correlation(x, clipped);
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

function squaresOf(values: readonly number[]): number {
  return values.reduce((sum, v) => sum + v * v, 0);
}

function correlation(x: readonly number[], y: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const [mx, my] = [mean(x), mean(y)];
  const [dx, dy] = [x.map((v) => v - mx), y.map((v) => v - my)];
  const both = dx.reduce((sum, v, i) => sum + v * dy[i]!, 0);
  return both / (Math.sqrt(squaresOf(dx) * squaresOf(dy)) || 1);
}
