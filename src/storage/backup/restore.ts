/**
 * A store made of a backup. Reads the backup twice: once to check all of it, once to write.
 *
 * Invariant: nothing is written before the whole backup was found right. The rows are those of the
 * backup, byte by byte, so what a server makes of them is what it made of them before.
 */

import { rmSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';
import { syncPath } from '../files.ts';
import { openTables } from '../lmdb-environment.ts';
import { type Tables, tableNames } from '../lmdb-tables.ts';
import { isDamage } from '../rows.ts';
import { createFindings, type Findings } from '../verify/findings.ts';
import { verifyRows } from '../verify/rows.ts';
import { openView } from '../view.ts';
import type { About } from './content.ts';
import { type BackupSource, openBackup } from './read.ts';

export interface CheckedBackup {
  readonly about: About;
  readonly encrypted: boolean;
  readonly rows: number;
  readonly journalEvents: number;
}

export type OnProgress = (rows: number, rowsAbout: number) => void;

/** @throws OperatorError, DamagedRowError at the first thing that is wrong */
export async function checkBackup(
  source: BackupSource,
  onProgress?: OnProgress,
): Promise<CheckedBackup> {
  const backup = await openBackup(source);
  try {
    const { about, encrypted } = backup;
    let rows = 0;
    let seq = about.prunedThrough;
    let order = 0;
    let after: Uint8Array | undefined;
    for await (const block of backup.rows()) {
      const table = tableNames.indexOf(block.table);
      if (table !== order) after = undefined;
      if (table < order) throw unordered();
      order = table;
      for (const { key } of block.rows) {
        if (after !== undefined && Buffer.compare(after, key) >= 0) throw unordered();
        after = key;
        if (block.table !== 'journal') continue;
        seq += 1;
        if (Buffer.from(key).readBigUInt64BE() === BigInt(seq)) continue;
        throw new OperatorError(`the backup's journal has a gap at ${seq}`);
      }
      rows += block.rows.length;
      onProgress?.(rows, about.rowsAbout);
    }
    if (seq !== about.seq) throw new OperatorError(`the backup's journal ends at ${seq}`);
    return { about, encrypted, rows, journalEvents: about.seq - about.prunedThrough };
  } finally {
    await backup.close();
  }
}

/** Findings that no server can live with. The others are reported by `portcullis verify`. */
const unusable = new Set(['meta', 'journal end', 'gap', 'key', 'checksum']);

/** Checks every row of a store that was made of a backup. @throws OperatorError */
export async function checkStore(path: string, onProgress?: OnProgress): Promise<void> {
  const tables = openTables(path);
  try {
    const view = openView(tables);
    let worst: string | undefined;
    const findings: Findings = {
      ...createFindings(),
      add(kind, line) {
        if (unusable.has(kind)) worst ??= line;
      },
    };
    try {
      const progress = onProgress === undefined ? {} : { onProgress };
      await verifyRows({ view, findings, nowMs: 0, storeId: undefined, ...progress });
    } finally {
      view.release();
    }
    if (worst === undefined) return;
    throw new OperatorError(`the backup holds what can't be used (${worst})`);
  } finally {
    await tables.root.close();
  }
}

/** Turns an error that the content of a backup caused into one line; system errors stay as they are. */
export function refusalOf(error: unknown): unknown {
  if (isDamage(error)) return new OperatorError(`the backup is damaged: ${error.message}`);
  const isOurs = !(error instanceof Error) || Object.hasOwn(error, 'errno');
  if (error instanceof OperatorError || isOurs) return error;
  return new OperatorError(`the backup holds what can't be used (${error.message})`);
}

function unordered(): OperatorError {
  return new OperatorError("the backup's rows are not in order");
}

/**
 * @param path directory of the new store; what lies there is removed
 * @param change what is done to the rows before they are on disk for good
 */
export async function restoreRows<T>(
  source: BackupSource,
  path: string,
  change: (tables: Tables) => T,
  onProgress?: OnProgress,
): Promise<T> {
  const backup = await openBackup(source);
  let changed: T;
  try {
    rmSync(path, { recursive: true, force: true });
    const tables = openTables(path);
    try {
      // A new store has rows of its own, such as counters; the backup brings them too.
      clear(tables);
      let rows = 0;
      for await (const block of backup.rows()) {
        tables.root.transactionSync(() => {
          for (const { key, value } of block.rows) tables[block.table].putSync(key, value);
        });
        rows += block.rows.length;
        onProgress?.(rows, backup.about.rowsAbout);
        await new Promise(setImmediate);
      }
      changed = tables.root.transactionSync(() => change(tables));
    } finally {
      await tables.root.close();
    }
    syncPath(`${path}/data.mdb`);
    syncPath(path);
  } finally {
    await backup.close();
  }
  return changed;
}

function clear({ root, meta }: Tables): void {
  root.transactionSync(() => {
    for (const { key } of meta.getRange()) meta.removeSync(key);
  });
}
