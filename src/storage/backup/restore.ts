/**
 * Makes a store from a backup. It reads the backup twice, to check all of it and then to write; afterwards the
 * written store is read and compared.
 *
 * Invariant: nothing is written before the whole backup is found valid. Values, versions, positions and times are
 * those of the backup, so a server makes the same state of them as before.
 */

import { rmSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';
import { syncPath } from '../files.ts';
import { openTables } from '../lmdb/environment.ts';
import type { Tables } from '../lmdb/tables.ts';
import { createFindings, type Findings, verifyRows } from '../lmdb/verify-rows.ts';
import { openView } from '../lmdb/view.ts';
import { isDamage } from '../rows.ts';
import type { SealedWith } from './age.ts';
import {
  type About,
  compareRows,
  createRowDigests,
  type OnProgress,
  parts,
  type RowDigest,
} from './content.ts';
import { lmdbSource, lmdbTarget } from './lmdb.ts';
import { type BackupSource, openBackup } from './read.ts';

export interface CheckedBackup {
  readonly about: About;
  readonly encrypted: boolean;
  readonly sealedWith: SealedWith | undefined;
  readonly rows: number;
  readonly journalEvents: number;
}

/** @throws OperatorError at the first thing that is wrong */
export async function checkBackup(
  source: BackupSource,
  onProgress?: OnProgress,
): Promise<CheckedBackup> {
  const backup = await openBackup(source);
  try {
    const { about, sealedWith } = backup;
    let rows = 0;
    let seq = about.prunedThrough;
    let order = 0;
    let after: Buffer | undefined;
    for await (const batch of backup.rows()) {
      const part = parts.indexOf(batch.part);
      if (part !== order) after = undefined;
      if (part < order) throw unordered();
      order = part;
      for (const { key, number } of batch.rows) {
        if (after !== undefined && Buffer.compare(after, key) >= 0) throw unordered();
        after = key;
        if (batch.part !== 'journal') continue;
        seq += 1;
        if (number === seq && key.length === 8 && key.readBigUInt64BE() === BigInt(seq)) continue;
        throw new OperatorError(`the backup's journal has a gap at ${seq}`);
      }
      rows += batch.rows.length;
      onProgress?.(rows, about.rowsAbout, 'checked');
    }
    if (seq !== about.seq) throw new OperatorError(`the backup's journal ends at ${seq}`);
    if (about.prunedThrough > about.checkpointSeq) {
      throw new OperatorError(
        `the backup's journal begins behind ${about.prunedThrough}, and it has no projection as new`,
      );
    }
    const journalEvents = about.seq - about.prunedThrough;
    return { about, encrypted: sealedWith !== undefined, sealedWith, rows, journalEvents };
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
      await verifyRows({
        view,
        findings,
        nowMs: 0,
        storeId: undefined,
        onProgress: (rows, total) => onProgress?.(rows, total, 'looked at'),
      });
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
export function restoreRefusalOf(error: unknown): unknown {
  if (isDamage(error)) return new OperatorError(`the backup is damaged: ${error.message}`);
  const isOurs = !(error instanceof Error) || Object.hasOwn(error, 'errno');
  if (error instanceof OperatorError || isOurs) return error;
  return new OperatorError(`the backup holds what can't be used (${error.message})`);
}

function unordered(): OperatorError {
  return new OperatorError("the backup's rows are not in order");
}

interface RestoredStore<T> {
  /** Counts and hashes of the rows, equal in the backup and in the store. */
  readonly kinds: readonly RowDigest[];
  readonly changed: T;
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
): Promise<RestoredStore<T>> {
  const backup = await openBackup(source);
  try {
    rmSync(path, { recursive: true, force: true });
    const tables = openTables(path);
    let restored: RestoredStore<T>;
    try {
      const { about } = backup;
      const target = lmdbTarget(tables, about);
      const digests = createRowDigests();
      let rows = 0;
      for await (const batch of backup.rows()) {
        target.write(batch.part, batch.rows);
        digests.add(batch.part, batch.rows);
        rows += batch.rows.length;
        onProgress?.(rows, about.rowsAbout, 'written');
        await new Promise(setImmediate);
      }
      target.finish();
      const kinds = digests.finish();
      await compare(tables, kinds, about, onProgress);
      restored = { kinds, changed: tables.root.transactionSync(() => change(tables)) };
    } finally {
      await tables.root.close();
    }
    syncPath(`${path}/data.mdb`);
    syncPath(path);
    return restored;
  } finally {
    await backup.close();
  }
}

async function compare(
  tables: Tables,
  kinds: readonly RowDigest[],
  about: About,
  onProgress: OnProgress | undefined,
): Promise<void> {
  const view = openView(tables);
  try {
    const written = lmdbSource(view);
    await compareRows(kinds, written, onProgress);
    const { checkpointSeq } = await written.facts();
    if (checkpointSeq === about.checkpointSeq) return;
    throw new OperatorError(`the backup's projection is of ${checkpointSeq}`);
  } finally {
    view.release();
  }
}
