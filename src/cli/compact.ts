/** `portcullis compact`: the store written anew, without what was removed. Needs the server stopped. */

import { Command } from 'commander';
import { systemClock } from '../core/clock.ts';
import { createLog } from '../core/log.ts';
import { systemRandom } from '../core/random.ts';
import { compactStore } from '../store/compact.ts';
import { openLmdbStore } from '../store/lmdb.ts';
import { acquireServerLock } from '../store/lock.ts';
import { createOutput, grouped } from './output.ts';
import { makeDataDir, settings, storePath } from './workspace.ts';

export function compactCommand(): Command {
  return new Command('compact')
    .description('write the store anew without the remains of removed data; stop the server first')
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await compact();
      const { bytesBefore, bytesAfter, rows } = done;
      output.line(
        `${grouped(rows)} rows written anew, ${grouped(bytesBefore)} bytes before, ${grouped(bytesAfter)} after`,
      );
      output.result(done);
    });
}

async function compact() {
  const config = settings();
  makeDataDir(config);
  const clock = systemClock();
  const log = createLog(config.logLevel === 'info' ? 'error' : config.logLevel);
  const open = () => openLmdbStore({ path: storePath(config), clock, log });
  // The lock is taken in the old file and given back in the new one, where its row was copied to.
  let store = open();
  const lock = await acquireServerLock({
    store: { get: (key) => store.get(key), commit: (commit) => store.commit(commit) },
    dataDir: config.dataDir,
    random: systemRandom(),
    pid: process.pid,
  }).catch(async (error) => {
    await store.close();
    throw error;
  });
  try {
    await store.close();
    return await compactStore(storePath(config));
  } finally {
    store = open();
    await lock.release();
    await store.close();
  }
}
