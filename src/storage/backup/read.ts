/**
 * Reads a backup, block by block, and refuses it at the first that is not what was written.
 *
 * Invariant: `end` was reached only if every block was there, whole and in its place, and the content
 * of all is that of the digest at the end. Whoever writes what is read checks all of it before.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { OperatorError } from '../../core/errors.ts';
import { dataFormat } from '../format.ts';
import type { TableName } from '../lmdb-tables.ts';
import type { RawRow } from '../view.ts';
import { damagedBlock, openBlock, sealedBytesMax } from './blocks.ts';
import { type About, blockKinds, decodeAbout, decodeEnd, decodeRows } from './content.ts';
import { type BackupHeader, backupMark, digestBytes, headerJsonMax, readHeader } from './header.ts';
import { checkRow } from './write.ts';

export interface OpenBackup {
  readonly about: About;
  readonly encrypted: boolean;
  /** Once. Ends only behind the last block. @throws OperatorError, DamagedRowError */
  rows(): AsyncGenerator<{ readonly table: TableName; readonly rows: readonly RawRow[] }>;
  close(): Promise<void>;
}

export interface BackupSource {
  readonly path: string;
  /** Asked when the backup is encrypted. */
  readonly passphrase: () => Promise<string | undefined>;
  /** Refuses one that is not encrypted: whoever can write to its folder could put another in its place. */
  readonly mustBeEncrypted?: boolean;
}

/**
 * @throws OperatorError when it is no backup, damaged at its begin, the passphrase is wrong, or it is not encrypted
 *   and has to be
 */
export async function openBackup(source: BackupSource): Promise<OpenBackup> {
  const { path, passphrase, mustBeEncrypted = false } = source;
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`the backup ${path} can't be read (${error.code})`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new OperatorError(`${path} is not a file`);
    const input = readerOf(file);
    const header = await headerOf(input, path, passphrase);
    if (mustBeEncrypted && header.key === undefined) throw notEncrypted(path);
    const blocks = blocksOf(input, header);
    const first = await blocks.next();
    if (first.done === true) throw new OperatorError('the backup is cut short: it has no blocks');
    const about = decodeAbout(first.value);
    if (header.key === undefined && about.masterKey !== undefined) {
      throw new OperatorError(
        'the backup is damaged: it is not encrypted, and yet a master key is in it',
      );
    }
    if (about.dataFormat > dataFormat) {
      throw new OperatorError(
        `the backup has data format ${about.dataFormat}, this program knows ${dataFormat}: restore it with the newer version`,
      );
    }
    return {
      about,
      encrypted: header.key !== undefined,
      rows: () => rowsOf(blocks, first.value),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function notEncrypted(path: string): OperatorError {
  return new OperatorError(
    `${path} is not encrypted, though a passphrase for backups is given: whoever can write to its folder may have ` +
      'put it there in place of yours. If it is yours all the same, add --unencrypted',
  );
}

async function* rowsOf(blocks: AsyncGenerator<Buffer>, first: Buffer) {
  const digest = createHash('sha256').update(first);
  let count = 0;
  for await (const content of blocks) {
    if (content[0] === blockKinds.end) {
      const end = decodeEnd(content);
      if (end.rows === count && end.digest === digest.digest('hex')) return;
      throw new OperatorError('the backup is damaged: its blocks do not add up');
    }
    const block = decodeRows(content);
    for (const row of block.rows) checkRow(block.table, row);
    digest.update(content);
    count += block.rows.length;
    yield block;
  }
  throw new OperatorError('the backup is cut short: its end is missing');
}

async function headerOf(
  input: ByteReader,
  path: string,
  passphrase: BackupSource['passphrase'],
): Promise<BackupHeader> {
  const mark = await input.take(backupMark.length);
  if (mark === undefined || !mark.equals(backupMark)) {
    throw new OperatorError(`${path} is not a backup of Portcullis`);
  }
  const size = (await input.take(2))?.readUInt16BE(0) ?? 0;
  if (size > headerJsonMax) throw new OperatorError('the backup is damaged: its header');
  const json = await input.take(size);
  const digest = await input.take(digestBytes);
  if (json === undefined || digest === undefined) {
    throw new OperatorError('the backup is cut short: its header is not whole');
  }
  return readHeader(json, digest, passphrase);
}

async function* blocksOf(input: ByteReader, header: BackupHeader): AsyncGenerator<Buffer> {
  for (let place = 0; ; place++) {
    const length = (await input.take(4))?.readUInt32BE(0);
    if (length === undefined) {
      throw new OperatorError(`the backup is cut short: block ${place + 1} is missing`);
    }
    if (length > sealedBytesMax) throw damagedBlock(place);
    const sealed = await input.take(length);
    if (sealed === undefined) {
      throw new OperatorError(
        `the backup is cut short, or damaged: block ${place + 1} is not whole`,
      );
    }
    const isLast = await input.isAtEnd();
    yield openBlock(header, place, isLast, sealed);
    if (isLast) return;
  }
}

interface ByteReader {
  /** Undefined when the file ends before. */
  take(length: number): Promise<Buffer | undefined>;
  isAtEnd(): Promise<boolean>;
}

const readBytes = 1024 * 1024;

function readerOf(file: FileHandle): ByteReader {
  let held: Buffer = Buffer.alloc(0);
  async function fill(length: number): Promise<boolean> {
    const parts = [held];
    let bytes = held.length;
    while (bytes < length) {
      const part = Buffer.allocUnsafe(Math.max(readBytes, length - bytes));
      const { bytesRead } = await file.read(part, 0, part.length, null);
      if (bytesRead === 0) break;
      parts.push(part.subarray(0, bytesRead));
      bytes += bytesRead;
    }
    if (parts.length > 1) held = Buffer.concat(parts);
    return held.length >= length;
  }
  return {
    async take(length) {
      if (!(await fill(length))) return undefined;
      const taken = held.subarray(0, length);
      held = held.subarray(length);
      return taken;
    },
    isAtEnd: async () => !(await fill(1)),
  };
}
