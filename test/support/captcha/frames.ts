/**
 * Frames of motion challenges as plain bytes, for tests and benches: the real ones, and leaky
 * ones that a sound test must catch. Those show the same letters in the same places.
 */

import { createGlyphSet, loadOutlines } from '../../../src/captcha/picture/glyphs.ts';
import { createKeystream } from '../../../src/captcha/picture/keystream.ts';
import {
  createField,
  createSceneMaker,
  drawWord,
  type NoiseField,
  type SceneMaker,
} from '../../../src/captcha/picture/motion-scene.ts';
import {
  type PictureProfile,
  type ProfileName,
  profiles,
} from '../../../src/captcha/picture/profiles.ts';
import type { Random } from '../../../src/core/random.ts';
import { seededRandom } from '../seeded.ts';

/** A dot a byte, 0 or 1, as general encoders and decoders have it. */
export function dotsToBytes(
  rows: Int32Array,
  wordsPerRow: number,
  width: number,
  height: number,
): Uint8Array {
  const bytes = new Uint8Array(width * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      bytes[at] = (rows[y * wordsPerRow + (x >> 5)]! >>> (x & 31)) & 1;
    }
  }
  return bytes;
}

export interface Challenge {
  readonly profile: PictureProfile;
  readonly answer: string;
  /** A dot a byte, 0 or 1, row by row. */
  readonly frames: readonly Uint8Array[];
  /** 1 inside the letters, of the same frame. */
  readonly masks: readonly Uint8Array[];
  /** The way that the letters' cloud took. */
  readonly path: NoiseField;
}

/**
 * `linear`: a straight loop around the edges, the fault of lines with different means. `density`:
 * the letters' cloud is sparser. `circular`: each
 * cloud runs as one piece. `tiled`: both fields repeat within the picture. `curved` leaks
 * nothing and is the control of `linear`: the same renderer, also without fresh noise. `steep`: rows and columns
 * at angles apart and far along their way, and much fresh noise, which no eye follows.
 */
type Variant = 'linear' | 'density' | 'tiled' | 'curved' | 'circular' | 'steep';

const steep = { amplitudeDots: 6, downRad: 4.2, acrossRad: 6, coherence: 0.7 } as const;

export const outlines = loadOutlines();
const makers = new Map<ProfileName, SceneMaker>();

function sceneMaker(name: ProfileName): SceneMaker {
  let maker = makers.get(name);
  if (!maker) {
    maker = createSceneMaker(profiles[name], createGlyphSet(outlines, profiles[name]));
    makers.set(name, maker);
  }
  return maker;
}

/** The real thing, from a seed of 32 bytes. */
export function soundChallenge(name: ProfileName, seed: Uint8Array): Challenge {
  const profile = profiles[name];
  const maker = sceneMaker(name);
  const scene = maker.scene(seed);
  const rows = new Int32Array(maker.wordsPerRow * profile.heightDots);
  const bytes = (words: Int32Array) =>
    dotsToBytes(words, maker.wordsPerRow, profile.widthDots, profile.heightDots);
  const frames: Uint8Array[] = [];
  const masks: Uint8Array[] = [];
  for (let k = 0; k < profile.frames; k++) {
    scene.nextFrame(rows);
    frames.push(bytes(rows));
    masks.push(bytes(scene.lastMask()));
  }
  return { profile, answer: scene.answer, frames, masks, path: pathOf(profile, seed) };
}

/** The path is drawn right after the word. */
function pathOf(profile: PictureProfile, seed: Uint8Array): NoiseField {
  const stream = createKeystream(seed);
  drawWord(stream, profile);
  return createField(profile, stream);
}

export function variantChallenge(name: ProfileName, seed: Uint8Array, variant: Variant): Challenge {
  const sound = soundChallenge(name, seed);
  const { profile } = sound;
  const random = seededRandom(Buffer.from(seed).readUInt32LE(0));
  const path = pathFor(variant, sound, random);
  const [width, height] = fieldSize(profile, variant);
  const fieldA = coins(random, width * height, variant === 'density' ? 0.46 : 0.5);
  const fieldB = coins(random, width * height, 0.5);
  const noisy = variant !== 'linear' && variant !== 'curved';
  const coherence = variant === 'steep' ? steep.coherence : profile.coherence64 / 64;
  const follows = noisy ? coherence : 1;
  const frames = sound.masks.map((mask, k) => {
    const frame = new Uint8Array(mask.length);
    for (let i = 0; i < frame.length; i++) {
      const x = i % profile.widthDots;
      const y = (i - x) / profile.widthDots;
      const sign = mask[i] === 1 ? 1 : -1;
      const row = y + sign * path.dy(k, x);
      const fx = (x + sign * path.dx(k, row, x) + 4 * width) % width;
      const fy = (row + 4 * height) % height;
      const cloud = (mask[i] === 1 ? fieldA : fieldB)[fy * width + fx]!;
      const fresh = random.next() < 0.5 ? 1 : 0;
      frame[i] = random.next() < follows ? cloud : fresh;
    }
    return frame;
  });
  return { ...sound, frames, path };
}

function pathFor(variant: Variant, { profile, path }: Challenge, random: Coin): NoiseField {
  if (variant === 'linear') return straightLoop(profile);
  if (variant === 'steep') return steepWay(profile, random);
  if (variant === 'curved' || variant === 'density') return path;
  const along = (quarters: number) => (k: number) =>
    Math.round(
      profile.amplitudeDots *
        Math.cos((Math.PI * quarters) / 2 + (2 * Math.PI * k) / profile.frames),
    );
  return { dx: along(0), dy: along(-1) };
}

function fieldSize(profile: PictureProfile, variant: Variant): readonly [number, number] {
  if (variant === 'linear') return [profile.widthDots, profile.heightDots];
  return variant === 'tiled' ? [48, 48] : [400, 400];
}

function steepWay({ frames, heightDots, widthDots }: PictureProfile, random: Coin): NoiseField {
  const { amplitudeDots, downRad, acrossRad } = steep;
  const [row, column] = [random.next(), random.next()].map((share) => 2 * Math.PI * share);
  const turned = (k: number) => (2 * Math.PI * k) / frames;
  return {
    dx: (k, y) =>
      Math.round(amplitudeDots * Math.cos(row! + (downRad * y) / heightDots + turned(k))),
    dy: (k, x) =>
      Math.round(amplitudeDots * Math.sin(column! + (acrossRad * x) / widthDots + turned(k))),
  };
}

/** Once around both edges in a loop: straight, aslant. */
export function straightLoop({ widthDots, heightDots, frames }: PictureProfile): NoiseField {
  return {
    dx: (k) => Math.round((k * widthDots) / frames),
    dy: (k) => Math.round((k * heightDots) / frames),
  };
}

type Coin = Random & { next(): number };

function coins(random: Coin, count: number, chance: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => (random.next() < chance ? 1 : 0));
}

/** Seeds for a test: `count` times 32 bytes from one number. */
export function seeds(from: number, count: number): Uint8Array[] {
  const random = seededRandom(from);
  return Array.from({ length: count }, () => random.bytes(32));
}
