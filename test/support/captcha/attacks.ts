/** The attacks on a motion challenge, each a picture that is then read; one list for tests and benches. */

import type { Challenge } from './frames.ts';
import { lineLevels } from './lines.ts';
import {
  blur,
  differencePicture,
  maximumPicture,
  meanPicture,
  motionMap,
  type Picture,
} from './readers.ts';

export interface Attack {
  readonly name: string;
  /** Pictures that the attack tries, blurred; the word is read if any of them gives it. */
  readonly pictures: (challenge: Challenge, sigmaDots: number) => readonly Picture[];
}

/** Blur before reading by templates, dots: 4 CSS pixels at two a dot. */
export const readingSigmaDots = 2;

function both(picture: Picture, { profile }: Challenge, sigmaDots: number): Picture[] {
  const { widthDots: w, heightDots: h } = profile;
  const bright = blur(picture, w, h, sigmaDots);
  return [bright, bright.map((v) => -v), lineLevels(picture, profile, sigmaDots)];
}

/** What needs no knowledge of the motion: the word must not be there. */
export const stillAttacks: readonly Attack[] = [
  { name: 'one frame', pictures: (c, s) => both(Float64Array.from(c.frames[0]!), c, s) },
  { name: 'mean of all frames', pictures: (c, s) => both(meanPicture(c), c, s) },
  { name: 'differences of neighbours', pictures: (c, s) => both(differencePicture(c), c, s) },
  { name: 'differences two apart', pictures: (c, s) => both(differencePicture(c, 2), c, s) },
  { name: 'maximum of three frames', pictures: (c, s) => both(maximumPicture(c, 3), c, s) },
];

function mapOf(pairs: number | 'all') {
  return (c: Challenge, sigmaDots: number): Picture[] => {
    const { widthDots: w, heightDots: h, frames } = c.profile;
    return [blur(motionMap(c, 3, pairs === 'all' ? frames : pairs), w, h, sigmaDots)];
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
  return challenges.filter((c) =>
    attack.pictures(c, readingSigmaDots).some((p) => reads(p, c.answer)),
  ).length;
}
