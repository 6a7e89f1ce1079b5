/** The sweeper: keeps going until all is swept, over failures, and stops when told. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startSweeper } from '../../src/storage/maintenance.ts';
import { memoryLog } from '../support/server/memory-log.ts';

it('sweeps slice after slice until nothing is due, also after a failure, then stops', async () => {
  const { log, lines } = memoryLog();
  let due = 1_250;
  let calls = 0;
  let finished: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const sweeper = startSweeper({
    store: {
      async sweep(limit) {
        calls += 1;
        if (calls === 2) throw new Error('store unavailable');
        const removed = Math.min(limit, due);
        due -= removed;
        if (due === 0) finished();
        return removed;
      },
    },
    log,
    intervalMs: 1,
    rowsMax: 500,
  });
  const alive = setInterval(() => {}, 1_000);
  await done;
  clearInterval(alive);
  await sweeper.stop();
  const callsAtStop = calls;
  assert.ok(calls >= 4);
  assert.equal(lines.length, 1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(calls, callsAtStop);
});
