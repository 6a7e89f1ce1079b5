/**
 * Writes small files that are either complete or absent after a power cut, and reads those of others with a
 * bound, and standard input.
 */

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../core/errors.ts';
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

/**
 * Opens a file that a setting names. Nobody sees a server wait for the other end of a pipe, so that is refused.
 * @throws the system's error, or one that says that it is not a file
 */
export function openPlainFile(path: string): number {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error('it is not a file');
}

/** Reads all of an open file or pipe and closes it. @throws when it has more bytes, or never ends */
export function readSmall(file: number, bytesMax: number): Buffer {
  try {
    const bytes = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length <= bytesMax; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** Node reads a directory as an input without a byte. @throws OperatorError for one */
export function standardInput(): NodeJS.ReadStream {
  if (fstatSync(0).isDirectory()) throw new OperatorError('standard input: is a directory');
  return process.stdin;
}
