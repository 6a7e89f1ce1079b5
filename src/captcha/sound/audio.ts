/**
 * One spoken challenge from a seed: six digits, each in a random voice, speed and colour, in a room
 * with reversed speech and noise, as an 8 kHz 8-bit WAV. The same seed gives the same bytes. Speech
 * recognition is the weakest link of all challenges: its limit per client must be the tightest.
 */

import { createKeystream, type Keystream } from '../picture/keystream.ts';
import { type SpeechVoices, type SpokenLanguage, speechRateHz } from './speech.ts';

/** Anything from low to high, each as likely. */
type Between = (low: number, high: number) => number;

/** Octaves about the middle that a band of the equaliser reaches, one in each of these ranges. */
const bands = [
  [200, 600],
  [600, 1_500],
  [1_500, 3_400],
] as const;

/** Each band is louder or softer by up to `gainDb`. */
export function equalise(sound: Float32Array, gainDb: number, between: Between): Float32Array {
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
export function addReflections(
  sound: Float32Array,
  reflections: number,
  between: Between,
): Float32Array {
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

export const digitsSpoken = 6;
const headerBytes = 44;
const secondsMax = 12;

export interface SpokenClip {
  readonly answer: string;
  readonly wav: Uint8Array<ArrayBuffer>;
}

/** The distortions between the voices and the listener's ear. */
export interface Acoustics {
  /** Each band of each digit is louder or softer by up to so much. */
  readonly equaliserDb: number;
  readonly reflections: number;
  /** Loudness of the babble below the digits. */
  readonly babbleDb: number;
  /** A digit is said so much faster, and as much higher. */
  readonly speeds: readonly [low: number, high: number];
  /** A digit begins slower by up to this share and ends faster, or the other way round. */
  readonly glide: number;
}

const delivery = { speeds: [0.8, 1.22], glide: 0.12 } as const;

/**
 * English: softer babble than 6 dB helps programs more than people; louder has not been listened to by people. French
 * digits are shorter, and as much babble leaves an ear less of them.
 */
export const acousticsOf = {
  en: { equaliserDb: 8, reflections: 16, babbleDb: 6, ...delivery },
  fr: { equaliserDb: 8, reflections: 16, babbleDb: 8.5, ...delivery },
} as const satisfies Record<SpokenLanguage, Acoustics>;
export const usualAcoustics: Acoustics = acousticsOf.en;

interface ComposedClip {
  readonly answer: string;
  readonly sound: Float32Array;
  /** The digits alone, as their voices say them. */
  readonly spoken: Float32Array;
  /** Start and end of each digit, in samples. */
  readonly spans: readonly (readonly [from: number, to: number])[];
}

export function mixClip(
  voices: SpeechVoices,
  seed: Uint8Array,
  acoustics: Acoustics = usualAcoustics,
): SpokenClip {
  const stream = createKeystream(seed);
  const { answer, sound } = composed(voices, stream, acoustics);
  return { answer, wav: toWav(sound, stream) };
}

export function composeClip(
  voices: SpeechVoices,
  seed: Uint8Array,
  acoustics: Acoustics = usualAcoustics,
): ComposedClip {
  return composed(voices, createKeystream(seed), acoustics);
}

function composed(voices: SpeechVoices, stream: Keystream, acoustics: Acoustics): ComposedClip {
  const { equaliserDb, reflections, babbleDb, speeds, glide } = acoustics;
  const between: Between = (low, high) => low + (high - low) * stream.unit();
  const room = secondsMax * speechRateHz;
  const [spoken, heard] = [new Float32Array(room), new Float32Array(room)];
  const spans: [number, number][] = [];
  let answer = '';
  let at = Math.round(between(0.3, 0.6) * speechRateHz);
  for (let i = 0; i < digitsSpoken; i++) {
    const digit = stream.below(10);
    answer += digit;
    const voice = recording(voices, stream.below(voices.voices), digit);
    const clip = changeSpeed(voice, between(...speeds), between(-glide, glide));
    const gain = between(0.75, 1);
    add(spoken, clip, at, gain);
    const end = add(heard, equalise(clip, equaliserDb, between), at, gain);
    spans.push([at, end]);
    at = end + Math.round(between(0.35, 0.75) * speechRateHz);
  }
  const length = Math.min(room, at);
  const digits = heard.subarray(0, length);
  const babble = babbleOf(length, voices, stream, between);
  const said = spans.reduce((sum, [from, to]) => sum + to - from, 0);
  const power = (powerOf(digits) * length) / Math.max(1, said);
  const loudness = Math.sqrt(power / (powerOf(babble) || 1)) * 10 ** (-babbleDb / 20);
  for (let i = 0; i < length; i++) babble[i]! = digits[i]! + loudness * babble[i]!;
  const sound = peakNormalised(addReflections(babble, reflections, between));
  return { answer, sound, spoken: spoken.subarray(0, length), spans };
}

/** Peak at 1 and not beyond, or the loudest would be cut off. */
function peakNormalised(sound: Float32Array): Float32Array {
  const peak = sound.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  return peak === 0 ? sound : sound.map((v) => v / peak);
}

function recording(voices: SpeechVoices, voice: number, digit: number): Float32Array {
  const i = voice * 10 + digit;
  return voices.samples.subarray(voices.starts[i], voices.starts[i + 1]);
}

/** Number of voices in the babble. A single one has gaps that words stand out from. */
const babblers = 3;

/** Reversed digits all along: the same voices and spectrum, but no words. */
function babbleOf(
  length: number,
  voices: SpeechVoices,
  stream: Keystream,
  between: Between,
): Float32Array {
  const babble = new Float32Array(length);
  for (let n = 0; n < babblers; n++) {
    // Every round moves on by a tenth of a second or more.
    for (let at = 0; at < length; ) {
      const clip = recording(voices, stream.below(voices.voices), stream.below(10));
      const end = add(
        babble,
        changeSpeed(clip.toReversed(), between(0.8, 1.25)),
        at,
        between(0.6, 1),
      );
      at = Math.max(at + speechRateHz / 10, end - Math.round(between(0, 0.15) * speechRateHz));
    }
  }
  return babble;
}

/** Adds the clip from `at` on, cut at the end of the mix. Returns where it ends. */
function add(mix: Float32Array, clip: Float32Array, at: number, gain: number): number {
  const end = Math.min(mix.length, at + clip.length);
  for (let i = at; i < end; i++) mix[i]! += clip[i - at]! * gain;
  return end;
}

/** Faster is also higher, as on a tape; with a slope it is so more and more. */
function changeSpeed(clip: Float32Array, speed: number, slope = 0): Float32Array {
  const last = clip.length - 1;
  const out: number[] = [];
  for (let from = 0; from < last; from += speed * (1 + slope * ((2 * from) / last - 1))) {
    const at = Math.floor(from);
    const part = from - at;
    out.push(clip[at]! * (1 - part) + clip[at + 1]! * part);
  }
  return Float32Array.from(out);
}

/** Unsigned 8-bit mono, with a floor of noise over everything. */
function toWav(mix: Float32Array, stream: Keystream): Uint8Array<ArrayBuffer> {
  const wav = new Uint8Array(headerBytes + mix.length);
  const header = Buffer.from(wav.buffer);
  header.write('RIFF', 0);
  header.writeUInt32LE(wav.length - 8, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(speechRateHz, 24);
  header.writeUInt32LE(speechRateHz, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(mix.length, 40);
  const words = new Int32Array((mix.length + 3) >> 2);
  stream.fill(words);
  const noise = new Int8Array(words.buffer);
  for (let i = 0; i < mix.length; i++) {
    const sample = mix[i]! * 115 + (noise[i]! * 7) / 128;
    wav[headerBytes + i] = Math.max(0, Math.min(255, Math.round(128 + sample)));
  }
  return wav;
}
