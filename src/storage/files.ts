/** Writes small files that are either complete or absent after a power cut. */

import { closeSync, fsyncSync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Random, randomToken } from '../core/random.ts';

/**
 * Makes a file that nobody but its owner may read. Of two processes that make it at once one wins:
 * each writes a file of its own, and `link` gives the name to exactly one of them, whole. Keeps a
 * file that is there.
 * @throws the system's error, e.g. ENOSPC
 */
export function makeFileOnce(path: string, content: string, random: Random): void {
  const temporary = `${path}.${randomToken(random, 9)}`;
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    closeSync(file);
    unlinkSync(temporary);
  }
  syncPath(dirname(path));
}

/**
 * Makes or replaces a file that nobody but its owner may read. Resolves when it is on disk under its name.
 * @param part the name that it has until then
 * @throws the system's error
 */
export async function replaceFile(path: string, part: string, text: string): Promise<void> {
  try {
    const file = await open(part, 'w', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    await unlink(part).catch(() => undefined);
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  await folder.sync().finally(() => folder.close());
}

/** A file's bytes, or a folder's names: without it a name may be lost in a power cut. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
