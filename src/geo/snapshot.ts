/**
 * The compiled tables as a file, so that a start reads a few megabytes instead of compiling.
 * An optimisation only: a file that is not complete, of this version and of the same sources
 * is ignored. It is replaced by a rename, so a reader sees the old file or the new one.
 *
 *   u32 x 8   magic, version, meta length, body length (bytes), CRC-32 of the meta,
 *             CRC-32 of the body, 0, CRC-32 of the seven words before
 *   meta      JSON: the fingerprint of the sources and what the start log says about them
 *   body      the shared buffer of layout.ts, byte for byte
 */

import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { geoMagic, geoVersion, readCounts } from './layout.ts';

export interface Snapshot<M> {
  readonly meta: M;
  readonly shared: SharedArrayBuffer;
}

const headWords = 8;
const headBytes = headWords * 4;
const metaBytesMax = 64 * 1024;

function headCrc(head: Uint32Array): number {
  return crc32(new Uint8Array(head.buffer, head.byteOffset, headBytes - 4));
}

/** Throws when the file can't be written; the old one, if any, is then still whole. */
export function writeSnapshot(path: string, meta: unknown, shared: SharedArrayBuffer): void {
  const metaBytes = Buffer.from(JSON.stringify(meta));
  const body = new Uint8Array(shared);
  const head = new Uint32Array(headWords);
  head.set([geoMagic, geoVersion, metaBytes.length, body.length, crc32(metaBytes), crc32(body)]);
  head[headWords - 1] = headCrc(head);
  const temporary = `${path}.${process.pid}.tmp`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    const file = openSync(temporary, 'w', 0o644);
    try {
      for (const part of [new Uint8Array(head.buffer), metaBytes, body]) writeAll(file, part);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done);
  }
}

/** Fills `bytes` from the file's position; false when the file ends before. */
function readAll(file: number, bytes: Uint8Array): boolean {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, null);
    if (count === 0) return false;
    done += count;
  }
  return true;
}

/** The snapshot, if it is whole and `accepts` its meta; otherwise one word on why not. */
export function readSnapshot<M>(
  path: string,
  accepts: (meta: unknown) => M | undefined,
): Snapshot<M> | 'missing' | 'broken' | 'stale' {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return 'missing';
  }
  try {
    return readOpened(file, accepts);
  } catch {
    return 'broken';
  } finally {
    closeSync(file);
  }
}

function readOpened<M>(
  file: number,
  accepts: (meta: unknown) => M | undefined,
): Snapshot<M> | 'broken' | 'stale' {
  const head = new Uint32Array(headWords);
  if (!readAll(file, new Uint8Array(head.buffer))) return 'broken';
  if (head[0] !== geoMagic || head[headWords - 1] !== headCrc(head)) return 'broken';
  if (head[1] !== geoVersion) return 'stale';
  const metaLength = head[2]!;
  const bodyLength = head[3]!;
  if (metaLength > metaBytesMax) return 'broken';
  if (fstatSync(file).size !== headBytes + metaLength + bodyLength) return 'broken';
  const metaBytes = Buffer.alloc(metaLength);
  if (!readAll(file, metaBytes) || crc32(metaBytes) !== head[4]) return 'broken';
  const meta = accepts(JSON.parse(metaBytes.toString('utf8')));
  if (meta === undefined) return 'stale';
  const shared = new SharedArrayBuffer(bodyLength);
  const body = new Uint8Array(shared);
  if (!readAll(file, body) || crc32(body) !== head[5]) return 'broken';
  return readCounts(shared) === undefined ? 'stale' : { meta, shared };
}
