/**
 * Composes the frames of one challenge. Two independent fields of fair coin bits move in opposite
 * directions; a dot shows the letters' field inside the mask and the background's outside, or
 * fresh noise. Within a frame no bit of a field is shown twice, so every frame alone is uniform
 * noise whatever the mask. 32 dots a word: masks, shifts and noise are bit operations.
 */

import { alphabet, type Profile } from '../challenge/profile.ts';
import type { GlyphBitmap, GlyphSet } from './glyphs.ts';
import { biasedDigits, createKeystream, type Keystream } from './keystream.ts';
import { bobAt, letterMotions, orbit, turnAt } from './motion.ts';

/** Dot x of row y is bit `x & 31` of word `y * wordsPerRow + (x >> 5)`; bits past the width are noise. */
export interface Scene {
  readonly answer: string;
  /** Frames in order, each once: noise comes from a stream. Writes `height * wordsPerRow` words. */
  nextFrame(out: Int32Array): void;
  /** The letters of the frame composed last; laid out as the frame. For tests and benches. */
  lastMask(): Int32Array;
}

export interface SceneMaker {
  readonly profile: Profile;
  readonly wordsPerRow: number;
  /** A new scene reuses the buffers of the one before, which ends there. */
  scene(seed: Uint8Array): Scene;
}

export function wordsPerRow(profile: Profile): number {
  return (profile.widthDots + 31) >> 5;
}

export function drawWord(stream: Keystream, letters: number): string {
  let word = '';
  for (let i = 0; i < letters; i++) word += alphabet[stream.below(alphabet.length)];
  return word;
}

export function createSceneMaker(profile: Profile, glyphs: GlyphSet): SceneMaker {
  const { widthDots, heightDots, amplitudeDots, frames } = profile;
  const words = wordsPerRow(profile);
  // Larger than the picture by the reach of the motion on each side, and a word to shift from.
  const fieldWords = ((widthDots + 2 * amplitudeDots + 31) >> 5) + 1;
  const fieldRows = heightDots + 2 * amplitudeDots;
  const fieldA = new Int32Array(fieldWords * fieldRows);
  const fieldB = new Int32Array(fieldWords * fieldRows);
  const digits = biasedDigits(profile.coherence64);
  const plane = words * heightDots;
  const noise = new Int32Array(plane * (digits.length + 1));
  // One word more than the picture: a letter at the right edge spills its zeros there.
  const mask = new Int32Array(plane + 1);
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

  /** 1.1 ns a word of 32 dots and random source apart. */
  function compose(out: Int32Array, dx: number, dy: number): void {
    const xA = amplitudeDots + dx;
    const xB = amplitudeDots - dx;
    for (let y = 0; y < heightDots; y++) {
      const rowA = (y + amplitudeDots + dy) * fieldWords + (xA >> 5);
      const rowB = (y + amplitudeDots - dy) * fieldWords + (xB >> 5);
      const row = y * words;
      for (let w = 0; w < words; w++) {
        const a = shifted(fieldA, rowA + w, xA & 31);
        const b = shifted(fieldB, rowB + w, xB & 31);
        const i = row + w;
        const cloud = b ^ ((a ^ b) & mask[i]!);
        out[i] = noise[i]! ^ ((noise[i]! ^ cloud) & follows[i]!);
      }
    }
  }

  function scene(seed: Uint8Array): Scene {
    const stream = createKeystream(seed);
    const answer = drawWord(stream, profile.letters);
    const path = orbit(profile, stream);
    const motions = letterMotions(profile, stream);
    stream.fill(fieldA);
    stream.fill(fieldB);
    let k = 0;
    return {
      answer,
      lastMask: () => mask.slice(0, plane),
      nextFrame(out) {
        if (k === frames) throw new RangeError('the scene has no more frames');
        mask.fill(0);
        for (const [i, motion] of motions.entries()) {
          const glyph = glyphs.pose(answer[i]!, turnAt(profile, motion, k));
          stamp(
            mask,
            words,
            profile,
            glyph,
            motion.centreX,
            motion.centreY + bobAt(profile, motion, k),
          );
        }
        stream.fill(noise);
        drawFollowers();
        compose(out, path.dx[k]!, path.dy[k]!);
        k++;
      },
    };
  }
  return { profile, wordsPerRow: words, scene };
}

/** 32 bits of a row that start `shift` bits into a word. */
function shifted(field: Int32Array, at: number, shift: number): number {
  // A shift by 32 is a shift by 0, so the upper part goes in two steps.
  return (field[at]! >>> shift) | ((field[at + 1]! << 1) << (31 - shift));
}

/** Adds a letter to the mask, its centre at the given dot, kept inside the picture. */
function stamp(
  mask: Int32Array,
  words: number,
  profile: Profile,
  glyph: GlyphBitmap,
  centreX: number,
  centreY: number,
): void {
  const x = clamp(Math.round(centreX - glyph.width / 2), profile.widthDots - glyph.width);
  const y = clamp(Math.round(centreY - glyph.height / 2), profile.heightDots - glyph.height);
  const shift = x & 31;
  for (let row = 0; row < glyph.height; row++) {
    const to = (y + row) * words + (x >> 5);
    for (let w = 0; w < glyph.wordsPerRow; w++) {
      const bits = glyph.rows[row * glyph.wordsPerRow + w]!;
      mask[to + w]! |= bits << shift;
      mask[to + w + 1]! |= (bits >>> 1) >>> (31 - shift);
    }
  }
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(most, value));
}
