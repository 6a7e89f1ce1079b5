/** The attacks on a motion challenge, each a picture that is then read; one list for tests and benches. */

import type { PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import { energyMap, globalMotion, stripMotion } from './blind.ts';
import { pairsOfLook } from './eye.ts';
import type { Challenge } from './frames.ts';
import { lineLevels } from './lines.ts';
import {
  blur,
  differencePicture,
  localMotion,
  maximumPicture,
  meanPicture,
  motionMap,
  type Picture,
} from './readers.ts';
import { bestWord, summed, type TemplateReader } from './templates.ts';

export interface Attack {
  readonly name: string;
  /** Pictures that the attack tries, blurred; the word is read if any of them gives it. */
  readonly pictures: (challenge: Challenge, sigmaDots: number) => readonly Picture[];
  /** They are looks at the same letters, and all of them together are read once. */
  readonly together?: boolean;
}

/** Blur before reading by templates, dots: 3 CSS pixels at two a dot. */
export const readingSigmaDots = 1.5;

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

function blurred(picture: Picture, { profile }: Challenge, sigmaDots: number): Picture {
  return blur(picture, profile.widthDots, profile.heightDots, sigmaDots);
}

/** Which of the two clouds is the letters' is anybody's guess: both pictures are tried. */
function eitherWay(picture: Picture, challenge: Challenge, sigmaDots: number): Picture[] {
  const bright = blurred(picture, challenge, sigmaDots);
  return [bright, bright.map((v) => -v)];
}

/** Programs that don't know how the clouds run. */
export const blindSolvers: readonly Attack[] = [
  {
    name: 'blind, one motion for the whole picture',
    pictures: (c, s) => eitherWay(globalMotion(c), c, s),
  },
  { name: 'blind, motion energy of each part', pictures: (c, s) => eitherWay(energyMap(c), c, s) },
];

/** Knows that clouds of a hard picture are in strips; without a sign that goes on from one to the next. */
export const stripSolver: Attack = {
  name: 'blind, one motion for each fifth',
  pictures: (c, s) => eitherWay(stripMotion(c), c, s),
};

const looks = 6;
const exposures = [0, 1, 2].map((i) => ({ frames }: PictureProfile): [number, number] => {
  const pairs = Math.ceil(frames / 3);
  return [i * pairs, pairs];
});

/** What follows the clouds: the word must be there. */
export const motionReaders: readonly Attack[] = [
  {
    name: "a reader's proxy, six looks of 160 ms",
    pictures: (c, s) =>
      Array.from({ length: looks }, (_, i) =>
        localMotion(c, Math.round((i * c.profile.frames) / looks), pairsOfLook(c.profile), s),
      ),
    together: true,
  },
  {
    name: 'known way, all frames',
    // Letters move: one exposure of the whole loop blurs them.
    pictures: (c, s) => exposures.map((part) => blurred(motionMap(c, ...part(c.profile)), c, s)),
    together: true,
  },
];

/** How many of the challenges the attack reads in full. */
export function wordsRead(
  attack: Attack,
  challenges: readonly Challenge[],
  reader: TemplateReader,
): number {
  return challenges.filter((c) => {
    const pictures = attack.pictures(c, readingSigmaDots);
    if (attack.together !== true) return pictures.some((p) => reader.reads(p, c.answer));
    return bestWord(summed(pictures.map((p) => reader.scores(p)))) === c.answer;
  }).length;
}
