/**
 * Writes a backup to where it goes: a file that has its name only when all of it is on disk, or a
 * stream.
 *
 * Invariant: a name that exists is a whole backup, also after a kill or a power cut. What was cut
 * short lies next to it as `<name>.<random>.part`.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { link, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../../core/errors.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { syncPath } from '../files.ts';

export const partSuffix = '.part';

/** Error codes of `link` on file systems without hard links: memory sticks, some network shares. */
const linkless = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

export type Write = (bytes: Buffer) => Promise<void>;

/** @throws OperatorError when the file exists or can't be written */
export async function intoFile<T>(
  path: string,
  random: Random,
  run: (write: Write) => Promise<T>,
): Promise<T> {
  if (existsSync(path)) throw new OperatorError(`${path} exists: give another name`);
  const part = `${path}.${randomToken(random, 6)}${partSuffix}`;
  try {
    const file = await open(part, 'wx', 0o600);
    let done: T;
    try {
      done = await run((bytes) => file.appendFile(bytes));
      await file.sync();
    } finally {
      await file.close();
    }
    await giveName(part, path);
    syncPath(dirname(path));
    return done;
  } catch (error) {
    await unlink(part).catch(() => undefined);
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new OperatorError(`the backup ${path} can't be written (${code})`);
  }
}

/** Not by `rename` where it can be helped: another one may have taken the name meanwhile. */
async function giveName(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
    await unlink(part);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!linkless.has(code) || existsSync(path)) throw error;
    await rename(part, path);
  }
}

/** At the reader's pace. */
export async function intoStream<T>(
  stream: NodeJS.WritableStream,
  run: (write: Write) => Promise<T>,
): Promise<T> {
  const broken = new Promise<never>((_, reject) => {
    stream.once('error', (error: Error) =>
      reject(new OperatorError(`the backup can't be written: ${error.message}`)),
    );
  });
  broken.catch(() => undefined);
  return run(async (bytes) => {
    if (!stream.write(bytes)) await Promise.race([once(stream, 'drain'), broken]);
  });
}
