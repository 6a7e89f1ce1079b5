/** Which accounts were deleted, as far as a restore can find out: from files beside it and what it is given. */

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../../core/errors.ts';
import { backupMark } from '../../store/backup/header.ts';
import { type BackupSource, openBackup } from '../../store/backup/read.ts';
import { erasedFile, erasedOf, readErasedFile } from '../../store/erased.ts';

export interface ErasedSince {
  readonly ids: ReadonlyMap<string, number>;
  /** False: nobody kept a list, as far as is known. */
  readonly found: boolean;
}

export async function erasedSince(options: {
  /** The backup, - for standard input. */
  file: string;
  dataDir: string;
  /** As given; a list, a folder that holds one, or a newer backup. */
  erasures: string | undefined;
  passphrase: BackupSource['passphrase'];
}): Promise<ErasedSince> {
  const { file, dataDir, erasures, passphrase } = options;
  const ids = new Map<string, number>();
  const beside = [dataDir, ...(file === '-' ? [] : [dirname(resolve(file))])];
  const lists = beside.map((folder) => join(folder, erasedFile)).filter((path) => existsSync(path));
  let found = lists.length > 0;
  if (erasures !== undefined) {
    const given = resolve(erasures);
    if (!existsSync(given)) throw new OperatorError(`--erasures: ${given} does not exist`);
    const path = statSync(given).isDirectory() ? join(given, erasedFile) : given;
    found = true;
    // A data directory in which nobody was deleted has no list.
    if (isBackup(path))
      for (const [id, at] of await erasedInBackup(path, passphrase)) ids.set(id, at);
    else if (existsSync(path)) lists.push(path);
  }
  for (const path of lists) for (const [id, at] of readErasedFile(path)) ids.set(id, at);
  return { ids, found };
}

function isBackup(path: string): boolean {
  if (!existsSync(path)) return false;
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(backupMark.length);
    readSync(file, start, 0, start.length, 0);
    return start.equals(backupMark);
  } finally {
    closeSync(file);
  }
}

async function erasedInBackup(
  path: string,
  passphrase: BackupSource['passphrase'],
): Promise<Map<string, number>> {
  const ids = new Map<string, number>();
  const backup = await openBackup({ path, passphrase });
  try {
    for await (const { table, rows } of backup.rows()) {
      for (const { key, value } of table === 'entries' ? rows : []) {
        const erased = erasedOf(key, value);
        if (erased !== undefined) ids.set(erased.id, erased.at);
      }
    }
    return ids;
  } finally {
    await backup.close();
  }
}
