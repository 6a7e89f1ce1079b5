/**
 * Pieces by what they are made from: the same lines or records are rendered and compressed once,
 * in one build and from build to build.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  constants,
  crc32,
  createBrotliCompress,
  createDeflateRaw,
  deflateRawSync,
} from 'node:zlib';
import type { IpFamily } from '../../../ip/address.ts';
import {
  compareFeedRows,
  FEED_ROW,
  familyOf,
  feedRowCount,
  lengthOfRow,
  type Rows,
  setInfo,
  shownInfoOf,
  splitFamilies,
} from '../builder/rows.ts';
import {
  fixedText,
  type LineStyle,
  lineTexts,
  renderLines,
  sharedCopy,
  type TextSink,
  writeFixed,
} from './lines.ts';
import { type RecordRenderer, type RecordStyle, type Segment, separators } from './records.ts';

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
  /** Undefined: not worth its time, see `Encodings`. */
  readonly deflate: Uint8Array | undefined;
  readonly brotli: Uint8Array | undefined;
  /** CRC-32 of the text; of its beginning alone when there is no gzip twin to need it. */
  readonly crc: number;
}

/** Which encodings are made of a text. */
export interface Encodings {
  /** `letters`: by how often each character comes, without a search for what repeats. */
  readonly gzip: boolean | 'letters';
  readonly brotli: boolean;
}

/** Parts to be sent behind one another, and their bytes in all. */
export interface StitchedBody {
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
}

