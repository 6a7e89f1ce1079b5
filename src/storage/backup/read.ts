/**
 * Reads a backup, record by record, and refuses it where it is not what was written.
 *
 * Invariant: the last record was reached only if every one before was there, whole and in its place, and
 * the content of all is that of the digest at the end. Whoever writes what is read checks all of it before.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { OperatorError } from '../../core/errors.ts';
import { dataFormat } from '../lmdb/format.ts';
import { ageHeaderBytesMax, sealedWith, type Unsealing, unseal } from './age.ts';
import {
  backupMagic,
  decodeAbout,
  decodeEnd,
  decodeRows,
  recordBytesMax,
  recordKinds,
} from './content.ts';

export interface BackupSource extends Unsealing {
  readonly path: string;
  /** Refuses one that is not encrypted: whoever can write to its folder could put another in its place. */
  readonly mustBeEncrypted?: boolean;
}

const gzipMagic = Buffer.of(0x1f, 0x8b);
/** One chunk of age at most, so that a fault is reported near its place. */
const readBytes = 64 * 1024;

/** Returns whether a file begins as a backup does. @param head its first bytes */
export function isBackup(head: Buffer): boolean {
  return head.subarray(0, gzipMagic.length).equals(gzipMagic) || sealedWith(head) !== undefined;
}

/**
 * @throws OperatorError when it is no backup, damaged at its begin, the key is wrong, or it is not encrypted
 *   and has to be
 */
export async function openBackup(source: BackupSource) {
  const { path, mustBeEncrypted = false } = source;
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`the backup ${path} can't be read (${error.code})`);
  });
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new OperatorError(`${path} is not a file`);
    const head = Buffer.alloc(ageHeaderBytesMax);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    const start = head.subarray(0, bytesRead);
    if (!isBackup(start)) throw notABackup(path);
    const seal = sealedWith(start);
    if (mustBeEncrypted && seal === undefined) throw notEncrypted(path);
    const bytes = bytesOf(file);
    const packed = seal === undefined ? bytes : await unseal(bytes, start, stat.size, source);
    const input = readerOf(unpacked(packed));
    if ((await input.take(backupMagic.length))?.equals(backupMagic) !== true)
      throw notABackup(path);
    const records = recordsOf(input);
    const first = await records.next();
    if (first.done === true) throw new OperatorError('the backup is cut short: it has no records');
    const about = decodeAbout(first.value);
    if (seal === undefined && about.masterKey !== undefined) {
      throw new OperatorError(
        'the backup is damaged: it is not encrypted, and yet a master key is in it',
      );
    }
    if (about.dataFormat > dataFormat.number) {
      throw new OperatorError(
        `the backup has data format ${about.dataFormat}, this program knows ${dataFormat.number}: restore it with the newer version`,
      );
    }
    return {
      about,
      /** Undefined: it is not encrypted. */
      sealedWith: seal,
      /** To be called once. Ends only behind the last record. @throws OperatorError */
      rows: () => rowsOf(records, first.value),
      async close() {
        await input.close();
        await file.close();
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function notABackup(path: string): OperatorError {
  return new OperatorError(`${path} is not a backup of Portcullis`);
}

function notEncrypted(path: string): OperatorError {
  return new OperatorError(
    `${path} is not encrypted, though a passphrase or key for backups is given: whoever can write to its folder may ` +
      'have put it there in place of yours. If it is yours all the same, add --unencrypted',
  );
}

async function* rowsOf(records: AsyncGenerator<Buffer>, first: Buffer) {
  const digest = createHash('sha256').update(first);
  let count = 0;
  for await (const record of records) {
    if (record[0] === recordKinds.end) {
      const end = decodeEnd(record);
      const isRight = end.rows === count && end.digest === digest.digest('hex');
      if (!isRight) throw new OperatorError('the backup is damaged: its records do not add up');
      if ((await records.next()).done === true) return;
      throw new OperatorError('the backup is damaged: there are bytes behind its last record');
    }
    const batch = decodeRows(record);
    digest.update(record);
    count += batch.rows.length;
    yield batch;
  }
  throw new OperatorError('the backup is cut short: its end is missing');
}

async function* recordsOf(input: ByteReader): AsyncGenerator<Buffer> {
  for (;;) {
    const length = (await input.take(4))?.readUInt32BE();
    if (length === undefined) return;
    if (length > recordBytesMax) throw new OperatorError('the backup is damaged: a record of it');
    const record = await input.take(length);
    if (record === undefined)
      throw new OperatorError('the backup is cut short: its end is missing');
    yield record;
  }
}

async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const part = Buffer.allocUnsafe(readBytes);
    const { bytesRead } = await file.read(part, 0, part.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield part.subarray(0, bytesRead);
  }
}

/** Unpacks gzip, and says where it is not what was packed. */
async function* unpacked(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let taken = 0;
  let isRead = false;
  async function* counted() {
    for await (const chunk of packed) {
      taken += chunk.length;
      yield chunk;
    }
    isRead = true;
  }
  const gunzip = createGunzip({ chunkSize: 4 * readBytes });
  const read = pipeline(Readable.from(counted()), gunzip, () => {
    // An error comes out of the loop below.
  });
  try {
    yield* read;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR') {
      throw new OperatorError('the backup is cut short: its end is missing');
    }
    if (!code.startsWith('Z_')) throw error;
    throw new OperatorError(
      `the backup is damaged, before byte ${gunzip.bytesWritten} of its content`,
    );
  }
  // The library passes over what lies behind the end of what was packed.
  if (isRead && gunzip.bytesWritten === taken) return;
  throw new OperatorError('the backup is damaged: there are bytes behind its last record');
}

function readerOf(bytes: AsyncGenerator<Buffer>) {
  let held: Buffer = Buffer.alloc(0);
  return {
    /** Undefined when the bytes end before. */
    async take(length: number): Promise<Buffer | undefined> {
      const parts = [held];
      let size = held.length;
      while (size < length) {
        const next = await bytes.next();
        if (next.done === true) break;
        parts.push(next.value);
        size += next.value.length;
      }
      if (parts.length > 1) held = Buffer.concat(parts);
      if (held.length < length) return undefined;
      const taken = held.subarray(0, length);
      held = held.subarray(length);
      return taken;
    },
    close: () => bytes.return(undefined),
  };
}

type ByteReader = ReturnType<typeof readerOf>;
