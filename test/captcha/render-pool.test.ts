/** The stock of images rendered ahead: its bounds, who is served first, and what is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { MotionImage } from '../../src/captcha/picture/motion-scene.ts';
import type { ProfileName } from '../../src/captcha/picture/profiles.ts';
import {
  createRenderPool,
  type Renderer,
  type RenderPoolOptions,
} from '../../src/captcha/render-pool.ts';
import { createLog } from '../../src/core/log.ts';
import { seededRandom } from '../support/seeded.ts';

const imageBytes = 100;

/** Renders when told to; images are numbered in the order in which they are finished. */
function setUp(changes: Partial<RenderPoolOptions> = {}) {
  const jobs: {
    profile: ProfileName;
    count: number;
    seeds: readonly Uint8Array[];
    end(error?: Error): void;
  }[] = [];
  let made = 0;
  const renderer: Renderer = {
    threads: 2,
    images: (profile, seeds) =>
      new Promise<readonly MotionImage[]>((resolve, reject) => {
        jobs.push({
          profile,
          count: seeds.length,
          seeds,
          end(error) {
            if (error) return reject(error);
            const images = seeds.map(() => ({
              answer: `${profile}${++made}`,
              gif: new Uint8Array(imageBytes),
            }));
            resolve(images);
          },
        });
      }),
    clip: async () => ({ answer: '123456', wav: new Uint8Array(10) }),
    close: async () => {
      for (const job of jobs.splice(0)) job.end(new Error('closed'));
    },
  };
  const pool = createRenderPool({
    renderer,
    random: seededRandom(1),
    log: createLog('silent'),
    stockMax: 20,
    stockBytesMax: 1_000_000,
    waitingMax: 5,
    economyFrom: 3,
    ...changes,
  });
  assert.equal(jobs.length, 0, 'nothing is rendered before anybody asks');
  pool.fill();
  /** Ends all jobs until none is left. */
  async function settle(): Promise<void> {
    for (let rounds = 0; jobs.length > 0; rounds++) {
      assert.ok(rounds < 100, 'refilling never ends');
      for (const job of jobs.splice(0)) job.end();
      await turn();
    }
  }
  return { pool, jobs, settle };
}

test('the stock fills up to its count and stays there', async () => {
  const { pool, jobs, settle } = setUp();
  assert.equal(jobs.length, 2, 'a batch a thread');
  await settle();
  assert.equal(pool.stats().stock, 20);
  await pool.close();
});

test('the stock never holds more than its bytes', async () => {
  const { pool, settle } = setUp({ stockBytesMax: 1_050 });
  await settle();
  const { stock, stockBytes } = pool.stats();
  assert.ok(stockBytes <= 1_050 && stockBytes >= 400, `${stockBytes}`);
  assert.equal(stockBytes, stock * imageBytes);
  // What was taken makes room.
  for (let i = 0; i < 30; i++) {
    assert.ok((await pool.image('normal')).ok);
    await settle();
  }
  assert.ok(pool.stats().stock >= stock, `${pool.stats().stock}`);
  await pool.close();
});

for (const changes of [{ stockMax: 0 }, { stockMax: 3 }, { stockBytesMax: 50 }]) {
  test(`no stock at all with ${JSON.stringify(changes)}, and no endless refilling`, async () => {
    const { pool, settle } = setUp(changes);
    await settle();
    assert.equal(pool.stats().stock, 0);
    await pool.close();
  });
}

test('the oldest image is served first, each one once', async () => {
  const { pool, settle } = setUp();
  await settle();
  const seen: string[] = [];
  for (let i = 0; i < 20; i++) {
    const image = await pool.image('normal');
    assert.ok(image.ok);
    seen.push(image.value.answer);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, i) => `default${i + 1}`),
  );
  await pool.close();
});

test('with no stock requests wait, economy images from some on, and beyond the bound none', async () => {
  const { pool, jobs } = setUp({ stockMax: 0 });
  const images = Array.from({ length: 8 }, () => pool.image('normal'));
  await turn();
  assert.deepEqual(
    jobs.map((job) => job.profile),
    ['default', 'default', 'default', 'economy', 'economy'],
  );
  const seeds = jobs.map((job) => Buffer.from(job.seeds[0]!).toString('hex'));
  assert.equal(new Set(seeds).size, 5, 'a word of its own for each');
  for (const job of jobs.splice(0)) job.end();
  const answers = await Promise.all(images);
  assert.deepEqual(
    answers.map((a) => a.ok),
    [true, true, true, true, true, false, false, false],
  );
  assert.equal(answers[7]!.ok === false && answers[7]!.error, 'overloaded');
  assert.deepEqual(pool.stats(), { stock: 0, stockBytes: 0, waiting: 0, served: 5, refused: 3 });
  await pool.close();
});

test('a hard picture is rendered for its asker, the stock untouched', async () => {
  const { pool, jobs, settle } = setUp();
  await settle();
  const image = pool.image('long');
  await turn();
  assert.deepEqual(
    jobs.map(({ profile, count }) => [profile, count]),
    [['hard', 1]],
  );
  await settle();
  assert.equal((await image).ok, true);
  assert.equal(pool.stats().stock, 20);
  await pool.close();
});

test('nothing is rendered ahead while somebody waits', async () => {
  const { pool, jobs, settle } = setUp();
  await settle();
  const long = pool.image('long');
  for (let i = 0; i < 12; i++) await pool.image('normal');
  await turn();
  assert.deepEqual(
    jobs.map((job) => job.profile),
    ['hard'],
  );
  await settle();
  await long;
  await settle();
  assert.equal(pool.stats().stock, 20, 'and all of it afterwards');
  await pool.close();
});

test('a stock that is half full is filled up once nobody asks any more', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { pool, jobs, settle } = setUp();
  await settle();
  for (let i = 0; i < 8; i++) {
    t.mock.timers.tick(999);
    await pool.image('normal');
  }
  assert.equal(jobs.length, 0, 'nothing is rendered beside them');
  t.mock.timers.tick(1_000);
  await settle();
  assert.equal(pool.stats().stock, 20);
  for (let i = 0; i < 12; i++) await pool.image('normal');
  await settle();
  assert.equal(pool.stats().stock, 20, 'and at once when more than half is gone');
  await pool.close();
});

test('a failed rendering is a refusal, and refilling waits for the next request', async () => {
  const { pool, jobs, settle } = setUp();
  for (const job of jobs.splice(0)) job.end(new Error('out of memory'));
  await turn();
  assert.equal(jobs.length, 0);
  const image = pool.image('normal');
  jobs.splice(0)[0]!.end(new Error('out of memory'));
  assert.equal((await image).ok, false);
  await settle();
  assert.equal(pool.stats().stock, 20);
  await pool.close();
});

test('closing refuses those who wait and those who come', async () => {
  const { pool } = setUp({ stockMax: 0 });
  const waiting = pool.image('normal');
  await turn();
  await pool.close();
  assert.equal((await waiting).ok, false);
  assert.equal((await pool.image('normal')).ok, false);
});