/** Grows whenever the same text is compressed to other bytes: ETags name it. */
export const encodingsVersion = 3;
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 22 };
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
export async function createPiece(text: Uint8Array, encodings: Encodings): Promise<Piece> {
  return {
    text,
    deflate: encodings.gzip === false ? undefined : deflateRun(text, encodings.gzip === 'letters'),
    brotli: encodings.brotli ? await brotliRun(text) : undefined,
    crc: crc32(encodings.gzip !== false ? text : text.subarray(0, crcBytes)),
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
  await nextLoopTurn();
  const head = Buffer.concat(chunks.splice(0));
  if (!head.equals(brotliHead)) throw new Error(`unknown head of brotli: ${head.toString('hex')}`);
  if (text.length > 0) {
    if (!encoder.write(text)) await once(encoder, 'drain');
    await flushed();
    await nextLoopTurn();
  }
  encoder.destroy();
  return sharedCopy(Buffer.concat(chunks));
}

/** The stream hands its last chunk over in a turn of its own. */
function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function stitchText(pieces: readonly Piece[]): StitchedBody {
  return stitched(pieces.map(({ text }) => text));
}

/** Undefined when a piece has no such run. */
export function stitchGzip(pieces: readonly Piece[]): StitchedBody | undefined {
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
export function stitchBrotli(pieces: readonly Piece[]): StitchedBody | undefined {
  const runs: Uint8Array[] = [];
  for (const { brotli } of pieces) {
    if (brotli === undefined) return undefined;
    runs.push(brotli);
  }
  return stitched([brotliHead, ...runs, brotliEnd]);
}

function stitched(all: readonly Uint8Array[]): StitchedBody {
  const parts = all.filter((part) => part.length > 0);
  return { parts, bytes: parts.reduce((sum, part) => sum + part.length, 0) };
}

// A run of rows has leaves of about a hundred. A run is one buffer for those who serve it; where a
// run changed, the leaves that did not are copied out of the former buffers, as text and as
// deflate blocks, and only the others are rendered and compressed. A leaf refers to nothing before it,
// so its bytes depend on its rows alone, whichever build makes them.
const leafRowsMin = 64;
const leafRowsMax = 512;
/** One row in 2 to the power of this may end a leaf. */
const leafOneInBits = 6;

/**
 * The bits that decide about ends, by the address alone: a leaf asks for fewer of them, so a row that ends a
 * run ends a leaf.
 */
function endBits(rows: Rows, at: number): number {
  let mixed = Math.imul(rows[at]!, 0x9e37_79b1);
  mixed ^= mixed >>> 15;
  if (familyOf(rows, at) === 6) {
    for (let word = 1; word < 4; word++) {
      mixed = Math.imul(mixed ^ rows[at + word]!, 0x9e37_79b1);
      mixed ^= mixed >>> 15;
    }
  }
  return Math.imul(mixed, 0x85eb_ca6b) >>> 0;
}

interface Leaves {
  /** The rows of the run. */
  readonly rows: Rows;
  /** The end of each leaf, in words of the rows. */
  readonly ends: Uint32Array;
  /** The end of each in the text, and in its deflate blocks. */
  readonly textEnds: Uint32Array;
  readonly deflateEnds: Uint32Array | undefined;
  /** CRC-32 of each text; none without deflate blocks. */
  readonly crcs: Uint32Array | undefined;
}

/** A run as it was made. */
interface MadeRun {
  readonly text: Uint8Array;
  readonly deflate: Uint8Array | undefined;
  readonly crc: number;
  readonly leaves: Leaves;
}

/** The end of each leaf of a run, in words of its rows. */
function leafEnds(rows: Rows): Uint32Array {
  const ends: number[] = [];
  let start = 0;
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const count = (at - start) / FEED_ROW + 1;
    const isEnd = count >= leafRowsMin && endBits(rows, at) >>> (32 - leafOneInBits) === 0;
    if (!isEnd && count < leafRowsMax) continue;
    start = at + FEED_ROW;
    ends.push(start);
  }
  if (start < rows.length) ends.push(rows.length);
  return Uint32Array.from(ends);
}

/** A leaf of an earlier run. */
interface FormerLeaf {
  readonly run: MadeRun;
  readonly leaf: number;
}

/**
 * Finds leaves among the former runs of a list.
 * @param runs in order of their rows; the leaves are asked for in order, too
 * @param byPrefix true where nothing else of a row is written
 */
function createFormerLeaves(runs: readonly MadeRun[], byPrefix: boolean) {
  let run = 0;
  let leaf = 0;

  /** A leaf that begins a run has another text where a separator stands before the others. */
  return function find(
    rows: Rows,
    from: number,
    to: number,
    isFirst: boolean,
  ): FormerLeaf | undefined {
    while (run < runs.length) {
      const { rows: before, ends } = runs[run]!.leaves;
      const start = leaf === 0 ? 0 : ends[leaf - 1]!;
      const order = compareFeedRows(before, start, rows, from);
      if (order > 0) return undefined;
      if (order === 0) {
        if (ends[leaf]! - start !== to - from || (leaf === 0) !== isFirst) return undefined;
        const isSame = byPrefix ? hasSamePrefixes : isShownSame;
        return isSame(before, start, rows, from, to) ? { run: runs[run]!, leaf } : undefined;
      }
      if (++leaf < ends.length) continue;
      run++;
      leaf = 0;
    }
    return undefined;
  };
}

function isShownSame(a: Rows, i: number, b: Rows, from: number, to: number): boolean {
  for (let at = from; at < to; at += FEED_ROW, i += FEED_ROW) {
    if (shownInfoOf(a, i) !== shownInfoOf(b, at)) return false;
    if (a[i] !== b[at] || a[i + 1] !== b[at + 1]) return false;
    if (a[i + 2] !== b[at + 2] || a[i + 3] !== b[at + 3]) return false;
    if (a[i + 5] !== b[at + 5] || a[i + 6] !== b[at + 6] || a[i + 7] !== b[at + 7]) return false;
  }
  return true;
}

/** Both are of one family. */
function hasSamePrefixes(a: Rows, i: number, b: Rows, from: number, to: number): boolean {
  for (let at = from; at < to; at += FEED_ROW, i += FEED_ROW) {
    if (a[i] !== b[at] || a[i + 1] !== b[at + 1]) return false;
    if (a[i + 2] !== b[at + 2] || a[i + 3] !== b[at + 3]) return false;
    if (lengthOfRow(a, i) !== lengthOfRow(b, at)) return false;
  }
  return true;
}

type FindFormer = ReturnType<typeof createFormerLeaves>;

/**
 * Makes a run: takes over the leaves that a former run has, renders and compresses the others.
 * @param ends of the leaves
 * @param render writes the rows to the sink
 * @param deflate undefined: no deflate blocks are made
 */
function renderRun(
  rows: Rows,
  ends: Uint32Array,
  sink: TextSink,
  find: FindFormer,
  render: (leaf: Rows, isFirst: boolean) => void,
  deflate: Deflater | undefined,
): MadeRun {
  const former: (FormerLeaf | undefined)[] = [];
  const textEnds = new Uint32Array(ends.length);
  let total = 0;
  for (const [leaf, end] of ends.entries()) {
    const start = leaf === 0 ? 0 : ends[leaf - 1]!;
    const found = find(rows, start, end, leaf === 0);
    former.push(found);
    if (found !== undefined) {
      total += bytesOf(found.run.leaves.textEnds, found.leaf);
    } else {
      const before = sink.length;
      render(rows.subarray(start, end), leaf === 0);
      total += sink.length - before;
    }
    textEnds[leaf] = total;
  }
  const text = joinLeaves(sink.take(), former, textEnds, (leaves) => leaves.textEnds, 'text');
  if (deflate === undefined) {
    const leaves = { rows, ends, textEnds, deflateEnds: undefined, crcs: undefined };
    return { text, deflate: undefined, crc: crc32(text.subarray(0, crcBytes)), leaves };
  }
  const deflateEnds = new Uint32Array(ends.length);
  const crcs = new Uint32Array(ends.length);
  let crc = 0;
  total = 0;
  deflate.begin();
  for (const [leaf, found] of former.entries()) {
    const start = leaf === 0 ? 0 : textEnds[leaf - 1]!;
    const bytes = textEnds[leaf]! - start;
    if (found !== undefined) {
      crcs[leaf] = found.run.leaves.crcs![found.leaf]!;
      total += bytesOf(found.run.leaves.deflateEnds!, found.leaf);
    } else {
      const its = text.subarray(start, start + bytes);
      crcs[leaf] = crc32(its);
      total += deflate.add(its);
    }
    crc = combineCrc(crc, crcs[leaf]!, bytes);
    deflateEnds[leaf] = total;
  }
  const blocks = joinLeaves(
    deflate.made(),
    former,
    deflateEnds,
    (leaves) => leaves.deflateEnds!,
    'deflate',
  );
  return { text, deflate: blocks, crc, leaves: { rows, ends, textEnds, deflateEnds, crcs } };
}

function bytesOf(ends: Uint32Array, leaf: number): number {
  return ends[leaf]! - (leaf === 0 ? 0 : ends[leaf - 1]!);
}

/**
 * Puts leaves together in memory that threads share: neighbours are copied at once.
 * @param fresh those that no former run has, behind one another
 */
function joinLeaves(
  fresh: Uint8Array,
  former: readonly (FormerLeaf | undefined)[],
  ends: Uint32Array,
  endsIn: (leaves: Leaves) => Uint32Array,
  part: 'text' | 'deflate',
): Uint8Array {
  const all = new Uint8Array(new SharedArrayBuffer(ends.at(-1) ?? 0));
  let taken = 0;
  for (let leaf = 0; leaf < former.length; ) {
    const first = former[leaf];
    const start = leaf === 0 ? 0 : ends[leaf - 1]!;
    let next = leaf + 1;
    if (first === undefined) {
      while (next < former.length && former[next] === undefined) next++;
      const bytes = ends[next - 1]! - start;
      all.set(fresh.subarray(taken, taken + bytes), start);
      taken += bytes;
    } else {
      const follows = () =>
        former[next]?.run === first.run && former[next]!.leaf === first.leaf + next - leaf;
      while (next < former.length && follows()) next++;
      const from = first.leaf === 0 ? 0 : endsIn(first.run.leaves)[first.leaf - 1]!;
      const bytes = ends[next - 1]! - start;
      all.set(first.run[part]!.subarray(from, from + bytes), start);
    }
    leaf = next;
  }
  return all;
}

// zlib's functions for one text make a compressor each time, which costs more than a leaf: what
// stands in Node beneath them is used again after a reset. What the text before left in its window
// must be zero then, as it was at first: zlib looks a few bytes beyond the end of a text, and would
// find another way to write that. Where a Node has it no more, the functions are called after all.

interface Handle {
  reset(): void;
  writeSync(
    flush: number,
    from: Uint8Array,
    fromAt: number,
    fromBytes: number,
    to: Uint8Array,
    toAt: number,
    toBytes: number,
  ): void;
}

type Deflater = ReturnType<typeof createDeflater>;

const deflatedBytes = 1 << 18;
/** Twice what a match may go back. */
const windowBytes = 1 << 16;
const zeros = new Uint8Array(windowBytes);

/** @param byLetters without a search for what repeats */
function createDeflater(byLetters: boolean) {
  const options = {
    level: deflateLevel,
    strategy: byLetters ? constants.Z_HUFFMAN_ONLY : constants.Z_DEFAULT_STRATEGY,
    finishFlush: constants.Z_SYNC_FLUSH,
  };
  const coder = createDeflateRaw(options) as unknown as {
    readonly _handle?: Partial<Handle> | null;
    /** Room that is left behind the output, and input that is not read yet. */
    readonly _writeState?: Uint32Array;
  };
  const { _handle: handle, _writeState: state } = coder;
  const isOpen = typeof handle?.writeSync === 'function' && typeof handle.reset === 'function';
  let out = new Uint8Array(deflatedBytes);
  let length = 0;
  /** So many bytes of the window hold something else than zeros. */
  let writtenOn = 0;

  function reserve(more: number): void {
    if (length + more <= out.length) return;
    const larger = new Uint8Array(2 * (length + more));
    larger.set(out.subarray(0, length));
    out = larger;
  }

  /** The most that zlib makes of so many bytes, and an empty block behind it. */
  const mostOf = (bytes: number) => bytes + (bytes >>> 2) + 1_024;

  function atOnce(text: Uint8Array): boolean {
    if (!isOpen || state === undefined) return false;
    const room = out.length - length;
    if (text.length < writtenOn) {
      handle.reset!();
      handle.writeSync!(constants.Z_NO_FLUSH, zeros, 0, writtenOn, out, length, room);
      writtenOn = 0;
    }
    // Without a search nothing of the text before plays a part.
    if (!byLetters) {
      handle.reset!();
      writtenOn = Math.min(text.length, windowBytes);
    }
    handle.writeSync!(constants.Z_SYNC_FLUSH, text, 0, text.length, out, length, room);
    const [left = 0, unread] = state;
    if (unread !== 0 || left === 0) throw new Error('zlib found no room');
    length = out.length - left;
    return true;
  }

  return {
    begin(): void {
      length = 0;
    },
    /** Compresses a text that refers to none before it. Returns its bytes. */
    add(text: Uint8Array): number {
      reserve(mostOf(text.length));
      const before = length;
      if (!atOnce(text)) {
        const bytes = deflateRawSync(text, options);
        out.set(bytes, length);
        length += bytes.length;
      }
      return length - before;
    },
    /** All since `begin`, until the next one. */
    made: (): Uint8Array => out.subarray(0, length),
  };
}

/**
 * x^8, x^16, x^32 and so on modulo the polynomial: what a text of 1, 2, 4 bytes and so on behind another one
 * multiplies.
 */
const powers = Array.from({ length: 33 }, () => 0x0080_0000);
for (let i = 1; i < powers.length; i++) powers[i] = multiply(powers[i - 1]!, powers[i - 1]!);

/**
 * CRC-32 of two texts behind one another from their own, as zlib's crc32_combine: the first is
 * multiplied by x^(8 × length of the second) modulo the polynomial (bits reflected).
 */
export function combineCrc(first: number, second: number, secondBytes: number): number {
  let factor = first;
  for (let rest = secondBytes, i = 0; rest > 0; rest = Math.floor(rest / 2), i++) {
    if (rest % 2 === 1) factor = multiply(powers[i]!, factor);
  }
  return (factor ^ second) >>> 0;
}

function multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 31; bit >= 0; bit--) {
    // Without a branch, which a processor would guess wrong every other time.
    product ^= b & -((a >>> bit) & 1);
    b = (b >>> 1) ^ (0xedb8_8320 & -(b & 1));
  }
  return product >>> 0;
}

