/**
 * How many of the words each attack reads: by a template matcher that knows face and places, and
 * by tesseract where it is installed. The last rows are controls: a renderer that leaks, read with
 * the same settings, and readers that follow the motion, for whom the word must be there.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { alphabet, type Profile, profiles } from '../src/captcha/profile.ts';
import {
  type Attack,
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  wordsRead,
} from '../test/support/captcha-attacks.ts';
import {
  type Challenge,
  seeds,
  soundChallenge,
  variantChallenge,
} from '../test/support/captcha-frames.ts';
import { createTemplateReader, type Picture } from '../test/support/captcha-readers.ts';
import type { BenchRow } from './row.ts';

const counts = { tiny: 4, full: 50 } as const;

/** Goals for 50 words; a tiny run is not judged. */
interface Trial {
  readonly name: string;
  readonly attack: Attack;
  readonly challenges: readonly Challenge[];
  readonly most?: number;
  readonly least?: number;
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
      least: 45,
    },
    ...motionReaders.map((attack, i) => ({
      name: attack.name,
      attack,
      challenges: sound,
      least: [45, 48][i]!,
    })),
  ];
  const { reads } = createTemplateReader(profiles.default, readingSigmaDots);
  const tesseract = tesseractVersion();
  const rows: BenchRow[] = [];
  for (const trial of trials) {
    const read = wordsRead(trial.attack, trial.challenges, reads);
    rows.push(row(trial, 'templates', read, size));
    if (tesseract === undefined) continue;
    rows.push(row(trial, tesseract, readByTesseract(trial), size));
  }
  return rows;
}

function row(trial: Trial, reader: string, read: number, size: 'tiny' | 'full'): BenchRow {
  const { name, challenges, most, least } = trial;
  const base = { name: `${name}; ${reader}`, unit: `of ${challenges.length} words`, ours: read };
  // Tesseract was made for printed lines: what it misses proves little, what it reads a lot.
  if (least !== undefined && reader !== 'templates') return base;
  const goal = most === undefined ? `≥ ${least}` : `${most}`;
  const met = most === undefined ? read >= least! : read <= most;
  return { ...base, goal, ...(size === 'full' ? { ok: met } : {}) };
}

function tesseractVersion(): string | undefined {
  try {
    const text = execFileSync('tesseract', ['--version'], { encoding: 'utf8', stdio: 'pipe' });
    return text.split('\n')[0]!.trim();
  } catch {
    return undefined;
  }
}

/** All pictures in one call: it writes a form feed after each. */
function readByTesseract({ attack, challenges }: Trial): number {
  const dir = mkdtempSync(join(tmpdir(), 'portcullis-attack-'));
  try {
    const owners: Challenge[] = [];
    const files: string[] = [];
    for (const challenge of challenges) {
      for (const picture of attack.pictures(challenge)) {
        const file = join(dir, `${files.length}.pgm`);
        writeFileSync(file, greyMap(picture, challenge.profile));
        files.push(file);
        owners.push(challenge);
      }
    }
    const list = join(dir, 'list.txt');
    writeFileSync(list, `${files.join('\n')}\n`);
    const whitelist = `tessedit_char_whitelist=${alphabet}`;
    const text = execFileSync('tesseract', [list, 'stdout', '--psm', '7', '-c', whitelist], {
      encoding: 'utf8',
      env: { OMP_THREAD_LIMIT: '1', PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const words = text.split('\f').map((word) => word.replace(/\s+/g, ''));
    const read = new Set(owners.filter((challenge, i) => words[i] === challenge.answer));
    return read.size;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const enlarged = 3;
const borderDots = 8;

/** Dark letters on white as a PGM file, three times as large, cut in two at the middle grey. */
function greyMap(picture: Picture, { widthDots, heightDots }: Profile): Buffer {
  const sorted = picture.toSorted();
  const low = sorted[Math.floor(sorted.length * 0.05)]!;
  const high = sorted[Math.floor(sorted.length * 0.95)]!;
  const width = (widthDots + 2 * borderDots) * enlarged;
  const height = (heightDots + 2 * borderDots) * enlarged;
  const grey = Buffer.alloc(width * height, 255);
  for (let y = 0; y < heightDots * enlarged; y++) {
    for (let x = 0; x < widthDots * enlarged; x++) {
      const value = picture[Math.floor(y / enlarged) * widthDots + Math.floor(x / enlarged)]!;
      const level = (value - low) / (high - low || 1);
      const at = (y + borderDots * enlarged) * width + x + borderDots * enlarged;
      grey[at] = level > 0.55 ? 0 : 255;
    }
  }
  return Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey]);
}
