/**
 * Writes a backup of a store that others may go on writing to.
 *
 * Invariants: all of it belongs to one position of the journal (view.ts, or a transaction of the database).
 * A row that is damaged ends it: what was written so far has no end and is no backup. A few rows are in
 * memory at a time.
 *
 * The read transaction is held as long as the writing takes. Where the target is slow (a pipe to
 * another machine), the store's file grows meanwhile by what is written to it.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { link, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { syncPath } from '../files.ts';
import { openTables } from '../lmdb/environment.ts';
import type { Tables } from '../lmdb/tables.ts';
import { openView } from '../lmdb/view.ts';
import { isSealed, type Sealing, seal } from './age.ts';
import {
  type About,
  backupMagic,
  encodeJson,
  encodeRows,
  frameRecord,
  parts,
  type RowSource,
  recordKinds,
} from './content.ts';
import { lmdbSource } from './lmdb.ts';

interface BackupTerms extends Sealing {
  readonly clock: Pick<Clock, 'now'>;
  /** Goes into an encrypted backup, and into no other. */
  readonly masterKey?: Uint8Array | undefined;
  /**
   * A list of deleted accounts lies next to it (erased.ts), so that a restore misses one that was taken
   * away.
   */
  readonly hasListBeside?: boolean;
  /** Cheaper guesses, for tests. */
  readonly workFactor?: number;
  readonly onProgress?: (rows: number, rowsAbout: number) => void;
}

interface BackupOptions extends BackupTerms {
  readonly write: Write;
}

export interface BackupSummary {
  readonly seq: number;
  readonly rows: number;
  readonly bytes: number;
  readonly encrypted: boolean;
}

/** @throws DamagedRowError, and what `write` throws */
export async function writeBackup(
  source: RowSource,
  options: BackupOptions,
): Promise<BackupSummary> {
  const { clock, masterKey, hasListBeside = false } = options;
  const encrypted = isSealed(options);
  const facts = await source.facts();
  const about: About = { ...facts, createdAt: Math.floor(clock.now()), hasListBeside };
  if (encrypted && masterKey) about.masterKey = Buffer.from(masterKey).toString('hex');
  let rows = 0;
  let bytes = 0;

  async function* content(): AsyncGenerator<Buffer> {
    const digest = createHash('sha256');
    function digested(record: Buffer): Buffer {
      digest.update(record);
      return frameRecord(record);
    }
    yield backupMagic;
    yield digested(encodeJson(recordKinds.about, about));
    for (const part of parts) {
      for await (const batch of source.read(part)) {
        yield digested(encodeRows(part, batch));
        rows += batch.length;
        options.onProgress?.(rows, facts.rowsAbout);
      }
    }
    yield frameRecord(encodeJson(recordKinds.end, { rows, digest: digest.digest('hex') }));
  }

  await pipeline(
    content,
    createGzip(),
    (packed: AsyncIterable<Buffer>) =>
      encrypted ? seal(packed, options, options.workFactor) : packed,
    async (sealed: AsyncIterable<Uint8Array>) => {
      for await (const chunk of sealed) {
        await options.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
        bytes += chunk.length;
      }
    },
  );
  return { seq: facts.seq, rows, bytes, encrypted };
}

interface MakeBackup extends BackupTerms {
  /** The store's directory. */
  readonly path: string;
  readonly random: Random;
  /** A file that does not exist yet, or what takes the bytes. */
  readonly target: string | Write;
}

/**
 * Backs up the embedded store in a data directory that this process has claimed.
 * @throws OperatorError, DamagedRowError; then there is no file of that name
 */
export async function makeBackup(options: MakeBackup): Promise<BackupSummary> {
  const { path, target, random } = options;
  const tables = openTables(path);
  try {
    const run = (write: Write) => backUpTables(tables, { ...options, write });
    return typeof target === 'string' ? await intoFile(target, random, run) : await run(target);
  } finally {
    await tables.root.close();
  }
}

export async function backUpTables(tables: Tables, options: BackupOptions): Promise<BackupSummary> {
  const view = openView(tables);
  try {
    return await writeBackup(lmdbSource(view), options);
  } finally {
    view.release();
  }
}

// Writes a backup to where it goes: a file that has its name only when all of it is on disk, or a
// stream.
//
// Invariant: a name that exists is a whole backup, also after a kill or a power cut. What was cut
// short lies next to it as `<name>.<random>.part`.

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
