/** Slices of long work: one of them in each turn of the event loop, whoever asks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheduler } from '../../src/core/scheduling.ts';
import { manualClock } from '../support/seeded.ts';

test('of all jobs that wait, one gets a slice in each turn of the loop, first come first served', async () => {
  const scheduler = createScheduler(manualClock(0).monotonicMs);
  let loopTurns = 0;
  let isOver = false;
  const count = (): void => {
    loopTurns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const given: { job: number; loopTurn: number }[] = [];
  async function work(job: number): Promise<void> {
    for (let slice = 0; slice < 3; slice++) {
      await scheduler.yield();
      given.push({ job, loopTurn: loopTurns });
    }
  }
  await Promise.all([0, 1, 2, 3].map(work));
  isOver = true;
  assert.deepEqual(
    given.map(({ job }) => job),
    [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
  );
  assert.equal(new Set(given.map(({ loopTurn }) => loopTurn)).size, given.length);
});

test('a slice is over after some milliseconds of the clock that was passed in', async () => {
  const clock = manualClock(0);
  const scheduler = createScheduler(clock.monotonicMs);
  await scheduler.yield();
  assert.equal(scheduler.shouldYield(), false);
  clock.advance(2);
  assert.equal(scheduler.shouldYield(), false);
  clock.advance(1);
  assert.equal(scheduler.shouldYield(), true);
  await scheduler.yield();
  assert.equal(scheduler.shouldYield(), false);
});

test('the time between the slices of a job is not counted as its work', async () => {
  const clock = manualClock(0);
  const scheduler = createScheduler(clock.monotonicMs);
  clock.advance(3);
  const next = scheduler.yield();
  clock.advance(100);
  await next;
  clock.advance(2);
  assert.equal(scheduler.workedMs(), 5);
});

test('a job that rests gets its slice after four times the last one, and after 200 ms at most', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(0);
  const scheduler = createScheduler(clock.monotonicMs, true);
  for (const [workedMs, restMs] of [
    [3, 12],
    [1_000, 200],
  ] as const) {
    let isGiven = false;
    clock.advance(workedMs);
    const next = scheduler.yield().then(() => {
      isGiven = true;
    });
    t.mock.timers.tick(restMs - 1);
    await new Promise(setImmediate);
    assert.equal(isGiven, false);
    t.mock.timers.tick(1);
    await next;
  }
});

test('of jobs that begin by themselves the first in a turn of the loop begins the turn, unless others wait', async () => {
  const clock = manualClock(0);
  const scheduler = createScheduler(clock.monotonicMs);
  clock.advance(5);
  scheduler.beginSlice();
  assert.equal(scheduler.shouldYield(), false);
  clock.advance(3);
  scheduler.beginSlice();
  assert.equal(scheduler.shouldYield(), true);
  await new Promise(setImmediate);
  scheduler.beginSlice();
  assert.equal(scheduler.shouldYield(), false);
  await new Promise(setImmediate);
  clock.advance(3);
  const next = scheduler.yield();
  scheduler.beginSlice();
  assert.equal(scheduler.shouldYield(), true);
  await next;
});
