/**
 * How many of the words each attack reads: by a template matcher that knows faces and places, and
 * stills by tesseract too where it is installed. Controls are renderers that leak, read with the same
 * settings. An eye that knows nothing of the motion stands beside the programs: it must read the words, and so
 * can programs that follow motion, which have no goal. What the eye gets is written to `sheets`, to be looked at.
 * The sounds follow.
 */

import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { profiles } from '../src/captcha/picture/profiles.ts';
import { type Acoustics, acousticsOf, composeClip } from '../src/captcha/sound/audio.ts';
import {
  recordedVoices,
  type SpeechVoices,
  type SpokenLanguage,
  stockRecordings,
  stockVoiceRanges,
  synthesiseVoices,
} from '../src/captcha/sound/speech.ts';
import {
  type Attack,
  blindSolvers,
  motionReaders,
  readingSigmaDots,
  stillAttacks,
  stripSolver,
  wordsRead,
} from '../test/support/captcha/attacks.ts';
import { writeContactSheet } from '../test/support/captcha/contact-sheet.ts';
import {
  confusedPairs,
  createEye,
  type EyeOptions,
  goodEye,
  poorEye,
  wordsSeen,
} from '../test/support/captcha/eye.ts';
import {
  type Challenge,
  seeds,
  soundChallenge,
  variantChallenge,
} from '../test/support/captcha/frames.ts';
import { countByTesseract, tesseractVersion } from '../test/support/captcha/ocr.ts';
import { solveFrames } from '../test/support/captcha/solver.ts';
import {
  correlationReader,
  type SoundReader,
  trainedReader,
} from '../test/support/captcha/sound-readers.ts';
import { intelligibility } from '../test/support/captcha/sound-spectrum.ts';
import { createTemplateReader } from '../test/support/captcha/templates.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { atLeast, atMost, type BenchRow } from './row.ts';
import { cpuSecondsSince, inParallel } from './work.ts';

type Size = 'tiny' | 'full';

const execute = promisify(execFile);
const own = fileURLToPath(import.meta.url);

// How many of the spoken challenges programs understand, and how much of the speech reaches an ear. The
// controls are the same voices as anybody has them, in no room and hardly any babble.

/** `voices`: starts of a server whose recordings the reader learned, none of them among those it listens to (`starts`). */
const sizes = {
  tiny: { clips: 1, starts: 1, slowClips: 1, voices: 1, learned: 6, rounds: 1 },
  full: { clips: 200, starts: 5, slowClips: 25, voices: 12, learned: 1_500, rounds: 10 },
} as const;

// biome-ignore format: a table.
const easy: Acoustics = { equaliserDb: 0, reflections: 0, babbleDb: 24, speeds: [0.86, 1.14], glide: 0 };

