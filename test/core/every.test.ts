/** A loop runs one piece of work at a time, outlives its failures, and ends behind the last run. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { every } from '../../src/core/every.ts';

/** A clock that stands still until it is advanced. */
function fakeTime(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms);
    await turn();
  };
}
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Work whose runs end when the test says so. */
function heldWork() {
  const ends: ((error?: Error) => void)[] = [];
  return {
    begun: () => ends.length,
    work: () =>
      new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)));
      }),
    async end(error?: Error): Promise<void> {
      ends.at(-1)!(error);
      await turn();
    },
  };
}

test('work runs after each interval, and at once only when that is asked for', async (t) => {
  const advance = fakeTime(t);
  let runs = 0;
  let immediate = 0;
  const loop = every(1_000, () => runs++);
  const other = every(1_000, () => immediate++, { isImmediate: true });
  assert.deepEqual([runs, immediate], [0, 1]);
  await advance(999);
  assert.deepEqual([runs, immediate], [0, 1]);
  await advance(1);
  assert.deepEqual([runs, immediate], [1, 2]);
  for (let i = 0; i < 5; i++) await advance(1_000);
  assert.deepEqual([runs, immediate], [6, 7]);
  await Promise.all([loop.stop(), other.stop()]);
  await advance(10_000);
  assert.deepEqual([runs, immediate], [6, 7]);
});

test('a run that lasts longer than the interval is not begun a second time', async (t) => {
  const advance = fakeTime(t);
  const { work, begun, end } = heldWork();
  const loop = every(1_000, work);
  await advance(1_000);
  for (let i = 0; i < 3; i++) await advance(1_000);
  assert.equal(begun(), 1);
  const under = loop.run();
  assert.equal(begun(), 1);
  await end();
  await under;
  await advance(1_000);
  assert.equal(begun(), 2);
  await end();
  await loop.stop();
});

test('a failure is reported, of work that throws at once and of work that rejects', async (t) => {
  const advance = fakeTime(t);
  const failures: string[] = [];
  const onFailure = (error: unknown) => failures.push((error as Error).message);
  let runs = 0;
  const direct = every(
    1_000,
    () => {
      runs++;
      throw new Error('direct');
    },
    { onFailure, isImmediate: true },
  );
  const late = every(1_000, () => Promise.reject(new Error('late')), { onFailure });
  await turn();
  await advance(1_000);
  await advance(1_000);
  assert.equal(runs, 3);
  assert.deepEqual(failures.sort(), ['direct', 'direct', 'direct', 'late', 'late']);
  await direct.run();
  assert.equal(runs, 4);
  await Promise.all([direct.stop(), late.stop()]);
});

test('an end waits for the run under way, whose signal aborts, and no run begins after it', async (t) => {
  const advance = fakeTime(t);
  const { work, begun, end } = heldWork();
  let signal: AbortSignal | undefined;
  const loop = every(1_000, (run) => {
    signal = run.signal;
    return work();
  });
  await advance(1_000);
  assert.equal(signal?.aborted, false);
  let hasEnded = false;
  const ended = loop.stop().then(() => {
    hasEnded = true;
  });
  await turn();
  assert.equal(signal?.aborted, true);
  assert.equal(hasEnded, false);
  await end();
  await ended;
  await loop.run();
  loop.wait(0);
  await advance(5_000);
  assert.equal(begun(), 1);
  await loop.stop();
});

test('an end within a run does not wait for itself', async (t) => {
  const advance = fakeTime(t);
  let runs = 0;
  const loop = every(1_000, () => {
    runs++;
    void loop.stop();
  });
  await advance(1_000);
  await advance(5_000);
  assert.equal(runs, 1);
  await loop.stop();
});

test('work can ask for another pause before the next run, once', async (t) => {
  const advance = fakeTime(t);
  const pauses = [0, 5_000];
  let runs = 0;
  const loop = every(1_000, async ({ wait }) => {
    runs++;
    await turn();
    const pause = pauses.shift();
    if (pause !== undefined) wait(pause);
  });
  await advance(1_000);
  await turn();
  await advance(0);
  await turn();
  assert.equal(runs, 2);
  await advance(4_999);
  assert.equal(runs, 2);
  await advance(1);
  await turn();
  assert.equal(runs, 3);
  await advance(1_000);
  assert.equal(runs, 4);
  loop.wait(3_000);
  await advance(2_999);
  assert.equal(runs, 4);
  await advance(1);
  assert.equal(runs, 5);
  await turn();
  await loop.stop();
});

test('a loop does not hold the process, and a failure that nobody takes ends it', async () => {
  const every = JSON.stringify(new URL('../../src/core/every.js', import.meta.url).href);
  const run = (code: string) =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      timeout: 120_000,
    });
  await run(`import { every } from ${every}; every(60_000, () => {});`);
  const failing = `every(1, () => { throw new Error('a bug'); }); setTimeout(() => {}, 100_000);`;
  await assert.rejects(run(`import { every } from ${every}; ${failing}`), /a bug/);
});
