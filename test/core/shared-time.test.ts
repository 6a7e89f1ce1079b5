/** The main thread's time in another thread. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openSharedTime, shareTime } from '../../src/core/clock.ts';
import { manualClock } from '../support/seeded.ts';

it('another thread has the time of the main thread, whatever the clock of the machine says', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const steady = manualClock(1_000);
  let aheadMs = 1_750_000_000_000;
  const main = { now: () => steady.now() + aheadMs, monotonicMs: steady.monotonicMs };
  const shared = shareTime(main);
  const other = openSharedTime(shared.buffer, { now: () => 0, monotonicMs: steady.monotonicMs });
  const stop = shared.start();
  steady.advance(90);
  assert.equal(other.now(), main.now());
  aheadMs -= 3_600_000;
  context.mock.timers.tick(250);
  assert.equal(other.now(), main.now());
  assert.equal(openSharedTime(undefined, steady).now(), steady.now());
  stop();
});
