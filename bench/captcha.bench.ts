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
import { atLeast, type BenchRow, besidePeer, median, ratioAtMost, round } from './row.ts';
import { cpuSecondsOf, inTurns, perSecond } from './work.ts';

// biome-ignore format: a table.
const sizes = {
  tiny: { rounds: 1, images: 2, threadImages: 8, clips: 1, solutions: 5, tries: 20, words: 1 },
  full: { rounds: 7, images: 60, threadImages: 400, clips: 20, solutions: 2_000, tries: 3_000, words: 50 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const outlines = loadOutlines();
  return [
    ...(await oneThread('default', 180, outlines, plan)),
    ...(await oneThread('economy', 350, outlines, plan)),
    await hardRow(outlines, plan),
    ...(await threads(plan)),
    ...(await solutionRows(plan)),
    ...(await botRows(plan)),
  ];
}

/** Beside nothing: its frames have the size of the default ones. */
async function hardRow(outlines: Outlines, plan: Plan): Promise<BenchRow> {
  const render = createMotionRenderer(outlines);
  const { seed } = sceneOf('hard', outlines);
  const { ours } = await cpuRates(plan.rounds, plan.images, { ours: () => render('hard', seed()) });
  return { name: 'hard, one thread', unit: 'GIFs/s of processor time', ours: Math.round(ours) };
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
  const looks = { verified: open(good), refused: open(bad), tooLong: open(long) };
  const { verified, refused, tooLong } = await cpuRates(plan.rounds, plan.solutions, looks);
  const makingSeconds = await cpuSecondsOf(async () => {
    for (let i = 0; i < plan.solutions; i++) await solutionFor(keys, client);
  });
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
      ours: round((makingSeconds * 1e6) / plan.solutions),
    },
  ];
}

/** As the README of altcha-lib has it: rounds of each try, and of these so many on average. */
const altchaExample = { cost: 5_000, tries: 7_500 };

/** A bot that derives keys with Node's own OpenSSL, and one that sees as the eye of the attack bench does. */
async function botRows(plan: Plan): Promise<BenchRow[]> {
  const { challenge } = await solutionFor(randomKeys(systemRandom()), client);
  const { cost, keyLength, nonce, salt } = challenge.parameters;
  const saltBytes = Buffer.from(salt, 'hex');
  const tried = Buffer.concat([Buffer.from(nonce, 'hex'), Buffer.alloc(4)]);
  const seconds = await cpuSecondsOf(() => {
    for (let counter = 0; counter < plan.tries; counter++) {
      tried.writeUInt32BE(counter, tried.length - 4);
      pbkdf2Sync(tried, saltBytes, cost, keyLength, 'sha256');
    }
  });
  const secondsARound = seconds / (plan.tries * cost);
  const silent = (tries: number) => round(1_000 * tries * cost * secondsARound);
  const altcha = round(1_000 * altchaExample.tries * altchaExample.cost * secondsARound);
  const [passes, unit] = ["a bot's 1,000 silent passes", 's of processor time'];
  return [
    {
      name: `${passes}, calm`,
      unit,
      ours: silent(baseTries / 2),
      peer: "the example in ALTCHA's README",
      peerValue: altcha,
      note: `${round(secondsARound * 1e6 * cost)} µs a try`,
    },
    { name: `${passes}, at the most`, unit, ours: silent((baseTries * hardestFactor) / 2) },
    await eyeRow('easy', 'default', plan),
    await eyeRow('hard', 'hard', plan),
  ];
}

/** What a thousand words that were read right have cost: one look is the cheapest, since a miss costs another look alone. */
async function eyeRow(level: string, profile: 'default' | 'hard', plan: Plan): Promise<BenchRow> {
  const challenges = seedsFrom(90_001, plan.words).map((seed) => soundChallenge(profile, seed));
  const eye = createEye(profiles[profile], { ...goodEye, looks: 1 });
  let words = 0;
  const seconds = await cpuSecondsOf(() => {
    words = wordsSeen(eye, challenges).words;
  });
  return {
    name: `a bot's 1,000 passes of the ${level} picture, by an eye of one look`,
    unit: 's of processor time',
    ours: round((1_000 * seconds) / Math.max(1, words)),
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

async function oneThread(name: ProfileName, goal: number, outlines: Outlines, plan: Plan) {
  const { profile, frames, seed, compose } = sceneOf(name, outlines);
  const render = createMotionRenderer(outlines);
  const encode = gifencPeer();
  const { ours, peer, composing } = await cpuRates(plan.rounds, plan.images, {
    ours: () => render(name, seed()),
    peer: () => encode(profile, frames),
    composing: compose,
  });
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
    ratioAtMost(besidePeer(`${name}, size`, 'bytes', bytes, 'entropy of the frames', floor), 1.3),
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
  /** The rate of a burst, and processor time of all threads: that is not at the mercy of what else runs here. */
  const burst = (renderer: typeof one) => async () => {
    const jobs = plan.threadImages / 4;
    let rate = 0;
    const cpu = await cpuSecondsOf(async () => {
      rate = 4 * (await perSecond(jobs, jobs, () => renderer.images('default', seeds())));
    });
    return { rate, cpu };
  };
  try {
    await Promise.all([burst(one)(), burst(two)(), two.warmUp()]);
    const { single, double, clips } = await inTurns(plan.rounds, {
      single: burst(one),
      double: burst(two),
      clips: () => perSecond(plan.clips, 1, () => two.clip(random.bytes(32), 'en')),
    });
    const [oneRate, twoRate] = [single, double].map((all) => median(all.map(({ rate }) => rate)));
    const [oneCpu, twoCpu] = [single, double].map((all) => median(all.map(({ cpu }) => cpu)));
    const rates = [Math.round(twoRate!), Math.round(oneRate!)] as const;
    return [
      {
        ...besidePeer('default, two threads', 'GIFs/s', rates[0], 'one thread', rates[1]),
        ...atLeast(twoRate! / oneRate!, 1.8),
        note: `processor time a GIF ${round(twoCpu! / oneCpu!)} × that of one thread`,
      },
      { name: 'spoken clip, one at a time', unit: 'clips/s', ours: Math.round(median(clips)) },
    ];
  } finally {
    await Promise.all([one.close(), two.close()]);
  }
}

/** Median runs per second of processor time of each job: what else runs on the machine takes no part in it. */
async function cpuRates<Name extends string>(
  rounds: number,
  count: number,
  jobs: Readonly<Record<Name, () => unknown>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(jobs) as Name[];
  const rateOf = (name: Name) => async () => {
    const seconds = await cpuSecondsOf(() => {
      for (let n = 0; n < count; n++) jobs[name]();
    });
    return count / seconds;
  };
  const figures = Object.fromEntries(names.map((name) => [name, rateOf(name)]));
  const found: Record<string, number[]> = await inTurns(rounds, figures);
  const medians = names.map((name) => [name, median(found[name]!)]);
  return Object.fromEntries(medians) as Record<Name, number>;
}
