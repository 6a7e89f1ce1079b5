/** Slices of long work: one of them in each turn of the event loop, whoever asks. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { createTurns } from '../../src/core/scheduling.ts';

test('of all jobs that wait, one gets each turn of the loop, first come first served', async () => {
  const turns = createTurns(manualClock(0).monotonicMs);
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
      await turns.next();
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

test('a turn is over after some milliseconds of the clock that was passed in', async () => {
  const clock = manualClock(0);
  const turns = createTurns(clock.monotonicMs);
  await turns.next();
  assert.equal(turns.isOver(), false);
  clock.advance(2);
  assert.equal(turns.isOver(), false);
  clock.advance(1);
  assert.equal(turns.isOver(), true);
  await turns.next();
  assert.equal(turns.isOver(), false);
});

test('the time between the turns of a job is not counted as its work', async () => {
  const clock = manualClock(0);
  const turns = createTurns(clock.monotonicMs);
  clock.advance(3);
  const next = turns.next();
  clock.advance(100);
  await next;
  clock.advance(2);
  assert.equal(turns.workedMs(), 5);
});

test('a job that rests gets its turn after four times the last one, and after 200 ms at most', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(0);
  const turns = createTurns(clock.monotonicMs, true);
  for (const [workedMs, restMs] of [
    [3, 12],
    [1_000, 200],
  ] as const) {
    let isGiven = false;
    clock.advance(workedMs);
    const next = turns.next().then(() => {
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
  const turns = createTurns(clock.monotonicMs);
  clock.advance(5);
  turns.begin();
  assert.equal(turns.isOver(), false);
  clock.advance(3);
  turns.begin();
  assert.equal(turns.isOver(), true);
  await new Promise(setImmediate);
  turns.begin();
  assert.equal(turns.isOver(), false);
  await new Promise(setImmediate);
  clock.advance(3);
  const next = turns.next();
  turns.begin();
  assert.equal(turns.isOver(), true);
  await next;
});
