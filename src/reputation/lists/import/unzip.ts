/**
 * The one file of a zip archive (APPNOTE 6.3.9), unpacked as it is read. The archive is held whole, since its
 * directory stands at its end; what it unpacks to is bounded by whoever reads it. Archives of several files, encrypted
 * ones and those of ZIP64 are refused.
 */

import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { OperatorError } from '../../../core/errors.ts';

const packedBytesMax = 64 * 1_048_576;
const endSignature = 0x0605_4b50;
const endBytes = 22;
const commentBytesMax = 0xffff;
const entrySignature = 0x0201_4b50;
const entryBytes = 46;
const localSignature = 0x0403_4b50;
const localBytes = 30;
const entriesMax = 1_000;
const [stored, deflated] = [0, 8];

interface Entry {
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

export async function* unzip(chunks: AsyncIterable<Buffer>, label: string): AsyncGenerator<Buffer> {
  const archive = await whole(chunks, label);
  const refuse = (what: string): never => {
    throw new OperatorError(`${label}: the zip archive ${what}`);
  };
  const files = entriesOf(archive, refuse);
  const [file] = files;
  if (file === undefined || files.length > 1) {
    return refuse(`holds ${files.length} files; one is read`);
  }
  if ((file.flags & 1) !== 0) refuse('is encrypted');
  if (file.method !== stored && file.method !== deflated)
    refuse('is packed in a way that is not read');
  if (file.packed === 0xffff_ffff || file.size === 0xffff_ffff)
    refuse('is of ZIP64, which is not read');
  const { at } = file;
  if (at + localBytes > archive.length || archive.readUInt32LE(at) !== localSignature)
    refuse('is damaged');
  const from = at + localBytes + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28);
  if (from + file.packed > archive.length) refuse('ends early');
  const packed = archive.subarray(from, from + file.packed);
  let crc = 0;
  let size = 0;
  for await (const chunk of file.method === stored ? [packed] : inflated(packed, refuse)) {
    crc = crc32(chunk, crc);
    size += chunk.length;
    // Before the end is known to be right, and so before anything is final.
    if (size > file.size) refuse('is damaged');
    yield chunk;
  }
  if (size !== file.size || crc >>> 0 !== file.crc) refuse('is damaged');
}

async function whole(chunks: AsyncIterable<Buffer>, label: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > packedBytesMax) {
      throw new OperatorError(`${label}: is a zip archive of more than ${packedBytesMax} bytes`);
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/** The files, without folders and what macOS adds. */
function entriesOf(archive: Buffer, refuse: (what: string) => never): Entry[] {
  let end = archive.length - endBytes;
  const lowest = Math.max(0, end - commentBytesMax);
  while (end >= lowest && archive.readUInt32LE(end) !== endSignature) end--;
  if (end < lowest) return refuse('ends early');
  const count = archive.readUInt16LE(end + 10);
  if (count > entriesMax) refuse(`holds ${count} files; one is read`);
  const found: Entry[] = [];
  let at = archive.readUInt32LE(end + 16);
  for (let i = 0; i < count; i++) {
    if (at + entryBytes > end || archive.readUInt32LE(at) !== entrySignature)
      return refuse('is damaged');
    const nameBytes = archive.readUInt16LE(at + 28);
    const name = archive.toString('latin1', at + entryBytes, at + entryBytes + nameBytes);
    if (!name.endsWith('/') && !name.startsWith('__MACOSX/')) {
      found.push({
        flags: archive.readUInt16LE(at + 8),
        method: archive.readUInt16LE(at + 10),
        crc: archive.readUInt32LE(at + 16),
        packed: archive.readUInt32LE(at + 20),
        size: archive.readUInt32LE(at + 24),
        at: archive.readUInt32LE(at + 42),
      });
    }
    at += entryBytes + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return found;
}

async function* inflated(packed: Buffer, refuse: (what: string) => never): AsyncGenerator<Buffer> {
  const unpacked = createInflateRaw({ chunkSize: 65_536 });
  // The error reaches the reader below through `unpacked`; the callback only keeps it handled.
  pipeline(Readable.from([packed], { objectMode: true }), unpacked, () => {});
  try {
    for await (const chunk of unpacked) yield chunk as Buffer;
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    refuse('is damaged');
  }
}
