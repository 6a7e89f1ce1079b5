/**
 * Programs that listen to a spoken challenge: one compares it with the stock recordings of the voices,
 * one was trained on thousands of digits of the real thing. Neither is told where the digits are.
 */

import { digitsSpoken, powerOf } from '../../../src/captcha/sound/audio.ts';
import { type SpeechVoices, speechRateHz } from '../../../src/captcha/sound/speech.ts';
import type { Random } from '../../../src/core/random.ts';
import { seededRandom } from '../seeded.ts';
import { hopSamples, melBands, melFrames } from './sound-spectrum.ts';

interface HeardClip {
  readonly answer: string;
  readonly sound: Float32Array;
  readonly spans: readonly (readonly [from: number, to: number])[];
}

export type SoundReader = (sound: Float32Array) => string;

/** The six best digits in order, none nearer to another than `apart`, of scores by place and digit. */
function bestDigits(scores: readonly ArrayLike<number>[], apart: number): string {
  const best = scores.map((row) => {
    let digit = 0;
    for (let d = 1; d < 10; d++) if (row[d]! > row[digit]!) digit = d;
    return { digit, score: row[digit]! };
  });
  type Path = { readonly score: number; readonly text: string };
  let upTo: Path[] = best.map(() => ({ score: 0, text: '' }));
  for (let n = 0; n < digitsSpoken; n++) {
    const next: Path[] = [];
    for (const [i, { digit, score }] of best.entries()) {
      const before = n === 0 ? { score: 0, text: '' } : upTo[i - apart];
      const here =
        before === undefined
          ? { score: Number.NEGATIVE_INFINITY, text: '' }
          : { score: before.score + score, text: `${before.text}${digit}` };
      const last = next[i - 1];
      next.push(last !== undefined && last.score >= here.score ? last : here);
    }
    upTo = next;
  }
  return upTo.at(-1)!.text;
}

const apartSeconds = 0.55;
const apartFrames = Math.floor((apartSeconds * speechRateHz) / hopSamples);
const speeds = Array.from({ length: 15 }, (_, i) => 0.86 + 0.02 * i);

interface Pattern {
  readonly digit: number;
  /** Band by band about its mean, of length 1 as a vector. */
  readonly frames: readonly Float32Array[];
}

/** Returns what a stock recording looks like, faster or slower, as on a tape. */
function patternOf(wave: Float32Array, digit: number, speed: number, silent: boolean): Pattern {
  const length = Math.floor((wave.length - 1) / speed);
  const tape = Float32Array.from({ length }, (_, i) => {
    const at = Math.floor(i * speed);
    const part = i * speed - at;
    return wave[at]! * (1 - part) + wave[at + 1]! * part;
  });
  const frames = melFrames(silent ? inSilence(tape) : tape);
  const norm = Math.sqrt(frames.length * melBands);
  return { digit, frames: frames.map((frame) => frame.map((v) => v / norm)) };
}

const silenceSamples = 0.1 * speechRateHz;
const silenceDb = 24;

/** Adds what is around a digit: without it a short one is found in longer ones with the same vowel. */
function inSilence(digit: Float32Array): Float32Array {
  const random = seededRandom(digit.length);
  const deviation = Math.sqrt(powerOf(digit)) * 10 ** (-silenceDb / 20);
  const out = Float32Array.from(
    { length: digit.length + 2 * silenceSamples },
    () => Math.sqrt(12) * deviation * (random.next() - 0.5),
  );
  for (const [i, v] of digit.entries()) out[silenceSamples + i]! += v;
  return out;
}

/** Sums of the values and of their squares before each frame, band by band. */
function sumsOf(frames: readonly Float32Array[]) {
  const sums = [new Float64Array(melBands)];
  const squares = [new Float64Array(melBands)];
  for (const [i, frame] of frames.entries()) {
    sums.push(sums[i]!.map((v, band) => v + frame[band]!));
    squares.push(squares[i]!.map((v, band) => v + frame[band]! ** 2));
  }
  return { sums, squares };
}

/**
 * By correlation of the spectra over time with recordings that anybody can make, at many speeds; `silent`: with the silence
 * around a digit, which helps where digits are short (French), and harms where they are long.
 */
export function correlationReader(stock: SpeechVoices, silent: boolean): SoundReader {
  const patterns = Array.from({ length: stock.voices * 10 }, (_, i) =>
    stock.samples.slice(stock.starts[i]!, stock.starts[i + 1]!),
  ).flatMap((wave, i) => speeds.map((speed) => patternOf(wave, i % 10, speed, silent)));
  return (sound) => {
    const frames = melFrames(sound);
    const { sums, squares } = sumsOf(frames);
    const scores = frames.map(() => new Float32Array(10));
    for (const { digit, frames: pattern } of patterns) {
      const count = pattern.length;
      for (let at = 0; at + count <= frames.length; at++) {
        let power = 0;
        for (let band = 0; band < melBands; band++) {
          const sum = sums[at + count]![band]! - sums[at]![band]!;
          power += squares[at + count]![band]! - squares[at]![band]! - (sum * sum) / count;
        }
        let alike = 0;
        for (let k = 0; k < count; k++) {
          const [one, other] = [pattern[k]!, frames[at + k]!];
          for (let band = 0; band < melBands; band++) alike += one[band]! * other[band]!;
        }
        const row = scores[at + (count >> 1)]!;
        // A short pattern is like anything more easily than a long one. Weighed by the root of the length, as chance
        // would have it, the long ones take the place of short ones: this little finds most digits.
        const surety = Math.atanh(Math.min(0.99, alike / Math.sqrt(power || 1))) * count ** 0.1;
        row[digit] = Math.max(row[digit]!, surety);
      }
    }
    return bestDigits(scores, apartFrames);
  };
}

