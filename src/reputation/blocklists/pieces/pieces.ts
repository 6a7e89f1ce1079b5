/**
 * Pieces by what they are made from: the same lines or records are rendered and compressed once,
 * in one build and from build to build.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants, crc32, createBrotliCompress, deflateRawSync } from 'node:zlib';
import { familyOf, lengthOf, ROW, type Rows, rowCount, splitFamilies } from '../builder/rows.ts';
import { type LineStyle, renderLines } from './lines.ts';
import { type RecordRenderer, type RecordStyle, type Segment, separators } from './records.ts';
import { fixedText, sharedCopy, type TextSink, writeFixed } from './text.ts';

// Text compressed once and put together in many ways. A piece is its text, a run of deflate
// blocks and a run of brotli meta-blocks; each run ends on a byte and refers to nothing outside,
// so the runs of several pieces behind one another are one stream: feeds that hold the same lines
// under different heads share their memory and their compression.
//
// gzip (RFC 1952): head, runs, an empty last block, CRC-32 and length of the whole; the CRC is
// combined from those of the pieces. Brotli (RFC 7932): the stream's head is flushed on its own
// before the run; quality 1 uses no static dictionary, whose references depend on the position.

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
  /** `letters`: by how often each character comes, without a search for what repeats. */
  readonly gzip: boolean | 'letters';
  readonly brotli: boolean;
}

/** Parts to be sent behind one another, and their bytes in all. */
export interface Stitched {
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
}

/** Grows whenever the same text is compressed to other bytes: ETags name it. */
export const encodingsVersion = 2;
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
    deflate: twins.gzip === false ? undefined : deflateRun(text, twins.gzip === 'letters'),
    brotli: twins.brotli ? await brotliRun(text) : undefined,
    crc: crc32(twins.gzip !== false ? text : text.subarray(0, crcBytes)),
  };
}

