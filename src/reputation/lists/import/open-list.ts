/**
 * Opens a list for reading: a local file, standard input (`-`) or an http(s) address. What comes
 * out is plain UTF-8, bounded in size; what goes wrong is an `OperatorError` with one line that
 * never shows the query of an address, which may hold a key.
 */

import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { OperatorError } from '../../../core/errors.ts';
import { hourMs } from '../../../core/time.ts';
import { escapeControls } from './bad-line.ts';
import { decodeList } from './decode.ts';
import {
  type Destinations,
  type Download,
  startDownload,
  urlLabel,
  type Validators,
} from './download.ts';

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
  /**
   * Validators of the rows that are here already: a server that says they are unchanged sends
   * nothing.
   */
  readonly known?: Validators | undefined;
  /** The stream that `-` reads. */
  readonly stdin?: Readable;
}

export interface OpenedList {
  /** Path or address for messages: no query, no control characters. */
  readonly label: string;
  /** Iterate once, to the end or to a `break`; either lets the file or connection go. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Size as stored or sent (packed, when it is packed); undefined when unknown. */
  readonly totalBytes: number | undefined;
  /** The server says that it is as `known`; nothing is read. */
  readonly isUnchanged: boolean;
  readonly validators: Validators;
  /** Returns the part of `totalBytes` that was read so far. */
  readBytes(): number;
  /** Lets go of a list that will not be iterated. */
  close(): Promise<void>;
}

const maxBytesDefault = 1 << 30;
const timeoutMsDefault = 30_000;
const deadlineMsDefault = hourMs;
const readBytesPerChunk = 262_144;

/** The fields that only a server sends, for local files. */
const local = { isUnchanged: false, validators: { etag: '', lastModified: '' } } as const;

export async function openList(pathOrUrl: string, options: OpenOptions = {}): Promise<OpenedList> {
  const { signal, maxBytes = maxBytesDefault } = options;
  const source = await openSource(pathOrUrl, options);
  const { label } = source;
  let readBytes = 0;

  async function* counted(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const chunk of source.chunks) {
        signal?.throwIfAborted();
        readBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw readFailure(error, label, signal);
    }
  }

  return {
    label,
    chunks: decodeList(counted(), { label, maxBytes }),
    totalBytes: source.totalBytes,
    isUnchanged: source.isUnchanged,
    validators: source.validators,
    readBytes: () => readBytes,
    close: source.close,
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
      });
    } catch (error) {
      throw readFailure(error, urlLabel(url), signal);
    }
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(pathOrUrl)) {
    throw new OperatorError('a list is a file or an http(s) address');
  }
  const { stdin = process.stdin } = options;
  if (pathOrUrl === '-') return fromStream('standard input', stdin);
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
  const options = { highWaterMark: readBytesPerChunk, ...(signal === undefined ? {} : { signal }) };
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
