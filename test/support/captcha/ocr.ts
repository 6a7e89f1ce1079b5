/**
 * Reads pictures with tesseract as well as it can be made to: letters dark on white and smooth,
 * apart and of one height, in several settings whose readings vote on each letter. The settings
 * were found on pictures of a leaky renderer, and are the same for all.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { letterCentre } from '../../../src/captcha/picture/motion-scene.ts';
import { alphabet, type PictureProfile } from '../../../src/captcha/picture/profiles.ts';
import type { Attack } from './attacks.ts';
import type { Challenge } from './frames.ts';
import type { Picture } from './readers.ts';

/** One way to draw a word for tesseract. */
interface Setting {
  readonly sigmaDots: number;
  /** Level that becomes the middle grey, of 1, and how far from it black and white are. */
  readonly middle: number;
  readonly reach: number;
  /** The whole word on a line, or each letter on a line of its own, three times. */
  readonly line: 'word' | 'letter';
  readonly gapDots: number;
  readonly enlarged: number;
}

const settings: readonly Setting[] = [
  { sigmaDots: 1.6, middle: 0.6, reach: 0.4, line: 'word', gapDots: 5, enlarged: 1.5 },
  { sigmaDots: 1.8, middle: 0.7, reach: 0.5, line: 'word', gapDots: 3, enlarged: 2 },
  { sigmaDots: 1.2, middle: 0.7, reach: 0.65, line: 'word', gapDots: 3, enlarged: 1.5 },
  { sigmaDots: 1.6, middle: 0.7, reach: 0.5, line: 'letter', gapDots: 4, enlarged: 1 },
];
/** What looks like a letter of ours and is none: no word holds it, so it is that letter. */
const lookAlikes: Readonly<Record<string, string>> = {
  I: 'J',
  '1': 'J',
  '|': 'J',
  ']': 'J',
  ')': 'J',
  '8': 'B',
  G: 'C',
};
const copies = 3;
const borderDots = 14;

export function tesseractVersion(): string | undefined {
  try {
    const text = execFileSync('tesseract', ['--version'], { encoding: 'utf8', stdio: 'pipe' });
    return text.split('\n')[0]!.trim();
  } catch {
    return undefined;
  }
}

/** The word that each of the attack's pictures gives, for each challenge. */
function readByTesseract(attack: Attack, challenges: readonly Challenge[]): string[][] {
  const polls: Poll[][] = challenges.map(() => []);
  for (const setting of settings) {
    const lines: { poll: Poll; first: number; grey: Grey }[] = [];
    for (const [c, challenge] of challenges.entries()) {
      for (const [p, picture] of attack.pictures(challenge, setting.sigmaDots).entries()) {
        polls[c]![p] ??= createPoll(challenge.profile.letters);
        const poll = polls[c]![p]!;
        const cells = cellsOf(picture, challenge.profile, setting);
        if (setting.line === 'word') {
          lines.push({ poll, first: 0, grey: drawLine(cells, setting) });
          continue;
        }
        for (const [i, cell] of cells.entries()) {
          const repeated = Array.from({ length: copies }, () => cell);
          lines.push({ poll, first: i, grey: drawLine(repeated, setting) });
        }
      }
    }
    const texts = runTesseract(lines.map(({ grey }) => grey));
    for (const [i, { poll, first }] of lines.entries()) {
      if (setting.line === 'letter') poll.letter(first, texts[i]!);
      else poll.word(texts[i]!);
    }
  }
  return polls.map((of) => of.map((poll) => poll.result()));
}

interface TesseractCount {
  /** Challenges read in full from one of the attack's pictures. */
  readonly words: number;
  /**
   * Letters where they belong, of each challenge in the picture that gives most. Guesses get about
   * one in ten so, with three pictures to choose from.
   */
  readonly letters: number;
}

export function countByTesseract(attack: Attack, challenges: readonly Challenge[]): TesseractCount {
  const read = readByTesseract(attack, challenges);
  const lettersOf = ({ answer }: Challenge, i: number) =>
    Math.max(...read[i]!.map((word) => [...answer].filter((c, at) => word[at] === c).length));
  return {
    words: challenges.filter(({ answer }, i) => read[i]!.includes(answer)).length,
    letters: challenges.reduce((sum, challenge, i) => sum + lettersOf(challenge, i), 0),
  };
}

interface Poll {
  word(text: string): void;
  letter(i: number, text: string): void;
  result(): string;
}

function createPoll(letters: number): Poll {
  const votes = Array.from({ length: letters }, () => new Map<string, number>());
  const vote = (i: number, letter: string, weight: number) =>
    votes[i]!.set(letter, (votes[i]!.get(letter) ?? 0) + weight);
  return {
    word(text) {
      // Which letters are missing or too many is anybody's guess.
      if (text.length === letters) for (const [i, c] of [...text].entries()) vote(i, c, 1);
    },
    letter(i, text) {
      for (const c of text) vote(i, c, 1 / Math.max(copies, text.length));
    },
    result: () => votes.map((of) => [...of].sort((a, b) => b[1] - a[1])[0]?.[0] ?? ' ').join(''),
  };
}

/** Darkness of each dot, 0 to 1, row by row. */
interface Grey {
  readonly width: number;
  readonly height: number;
  readonly dots: Float64Array;
}

