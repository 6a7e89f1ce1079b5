/** The sweeper: keeps going until all is swept, over failures, and stops when told. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLeapGuard } from '../../src/core/clock.ts';
import { hourMs } from '../../src/core/time.ts';
import {
  asMaintenance,
  asRemoval,
  keepTrustedTime,
  localMaintenance,
  readTrustedTime,
  startSweeper,
} from '../../src/storage/maintenance.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

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

it('a failure that lasts is said once, and anew when it comes back', async () => {
  const { log, lines } = memoryLog();
  const turns = ['broken', 'broken', 'broken', '', 'broken', 'broken'];
  const sweeper = startSweeper({
    store: {
      async sweep() {
        const fault = turns.shift();
        if (fault) throw new Error(fault);
        return 0;
      },
    },
    log,
    intervalMs: hourMs,
  });
  while (turns.length > 0) await sweeper.run();
  await sweeper.stop();
  const warned = lines.filter(({ level }) => level >= 40);
  assert.equal(warned.length, 2, JSON.stringify(lines));
});

it('a clock that leapt forward removes nothing for an hour, and nothing at all when it is set back', async () => {
  let [wallMs, passedMs, swept] = [0, 0, 0];
  const leaps: number[] = [];
  const clock = { now: () => wallMs, monotonicMs: () => passedMs };
  const mayRemove = createLeapGuard(clock, (leadMs) => leaps.push(leadMs));
  const pass = (ms: number, leapMs = 0) => {
    passedMs += ms;
    wallMs += ms + leapMs;
  };
  async function isRemoved(): Promise<boolean> {
    const before = swept;
    const store = { sweep: async () => ++swept };
    const sweeper = startSweeper({ store, mayRemove, log: memoryLog().log, intervalMs: hourMs });
    await sweeper.run();
    await sweeper.stop();
    let isDone = false;
    const isMine = () => true;
    await asRemoval({ isMine, mayRemove }, async () => {
      isDone = true;
    });
    let works = false;
    await asMaintenance({ isMine }, async () => {
      works = true;
    });
    assert.ok(works, 'what removes nothing goes on');
    assert.equal(isDone, swept > before);
    return isDone;
  }
  const year = 365 * 24 * hourMs;
  assert.ok(await isRemoved());
  pass(1_000, hourMs / 2);
  assert.ok(await isRemoved(), 'a step of half an hour');
  pass(1_000, year);
  assert.ok(!(await isRemoved()));
  pass(hourMs - 1);
  assert.ok(!(await isRemoved()));
  pass(0, -year);
  assert.ok(await isRemoved(), 'set back');
  pass(1_000, year);
  assert.ok(!(await isRemoved()));
  pass(hourMs / 2, year);
  assert.ok(!(await isRemoved()));
  pass(hourMs / 2);
  assert.ok(!(await isRemoved()), 'it leapt once more');
  pass(hourMs / 2);
  assert.ok(await isRemoved(), 'it stays so');
  pass(24 * hourMs);
  assert.ok(await isRemoved(), 'a day that nobody looked');
  assert.deepEqual(leaps, [year, year, 2 * year]);
});

it('starts do not trust a clock that leapt before them, until they have waited an hour in all', async () => {
  const directory = makeTempDir('trusted-time');
  let wallMs = 1_750_000_000_000;
  let ranMs = 0;
  const clock = { now: () => wallMs + ranMs, monotonicMs: () => ranMs };
  const store = await open(directory.path, clock);
  /** Returns whether a process that runs for so long from now on removes at its end. */
  async function run(forMs: number): Promise<boolean> {
    const before = await readTrustedTime(store);
    const mayRemove = createLeapGuard(clock, () => undefined, before?.trustedMs, before?.waitedMs);
    const maintenance = { ...localMaintenance(store), mayRemove };
    const kept = keepTrustedTime(maintenance, { clock, log: memoryLog().log, before });
    await kept.run();
    ranMs += forMs;
    await kept.run();
    await kept.stop();
    return mayRemove();
  }
  const year = 24 * 365 * hourMs;
  try {
    assert.ok(await run(0), 'a new store');
    wallMs += year;
    assert.deepEqual([await run(0), await run(0)], [false, false]);
    wallMs -= year;
    assert.ok(await run(0), 'set right');
    wallMs += hourMs;
    assert.ok(await run(0), 'an hour off');
    assert.deepEqual(await readTrustedTime(store), { trustedMs: clock.now(), waitedMs: 0 });
    wallMs += year;
    const twentyMinutes = hourMs / 3;
    assert.deepEqual(
      [await run(twentyMinutes), await run(twentyMinutes), await run(twentyMinutes)],
      [false, false, true],
    );
    wallMs += year;
    assert.ok(!(await run(twentyMinutes)), 'it leapt once more');
  } finally {
    await store.close();
    directory.remove();
  }
});
