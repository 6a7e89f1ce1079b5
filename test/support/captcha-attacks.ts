/** The attacks on a motion challenge, each a picture that is then read; one list for tests and benches. */

import type { Challenge } from './captcha-frames.ts';
import {
  blur,
  differencePicture,
  lineLevels,
  maximumPicture,
  meanPicture,
  motionMap,
  type Picture,
} from './captcha-readers.ts';

export interface Attack {
  readonly name: string;
  /** Pictures that the attack tries; the word is read if any of them gives it. */
  readonly pictures: (challenge: Challenge) => readonly Picture[];
}

/** Blur before reading, dots: 4 CSS pixels at two a dot. */
export const readingSigmaDots = 2;

function both(picture: Picture, { profile }: Challenge): Picture[] {
  const { widthDots: w, heightDots: h } = profile;
  const bright = blur(picture, w, h, readingSigmaDots);
  const levels = blur(lineLevels(picture, profile), w, h, readingSigmaDots);
  return [bright, bright.map((v) => -v), levels];
}

/** What needs no knowledge of the motion: the word must not be there. */
export const stillAttacks: readonly Attack[] = [
  { name: 'one frame', pictures: (c) => both(Float64Array.from(c.frames[0]!), c) },
  { name: 'mean of all frames', pictures: (c) => both(meanPicture(c), c) },
  { name: 'differences of neighbours', pictures: (c) => both(differencePicture(c), c) },
  { name: 'differences two apart', pictures: (c) => both(differencePicture(c, 2), c) },
  { name: 'maximum of three frames', pictures: (c) => both(maximumPicture(c, 3), c) },
];

function mapOf(pairs: number | 'all') {
  return (c: Challenge): Picture[] => {
    const { widthDots: w, heightDots: h, frames } = c.profile;
    return [blur(motionMap(c, 3, pairs === 'all' ? frames : pairs), w, h, readingSigmaDots)];
  };
}

/** What follows the clouds: the word must be there. */
export const motionReaders: readonly Attack[] = [
  { name: "a reader's proxy, 4 frame pairs", pictures: mapOf(4) },
  { name: 'known path, all frames', pictures: mapOf('all') },
];

/** How many of the challenges the attack reads in full. */
export function wordsRead(
  attack: Attack,
  challenges: readonly Challenge[],
  reads: (picture: Picture, word: string) => boolean,
): number {
  return challenges.filter((c) => attack.pictures(c).some((p) => reads(p, c.answer))).length;
}
