/**
 * Rendering challenges: one thread against gifenc's own encoding of the same frames, two threads
 * against one and that against what two threads of pure computation gain, bytes against the entropy of the frames, other encoders; and verifying. Rounds
 * alternate; rates are medians. Encoders that quantise colours get frames of two colours.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { dotsToBytes } from '../src/captcha/picture/gif.ts';
import { createGlyphSet, loadOutlines, type Outlines } from '../src/captcha/picture/glyphs.ts';
import { type ProfileName, profiles } from '../src/captcha/picture/profiles.ts';
import { createMotionRenderer } from '../src/captcha/picture/render.ts';
import { createSceneMaker } from '../src/captcha/picture/scene.ts';
import { openRenderThreads } from '../src/captcha/rendering/render-pool.ts';
import { systemClock } from '../src/core/clock.ts';
import { seededRandom } from '../src/core/random.ts';
import { ok } from '../src/core/result.ts';
import { challengesOver, networkAt, rendered } from '../test/support/captcha/challenges.ts';
import { gifencPeer, otherEncoders } from './captcha-encoders.ts';
import { median } from './median.ts';
import { measureAsync } from './rounds.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: {
    rounds: 1,
    images: 2,
    peerImages: 1,
    threadImages: 8,
    verifies: 20,
    clips: 1,
    loops: 10_000,
  },
  full: {
    rounds: 7,
    images: 60,
    peerImages: 5,
    threadImages: 400,
    verifies: 20_000,
    clips: 20,
    loops: 400_000_000,
  },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const clock = systemClock();

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const outlines = loadOutlines();
  return [
    ...(await oneThread('default', 180, outlines, plan)),
    ...(await oneThread('economy', 350, outlines, plan)),
    ...(await encoders(outlines, plan)),
    ...(await threads(plan)),
    await verifying(plan),
  ];
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

async function oneThread(
  name: ProfileName,
  goal: number,
  outlines: Outlines,
  plan: Plan,
): Promise<BenchRow[]> {
  const { profile, frames, seed, compose } = sceneOf(name, outlines);
  const render = createMotionRenderer(outlines);
  const gifenc = gifencPeer();
  const [ours, peer, composing] = (await rates(plan.rounds, plan.images, [
    () => render(name, seed()),
    () => gifenc.encode(profile, frames),
    compose,
  ])) as [number, number, number];
  const bytes = render(name, seed()).gif.length;
  const floor = (profile.frames * profile.widthDots * profile.heightDots) / 8;
  const share = 1 / peer / (1 / peer + 1 / composing);
  return [
    {
      name: `${name}, one thread`,
      unit: 'GIFs/s',
      ours: Math.round(ours),
      peer: "gifenc's encoding of the frames alone",
      peerValue: Math.round(peer),
      ratio: round(ours / peer),
      goal: `≥ ${goal}/s`,
      ok: ours >= goal,
    },
    {
      name: `${name}, share of gifenc's encoding if it wrote the frames`,
      unit: '',
      ours: round(share),
      goal: '≥ 0.8',
      ok: share >= 0.8,
      note: `composing alone ${Math.round(composing)}/s`,
    },
    {
      name: `${name}, size`,
      unit: 'bytes',
      ours: bytes,
      peer: 'entropy of the frames',
      peerValue: floor,
      ratio: round(bytes / floor),
      goal: '≤ 1.30',
      ok: bytes / floor <= 1.3,
    },
  ];
}

async function encoders(outlines: Outlines, plan: Plan): Promise<BenchRow[]> {
  const { profile, frames, seed } = sceneOf('default', outlines);
  const render = createMotionRenderer(outlines);
  const rows: BenchRow[] = [];
  for (const peer of otherEncoders) {
    const [ours, theirs] = (await rates(plan.rounds, plan.peerImages, [
      () => render('default', seed()),
      () => peer.encode(profile, frames),
    ])) as [number, number];
    rows.push({
      name: `default, composed and encoded, against ${peer.name}`,
      unit: 'GIFs/s',
      ours: Math.round(ours),
      peer: 'encoding alone',
      peerValue: round(theirs),
      ratio: round(ours / theirs),
      note: `${await peer.encode(profile, frames)} bytes`,
    });
  }
  return rows;
}

async function threads(plan: Plan): Promise<BenchRow[]> {
  const one = openRenderThreads({ threads: 1, queueMax: 1_000 });
  const two = openRenderThreads({ threads: 2, queueMax: 1_000 });
  const spinners = [1, 2].map(() => new Worker(new URL('./spin.worker.js', import.meta.url)));
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
    // All in the same rounds: what the machine gives to a second thread changes with the hour.
    const [single, double, spinOne, spinTwo] = (await rates(plan.rounds, 1, [
      () => burst(one),
      () => burst(two),
      () => spin(spinners.slice(0, 1), plan.loops),
      () => spin(spinners, plan.loops),
    ])) as [number, number, number, number];
    const machine = (2 * spinTwo) / spinOne;
    const cpu =
      (await cpuPerImage(() => burst(two), plan)) / (await cpuPerImage(() => burst(one), plan));
    const [clips] = (await rates(plan.rounds, plan.clips, [() => two.clip(random.bytes(32))])) as [
      number,
    ];
    const ratio = double / single;
    return [
      {
        name: 'default, two threads',
        unit: 'GIFs/s',
        ours: Math.round(double * plan.threadImages),
        peer: 'one thread',
        peerValue: Math.round(single * plan.threadImages),
        ratio: round(ratio),
        goal: '≥ 1.8',
        ok: ratio >= 1.8,
        note: `processor time a GIF ${round(cpu)} × that of one thread; ${round(ratio / machine)} of the machine's gain`,
      },
      {
        name: 'two threads of pure computation',
        unit: 'loops/µs',
        ours: round((2 * spinTwo * plan.loops) / 1e6),
        peer: 'one thread',
        peerValue: round((spinOne * plan.loops) / 1e6),
        ratio: round(machine),
        note: 'the most that this machine gives',
      },
      { name: 'spoken clip, one at a time', unit: 'clips/s', ours: Math.round(clips) },
    ];
  } finally {
    await Promise.all([one.close(), two.close(), ...spinners.map((worker) => worker.terminate())]);
  }
}

/** So many loops in each. */
async function spin(workers: readonly Worker[], loops: number): Promise<void> {
  const ended = workers.map((worker) => once(worker, 'message'));
  for (const worker of workers) worker.postMessage(loops);
  await Promise.all(ended);
}

