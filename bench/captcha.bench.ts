/**
 * Rendering challenges: one thread against gifenc's own encoding of the same frames, two threads
 * against one, bytes against the entropy of the frames. Solutions of proof of work: made, verified, refused. And
 * what a bot pays for a thousand passes of each level. Rounds alternate; rates are medians, of
 * processor time where one thread works.
 */

import { pbkdf2Sync } from 'node:crypto';
import gifenc from 'gifenc';
import { createGlyphSet, loadOutlines, type Outlines } from '../src/captcha/picture/glyphs.ts';
import {
  createMotionRenderer,
  createSceneMaker,
  frameOptions,
} from '../src/captcha/picture/motion-scene.ts';
import {
  type PictureProfile,
  type ProfileName,
  profiles,
} from '../src/captcha/picture/profiles.ts';
import { openRenderThreads } from '../src/captcha/render-pool.ts';
import { baseTries, hardestFactor } from '../src/captcha/work/levels.ts';
import { solutionCharactersMax } from '../src/captcha/work/work.ts';
import { systemRandom } from '../src/core/random.ts';
import { createEye, goodEye, wordsSeen } from '../test/support/captcha/eye.ts';
import { dotsToBytes, seeds as seedsFrom, soundChallenge } from '../test/support/captcha/frames.ts';
import { payloadOf } from '../test/support/captcha/solution.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { forged, randomKeys, solutionFor, workWith } from './captcha-solutions.ts';
import { measureAsync } from './rounds.ts';
import { atLeast, atMost, type BenchRow, besidePeer, median, round } from './row.ts';
import { cpuSecondsSince } from './work.ts';

const sizes = {
  tiny: { rounds: 1, images: 2, threadImages: 8, clips: 1, solutions: 5, tries: 20, words: 1 },
  full: {
    rounds: 7,
    images: 60,
    threadImages: 400,
    clips: 20,
    solutions: 2_000,
    tries: 3_000,
    words: 50,
  },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const outlines = loadOutlines();
  return [
    ...oneThread('default', 180, outlines, plan),
    ...oneThread('economy', 350, outlines, plan),
    hardRow(outlines, plan),
    ...(await threads(plan)),
    ...(await solutionRows(plan)),
    ...(await botRows(plan)),
  ];
}

/** Beside nothing: its frames have the size of the default ones. */
function hardRow(outlines: Outlines, plan: Plan): BenchRow {
  const render = createMotionRenderer(outlines);
  const { seed } = sceneOf('hard', outlines);
  const [ours] = cpuRates(plan.rounds, plan.images, [() => render('hard', seed())]);
  return { name: 'hard, one thread', unit: 'GIFs/s of processor time', ours: Math.round(ours!) };
}

const client = '192.0.2.1';
const verifiedGoal = 10_000;

/** Looking at solutions, without the write that uses a good one up; and making challenges, by processor time. */
async function solutionRows(plan: Plan): Promise<BenchRow[]> {
  const keys = randomKeys(systemRandom());
  const work = workWith(keys);
  const solved = await solutionFor(keys, client);
  const [good, bad] = [payloadOf(solved), forged(solved)];
  const long = 'x'.repeat(solutionCharactersMax + 1);
  const open = (text: string) => () => work.open(text, undefined);
  const [verified, refused, tooLong] = cpuRates(plan.rounds, plan.solutions, [
    open(good),
    open(bad),
    open(long),
  ]) as [number, number, number];
  const before = process.cpuUsage();
  for (let i = 0; i < plan.solutions; i++) await solutionFor(keys, client);
  const made = cpuSecondsSince(before) / plan.solutions;
  return [
    {
      name: 'solutions of proof of work verified, one thread',
      unit: '/s of processor time',
      ours: Math.round(verified),
      ...atLeast(verified, verifiedGoal, '/s (0.1 ms)'),
      note: `forged ${Math.round(refused)}/s, too long ${Math.round(tooLong)}/s`,
    },
    {
      name: 'challenge of work made, and its one key derived again',
      unit: 'µs of processor time',
      ours: round(made * 1e6),
    },
  ];
}

