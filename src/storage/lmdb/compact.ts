/**
 * Rewrites the store, row by row, into a new file that then replaces the old one.
 *
 * LMDB never shrinks its file. The bytes of a removed row stay in free pages, and in the unused ends of pages, until
 * something overwrites them. LMDB's own compacting copy keeps those unused ends; only new pages, which LMDB clears,
 * hold nothing but live data. So this is also how removed personal data leaves the disk, as far as a program can
 * achieve it: copies that a file system, its snapshots or a flash disk keep are out of reach.
 *
 * Offline: the directory is claimed (claim.ts), so nobody else has the store open.
 */

import { renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncPath } from '../files.ts';
import { joinClaim } from './claim.ts';
import { openTables } from './environment.ts';
import type { OpenFile } from './file.ts';
import { type Table, tableNames } from './tables.ts';

export interface Compaction {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly rows: number;
}

/** Rows of one transaction of the new file. */
const batchRows = 5_000;
const batchBytes = 16 * 1024 * 1024;

/**
 * Holds the claim until the new file has its name: one that opens the old file in between would write to what
 * is gone.
 * @param path the store's directory, closed by this process
 */
export async function compactStore(path: string): Promise<Compaction> {
  const claim = joinClaim(dirname(path));
  try {
    return await rewriteTables(path);
  } finally {
    claim.release();
  }
}

async function rewriteTables(path: string): Promise<Compaction> {
  const freshPath = `${path}.compacting`;
  // Left by a compaction that was cut short; nothing refers to it.
  rmSync(freshPath, { recursive: true, force: true });
  const bytesBefore = statSync(`${path}/data.mdb`).size;
  const old = openTables(path);
  let rows = 0;
  try {
    const fresh = openTables(freshPath);
    try {
      for (const name of tableNames) {
        rows += await copyTable(old[name], fresh[name], fresh.file);
      }
    } finally {
      await fresh.root.close();
    }
  } catch (error) {
    await old.root.close();
    rmSync(freshPath, { recursive: true, force: true });
    throw error;
  }
  await old.root.close();
  syncPath(`${freshPath}/data.mdb`);
  // One step: at any moment the name leads to the whole old file or to the whole new one.
  renameSync(`${freshPath}/data.mdb`, `${path}/data.mdb`);
  // LMDB's lock file refers to the old file's transactions; the next one to open makes it anew.
  rmSync(`${path}/lock.mdb`, { force: true });
  syncPath(path);
  rmSync(freshPath, { recursive: true, force: true });
  return { bytesBefore, bytesAfter: statSync(`${path}/data.mdb`).size, rows };
}

/** In key order, so that pages of the new file fill from left to right. */
async function copyTable(from: Table, to: Table, file: OpenFile): Promise<number> {
  let rows = 0;
  let after: Uint8Array | undefined;
  for (;;) {
    const batch: { key: Uint8Array; value: Buffer }[] = [];
    let bytes = 0;
    const range =
      after === undefined
        ? from.getRange({ limit: batchRows })
        : from.getRange({ start: after, exclusiveStart: true, limit: batchRows });
    for (const { key, value } of range) {
      batch.push({ key, value });
      bytes += key.length + value.length;
      if (bytes > batchBytes) break;
    }
    if (batch.length === 0) return rows;
    file.assertRoom();
    to.transactionSync(() => {
      for (const { key, value } of batch) to.putSync(key, value);
    });
    rows += batch.length;
    after = batch.at(-1)!.key;
    await new Promise(setImmediate);
  }
}
