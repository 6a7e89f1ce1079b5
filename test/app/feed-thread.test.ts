/** The thread that builds the feeds ends by itself, also in the middle of a build. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { createFeedTable, operatorTexts } from '../../bench/feeds-table.ts';
import { openFeedThread } from '../../src/app/threads/feed-thread.ts';

/** A busy machine lets the thread hear late. */
const endMsMax = 120_000;

test('is asked to end and never terminated: a compressor may be half made', async () => {
  const codes: number[] = [];
  process.on('worker', (worker: Worker) => worker.once('exit', (code) => codes.push(code)));
  const table = createFeedTable(20_000);
  const open = openFeedThread({
    ...table,
    operatorTexts,
    rowsMax: 100_000,
    entriesMax: 100_000,
    endMsMax,
  });
  const idle = open(undefined);
  assert.ok((await idle.build(Date.now()))!.files.length > 0);
  await idle.close();
  for (const waitMs of [0, 100, 200, 400]) {
    const busy = open(undefined);
    const build = busy.build(Date.now()).then(
      () => 'built',
      (error: Error) => error.message,
    );
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    await busy.close();
    assert.match(await build, /^built$|the building thread ended/);
  }
  assert.deepEqual(codes, [0, 0, 0, 0, 0]);
});