// Divides a list into runs of some thousand rows. The address of a row alone decides if a run ends
// there, so that a row that comes or goes changes one run (two, if it ends one): the others are the
// same bytes, and are not rendered and compressed again.

/** A run ends no sooner: whoever picks addresses can't make runs of one row. */
export const runRowsMin = 1_024;
/** One row in 2 to the power of this may end a run: as text and compressed it stays within a processor's cache. */
const runOneInBits = 13;

/** Views of `rows`; none of none. */
export function runsOf(rows: Rows): Rows[] {
  const runs: Rows[] = [];
  for (let start = 0, end = 0; start < rows.length; start = end) {
    end = runEnd(rows, start);
    runs.push(rows.subarray(start, end));
  }
  return runs;
}

function runEnd(rows: Rows, start: number): number {
  let at = start + runRowsMin * FEED_ROW;
  while (at < rows.length && !endsRun(rows, at - FEED_ROW)) at += FEED_ROW;
  return Math.min(at, rows.length);
}

/**
 * As `runsOf`, with hashes. A run is found by comparing where it was there before.
 * @param former the runs of the list as it was
 */
function hashedRuns(
  rows: Rows,
  former: readonly Run[],
  isSame: typeof isShownSame,
  hash: (run: Rows) => Buffer,
): Run[] {
  const made: Run[] = [];
  let next = 0;
  for (let start = 0, end = 0; start < rows.length; start = end) {
    while (next < former.length && compareFeedRows(former[next]!.rows, 0, rows, start) < 0) next++;
    const before = former[next];
    end = start + (before?.rows.length ?? 0);
    // The last one ended with the list alone, wherever its last row stands.
    const isWhole = end === rows.length || (end < rows.length && next < former.length - 1);
    if (before !== undefined && isWhole && isSame(before.rows, 0, rows, start, end)) {
      made.push({ ...before, rows: rows.subarray(start, end) });
      continue;
    }
    end = runEnd(rows, start);
    const run = rows.subarray(start, end);
    made.push({ rows: run, hash: hash(run).toString('base64url'), ends: undefined });
  }
  return made;
}