/** Frames that the trained reader looks at together, every second one. */
const windowFrames = 44;
const inputs = (windowFrames / 2) * melBands;
const hidden = 96;
const kinds = 11;
const nothing = 10;

interface Net {
  readonly w1: Float32Array;
  readonly b1: Float32Array;
  readonly w2: Float32Array;
  readonly b2: Float32Array;
}

interface Example {
  readonly input: Float32Array;
  readonly kind: number;
}

function windowAt(frames: readonly Float32Array[], centre: number): Float32Array {
  const input = new Float32Array(inputs);
  for (let i = 0; i < windowFrames / 2; i++) {
    const at = centre - windowFrames / 2 + 2 * i;
    const [one, two] = [frames[at], frames[at + 1]];
    for (let band = 0; band < melBands; band++) {
      input[i * melBands + band] = ((one?.[band] ?? 0) + (two?.[band] ?? 0)) / 2;
    }
  }
  return input;
}

/** Each digit a few frames off, and places where none is. */
function examplesOf({ answer, sound, spans }: HeardClip, unit: () => number): Example[] {
  const frames = melFrames(sound);
  const centres = spans.map(([from, to]) => Math.round((from + to) / 2 / hopSamples));
  const said = centres.flatMap((centre, i) =>
    [-3, 0, 3].map((off) => ({
      input: windowAt(frames, centre + off + Math.round(2 * unit() - 1)),
      kind: Number(answer[i]),
    })),
  );
  const between = Array.from({ length: 14 }, () => Math.floor(unit() * frames.length));
  const unsaid = between.filter((at) => centres.every((centre) => Math.abs(at - centre) > 12));
  return [...said, ...unsaid.map((at) => ({ input: windowAt(frames, at), kind: nothing }))];
}

function forward(net: Net, input: Float32Array, inner: Float32Array, out: Float32Array): void {
  for (let h = 0; h < hidden; h++) {
    let sum = net.b1[h]!;
    const row = h * inputs;
    for (let i = 0; i < inputs; i++) sum += net.w1[row + i]! * input[i]!;
    inner[h] = Math.max(0, sum);
  }
  let most = Number.NEGATIVE_INFINITY;
  for (let k = 0; k < kinds; k++) {
    let sum = net.b2[k]!;
    for (let h = 0; h < hidden; h++) sum += net.w2[k * hidden + h]! * inner[h]!;
    out[k] = sum;
    most = Math.max(most, sum);
  }
  let total = 0;
  for (let k = 0; k < kinds; k++) total += out[k] = Math.exp(out[k]! - most);
  for (let k = 0; k < kinds; k++) out[k]! /= total;
}

function newNet(unit: () => number): Net {
  const weights = (count: number, fanIn: number) =>
    Float32Array.from({ length: count }, () => (2 * unit() - 1) * Math.sqrt(3 / fanIn));
  return {
    w1: weights(hidden * inputs, inputs),
    b1: new Float32Array(hidden),
    w2: weights(kinds * hidden, hidden),
    b2: new Float32Array(kinds),
  };
}

/** One step down the slope of the cross-entropy for one example. */
function learn(
  net: Net,
  { input, kind }: Example,
  rate: number,
  inner: Float32Array,
  out: Float32Array,
): void {
  forward(net, input, inner, out);
  out[kind]! -= 1;
  for (let h = 0; h < hidden; h++) {
    if (inner[h] === 0) continue;
    let slope = 0;
    for (let k = 0; k < kinds; k++) {
      slope += net.w2[k * hidden + h]! * out[k]!;
      net.w2[k * hidden + h]! -= rate * out[k]! * inner[h]!;
    }
    const step = rate * slope;
    const row = h * inputs;
    for (let i = 0; i < inputs; i++) net.w1[row + i]! -= step * input[i]!;
    net.b1[h]! -= step;
  }
  for (let k = 0; k < kinds; k++) net.b2[k]! -= rate * out[k]!;
}

/** A net with one hidden layer, trained on clips whose answers are known. */
export function trainedReader(
  clips: readonly HeardClip[],
  random: Random & { next(): number },
  rounds: number,
): SoundReader {
  const unit = () => random.next();
  const examples = clips.flatMap((clip) => examplesOf(clip, unit));
  const net = newNet(unit);
  const inner = new Float32Array(hidden);
  const out = new Float32Array(kinds);
  for (let round = 0; round < rounds; round++) {
    const rate = 0.006 * (1 - round / rounds) + 0.0005;
    for (let i = 0; i < examples.length; i++) {
      learn(net, examples[Math.floor(unit() * examples.length)]!, rate, inner, out);
    }
  }
  return (sound) => {
    const frames = melFrames(sound);
    const scores = frames.map((_, centre) => {
      forward(net, windowAt(frames, centre), inner, out);
      const none = Math.log(out[nothing]! + 1e-9);
      return Float32Array.from({ length: 10 }, (_, d) => Math.log(out[d]! + 1e-9) - none);
    });
    return bestDigits(scores, apartFrames);
  };
}
