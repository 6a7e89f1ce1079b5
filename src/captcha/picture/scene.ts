/**
 * Composes the frames of one challenge: a dot shows the letters' cloud inside the mask and the
 * background's outside, or fresh noise. 32 dots a word: masks, shifts and noise are bit operations.
 */

import { createClouds } from './clouds.ts';
import type { GlyphSet } from './glyphs.ts';
import { biasedDigits, createKeystream, type Keystream } from './keystream.ts';
import { drawLetters, poseAt, stamp } from './letters.ts';
import { createField } from './motion.ts';
import { alphabet, type PictureProfile } from './profiles.ts';

/** Dot x of row y is bit `x & 31` of word `y * wordsPerRow + (x >> 5)`; bits past the width are noise. */
export interface Scene {
  readonly answer: string;
  /** Frames in order, each once: noise comes from a stream. Writes `height * wordsPerRow` words. */
  nextFrame(out: Int32Array): void;
  /** The letters of the frame composed last; laid out as the frame. For tests and benches. */
  lastMask(): Int32Array;
}

export interface SceneMaker {
  readonly profile: PictureProfile;
  readonly wordsPerRow: number;
  /** A new scene reuses the buffers of the one before, which ends there. */
  scene(seed: Uint8Array): Scene;
}

export function wordsPerRow(profile: PictureProfile): number {
  return (profile.widthDots + 31) >> 5;
}

export function drawWord(stream: Keystream, letters: number): string {
  let word = '';
  for (let i = 0; i < letters; i++) word += alphabet[stream.below(alphabet.length)];
  return word;
}

export function createSceneMaker(profile: PictureProfile, glyphs: GlyphSet): SceneMaker {
  const { heightDots, frames } = profile;
  const words = wordsPerRow(profile);
  const clouds = createClouds(profile);
  const digits = biasedDigits(profile.coherence64);
  const plane = words * heightDots;
  const noise = new Int32Array(plane * (digits.length + 1));
  const mask = new Int32Array(plane);
  const follows = new Int32Array(plane);

  /** Which dots follow their cloud in this frame: each with the profile's coherence. */
  function drawFollowers(): void {
    follows.fill(0);
    for (let d = 0; d < digits.length; d++) {
      const from = (d + 1) * plane;
      if (digits[d]) for (let i = 0; i < plane; i++) follows[i]! |= noise[from + i]!;
      else for (let i = 0; i < plane; i++) follows[i]! &= noise[from + i]!;
    }
  }

  function scene(seed: Uint8Array): Scene {
    const stream = createKeystream(seed);
    const answer = drawWord(stream, profile.letters);
    const field = createField(profile, stream);
    const letters = drawLetters(profile, glyphs, answer, stream);
    clouds.fill(stream);
    let k = 0;
    return {
      answer,
      lastMask: () => mask.slice(),
      nextFrame(out) {
        if (k === frames) throw new RangeError('the scene has no more frames');
        mask.fill(0);
        for (const letter of letters) stamp(mask, words, letter.rows, poseAt(profile, letter, k));
        stream.fill(noise);
        drawFollowers();
        clouds.show(field, k);
        for (let i = 0; i < plane; i++) {
          const cloud = clouds.back[i]! ^ ((clouds.front[i]! ^ clouds.back[i]!) & mask[i]!);
          out[i] = noise[i]! ^ ((noise[i]! ^ cloud) & follows[i]!);
        }
        k++;
      },
    };
  }
  return { profile, wordsPerRow: words, scene };
}
