/**
 * The folder of backups is made once, marked, and then known to the data directory.
 *
 * Invariant: a known folder without its marker is not made again. Most likely its disk is not mounted, and backups
 * would fill the disk of the store.
 */

import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../core/errors.ts';
import { replaceFile } from '../files.ts';

/** The marker's name in the folder. */
export const folderMarker = '.portcullis-backups';
const markerText = 'Backups of Portcullis are kept here. Without this file none is written.\n';
/** A file of the data directory with a line for each folder that was marked. */
export const knownFolders = 'backup-folders';

const foldersMax = 50;

export interface BackupFolder {
  readonly folder: string;
  readonly dataDir: string;
}

/** Makes and marks it at the first time. @throws OperatorError when it vanished or can't be made */
export async function claimFolder({ folder, dataDir }: BackupFolder): Promise<void> {
  const marker = join(folder, folderMarker);
  try {
    if (await isThere(marker)) return await remember({ folder, dataDir });
    if (await isVanished({ folder, dataDir })) throw vanished({ folder, dataDir });
    await makeFolders(folder);
    await replaceFile(marker, `${marker}.part`, markerText);
    await remember({ folder, dataDir });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new OperatorError(`the folder of backups ${folder} can't be made or used (${code})`);
  }
}

/** Returns true if this folder was used before and its marker is missing now: a disk that is not mounted. */
export async function isVanished({ folder, dataDir }: BackupFolder): Promise<boolean> {
  const known = await knownIn(dataDir);
  return known.includes(folder) && !(await isThere(join(folder, folderMarker)));
}

export function vanished({ folder, dataDir }: BackupFolder): OperatorError {
  return new OperatorError(
    `the folder of backups ${folder} is not the one that was used before: its ${folderMarker} is gone. Mount its disk ` +
      `again; to begin anew there, remove ${join(dataDir, knownFolders)}`,
  );
}

async function remember({ folder, dataDir }: BackupFolder): Promise<void> {
  const known = await knownIn(dataDir);
  if (known.includes(folder)) return;
  const lines = [...known, folder].slice(-foldersMax);
  const file = join(dataDir, knownFolders);
  await replaceFile(file, `${file}.part`, `${lines.join('\n')}\n`);
}

async function knownIn(dataDir: string): Promise<string[]> {
  const text = await readFile(join(dataDir, knownFolders), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    },
  );
  return text.split('\n').filter((line) => line !== '');
}

/** `mkdir` with `recursive` tries for ever where nothing can be made, such as in /proc. */
async function makeFolders(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let at = folder; !(await isThere(at)); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    await mkdir(one, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