/** The letters apart, each cut to the rows that it takes. */
function cellsOf(picture: Picture, profile: PictureProfile, setting: Setting): Grey[] {
  const { widthDots, heightDots, letters } = profile;
  const sorted = picture.toSorted();
  const low = sorted[Math.floor(sorted.length * 0.1)]!;
  const high = sorted[Math.floor(sorted.length * 0.95)]!;
  const ink = picture.map((v) => (v - low) / (high - low || 1));
  const cuts = Array.from({ length: letters + 1 }, (_, i) => {
    if (i === 0) return 0;
    return i === letters ? widthDots : cutBetween(ink, profile, i - 1);
  });
  return Array.from({ length: letters }, (_, i) => {
    const width = cuts[i + 1]! - cuts[i]!;
    const dots = new Float64Array(width * heightDots);
    for (let y = 0; y < heightDots; y++) {
      for (let x = 0; x < width; x++) {
        const level = ink[y * widthDots + cuts[i]! + x]!;
        const dark = 0.5 + (level - setting.middle) / (2 * setting.reach);
        dots[y * width + x] = Math.max(0, Math.min(1, dark));
      }
    }
    return ofOneHeight({ width, height: heightDots, dots });
  });
}

const letterHeightDots = 36;

/** Cut to the rows with ink, and those brought to the one height. */
function ofOneHeight(cell: Grey): Grey {
  const inked = Array.from({ length: cell.height }, (_, y) => {
    const row = cell.dots.subarray(y * cell.width, (y + 1) * cell.width);
    return row.some((v) => v > 0.5);
  });
  const top = Math.max(0, inked.indexOf(true));
  const bottom = inked.lastIndexOf(true) + 1 || cell.height;
  const cut = {
    width: cell.width,
    height: bottom - top,
    dots: cell.dots.slice(top * cell.width, bottom * cell.width),
  };
  return resized(cut, cell.width, letterHeightDots);
}

const cutReachDots = 6;

/** The column with the least ink near the middle between a letter and the next. */
function cutBetween(ink: Picture, profile: PictureProfile, i: number): number {
  const { widthDots, heightDots } = profile;
  const middle = (letterCentre(profile, i) + letterCentre(profile, i + 1)) / 2;
  let cut = 0;
  let least = Number.POSITIVE_INFINITY;
  for (let x = Math.round(middle - cutReachDots); x <= middle + cutReachDots; x++) {
    let sum = Math.abs(x - middle) * 0.15;
    for (let y = 0; y < heightDots; y++) sum += Math.max(0, ink[y * widthDots + x]! - 0.2);
    if (sum < least) {
      least = sum;
      cut = x;
    }
  }
  return cut;
}

function drawLine(cells: readonly Grey[], { gapDots, enlarged }: Setting): Grey {
  const between = gapDots * (cells.length - 1);
  const wide = cells.reduce((sum, { width }) => sum + width, between + 2 * borderDots);
  const high = cells[0]!.height + 2 * borderDots;
  const dots = new Float64Array(wide * high);
  let left = borderDots;
  for (const cell of cells) {
    for (let y = 0; y < cell.height; y++) {
      for (let x = 0; x < cell.width; x++) {
        dots[(y + borderDots) * wide + left + x] = cell.dots[y * cell.width + x]!;
      }
    }
    left += cell.width + gapDots;
  }
  const line = { width: wide, height: high, dots };
  return resized(line, Math.round(wide * enlarged), Math.round(high * enlarged));
}

/** Between dots as a straight line goes. */
function resized(grey: Grey, width: number, height: number): Grey {
  const dots = new Float64Array(width * height);
  const at = (x: number, y: number) =>
    grey.dots[Math.min(grey.height - 1, y) * grey.width + Math.min(grey.width - 1, x)]!;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const fx = Math.max(0, ((x + 0.5) * grey.width) / width - 0.5);
      const fy = Math.max(0, ((y + 0.5) * grey.height) / height - 0.5);
      const [x0, y0] = [Math.floor(fx), Math.floor(fy)];
      const upper = at(x0, y0) * (1 - fx + x0) + at(x0 + 1, y0) * (fx - x0);
      const lower = at(x0, y0 + 1) * (1 - fx + x0) + at(x0 + 1, y0 + 1) * (fx - x0);
      dots[y * width + x] = upper * (1 - fy + y0) + lower * (fy - y0);
    }
  }
  return { width, height, dots };
}

function inAlphabet(text: string): string {
  const letters = [...text].map((c) => c.toUpperCase()).map((c) => lookAlikes[c] ?? c);
  return letters.filter((c) => alphabet.includes(c)).join('');
}

/** All pictures in one call: it writes a form feed after each. */
function runTesseract(greys: readonly Grey[]): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'portcullis-ocr-'));
  try {
    const files = greys.map(({ width, height, dots }, i) => {
      const file = join(dir, `${i}.pgm`);
      const pixels = Buffer.from(dots.map((v) => Math.round(255 * (1 - v))));
      writeFileSync(file, Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), pixels]));
      return file;
    });
    writeFileSync(join(dir, 'list.txt'), `${files.join('\n')}\n`);
    const args = ['--psm', '7', '--dpi', '150'];
    const words = ['load_system_dawg=0', 'load_freq_dawg=0', 'load_punc_dawg=0'];
    const set = [
      `tessedit_char_whitelist=${alphabet}${Object.keys(lookAlikes).join('')}jil`,
      ...words,
    ].flatMap((v) => ['-c', v]);
    const text = execFileSync('tesseract', [join(dir, 'list.txt'), 'stdout', ...args, ...set], {
      encoding: 'utf8',
      env: { OMP_THREAD_LIMIT: '1', PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const read = text.split('\f');
    return greys.map((_, i) => inAlphabet(read[i]!.replace(/\s+/g, '')));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
