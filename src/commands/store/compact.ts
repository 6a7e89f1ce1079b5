/**
 * `portcullis compact`: rewrites the store without the space of removed rows. A running server holds the directory,
 * so in that case the command leaves an order, which the next start carries out before it opens the store.
 */

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { existingStore, openingOf } from '../../operations/workspace.ts';
import { ClaimedError, claimDataDir } from '../../storage/lmdb/claim.ts';
import { compactStore } from '../../storage/lmdb/compact.ts';
import { openStore } from '../../storage/lmdb/store.ts';
import { createOutput } from '../shell/output.ts';

export interface CompactFlags {
  readonly atNextStart?: boolean;
  readonly json?: boolean;
}

/** The name of the order in the data directory. */
const orderFile = 'compact-at-next-start';

export async function compactNow(flags: CompactFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  const { config } = existingStore({ mayBeMissing: flags.atNextStart !== true });
  if (flags.atNextStart === true) {
    writeOrder(config.dataDir);
    output.line('the next start of the server compacts the store before it opens it');
    output.result({ atNextStart: true });
    return;
  }
  const done = await compactClaimed().catch((error: unknown) => {
    if (!(error instanceof ClaimedError)) throw error;
    throw new OperatorError(`${error.message}. Stop it, or leave it to its --at-next-start`);
  });
  const { bytesBefore, bytesAfter, rows } = done;
  output.line(
    `${counted(rows, 'row')} written anew, ${grouped(bytesBefore)} bytes before, ${grouped(bytesAfter)} after`,
  );
  output.result(done);
}

/**
 * Compacts the store if an order lies there, before the server opens it. A failure is logged and leaves the store
 * unchanged.
 */
export async function compactIfRequested({ dataDir }: Config, log: Log): Promise<void> {
  const order = join(dataDir, orderFile);
  if (!existsSync(order)) return;
  // Before it begins: what ends the process, or fails for want of room, must not be met at each start.
  rmSync(order);
  log.info('store: compaction begins');
  try {
    log.info(await compact(), 'store: compacted');
  } catch (error) {
    const facts = error instanceof OperatorError ? { reason: error.message } : { err: error };
    log.error(facts, 'store: not compacted, it is as it was');
    // Somebody else uses the store: later, then.
    if (error instanceof OperatorError) writeOrder(dataDir);
  }
}

function writeOrder(dataDir: string): void {
  writeFileSync(join(dataDir, orderFile), '', { mode: 0o600 });
}

async function compactClaimed() {
  const { release } = claimDataDir(openingOf().config.dataDir, 'compact');
  try {
    return await compact();
  } finally {
    release();
  }
}

async function compact() {
  const { opening } = openingOf();
  // An older one is led to the present format first, and one that is damaged is refused.
  await (await openStore(opening)).close();
  return compactStore(opening.path);
}