/** As the README of altcha-lib has it: rounds of each try, and of these so many on average. */
const altchaExample = { cost: 5_000, tries: 7_500 };

/** A bot that derives keys with Node's own OpenSSL, and one that sees as the eye of the attack bench does. */
async function botRows(plan: Plan): Promise<BenchRow[]> {
  const { challenge } = await solutionFor(randomKeys(systemRandom()), client);
  const { cost, keyLength, nonce, salt } = challenge.parameters;
  const rounds = plan.tries * cost;
  const saltBytes = Buffer.from(salt, 'hex');
  const tried = Buffer.concat([Buffer.from(nonce, 'hex'), Buffer.alloc(4)]);
  const before = process.cpuUsage();
  for (let counter = 0; counter < plan.tries; counter++) {
    tried.writeUInt32BE(counter, tried.length - 4);
    pbkdf2Sync(tried, saltBytes, cost, keyLength, 'sha256');
  }
  const secondsARound = cpuSecondsSince(before) / rounds;
  const silent = (tries: number) => round(1_000 * tries * cost * secondsARound);
  const altcha = round(1_000 * altchaExample.tries * altchaExample.cost * secondsARound);
  const unit = 's of processor time';
  return [
    {
      name: "a bot's 1,000 silent passes, calm",
      unit,
      ours: silent(baseTries / 2),
      peer: "the example in ALTCHA's README",
      peerValue: altcha,
      note: `${round(secondsARound * 1e6 * cost)} µs a try`,
    },
    {
      name: "a bot's 1,000 silent passes, at the most",
      unit,
      ours: silent((baseTries * hardestFactor) / 2),
    },
    eyeRow('easy', 'default', plan),
    eyeRow('hard', 'hard', plan),
  ];
}

/** What a thousand words that were read right have cost: one look is the cheapest, since a miss costs another look alone. */
function eyeRow(level: string, profile: 'default' | 'hard', plan: Plan): BenchRow {
  const challenges = seedsFrom(90_001, plan.words).map((seed) => soundChallenge(profile, seed));
  const eye = createEye(profiles[profile], { ...goodEye, looks: 1 });
  const before = process.cpuUsage();
  const { words } = wordsSeen(eye, challenges);
  return {
    name: `a bot's 1,000 passes of the ${level} picture, by an eye of one look`,
    unit: 's of processor time',
    ours: round((1_000 * cpuSecondsSince(before)) / Math.max(1, words)),
    note: `${words} of ${plan.words} words`,
  };
}

/** Frames of one challenge, and what it takes to compose some. */
function sceneOf(name: ProfileName, outlines: Outlines) {
  const profile = profiles[name];
  const maker = createSceneMaker(profile, createGlyphSet(outlines, profile));
  const rows = new Int32Array(maker.wordsPerRow * profile.heightDots);
  const random = seededRandom(1);
  const seed = () => random.bytes(32);
  const scene = maker.scene(seed());
  const frames = Array.from({ length: profile.frames }, () => {
    scene.nextFrame(rows);
    return dotsToBytes(rows, maker.wordsPerRow, profile.widthDots, profile.heightDots);
  });
  return {
    profile,
    frames,
    seed,
    compose(): void {
      const next = maker.scene(seed());
      for (let k = 0; k < profile.frames; k++) next.nextFrame(rows);
    },
  };
}

function oneThread(name: ProfileName, goal: number, outlines: Outlines, plan: Plan): BenchRow[] {
  const { profile, frames, seed, compose } = sceneOf(name, outlines);
  const render = createMotionRenderer(outlines);
  const encode = gifencPeer();
  const [ours, peer, composing] = cpuRates(plan.rounds, plan.images, [
    () => render(name, seed()),
    () => encode(profile, frames),
    compose,
  ]) as [number, number, number];
  const bytes = render(name, seed()).gif.length;
  const floor = (profile.frames * profile.widthDots * profile.heightDots) / 8;
  const share = 1 / peer / (1 / peer + 1 / composing);
  return [
    {
      ...besidePeer(`${name}, one thread`, 'GIFs/s of processor time', ours, gifencAlone, peer),
      ...atLeast(ours, goal, '/s'),
    },
    {
      name: `${name}, share of gifenc's encoding if it wrote the frames`,
      unit: '',
      ours: round(share),
      ...atLeast(share, 0.8),
      note: `composing alone ${Math.round(composing)}/s`,
    },
    {
      ...besidePeer(`${name}, size`, 'bytes', bytes, 'entropy of the frames', floor),
      ...atMost(bytes / floor, 1.3),
    },
  ];
}