function soundRows(size: Size, language: SpokenLanguage): BenchRow[] {
  const { clips, starts, slowClips, voices, learned, rounds } = sizes[size];
  const isFrench = language === 'fr';
  const usualAcoustics = acousticsOf[language];
  const sound = isFrench ? 'French sound' : 'sound';
  const synthesised = (seed: number) => synthesiseVoices(seededRandom(seed));
  const recorded = (seed: number) => recordedVoices(seededRandom(seed));
  const voicesFrom = isFrench ? recorded : synthesised;
  const usualStock = () => synthesiseVoices(seededRandom(80_001), stockVoiceRanges);
  const stock = isFrench ? stockRecordings() : usualStock();
  const own = Array.from({ length: starts }, (_, i) => voicesFrom(80_002 + i));
  type Voices = readonly SpeechVoices[];
  const clipsOf = (from: Voices, acoustics: Acoustics, firstSeed: number, count: number) =>
    seeds(firstSeed, count).map((seed, i) => composeClip(from[i % from.length]!, seed, acoustics));
  const understood = (reader: SoundReader, list: readonly ReturnType<typeof composeClip>[]) =>
    list.filter(({ answer, sound }) => reader(sound) === answer).length;

  const comparing = correlationReader(stock, isFrench);
  const matched = understood(comparing, clipsOf(own, usualAcoustics, 81_001, slowClips));
  const control = understood(comparing, clipsOf([stock], easy, 81_002, slowClips));

  const known = Array.from({ length: voices }, (_, i) => voicesFrom(82_000 + i));
  const trainedOn = (acoustics: Acoustics, count: number) =>
    trainedReader(clipsOf(known, acoustics, 83_001, count), seededRandom(83_002), rounds);
  const heard = clipsOf(own, usualAcoustics, 84_001, clips);
  const read = understood(trainedOn(usualAcoustics, learned), heard);
  const fewLessons = Math.ceil(learned / 2);
  const easyRead = understood(trainedOn(easy, fewLessons), clipsOf(own, easy, 84_002, clips));
  const shares = heard.map(({ spoken, sound }) => intelligibility(spoken, sound));
  const share = shares.reduce((sum, v) => sum + v, 0) / shares.length;
  const ofClips = (name: string, count: number, ours: number) => {
    return { name: `${sound}${name}`, unit: `of ${count} clips`, ours };
  };
  const speech = { name: `${sound}: intelligibility for people (STOI)`, unit: 'of 1' };
  const alike = ofClips(': correlation with the stock voices', slowClips, matched);
  const stockRead = ', control: stock voices, no room, hardly any babble; correlation';
  const trained = `: reader trained on ${learned} clips of ${voices} other starts`;
  const easily = `, control: no room, hardly any babble; reader trained on ${fewLessons} such clips`;
  return [
    judged(size, alike, { most: 0.15 * slowClips }),
    judged(size, ofClips(stockRead, slowClips, control), { least: 0.8 * slowClips }),
    judged(size, ofClips(trained, clips, read), { most: 0.35 * clips }),
    ofClips(easily, clips, easyRead),
    judged(size, { ...speech, ours: Math.round(share * 1_000) / 1_000 }, { least: 0.71 }, share),
  ];
}

const sheets = 'test-output/captcha-eye';
const sheetRows = 6;
/** `glances`: words in one look and in six, for letters taken for one another; `few`: controls that take seconds a word. */
const wordCounts = {
  tiny: { usual: 1, glances: { 1: 1, 6: 1 }, many: 1, few: 1 },
  full: { usual: 100, glances: { 1: 2_000, 6: 300 }, many: 1_000, few: 25 },
} as const;

/** Goals are shares of the words; a tiny run is not judged. */
interface Trial {
  readonly attack: Attack;
  readonly challenges: readonly Challenge[];
  /** Absent: the attack's. */
  readonly name?: string;
  readonly most?: number;
  readonly least?: number;
  /** Read from motion: tesseract has no part in it. */
  readonly motion?: boolean;
}

/** The parts of the bench, in the order of the table. */
const parts = {
  easy: easyRows,
  'easy eye': (size: Size) => eyeRows(size, 'easy', { good: 0.98, poor: 0.98 }),
  hard: hardRows,
  'hard eye': (size: Size) => eyeRows(size, 'hard', { good: 0.95 }),
  sound: (size: Size) => soundRows(size, 'en'),
  'French sound': (size: Size) => soundRows(size, 'fr'),
} as const;

/**
 * Each part has a process of its own: all cores read, and processor time is that of the part.
 * @param size tiny: of each row one word or clip, and nothing is judged
 */
export async function run(size: Size): Promise<BenchRow[]> {
  const names = Object.keys(parts);
  const found = names.map((): BenchRow[] => []);
  await inParallel(names.length, availableParallelism(), async (n) => {
    const { stdout } = await execute(process.execPath, [own, names[n]!, size]);
    found[n] = JSON.parse(stdout) as BenchRow[];
  });
  return found.flat();
}

function challengesOf(level: 'default' | 'hard', size: Size): Challenge[] {
  return seeds(70_001, wordCounts[size].usual).map((seed) => soundChallenge(level, seed));
}

