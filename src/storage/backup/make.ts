/** A backup of the store in a data directory that this process has claimed. */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { openTables } from '../lmdb-environment.ts';
import { intoFile, type Write } from './target.ts';
import { type BackupOptions, type BackupSummary, writeBackup } from './write.ts';

export interface MakeBackup extends Omit<BackupOptions, 'write'> {
  /** The store's directory. */
  readonly path: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A file that does not exist yet, or what takes the bytes. */
  readonly target: string | Write;
}

/** @throws OperatorError, DamagedRowError; then there is no file of that name */
export async function makeBackup(options: MakeBackup): Promise<BackupSummary> {
  const { path, target, random } = options;
  const tables = openTables(path);
  try {
    const run = (write: BackupOptions['write']) => writeBackup(tables, { ...options, write });
    return typeof target === 'string' ? await intoFile(target, random, run) : await run(target);
  } finally {
    await tables.root.close();
  }
}
