/**
 * How many of the words each attack reads: by a template matcher that knows face and places, and
 * by tesseract where it is installed. The last rows are controls: a renderer that leaks, read with
 * the same settings, and readers that follow the motion, for whom the word must be there.
 */

import { profiles } from '../src/captcha/challenge/profile.ts';
import {
  type Attack,
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  wordsRead,
} from '../test/support/captcha/attacks.ts';
import {
  type Challenge,
  seeds,
  soundChallenge,
  variantChallenge,
} from '../test/support/captcha/frames.ts';
import { countByTesseract, tesseractVersion } from '../test/support/captcha/ocr.ts';
import { createTemplateReader } from '../test/support/captcha/readers.ts';
import type { BenchRow } from './row.ts';

const counts = { tiny: 1, full: 50 } as const;

/** Goals for 50 words; a tiny run is not judged. */
interface Trial {
  readonly name: string;
  readonly attack: Attack;
  readonly challenges: readonly Challenge[];
  readonly most?: number;
  readonly least?: number;
  /** The word must be there for who follows the clouds. */
  readonly motion?: boolean;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const list = seeds(70_001, counts[size]);
  const sound = list.map((seed) => soundChallenge('default', seed));
  const straight = list.map((seed) => variantChallenge('default', seed, 'linear'));
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  const trials: Trial[] = [
    ...stillAttacks.map((attack) => ({ name: attack.name, attack, challenges: sound, most: 0 })),
    {
      name: 'control: straight loop, mean of all frames',
      attack: mean,
      challenges: straight,
      // Far from 0, and no matter of the version of the reader.
      least: 40,
    },
    ...motionReaders.map((attack, i) => ({
      name: attack.name,
      attack,
      challenges: sound,
      least: [45, 48][i]!,
      motion: true,
    })),
  ];
  const { reads } = createTemplateReader(profiles.default, readingSigmaDots);
  const tesseract = tesseractVersion();
  const rows: BenchRow[] = [];
  for (const trial of trials) {
    const read = wordsRead(trial.attack, trial.challenges, reads);
    rows.push(row(trial, 'templates', read, size));
    if (tesseract === undefined) continue;
    rows.push(row(trial, tesseract, countByTesseract(trial.attack, trial.challenges).words, size));
  }
  return rows;
}

function row(trial: Trial, reader: string, read: number, size: 'tiny' | 'full'): BenchRow {
  const { name, challenges, most, least } = trial;
  const base = { name: `${name}; ${reader}`, unit: `of ${challenges.length} words`, ours: read };
  // That tesseract misses what is seen in motion proves nothing; a reader by templates sees it.
  if (trial.motion === true && reader !== 'templates') return base;
  const goal = most === undefined ? `≥ ${least}` : `${most}`;
  const met = most === undefined ? read >= least! : read <= most;
  return { ...base, goal, ...(size === 'full' ? { ok: met } : {}) };
}