function easyRows(size: Size): BenchRow[] {
  const list = seeds(70_001, wordCounts[size].usual);
  const sound = challengesOf('default', size);
  const few = list.slice(0, wordCounts[size].few);
  const straight = few.map((seed) => variantChallenge('default', seed, 'linear'));
  const circular = few.map((seed) => variantChallenge('default', seed, 'circular'));
  const mean = stillAttacks.find((attack) => attack.name === 'mean of all frames')!;
  const asOne = 'control: clouds that run as one';
  const leaks = `control: straight loop, ${mean.name}`;
  // The control's goal is far from 0, and no matter of the version of the reader.
  const trials: Trial[] = [
    ...stillAttacks.map((attack) => ({ attack, challenges: sound, most: 0 })),
    { name: leaks, attack: mean, challenges: straight, least: 0.8 },
    ...blindSolvers.flatMap((attack) => [
      { attack, challenges: sound, motion: true },
      { name: `${asOne}, ${attack.name}`, attack, challenges: circular, motion: true },
    ]),
    ...motionReaders.map((attack) => ({ attack, challenges: sound, least: 0.95, motion: true })),
  ];
  const reader = createTemplateReader(profiles.default, readingSigmaDots);
  const tesseract = tesseractVersion();
  const rows: BenchRow[] = [];
  for (const trial of trials) {
    rows.push(byTemplates(trial, reader, size));
    if (tesseract === undefined || trial.motion === true) continue;
    const words = countByTesseract(trial.attack, trial.challenges).words;
    rows.push(row(trial, tesseract, words, size));
  }
  return [...rows, meansOfMany(mean, reader, size), informed(sound)];
}

type TemplateReader = ReturnType<typeof createTemplateReader>;

/** Means of so many pictures that a rare word would be found, one at a time: all would fill the memory. */
function meansOfMany(mean: Attack, reader: TemplateReader, size: Size): BenchRow {
  const many = seeds(51_001, wordCounts[size].many);
  let read = 0;
  for (const seed of many) read += wordsRead(mean, [soundChallenge('default', seed)], reader);
  const row = { name: 'means of many pictures', unit: `of ${many.length} words`, ours: read };
  return judged(size, row, { most: 0 });
}

function hardRows(size: Size): BenchRow[] {
  const challenges = challengesOf('hard', size);
  const reader = createTemplateReader(profiles.hard, readingSigmaDots);
  return [...stillAttacks, ...blindSolvers, stripSolver].map((attack) => {
    const trial = { name: `hard: ${attack.name}`, attack, challenges };
    return byTemplates(stillAttacks.includes(attack) ? { ...trial, most: 0 } : trial, reader, size);
  });
}

/** People read words like this eye, and so does a program that does what it does. */
function eyeRows(
  size: Size,
  level: 'easy' | 'hard',
  least: { readonly good: number; readonly poor?: number },
): BenchRow[] {
  const name = level === 'easy' ? 'default' : 'hard';
  const challenges = challengesOf(name, size);
  writeContactSheet(`${sheets}/${level}.png`, challenges.slice(0, sheetRows), goodEye);
  writeContactSheet(`${sheets}/${level}-poor-eye.png`, challenges.slice(0, sheetRows), poorEye);
  function mistaken(looks: 1 | 6): BenchRow {
    const eye = createEye(profiles[name], { ...goodEye, looks });
    const list = seeds(71_001, wordCounts[size].glances[looks]);
    // One at a time: the frames of all would fill the memory.
    const looked = list.map((seed, i) => {
      const challenge = soundChallenge(name, seed);
      return { answer: challenge.answer, read: eye.read(challenge, i) };
    });
    const pairs = confusedPairs(looked);
    const often = pairs.filter((pair) => pair.share > 0.01);
    const named = often.map((pair) => `${pair.pair} ${(100 * pair.share).toFixed(1)}`).join(', ');
    const told = looks === 1 ? 'one look' : 'six looks';
    const row = {
      name: `${level}: the letter that the eye most often takes for one other, ${told}`,
      unit: 'of 1, of that letter',
      ours: Math.round(10_000 * (pairs[0]?.share ?? 0)) / 10_000,
      note: `${often.length} pairs over 1 %${named && `: ${named}`}; ${list.length} words, ${surely(pairs[0])}`,
    };
    return judged(size, row, { most: 0.01 });
  }
  return [
    seen(`${level}: an eye, six looks of 160 ms`, goodEye, challenges, size, least.good),
    seen(`${level}: an eye, one look`, { ...goodEye, looks: 1 }, challenges, size),
    seen(`${level}: a poor eye, six looks`, poorEye, challenges, size, least.poor),
    seen(`${level}: a poor eye, one look`, { ...poorEye, looks: 1 }, challenges, size),
    mistaken(1),
    mistaken(6),
  ];
}