function endsRun(rows: Rows, at: number): boolean {
  return endBits(rows, at) >>> (32 - runOneInBits) === 0;
}

export interface KnownPiece extends Piece {
  readonly hash: Uint8Array;
}

interface RunPiece extends KnownPiece, MadeRun {
  /** With rows of the last build: an array of rows goes when no run of it is served any more. */
  leaves: Leaves;
}

/** A build leaves this to the next one. */
export interface KnownPieces {
  readonly pieces: ReadonlyMap<string, KnownPiece>;
  /** The runs of each list, without their form. */
  readonly runs: ReadonlyMap<string, readonly Run[]>;
  /** The runs of each list in each form, in order. */
  readonly lists: ReadonlyMap<string, readonly RunPiece[]>;
}

export const nothingKnown: KnownPieces = { pieces: new Map(), runs: new Map(), lists: new Map() };

export function hashOf(...parts: readonly (Uint8Array | Uint32Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const bothTwins: Encodings = { gzip: true, brotli: true };
/** Lists with more rows are large: their encodings are chosen with a build's cost in mind. */
export const largeFrom = 200_000;

/**
 * Leaves brotli out of large lists: it takes as long as gzip once more, for a twentieth fewer bytes. All parts of a
 * list, families and tiers, have the same: an encoding that one part lacks is of no use to the whole.
 */
export function listTwins(rowsInAll: number): Encodings {
  return { gzip: true, brotli: rowsInAll <= largeFrom };
}

/** In plain lines hardly more repeats than characters: half of the time, for a fourteenth more bytes. */
export function plainEncodings(rowsInAll: number): Encodings {
  const { gzip, brotli } = listTwins(rowsInAll);
  return { gzip: brotli ? gzip : 'letters', brotli };
}

interface Run {
  readonly rows: Rows;
  readonly hash: string;
  /** Made when one style needs it; see `leafEnds`. */
  ends: Uint32Array | undefined;
}

/** Lines depend on the prefixes alone. All rows are of one family. */
function prefixHash(rows: Rows): Buffer {
  const words = rows.length > 0 && familyOf(rows, 0) === 4 ? 1 : 4;
  const bare = new Uint32Array((rows.length / FEED_ROW) * (words + 1));
  for (let at = 0, to = 0; at < rows.length; at += FEED_ROW) {
    for (let word = 0; word < words; word++) bare[to++] = rows[at + word]!;
    bare[to++] = lengthOfRow(rows, at);
  }
  return hashOf(bare);
}

/** Records depend on all but who made a row malicious. */
function shownHash(rows: Rows): Buffer {
  const shown = rows.slice();
  for (let at = 0; at < rows.length; at += FEED_ROW) setInfo(shown, at, shownInfoOf(rows, at));
  return hashOf(shown);
}

function encodingsText({ gzip, brotli }: Encodings): string {
  return `${gzip === 'letters' ? 'l' : gzip ? 'g' : ''}${brotli ? 'b' : ''}`;
}

export type PieceMaker = ReturnType<typeof createPieceMaker>;

export function createPieceMaker(known: KnownPieces, sink: TextSink, renderer: RecordRenderer) {
  const used = {
    pieces: new Map<string, KnownPiece>(),
    runs: new Map<string, Run[]>(),
    lists: new Map<string, RunPiece[]>(),
  };
  /** By identity of the list: the same list is asked for in several styles. */
  const lineRuns = new WeakMap<Rows, Run[]>();
  const recordRuns = new WeakMap<Rows, Run[]>();

  /** The key tells the rows apart; the CRC tells when the same rows are written in another way. */
  function withHash<Made extends Piece>(key: string, made: Made): Made & KnownPiece {
    return { ...made, hash: hashOf(Buffer.from(`${key} ${made.crc} ${made.text.length}`)) };
  }

  /**
   * @param list names the list and its form, for the build to come
   * @param byPrefix see `createFormerLeaves`
   */
  async function runs(
    list: string,
    wanted: readonly Run[],
    encodings: Encodings,
    byPrefix: boolean,
    render: (leaf: Rows, isFirst: boolean) => void,
    keyOf: (run: Run) => string,
  ): Promise<RunPiece[]> {
    const find = createFormerLeaves(known.lists.get(list) ?? [], byPrefix);
    const deflate = encodings.gzip === false ? undefined : deflaterOf(encodings.gzip === 'letters');
    const made: RunPiece[] = [];
    for (const run of wanted) {
      const key = keyOf(run);
      const before = (used.pieces.get(key) ?? known.pieces.get(key)) as RunPiece | undefined;
      if (before !== undefined) {
        before.leaves = { ...before.leaves, rows: run.rows };
        used.pieces.set(key, before);
        made.push(before);
        continue;
      }
      run.ends ??= leafEnds(run.rows);
      const fresh = renderRun(run.rows, run.ends, sink, find, render, deflate);
      const brotli = encodings.brotli ? await brotliRun(fresh.text) : undefined;
      const piece = withHash(key, { ...fresh, brotli });
      used.pieces.set(key, piece);
      made.push(piece);
      await nextLoopTurn();
    }
    used.lists.set(list, made);
    return made;
  }

  function runsOnce(
    before: WeakMap<Rows, Run[]>,
    name: string,
    rows: Rows,
    isSame: typeof isShownSame,
    hash: (run: Rows) => Buffer,
  ): readonly Run[] {
    const made = before.get(rows) ?? hashedRuns(rows, known.runs.get(name) ?? [], isSame, hash);
    before.set(rows, made);
    used.runs.set(name, made);
    return made;
  }

  /** @param name of the list: where it holds what it held in the build before, that is taken over */
  function lines(
    name: string,
    rows: Rows,
    style: LineStyle,
    family: IpFamily,
    encodings: Encodings,
  ): Promise<KnownPiece[]> {
    const form = `${style} ${family} ${encodingsText(encodings)}`;
    const texts = lineTexts(style, family);
    return runs(
      `${form} ${name}`,
      runsOnce(lineRuns, `lines ${family} ${name}`, rows, hasSamePrefixes, prefixHash),
      encodings,
      true,
      (leaf) => renderLines(leaf, style, texts, sink),
      (run) => `${form} ${run.hash}`,
    );
  }

  async function text(content: string): Promise<KnownPiece> {
    const key = `text ${content}`;
    const before = used.pieces.get(key) ?? known.pieces.get(key);
    const made =
      before ?? withHash(key, await createPiece(sharedCopy(Buffer.from(content)), bothTwins));
    used.pieces.set(key, made);
    return made;
  }

  /** Separators stand between the pieces, not at the ends. */
  async function records(
    { rows, score, family }: Segment,
    style: RecordStyle,
    encodings: Encodings,
  ): Promise<KnownPiece[]> {
    const separator = await text(separators[style]);
    const between = fixedText(separators[style]);
    const form = `${style} ${encodingsText(encodings)}`;
    const made = await runs(
      `${form} ${score} ${family}`,
      runsOnce(recordRuns, `records ${family} ${score}`, rows, isShownSame, shownHash),
      encodings,
      false,
      (leaf, isFirst) => {
        if (!isFirst) sink.length = writeFixed(sink.reserve(between.bytes), sink.length, between);
        renderer.render(leaf, style, sink);
      },
      (run) => `${form} ${run.hash}`,
    );
    return made.flatMap((piece, i) => (i === 0 ? [piece] : [separator, piece]));
  }

  /** Renders the list as lines, deflated. */
  async function base(rows: Rows): Promise<Uint8Array> {
    const { four, six } = splitFamilies(rows);
    const encodings = plainEncodings(feedRowCount(rows));
    const parts = [
      ...(await lines('base', four, 'plain', 4, encodings)),
      ...(await lines('base', six, 'plain', 6, encodings)),
    ];
    return Buffer.concat([...parts.map(({ deflate }) => deflate!), emptyLastBlock]);
  }

  return { used, lines, records, text, base };
}

const deflaters = new Map<boolean, Deflater>();

/** One of each kind for a thread, which keeps some hundred KB. */
function deflaterOf(byLetters: boolean): Deflater {
  const made = deflaters.get(byLetters) ?? createDeflater(byLetters);
  deflaters.set(byLetters, made);
  return made;
}
