/** The database's time as a node knows it: by its own clock and what that differs by. */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { databaseClock } from '../../src/storage/postgres/store.ts';
import { manualClock } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';

const startMs = 1_750_000_000_000;

/** A database whose clock is ahead by so much, and trips of so long to it. */
async function follow(context: TestContext, aheadMs: number, tripsMs: readonly number[]) {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const own = manualClock(startMs);
  const { log, lines } = memoryLog();
  const clock = databaseClock(own, log);
  const database = { aheadMs };
  let asked = 0;
  const stop = await clock.follow(async () => {
    const tripMs = tripsMs[asked++ % tripsMs.length]!;
    // All of the way there: the worst that a reading can be.
    own.advance(tripMs);
    return own.now() + database.aheadMs;
  });
  async function nextLook(): Promise<void> {
    own.advance(30_000);
    context.mock.timers.tick(30_000);
    for (let i = 0; i < 40; i++) await Promise.resolve();
  }
  const differenceMs = () => clock.now() - own.now();
  return { own, clock, database, lines, differenceMs, nextLook, stop };
}

it('takes the reading with the least time around it', async (context) => {
  const { differenceMs, stop } = await follow(context, 500, [400, 400, 2, 400]);
  assert.equal(differenceMs(), 501, 'half of the way of the best one is uncertain');
  stop();
});

it('spreads a correction out, so that time never goes back', async (context) => {
  const { own, clock, database, differenceMs, nextLook, stop } = await follow(context, 1_000, [0]);
  assert.equal(differenceMs(), 1_000);
  database.aheadMs = 900;
  await nextLook();
  assert.equal(differenceMs(), 1_000, 'not at once');
  let before = clock.now();
  for (let elapsed = 0; elapsed < 2_000; elapsed += 10) {
    own.advance(10);
    assert.ok(clock.now() >= before);
    before = clock.now();
  }
  assert.equal(differenceMs(), 900);
  stop();
});

it('goes on when somebody sets the clock of this machine, and says so', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const steady = manualClock(startMs);
  let setByMs = 0;
  const own = { now: () => steady.now() + setByMs, monotonicMs: steady.monotonicMs };
  const { log, lines } = memoryLog();
  const clock = databaseClock(own, log);
  const stop = await clock.follow(async () => steady.now());
  for (setByMs of [3_600_000, -3_600_000]) {
    steady.advance(10);
    assert.equal(clock.now(), steady.now());
  }
  steady.advance(30_000);
  context.mock.timers.tick(30_000);
  for (let i = 0; i < 40; i++) await Promise.resolve();
  assert.equal(clock.now(), steady.now());
  assert.equal(lines.filter(({ level }) => level === 40).length, 1);
  stop();
});

it('is right at once when time has gone on far without it', async (context) => {
  const { database, differenceMs, nextLook, stop } = await follow(context, 0, [0]);
  database.aheadMs = 7_200_000;
  await nextLook();
  assert.equal(differenceMs(), 7_200_000);
  stop();
});

it('tells of a clock that is far off once, until it was right again', async (context) => {
  const { database, lines, nextLook, stop } = await follow(context, 5_000, [0]);
  const warnings = () => lines.filter(({ level }) => level === 40).length;
  assert.equal(warnings(), 1);
  await nextLook();
  assert.equal(warnings(), 1);
  database.aheadMs = 0;
  await nextLook();
  database.aheadMs = -5_000;
  await nextLook();
  assert.equal(warnings(), 2);
  stop();
});
