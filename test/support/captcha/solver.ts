/**
 * Answers a served challenge from its GIF alone, as a reader's eye would: tries every phase and
 * sense of the motion and takes the one along which the frames agree best. Right nine times in
 * ten; a test asks for another challenge when it was wrong.
 */

import { createRequire } from 'node:module';
import { type Profile, profiles } from '../../../src/captcha/challenge/profile.ts';
import type { Orbit } from '../../../src/captcha/picture/motion.ts';
import type { Challenge } from './frames.ts';
import { blur, createTemplateReader, motionMap, type TemplateReader } from './readers.ts';

interface GifFrames {
  readonly width: number;
  decodeAndBlitFrameRGBA(frame: number, rgba: Uint8Array): void;
}
const { GifReader } = createRequire(import.meta.url)('omggif') as {
  GifReader: new (bytes: Uint8Array) => GifFrames;
};

/** Blur before reading, dots. */
const sigmaDots = 2;
const phases = 36;
/** Paths that are read letter by letter, which costs most of the time. */
const readPaths = 4;
const readers = new Map<Profile, TemplateReader>();

/** @returns the word, and which kind of picture it was */
export function solveGif(gif: Uint8Array): { word: string; profile: Profile } {
  const reader = new GifReader(Buffer.from(gif));
  const profile = Object.values(profiles).find(({ widthDots }) => widthDots === reader.width);
  if (profile === undefined) throw new Error(`no profile is ${reader.width} dots wide`);
  const frames = framesOf(reader, profile);
  const { widthDots: w, heightDots: h } = profile;
  const maps = paths(profile)
    .map((path) => {
      const challenge: Challenge = { profile, answer: '', frames, masks: [], path };
      const map = blur(motionMap(challenge, 0, profile.frames), w, h, sigmaDots);
      return { map, power: map.reduce((sum, v) => sum + v * v, 0) };
    })
    .sort((a, b) => b.power - a.power)
    .slice(0, readPaths);
  let templates = readers.get(profile);
  if (!templates) {
    templates = createTemplateReader(profile, sigmaDots);
    readers.set(profile, templates);
  }
  // The opposite path gives the same picture inside out, and letters don't fit that.
  const read = maps.map(({ map }) => templates.read(map));
  return { word: read.sort((a, b) => b.score - a.score)[0]!.word, profile };
}

function framesOf(reader: GifFrames, { widthDots, heightDots, frames }: Profile): Uint8Array[] {
  const rgba = new Uint8Array(4 * widthDots * heightDots);
  reader.decodeAndBlitFrameRGBA(0, rgba);
  const first = rgba[0];
  return Array.from({ length: frames }, (_, k) => {
    reader.decodeAndBlitFrameRGBA(k, rgba);
    return Uint8Array.from({ length: widthDots * heightDots }, (_, i) =>
      rgba[4 * i] === first ? 1 : 0,
    );
  });
}

function paths({ frames, amplitudeDots }: Profile): Orbit[] {
  return Array.from({ length: 2 * phases }, (_, i) => {
    const sense = i % 2 === 0 ? 1 : -1;
    const angle = (k: number) =>
      (Math.PI * (i >> 1) * 2) / phases + (sense * 2 * Math.PI * k) / frames;
    const along = (of: (angle: number) => number) =>
      Int16Array.from({ length: frames }, (_, k) => Math.round(amplitudeDots * of(angle(k))));
    return { dx: along(Math.cos), dy: along(Math.sin) };
  });
}