/** Says what the true share is under with 95 %: the upper end of Wilson’s interval. */
function surely(pair: ReturnType<typeof confusedPairs>[number] | undefined): string {
  if (pair === undefined) return 'no letter is taken for another';
  const { share, shown } = pair;
  const z = 1.96;
  const spread = z * Math.sqrt((share * (1 - share)) / shown + (z / (2 * shown)) ** 2);
  const most = (share + z ** 2 / (2 * shown) + spread) / (1 + z ** 2 / shown);
  return `${pair.pair} is under ${(100 * most).toFixed(1)} % with 95 % of ${shown} letters`;
}

/** No goal: what people can read, a program that knows how it is made can read too. */
function informed(challenges: readonly Challenge[]): BenchRow {
  const start = process.cpuUsage();
  const read = challenges.filter((c) => solveFrames(c.frames, c.profile) === c.answer).length;
  return {
    name: 'program that knows how the picture is made',
    unit: `of ${challenges.length} words`,
    ours: read,
    note: msEach(start, challenges.length),
  };
}

function seen(
  name: string,
  options: EyeOptions,
  challenges: readonly Challenge[],
  size: Size,
  share?: number,
): BenchRow {
  const start = process.cpuUsage();
  const eye = createEye(challenges[0]!.profile, options);
  const { words, letters } = wordsSeen(eye, challenges);
  const spent = msEach(start, challenges.length);
  const note = `${(100 * letters).toFixed(1)} % of the letters; ${spent}`;
  const row = { name, unit: `of ${challenges.length} words`, ours: words, note };
  return share === undefined ? row : judged(size, row, { least: share * challenges.length });
}

function msEach(start: NodeJS.CpuUsage, count: number): string {
  return `${Math.round((1_000 * cpuSecondsSince(start)) / count)} ms of processor time each`;
}

function byTemplates(trial: Trial, reader: TemplateReader, size: Size): BenchRow {
  const start = process.cpuUsage();
  const read = wordsRead(trial.attack, trial.challenges, reader);
  const note = msEach(start, trial.challenges.length);
  return { ...row(trial, 'templates', read, size), note };
}

function row(trial: Trial, reader: string, read: number, size: Size): BenchRow {
  const { name = trial.attack.name, challenges, most, least } = trial;
  const count = challenges.length;
  const plain = { name: `${name}; ${reader}`, unit: `of ${count} words`, ours: read };
  if (most !== undefined) return judged(size, plain, { most: most * count });
  return least === undefined ? plain : judged(size, plain, { least: least * count });
}

type Bound = { readonly most: number } | { readonly least: number };

/** Gives a row its goal; a tiny run is not judged. @param value the figure before it was rounded */
function judged(size: Size, row: BenchRow, bound: Bound, value = row.ours): BenchRow {
  const goal = 'most' in bound ? atMost(value, bound.most) : atLeast(value, bound.least);
  return size === 'full' ? { ...row, ...goal } : { ...row, goal: goal.goal! };
}

if (process.argv[1] === own) {
  const [part, size] = process.argv.slice(2) as [keyof typeof parts, Size];
  process.stdout.write(JSON.stringify(parts[part](size)));
}
