/**
 * One spoken challenge from a seed: six digits, each in a random voice and speed, over reversed
 * speech and noise, as an 8 kHz 8-bit WAV. The same seed gives the same bytes. Speech recognition
 * is the weakest link of all challenges: its limit per client must be the tightest.
 */

import { createKeystream, type Keystream } from '../picture/keystream.ts';
import { speechRateHz, type Voices } from './speech.ts';

export const digitsSpoken = 6;
const headerBytes = 44;
const secondsMax = 12;

export interface SpokenClip {
  readonly answer: string;
  readonly wav: Uint8Array<ArrayBuffer>;
}

export function mixClip(voices: Voices, seed: Uint8Array): SpokenClip {
  const stream = createKeystream(seed);
  const between = (low: number, high: number) => low + (high - low) * stream.unit();
  const mix = new Float32Array(secondsMax * speechRateHz);
  let answer = '';
  let at = Math.round(between(0.3, 0.6) * speechRateHz);
  for (let i = 0; i < digitsSpoken; i++) {
    const digit = stream.below(10);
    answer += digit;
    const clip = atSpeed(
      recording(voices, stream.below(voices.voices), digit),
      between(0.85, 1.15),
    );
    at = add(mix, clip, at, between(0.75, 1));
    at += Math.round(between(0.35, 0.75) * speechRateHz);
  }
  const length = Math.min(mix.length, at);
  addBabble(mix.subarray(0, length), voices, stream, between);
  return { answer, wav: toWav(mix.subarray(0, length), stream) };
}

function recording(voices: Voices, voice: number, digit: number): Float32Array {
  const i = voice * 10 + digit;
  return voices.samples.subarray(voices.starts[i], voices.starts[i + 1]);
}

/** Reversed digits all along: the same voices and spectrum, but no words. */
function addBabble(
  mix: Float32Array,
  voices: Voices,
  stream: Keystream,
  between: (low: number, high: number) => number,
): void {
  // Every round moves on by a tenth of a second or more.
  for (let at = 0; at < mix.length; ) {
    const clip = recording(voices, stream.below(voices.voices), stream.below(10));
    const end = add(mix, atSpeed(clip.toReversed(), between(0.8, 1.25)), at, between(0.15, 0.28));
    at = Math.max(at + speechRateHz / 10, end - Math.round(between(0, 0.15) * speechRateHz));
  }
}

/** Adds the clip from `at` on, cut at the end of the mix. Returns where it ends. */
function add(mix: Float32Array, clip: Float32Array, at: number, gain: number): number {
  const end = Math.min(mix.length, at + clip.length);
  for (let i = at; i < end; i++) mix[i]! += clip[i - at]! * gain;
  return end;
}

/** Faster is also higher, as on a tape. */
function atSpeed(clip: Float32Array, speed: number): Float32Array {
  const out = new Float32Array(Math.floor((clip.length - 1) / speed));
  for (let i = 0; i < out.length; i++) {
    const from = Math.floor(i * speed);
    const part = i * speed - from;
    out[i] = clip[from]! * (1 - part) + clip[from + 1]! * part;
  }
  return out;
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
    const sample = mix[i]! * 95 + (noise[i]! * 7) / 128;
    wav[headerBytes + i] = Math.max(0, Math.min(255, Math.round(128 + sample)));
  }
  return wav;
}
