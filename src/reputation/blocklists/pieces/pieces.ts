/**
 * Text compressed once and put together in many ways. A piece is its text, a run of deflate
 * blocks and a run of brotli meta-blocks; each run ends on a byte and refers to nothing outside,
 * so the runs of several pieces behind one another are one stream: feeds that hold the same lines
 * under different heads share their memory and their compression.
 *
 * gzip (RFC 1952): head, runs, an empty last block, CRC-32 and length of the whole; the CRC is
 * combined from those of the pieces. Brotli (RFC 7932): the stream's head is flushed on its own
 * before the run; quality 1 uses no static dictionary, whose references depend on the position.
 */

import { once } from 'node:events';
import { constants, crc32, createBrotliCompress, deflateRawSync } from 'node:zlib';

export interface Piece {
  readonly text: Uint8Array;
  /** Undefined: not worth its time, see `Twins`. */
  readonly deflate: Uint8Array | undefined;
  readonly brotli: Uint8Array | undefined;
  /** CRC-32 of the text; of its beginning alone when there is no gzip twin to need it. */
  readonly crc: number;
}

/** Which encodings are made of a text. */
export interface Twins {
  readonly gzip: boolean;
  readonly brotli: boolean;
}

/** Parts to be sent behind one another, and their bytes in all. */
export interface Stitched {
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
}

const brotliParams = {
  [constants.BROTLI_PARAM_QUALITY]: 1,
  [constants.BROTLI_PARAM_LGWIN]: 22,
};
const chunkBytes = 1 << 18;
const deflateLevel = 1;
/** Enough to tell when the same rows are written in another way. */
const crcBytes = 4_096;
/** No name, no time, unknown system. */
const gzipHead = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const emptyLastBlock = Uint8Array.of(3, 0);
/** Window of 22 bits, and an empty block that fills the byte: what `flush` of nothing gives. */
const brotliHead = Uint8Array.of(0x6b, 0x00);
const brotliEnd = Uint8Array.of(3);

/** @param text in shared memory, if the piece is to cross threads without a copy */
export async function createPiece(text: Uint8Array, twins: Twins): Promise<Piece> {
  return {
    text,
    deflate: twins.gzip ? deflateRun(text) : undefined,
    brotli: twins.brotli ? await brotliRun(text) : undefined,
    crc: crc32(twins.gzip ? text : text.subarray(0, crcBytes)),
  };
}

function deflateRun(text: Uint8Array): Uint8Array {
  const bytes = deflateRawSync(text, {
    level: deflateLevel,
    memLevel: 9,
    chunkSize: chunkBytes,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return shared(bytes);
}

async function brotliRun(text: Uint8Array): Promise<Uint8Array> {
  const encoder = createBrotliCompress({ params: brotliParams, chunkSize: chunkBytes });
  const chunks: Buffer[] = [];
  encoder.on('data', (chunk: Buffer) => chunks.push(chunk));
  const flushed = () =>
    new Promise<void>((resolve, reject) => {
      encoder.once('error', reject);
      encoder.flush(constants.BROTLI_OPERATION_FLUSH, resolve);
    });
  await flushed();
  await settled();
  const head = Buffer.concat(chunks.splice(0));
  if (!head.equals(brotliHead)) throw new Error(`unknown head of brotli: ${head.toString('hex')}`);
  if (text.length > 0) {
    if (!encoder.write(text)) await once(encoder, 'drain');
    await flushed();
    await settled();
  }
  encoder.destroy();
  return shared(Buffer.concat(chunks));
}

/** The stream hands its last chunk over in a turn of its own. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function shared(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

export function stitchText(pieces: readonly Piece[]): Stitched {
  return stitched(pieces.map(({ text }) => text));
}

/** Undefined when a piece has no such run. */
export function stitchGzip(pieces: readonly Piece[]): Stitched | undefined {
  let crc = 0;
  let bytes = 0;
  const runs: Uint8Array[] = [];
  for (const piece of pieces) {
    if (piece.deflate === undefined) return undefined;
    runs.push(piece.deflate);
    crc = combineCrc(crc, piece.crc, piece.text.length);
    bytes += piece.text.length;
  }
  const tail = Buffer.alloc(10);
  tail.set(emptyLastBlock);
  tail.writeUInt32LE(crc >>> 0, 2);
  tail.writeUInt32LE(bytes % 2 ** 32, 6);
  return stitched([gzipHead, ...runs, new Uint8Array(tail)]);
}

/** Undefined when a piece has no such run. */
export function stitchBrotli(pieces: readonly Piece[]): Stitched | undefined {
  const runs: Uint8Array[] = [];
  for (const { brotli } of pieces) {
    if (brotli === undefined) return undefined;
    runs.push(brotli);
  }
  return stitched([brotliHead, ...runs, brotliEnd]);
}

function stitched(all: readonly Uint8Array[]): Stitched {
  const parts = all.filter((part) => part.length > 0);
  return { parts, bytes: parts.reduce((sum, part) => sum + part.length, 0) };
}

/**
 * CRC-32 of two texts behind one another from their own, as zlib's crc32_combine: the first is
 * multiplied by x^(8 × length of the second) modulo the polynomial (bits reflected).
 */
export function combineCrc(first: number, second: number, secondBytes: number): number {
  let power = 0x0080_0000; // x^8
  let factor = 0x8000_0000; // 1
  for (let rest = secondBytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) factor = multiply(power, factor);
    power = multiply(power, power);
  }
  return (multiply(factor, first) ^ second) >>> 0;
}

const polynomial = 0xedb8_8320;

function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) product ^= b;
    b = (b & 1) === 1 ? (b >>> 1) ^ polynomial : b >>> 1;
  }
  return product >>> 0;
}
