/**
 * Opens a list for reading: a local file, standard input (`-`) or an http(s) address. What comes
 * out is plain UTF-8, bounded in size; what goes wrong is an `OperatorError` with one line that
 * never shows the query of an address, which may hold a key.
 */

import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createGunzip, createInflateRaw } from 'node:zlib';
import { OperatorError } from '../../../core/errors.ts';
import { hourMs } from '../../../core/time.ts';
import { standardInput } from '../../../storage/files.ts';
import {
  type Destinations,
  type Download,
  startDownload,
  urlLabel,
  type Validators,
} from './download.ts';
import { escapeControls } from './rows.ts';

export interface OpenOptions {
  /** Ends the reading with `OperatorError`. */
  readonly signal?: AbortSignal;
  /** Bound on the size after unpacking, bytes. */
  readonly maxBytes?: number;
  /** Bound on each wait for a server: for its answer and for every next piece of it. */
  readonly timeoutMs?: number;
  /** Bound on a whole download. */
  readonly deadlineMs?: number;
  /** The hosts that may be asked; absent: any. */
  readonly destinations?: Destinations;
  /** Validators of the rows that are here already: a server that says they are unchanged sends nothing. */
  readonly known?: Validators | undefined;
  /** Headers that the host of the address asks for. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  /** More headers of the request to an address. */
  readonly headersFor?: ((url: URL) => Readonly<Record<string, string>>) | undefined;
  /** The stream that `-` reads. */
  readonly stdin?: Readable;
}

const maxBytesDefault = 1 << 30;
const timeoutMsDefault = 30_000;
const deadlineMsDefault = hourMs;
const readBytesPerChunk = 262_144;
/**
 * Packed bytes that may be more than what they unpack to: a stream that unpacks to nothing has no end by that
 * alone.
 */
const packedMoreMax = 1_048_576;

/** The fields that only a server sends, for local files. */
const local = { isUnchanged: false, validators: { etag: '', lastModified: '' } } as const;

export async function openList(pathOrUrl: string, options: OpenOptions = {}) {
  const { signal, maxBytes = maxBytesDefault } = options;
  const source = await openSource(pathOrUrl, options);
  const { label } = source;
  let readBytes = 0;

  async function* counted(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of source.chunks) {
        signal?.throwIfAborted();
        readBytes += chunk.length;
        if (readBytes > maxBytes + packedMoreMax) throw tooLarge(label, maxBytes);
        yield chunk;
      }
    } catch (error) {
      throw readFailure(error, label, signal);
    }
  }

  return {
    ...source,
    /** Iterate once, to the end or to a `break`; either lets the file or connection go. */
    chunks: decodeList(counted(), { label, maxBytes }),
    /** Returns the part of `totalBytes` that was read so far. */
    readBytes: () => readBytes,
  };
}

async function openSource(pathOrUrl: string, options: OpenOptions): Promise<Download> {
  if (/^https?:\/\//i.test(pathOrUrl)) {
    const { signal, timeoutMs = timeoutMsDefault, deadlineMs = deadlineMsDefault } = options;
    if (!URL.canParse(pathOrUrl)) throw new OperatorError('the address of the list is not valid');
    const url = new URL(pathOrUrl);
    try {
      return await startDownload(url, {
        signal,
        timeoutMs,
        deadlineMs,
        destinations: options.destinations,
        known: options.known,
        credentials: options.credentials,
        headersFor: options.headersFor,
      });
    } catch (error) {
      throw readFailure(error, urlLabel(url), signal);
    }
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(pathOrUrl)) {
    throw new OperatorError('a list is a file or an http(s) address');
  }
  if (pathOrUrl === '-') return fromStream('standard input', options.stdin ?? standardInput());
  return openFile(pathOrUrl, options.signal);
}

