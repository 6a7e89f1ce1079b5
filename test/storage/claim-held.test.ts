/** The claim is held for as long as files of the store are open or about to change their names. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createGroupCommit } from '../../src/storage/group-commit.ts';
import { scratchKey } from '../../src/storage/keys.ts';
import { ClaimedError, claimDataDir } from '../../src/storage/lmdb/claim.ts';
import { compactStore } from '../../src/storage/lmdb/compact.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

function assertHeld(directory: string): void {
  assert.throws(() => claimDataDir(directory, 'a test'), ClaimedError);
}

it('a store that is being closed still holds the claim, and one that is closed does not', async () => {
  const directory = makeTempDir('claim-close');
  const tables = openTables(`${directory.path}/store`);
  // A transaction under way keeps the environment open.
  const written = tables.root.transaction(() => void tables.meta.put(Buffer.of(1), Buffer.of(1)));
  const closed = tables.root.close();
  assertHeld(directory.path);
  await Promise.all([written, closed]);
  claimDataDir(directory.path, 'a test').release();
  directory.remove();
});

it('a compaction holds the claim until the new file has its name', async () => {
  const directory = makeTempDir('claim-compact');
  const path = `${directory.path}/store`;
  const store = await open(path, systemClock());
  await store.commit({ set: [{ key: scratchKey(), value: Buffer.from('there') }] });
  await store.close();
  const { renameSync } = fs;
  let renamed = 0;
  Object.assign(fs, {
    renameSync(from: string, to: string) {
      renamed += 1;
      assertHeld(directory.path);
      renameSync(from, to);
      assertHeld(directory.path);
    },
  });
  syncBuiltinESMExports();
  try {
    await compactStore(path);
  } finally {
    Object.assign(fs, { renameSync });
    syncBuiltinESMExports();
  }
  assert.equal(renamed, 1);
  claimDataDir(directory.path, 'a test').release();
  directory.remove();
});

it('no commit of a group is answered before its transaction is durable', async () => {
  let finish = () => {};
  const durable = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const queue = createGroupCommit<{ writes: number }>(
    {
      async transact(body) {
        body({ writes: 0 });
        await durable;
      },
      writes: ({ writes }) => writes,
      async probe() {},
      isFatal: () => false,
    },
    { clock: systemClock(), log: memoryLog().log, probeMs: 10, stallMs: 60_000 },
  );
  let answered = 0;
  const done = [1, 2, 3].map(
    () =>
      new Promise<void>((resolve, reject) => {
        queue.add({
          run(context) {
            context.writes += 1;
          },
          done() {
            answered += 1;
            resolve();
          },
          unavailable: reject,
          threw: reject,
          bytes: 1,
          maintenance: false,
        });
      }),
  );
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  assert.equal(answered, 0);
  finish();
  await Promise.all(done);
  assert.equal(answered, 3);
  await queue.close();
});
