/**
 * The layout of the rows of `entries` and `journal`, each with a checksum: LMDB has none, so without
 * it a byte that a disk changed would be served as if somebody had written it.
 *
 * Invariant: a row ends with the CRC-32 of its key and of all bytes before. Its tag stands in the four highest
 * bits of its time, which no time until the year 2527 uses.
 */

import { crc32 } from 'node:zlib';
import { eventIdRowKey, journalRowKey } from './keys.ts';
import type { NewEvent, StoreEvent } from './store.ts';

/** A row whose bytes are not those that were written, or that is not there any more. */
export class DamagedRowError extends Error {
  constructor(
    table: 'entries' | 'journal',
    key: Uint8Array,
    fault: 'damaged' | 'missing' = 'damaged',
  ) {
    super(`the row ${Buffer.from(key).toString('hex')} of ${table} is ${fault}`);
  }
}

/** Names an event that the journal has not, although it goes on behind it. */
export function missingEvent(seq: bigint): DamagedRowError {
  return new DamagedRowError('journal', journalRowKey(Number(seq)), 'missing');
}

/**
 * LMDB met a page that can't be what it should be, or a row's checksum is another one. What is read in the same
 * transaction behind such a page it refuses as a bad transaction.
 */
export function isDamage(error: unknown): error is Error {
  if (error instanceof DamagedRowError) return true;
  const lmdbFault = /^MDB_(CORRUPTED|PAGE_NOTFOUND|PANIC|INVALID|BAD_TXN)\b/;
  return error instanceof Error && lmdbFault.test(error.message);
}

/** The tag stands above the 44 bits of a time in milliseconds. */
const tagUnit = 2 ** 44;
const formatTag = 0b1010;
const crcBytes = 4;

const entryHeaderBytes = 12;

export interface EntryHeader {
  readonly version: number;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresAt: number;
}

export interface StoredEntry extends EntryHeader {
  readonly value: Buffer;
}

/** Leaves out version and checksum: both are given inside the transaction (`sealEntry`). */
export function encodeEntry(value: Uint8Array, expiresAt: number): Buffer {
  const row = Buffer.allocUnsafe(entryHeaderBytes + value.length + crcBytes);
  row.writeUIntBE(0, 0, 6);
  row.writeUIntBE(expiresAt + formatTag * tagUnit, 6, 6);
  row.set(value, entryHeaderBytes);
  return row;
}

export function sealEntry(row: Buffer, key: Uint8Array, version: number): void {
  row.writeUIntBE(version, 0, 6);
  writeCrc(row, key);
}

/** Reads the header of a row without checking its checksum, where the value is of no interest. */
export function readEntryHeader(row: Buffer): EntryHeader {
  return { version: row.readUIntBE(0, 6), expiresAt: row.readUIntBE(6, 6) % tagUnit };
}

/** @throws DamagedRowError */
export function readEntry(key: Uint8Array, row: Buffer): StoredEntry {
  const end = checkedEnd(row, key, 6, 'entries');
  const { version, expiresAt } = readEntryHeader(row);
  return { version, expiresAt, value: row.subarray(entryHeaderBytes, end) };
}

/** Absent from the very millisecond named by `expiresAt`. */
export function isExpired(header: EntryHeader, nowMs: number): boolean {
  return header.expiresAt !== 0 && header.expiresAt <= nowMs;
}

const eventHeaderBytes = 10;

/** Leaves out time and checksum: both are given inside the transaction (`sealEvent`). */
export function encodeEvent(event: NewEvent): Buffer {
  const id = eventIdRowKey(event.id);
  const kind = kindBytes(event.kind);
  const bytes = eventHeaderBytes + id.length + kind.length + event.body.length + crcBytes;
  const row = Buffer.allocUnsafe(bytes);
  row.writeUIntBE(0, 0, 6);
  row.writeUInt16BE(event.version, 6);
  row.writeUInt8(id.length, 8);
  row.writeUInt8(kind.length, 9);
  row.set(id, eventHeaderBytes);
  row.set(kind, eventHeaderBytes + id.length);
  row.set(event.body, eventHeaderBytes + id.length + kind.length);
  return row;
}