async function openFile(path: string, signal: AbortSignal | undefined): Promise<Download> {
  const label = escapeControls(path);
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new OperatorError(`${label}: is a directory`);
    await access(path, constants.R_OK);
    // A pipe (`<(curl …)`) has no size.
    const totalBytes = found.isFile() ? found.size : undefined;
    return { ...local, label, chunks: fileChunks(path, signal), totalBytes, async close() {} };
  } catch (error) {
    throw readFailure(error, label, signal);
  }
}

/** Opens the file at the first read, so that a list that is never iterated holds nothing. */
async function* fileChunks(
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const options = { highWaterMark: readBytesPerChunk, signal };
  for await (const chunk of createReadStream(path, options)) yield chunk as Buffer;
}

function fromStream(label: string, stream: Readable): Download {
  return {
    ...local,
    label,
    chunks: stream,
    totalBytes: undefined,
    async close() {
      stream.destroy();
    },
  };
}

/** One line for the operator; errors that already are one pass through. */
function readFailure(error: unknown, label: string, signal: AbortSignal | undefined): unknown {
  if (error instanceof OperatorError) return error;
  if (signal?.aborted) return new OperatorError(`${label}: reading was cancelled`);
  if (!(error instanceof Error)) return error;
  const code = (error as NodeJS.ErrnoException).code;
  // An error without a code is a bug's, not the network's or the disk's.
  if (code === undefined) return error;
  return new OperatorError(`${label}: can't be read (${reasonOf(code)})`);
}

function reasonOf(code: string): string {
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
      return 'permission denied';
    case 'ENOTFOUND':
      return 'no such host';
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return 'the connection broke off';
    default:
      return escapeControls(code);
  }
}

// Decodes bytes as they arrive into plain UTF-8 without a byte order mark. Gzip (also of several
// members) and UTF-16 are recognised by their first bytes, never by a name or a header. The output
// is bounded, so a small hostile file can't grow without end.

interface DecodeOptions {
  /** Name of the list in messages. */
  label: string;
  /** Bound on the decoded size, bytes. */
  maxBytes: number;
}

/** The second one begins an archive without files. */
const zipMagics: readonly (readonly number[])[] = [
  [0x50, 0x4b, 0x03, 0x04],
  [0x50, 0x4b, 0x05, 0x06],
];

/** Formats that people try and that are not read here: a clear line beats a thousand bad rows. */
const refusedMagics: readonly { name: string; bytes: readonly number[] }[] = [
  ...zipMagics.map((bytes) => ({ name: 'a zip archive', bytes })),
  { name: 'bzip2 data', bytes: [0x42, 0x5a, 0x68] },
  { name: 'xz data', bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] },
  { name: 'zstd data', bytes: [0x28, 0xb5, 0x2f, 0xfd] },
];
const magicBytesMax = 6;
const gzipMagic = [0x1f, 0x8b] as const;

/** Throws `OperatorError` when the bytes are damaged, cut short, too many or of an unread kind. */
export async function* decodeList(
  source: AsyncIterable<Uint8Array>,
  options: DecodeOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const outer = await peek(source);
  const packed = startsWith(outer.head, gzipMagic);
  const inner = packed
    ? await peek(gunzip(outer.chunks, options.label))
    : zipMagics.some((magic) => startsWith(outer.head, magic))
      ? await peek(unzip(outer.chunks, options.label))
      : outer;
  try {
    if (packed && startsWith(inner.head, gzipMagic)) {
      throw new OperatorError(`${options.label}: gzip inside gzip is not read`);
    }
    for (const refused of refusedMagics) {
      if (startsWith(inner.head, refused.bytes)) {
        throw new OperatorError(
          `${options.label}: is ${refused.name}; only plain, gzip and zip are read, and none inside another`,
        );
      }
    }
    yield* withoutByteOrderMark(bounded(inner.chunks, options), inner.head);
  } finally {
    // Refused before its first chunk was asked for: the source must still be let go.
    await inner.chunks.return();
  }
}

interface PeekedStream {
  /** The first bytes: `magicBytesMax` of them, fewer only when the source is that short. */
  head: Buffer;
  /** Everything, the head included. */
  chunks: AsyncGenerator<Buffer, void, undefined>;
}

