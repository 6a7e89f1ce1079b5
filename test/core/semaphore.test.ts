/** The semaphore: how many run, how many wait, in which order, and who is sent away. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSemaphore } from '../../src/core/scheduling.ts';

function deferred() {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

test('so many run, so many wait in order, the next is refused at once', async () => {
  const semaphore = createSemaphore({ runningMax: 2, waitingMax: 2 });
  const gates = Array.from({ length: 4 }, deferred);
  const started: number[] = [];
  const results = gates.map((gate, i) =>
    semaphore.run(async () => {
      started.push(i);
      await gate.promise;
      return i;
    }),
  );
  const refused = await semaphore.run(async () => assert.fail('must not run'));
  assert.deepEqual(refused, { ok: false, error: 'overloaded' });
  assert.deepEqual(started, [0, 1]);
  const table = semaphore.table('work');
  assert.equal(table.used(), table.limit);
  gates[1]!.resolve();
  assert.deepEqual(await results[1], { ok: true, value: 1 });
  assert.deepEqual(started, [0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all(results);
  assert.deepEqual(started, [0, 1, 2, 3]);
  assert.equal(table.used(), 0);
  assert.deepEqual(await semaphore.run(async () => 'again'), { ok: true, value: 'again' });
});

test('work that throws gives its place back', async () => {
  const semaphore = createSemaphore({ runningMax: 1, waitingMax: 0 });
  for (let i = 0; i < 3; i++) {
    await assert.rejects(
      semaphore.run(async () => {
        throw new Error('boom');
      }),
      /boom/,
    );
  }
  assert.equal((await semaphore.run(async () => 1)).ok, true);
});
