/** `portcullis compact`: the store written anew, without what was removed. Needs the server stopped. */

import { Command } from 'commander';
import { compactStore } from '../../store/compact.ts';
import { acquireServerLock } from '../../store/lock.ts';
import { openStore } from '../../store/migrate.ts';
import { createOutput, grouped } from '../shell/output.ts';
import { openingOf } from '../shell/workspace.ts';

export function compactCommand(): Command {
  return new Command('compact')
    .description('write the store anew without the remains of removed data; stop the server first')
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await compact();
      const { bytesBefore, bytesAfter, rows } = done;
      output.line(
        `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'} written anew, ${grouped(bytesBefore)} bytes before, ${grouped(bytesAfter)} after`,
      );
      output.result(done);
    });
}

async function compact() {
  const { opening } = openingOf();
  const open = () => openStore(opening);
  // The lock is taken in the old file and given back in the new one, where its row was copied to.
  let store = await open();
  const lock = await acquireServerLock({
    ...opening,
    store: { get: (key) => store.get(key), commit: (commit) => store.commit(commit) },
  }).catch(async (error) => {
    await store.close();
    throw error;
  });
  try {
    await store.close();
    return await compactStore(opening.path);
  } finally {
    store = await open();
    await lock.release();
    await store.close();
  }
}