/** Microseconds of all threads: unlike the rate, not at the mercy of what else runs here. */
async function cpuPerImage(burst: () => Promise<void>, plan: Plan): Promise<number> {
  const found: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const before = process.cpuUsage();
    await burst();
    const { user, system } = process.cpuUsage(before);
    found.push((user + system) / plan.threadImages);
  }
  return median(found);
}

async function verifying(plan: Plan): Promise<BenchRow> {
  const gif = new Uint8Array(8);
  const pool = {
    image: async () => ok(rendered('WORD', gif)),
    clip: async () => ok(rendered('123456', gif)),
  };
  const challenges = challengesOver(pool, {
    clock,
    random: seededRandom(3),
    placesMax: plan.verifies * plan.rounds,
    openMax: plan.verifies * 2,
    heldBytesMax: plan.verifies * 100,
    sharesOn: false,
  });
  const visitor = { network: networkAt(1), longWord: false };
  const perSecond: number[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const tokens = Array.from({ length: plan.verifies }, () =>
      challenges.issue({ longWord: false }),
    );
    for (const token of tokens) await challenges.image(token, visitor);
    const startMs = clock.monotonicMs();
    for (const [i, token] of tokens.entries()) {
      challenges.verify(token, i % 2 ? 'word' : 'no', visitor.network);
    }
    perSecond.push((plan.verifies * 1_000) / (clock.monotonicMs() - startMs));
  }
  return { name: 'verify', unit: 'tokens/s', ours: Math.round(median(perSecond)) };
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

function round(value: number): number {
  return Number(value.toPrecision(3));
}