function deflateRun(text: Uint8Array, byLetters: boolean): Uint8Array {
  const bytes = deflateRawSync(text, {
    level: deflateLevel,
    strategy: byLetters ? constants.Z_HUFFMAN_ONLY : constants.Z_DEFAULT_STRATEGY,
    memLevel: 9,
    chunkSize: chunkBytes,
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return sharedCopy(bytes);
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
  return sharedCopy(Buffer.concat(chunks));
}

/** The stream hands its last chunk over in a turn of its own. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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

// Divides a list into runs of some thousand rows. The address of a row alone decides if a run ends
// there, so that a row that comes or goes changes one run (two, if it ends one): the others are the
// same bytes, and are not rendered and compressed again.

/** A run ends no sooner: whoever picks addresses can't make runs of one row. */
export const runRowsMin = 1_024;
/** One row in so many may end a run: as text and compressed it stays within a processor's cache. */
const oneInBits = 13;

/** Views of `rows`; none of none. */
export function runsOf(rows: Rows): Rows[] {
  const runs: Rows[] = [];
  let start = 0;
  for (let at = runRowsMin * ROW; at < rows.length; at += ROW) {
    if (!endsRun(rows, at - ROW)) continue;
    runs.push(rows.subarray(start, at));
    start = at;
    at += (runRowsMin - 1) * ROW;
  }
  if (start < rows.length) runs.push(rows.subarray(start));
  return runs;
}

function endsRun(rows: Rows, at: number): boolean {
  let mixed = 0;
  for (let word = 0; word < 4; word++) {
    mixed = Math.imul(mixed ^ rows[at + word]!, 0x9e37_79b1);
    mixed ^= mixed >>> 15;
  }
  return Math.imul(mixed, 0x85eb_ca6b) >>> (32 - oneInBits) === 0;
}

export interface KnownPiece extends Piece {
  readonly hash: Uint8Array;
}

export function hashOf(...parts: readonly (Uint8Array | Uint32Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const bothTwins: Twins = { gzip: true, brotli: true };
/** Lists with more rows are large: their encodings are chosen with a build's cost in mind. */
export const largeFrom = 200_000;

/**
 * Leaves brotli out of large lists: it takes as long as gzip once more, for a twentieth fewer bytes. All parts of a
 * list, families and tiers, have the same: an encoding that one part lacks is of no use to the whole.
 */
export function listTwins(rowsInAll: number): Twins {
  return { gzip: true, brotli: rowsInAll <= largeFrom };
}

/** In plain lines hardly more repeats than characters: half of the time, for a fourteenth more bytes. */
export function plainTwins(rowsInAll: number): Twins {
  const { gzip, brotli } = listTwins(rowsInAll);
  return { gzip: brotli ? gzip : 'letters', brotli };
}

interface Run {
  readonly rows: Rows;
  readonly hash: string;
}

/** Lines depend on the prefixes alone. All rows are of one family. */
function prefixHash(rows: Rows): Buffer {
  const words = rows.length > 0 && familyOf(rows, 0) === 4 ? 1 : 4;
  const bare = new Uint32Array((rows.length / ROW) * (words + 1));
  for (let at = 0, to = 0; at < rows.length; at += ROW) {
    for (let word = 0; word < words; word++) bare[to++] = rows[at + word]!;
    bare[to++] = lengthOf(rows, at);
  }
  return hashOf(bare);
}

function twinsText({ gzip, brotli }: Twins): string {
  return `${gzip === 'letters' ? 'l' : gzip ? 'g' : ''}${brotli ? 'b' : ''}`;
}

export type PieceMaker = ReturnType<typeof createPieceMaker>;

export function createPieceMaker(
  known: ReadonlyMap<string, KnownPiece>,
  sink: TextSink,
  renderer: RecordRenderer,
) {
  const used = new Map<string, KnownPiece>();
  /** By identity of the list: the same list is asked for in several styles. */
  const lineRuns = new WeakMap<Rows, Run[]>();
  const recordRuns = new WeakMap<Rows, Run[]>();

  async function take(key: string, twins: Twins, render: () => void): Promise<KnownPiece> {
    const before = used.get(key) ?? known.get(key);
    if (before !== undefined) {
      used.set(key, before);
      return before;
    }
    render();
    const piece = await createPiece(sink.takeShared(), twins);
    // The key tells the rows apart; the CRC tells when the same rows are written in another way.
    const made = {
      ...piece,
      hash: hashOf(Buffer.from(`${key} ${piece.crc} ${piece.text.length}`)),
    };
    used.set(key, made);
    return made;
  }

  function runsOnce(
    known: WeakMap<Rows, Run[]>,
    rows: Rows,
    hash: (run: Rows) => Buffer,
  ): readonly Run[] {
    const before = known.get(rows);
    if (before !== undefined) return before;
    const made = runsOf(rows).map((run) => ({ rows: run, hash: hash(run).toString('base64url') }));
    known.set(rows, made);
    return made;
  }

  async function lines(
    rows: Rows,
    style: LineStyle,
    family: 4 | 6,
    twins: Twins,
  ): Promise<KnownPiece[]> {
    const pieces: KnownPiece[] = [];
    for (const run of runsOnce(lineRuns, rows, prefixHash)) {
      const key = `${style} ${family} ${twinsText(twins)} ${run.hash}`;
      pieces.push(await take(key, twins, () => renderLines(run.rows, style, family, sink)));
    }
    return pieces;
  }

  function text(content: string): Promise<KnownPiece> {
    return take(`text ${content}`, bothTwins, () => {
      sink.length = writeFixed(sink.reserve(content.length), sink.length, fixedText(content));
    });
  }

  /** Separators stand between the pieces, not at the ends. */
  async function records(
    { rows }: Segment,
    style: RecordStyle,
    twins: Twins,
  ): Promise<KnownPiece[]> {
    const separator = await text(separators[style]);
    const pieces: KnownPiece[] = [];
    for (const run of runsOnce(recordRuns, rows, (one) => hashOf(one))) {
      if (pieces.length > 0) pieces.push(separator);
      const key = `${style} ${twinsText(twins)} ${run.hash}`;
      pieces.push(await take(key, twins, () => renderer.render(run.rows, style, sink)));
    }
    return pieces;
  }

  /** Renders the list as lines, deflated. */
  async function base(rows: Rows): Promise<Uint8Array> {
    const { four, six } = splitFamilies(rows);
    const twins = plainTwins(rowCount(rows));
    const parts = [
      ...(await lines(four, 'plain', 4, twins)),
      ...(await lines(six, 'plain', 6, twins)),
    ];
    return Buffer.concat([...parts.map(({ deflate }) => deflate!), emptyLastBlock]);
  }

  return { used, lines, records, text, base };
}