async function peek(source: AsyncIterable<Uint8Array>): Promise<PeekedStream> {
  const iterator = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < magicBytesMax) {
    const next = await iterator.next();
    if (next.done) break;
    head = head.length === 0 ? asBuffer(next.value) : Buffer.concat([head, next.value]);
  }
  async function* rest(): AsyncGenerator<Buffer, void, undefined> {
    try {
      // An empty chunk first: it starts the generator, so that `return()` reaches the `finally`.
      yield Buffer.alloc(0);
      if (head.length > 0) yield head;
      for (;;) {
        const next = await iterator.next();
        if (next.done) return;
        yield asBuffer(next.value);
      }
    } finally {
      await iterator.return?.();
    }
  }
  const chunks = rest();
  await chunks.next();
  return { head, chunks };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function startsWith(head: Buffer, bytes: readonly number[]): boolean {
  return head.length >= bytes.length && bytes.every((byte, i) => head[i] === byte);
}

async function* gunzip(chunks: AsyncIterable<Buffer>, label: string): AsyncGenerator<Buffer> {
  const unpacked = createGunzip({ chunkSize: 65_536 });
  // The error reaches the reader below through `unpacked`; the callback only keeps it handled.
  pipeline(Readable.from(chunks, { objectMode: true }), unpacked, () => {});
  try {
    for await (const chunk of unpacked) yield chunk as Buffer;
  } catch (error) {
    throw gzipFailure(error, label);
  }
}

function gzipFailure(error: unknown, label: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'Z_BUF_ERROR') return new OperatorError(`${label}: the gzip data ends early`);
  if (code.startsWith('Z_')) return new OperatorError(`${label}: the gzip data is damaged`);
  return error;
}

function tooLarge(label: string, maxBytes: number): OperatorError {
  return new OperatorError(`${label}: is larger than ${maxBytes} bytes`);
}

async function* bounded(
  chunks: AsyncIterable<Buffer>,
  options: DecodeOptions,
): AsyncGenerator<Buffer, void, undefined> {
  let total = 0;
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > options.maxBytes) {
      throw tooLarge(options.label, options.maxBytes);
    }
    yield chunk;
  }
}

async function* withoutByteOrderMark(
  chunks: AsyncIterable<Buffer>,
  head: Buffer,
): AsyncGenerator<Buffer, void, undefined> {
  const encoding = startsWith(head, [0xff, 0xfe])
    ? 'utf-16le'
    : startsWith(head, [0xfe, 0xff])
      ? 'utf-16be'
      : undefined;
  if (encoding !== undefined) {
    const decoder = new TextDecoder(encoding);
    for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    const tail = decoder.decode();
    if (tail.length > 0) yield Buffer.from(tail);
    return;
  }
  // The head is one chunk's start, so the mark never spans two chunks.
  let first = startsWith(head, [0xef, 0xbb, 0xbf]);
  for await (const chunk of chunks) {
    yield first ? chunk.subarray(3) : chunk;
    first = false;
  }
}

// The one file of a zip archive (APPNOTE 6.3.9), unpacked as it is read. The archive is held whole, since its
// directory stands at its end; what it unpacks to is bounded by whoever reads it. Archives of several files,
// encrypted ones and those of ZIP64 are refused.

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

interface ZipEntry {
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

async function* unzip(chunks: AsyncIterable<Buffer>, label: string): AsyncGenerator<Buffer> {
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
function entriesOf(archive: Buffer, refuse: (what: string) => never): ZipEntry[] {
  let end = archive.length - endBytes;
  const lowest = Math.max(0, end - commentBytesMax);
  while (end >= lowest && archive.readUInt32LE(end) !== endSignature) end--;
  if (end < lowest) return refuse('ends early');
  const count = archive.readUInt16LE(end + 10);
  if (count > entriesMax) refuse(`holds ${count} files; one is read`);
  const found: ZipEntry[] = [];
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