const gifencAlone = "gifenc's encoding of the frames alone";

/** One encoder reused, as in production; the general LZW of gifenc itself. Frames have a dot a byte, 0 or 1. */
function gifencPeer() {
  const gif = gifenc.GIFEncoder();
  return (profile: PictureProfile, frames: readonly Uint8Array[]): number => {
    gif.reset();
    for (const [k, frame] of frames.entries()) {
      const options = k === 0 ? frameOptions : { colorDepth: 1 };
      gif.writeFrame(frame, profile.widthDots, profile.heightDots, {
        ...options,
        delay: profile.frameMs,
      });
    }
    gif.finish();
    return gif.bytes().length;
  };
}

async function threads(plan: Plan): Promise<BenchRow[]> {
  const one = openRenderThreads({ threads: 1, queueMax: 1_000 });
  const two = openRenderThreads({ threads: 2, queueMax: 1_000 });
  const random = seededRandom(2);
  const seeds = () => Array.from({ length: 4 }, () => random.bytes(32));
  try {
    const burst = async (renderer: typeof one) => {
      const jobs = Array.from({ length: plan.threadImages / 4 }, () =>
        renderer.images('default', seeds()),
      );
      await Promise.all(jobs);
    };
    await Promise.all([burst(one), burst(two), two.warmUp()]);
    const [single, double] = (await rates(plan.rounds, 1, [
      () => burst(one),
      () => burst(two),
    ])) as [number, number];
    const cpu =
      (await cpuPerImage(() => burst(two), plan)) / (await cpuPerImage(() => burst(one), plan));
    const [clips] = (await rates(plan.rounds, plan.clips, [
      () => two.clip(random.bytes(32), 'en'),
    ])) as [number];
    const imagesOf = (bursts: number) => Math.round(bursts * plan.threadImages);
    return [
      {
        ...besidePeer(
          'default, two threads',
          'GIFs/s',
          imagesOf(double),
          'one thread',
          imagesOf(single),
        ),
        ...atLeast(double / single, 1.8),
        note: `processor time a GIF ${round(cpu)} × that of one thread`,
      },
      { name: 'spoken clip, one at a time', unit: 'clips/s', ours: Math.round(clips) },
    ];
  } finally {
    await Promise.all([one.close(), two.close()]);
  }
}

/** Seconds of all threads: unlike the rate, not at the mercy of what else runs here. */
async function cpuPerImage(burst: () => Promise<void>, plan: Plan): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const before = process.cpuUsage();
    await burst();
    found.push(cpuSecondsSince(before) / plan.threadImages);
  }
  return median(found);
}

/**
 * Median runs per second of processor time of each job, rounds alternating, after a round to warm up: what else runs
 * on the machine takes no part in it.
 */
function cpuRates(rounds: number, count: number, jobs: readonly (() => unknown)[]): number[] {
  const found = jobs.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, job] of jobs.entries()) {
      const before = process.cpuUsage();
      for (let n = 0; n < count; n++) job();
      if (round > 0) found[i]!.push(count / cpuSecondsSince(before));
    }
  }
  return found.map(median);
}

/** Median runs per second of each job, rounds alternating, after a round to warm up. */
async function rates(
  rounds: number,
  count: number,
  jobs: readonly (() => unknown)[],
): Promise<number[]> {
  const subjects = jobs.map((job, i) => {
    const run = async () => {
      for (let n = 0; n < count; n++) await job();
      return count;
    };
    return [i, { operations: count, run }] as const;
  });
  const timings = await measureAsync(Object.fromEntries(subjects), rounds);
  return jobs.map((_, i) => 1e9 / timings[i]!.median);
}
