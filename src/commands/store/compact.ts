/**
 * `portcullis compact`: the store written anew, without what was removed. Nobody may have it open
 * meanwhile: what another process writes to the old file would be lost with it. So beside a running server
 * it is left as a wish, which the next start fulfils before it opens the store.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log/log.ts';
import { compactStore } from '../../store/compact.ts';
import { acquireServerLock } from '../../store/lock.ts';
import { openStore } from '../../store/migrate.ts';
import { createOutput, grouped } from '../shell/output.ts';
import { existingStore, openingOf } from '../shell/workspace.ts';

interface CompactFlags {
  readonly atNextStart?: boolean;
  readonly json?: boolean;
}

/** In the data directory: the wish. */
const wishFile = 'compact-at-next-start';

export function compactCommand(): Command {
  return new Command('compact')
    .description('write the store anew without the remains of removed data; stop the server first')
    .option('--at-next-start', 'beside a running server: leave it to its next start')
    .option('--json', 'print the result as JSON')
    .action(async (flags: CompactFlags) => {
      const output = createOutput(flags.json === true);
      const { config } = existingStore({ mayBeMissing: flags.atNextStart !== true });
      if (flags.atNextStart === true) {
        makeWish(config.dataDir);
        output.line('the next start of the server compacts the store before it opens it');
        output.result({ atNextStart: true });
        return;
      }
      const done = await compact().catch((error: unknown) => {
        if (!(error instanceof OperatorError)) throw error;
        throw new OperatorError(`${error.message}. Stop it, or leave it to its --at-next-start`);
      });
      const { bytesBefore, bytesAfter, rows } = done;
      output.line(
        `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'} written anew, ${grouped(bytesBefore)} bytes before, ${grouped(bytesAfter)} after`,
      );
      output.result(done);
    });
}

/** Before the server opens its store. What goes wrong is logged: the store is as it was. */
export async function compactIfWished({ dataDir }: Config, log: Log): Promise<void> {
  const wish = join(dataDir, wishFile);
  if (!existsSync(wish)) return;
  // Before it begins: what ends the process, or fails for want of room, must not be met at each start.
  rmSync(wish);
  log.info('store: compaction begins');
  try {
    log.info(await compact(), 'store: compacted');
  } catch (error) {
    const facts = error instanceof OperatorError ? { reason: error.message } : { err: error };
    log.error(facts, 'store: not compacted, it is as it was');
    // Somebody else uses the store: later, then.
    if (error instanceof OperatorError) makeWish(dataDir);
  }
}

function makeWish(dataDir: string): void {
  writeFileSync(join(dataDir, wishFile), '', { mode: 0o600 });
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