export function sealEvent(row: Buffer, seq: number, atMs: number): void {
  row.writeUIntBE(atMs + formatTag * tagUnit, 0, 6);
  writeCrc(row, journalRowKey(seq));
}

/** @throws DamagedRowError */
export function decodeEvent(seq: bigint, row: Buffer): StoreEvent {
  const key = journalRowKey(Number(seq));
  const end = checkedEnd(row, key, 0, 'journal');
  const event = readEvent(seq, row.readUIntBE(0, 6) % tagUnit, row, 0, end);
  if (event === undefined) throw new DamagedRowError('journal', key);
  return event;
}

/** Reads the event of a row that this process has just sealed: its checksum needs no second look. */
export function readSealedEvent(seq: bigint, row: Buffer): StoreEvent {
  return readEvent(seq, row.readUIntBE(0, 6) % tagUnit, row, 0, row.length - crcBytes)!;
}

/** The event of these bytes of `from`, whatever time they name; undefined when they are too few. */
export function readEvent(
  seq: bigint,
  at: number,
  from: Buffer,
  start: number,
  end: number,
): StoreEvent | undefined {
  const idStart = start + eventHeaderBytes;
  if (idStart > end) return undefined;
  const idEnd = idStart + from[start + 8]!;
  const kindEnd = idEnd + from[start + 9]!;
  if (kindEnd > end) return undefined;
  return {
    seq,
    at,
    version: from.readUInt16BE(start + 6),
    id: from.toString('utf8', idStart, idEnd),
    kind: readKind(from, idEnd, kindEnd),
    body: from.subarray(kindEnd, end),
  };
}

/** The bytes of this many kinds are cached; there are few kinds. */
const kindsMax = 1_000;
const bytesOfKinds = new Map<string, Buffer>();

function kindBytes(kind: string): Buffer {
  let bytes = bytesOfKinds.get(kind);
  if (bytes === undefined) {
    bytes = Buffer.from(kind, 'utf8');
    if (bytesOfKinds.size < kindsMax) bytesOfKinds.set(kind, bytes);
  }
  return bytes;
}

/** Kinds are few, and mostly the one before: its text is taken again, if it is ASCII. */
let lastKind = '';

function readKind(from: Buffer, start: number, end: number): string {
  let same = end - start === lastKind.length;
  for (let i = 0; same && i < lastKind.length; i++) {
    const code = lastKind.charCodeAt(i);
    same = code === from[start + i] && code < 0x80;
  }
  if (!same) lastKind = from.toString('utf8', start, end);
  return lastKind;
}

function writeCrc(row: Buffer, key: Uint8Array): void {
  const end = row.length - crcBytes;
  row.writeUInt32BE(crcOf(key, row, end), end);
}

/**
 * Calling the platform costs more than the checksum of so few bytes, and thousands of rows a second are that
 * small.
 */
const smallBytesMax = 256;

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb8_8320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** Returns the CRC-32 of a key and the bytes of its row up to `end`. */
export function crcOf(key: Uint8Array, row: Buffer, end: number): number {
  if (key.length + end > smallBytesMax) return crc32(row.subarray(0, end), crc32(key));
  let crc = 0xffff_ffff;
  for (let i = 0; i < key.length; i++) crc = crcTable[(crc ^ key[i]!) & 0xff]! ^ (crc >>> 8);
  for (let i = 0; i < end; i++) crc = crcTable[(crc ^ row[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Returns where the row's own bytes end. @throws DamagedRowError */
function checkedEnd(
  row: Buffer,
  key: Uint8Array,
  tagAt: number,
  table: 'entries' | 'journal',
): number {
  const least = table === 'entries' ? entryHeaderBytes : eventHeaderBytes;
  const found = row.length < least ? -1 : row.readUInt8(tagAt) >> 4;
  const end = row.length - crcBytes;
  const isWhole =
    found === formatTag && end >= least && row.readUInt32BE(end) === crcOf(key, row, end);
  if (!isWhole) throw new DamagedRowError(table, key);
  return end;
}
