/**
 * The LMDB environment, its tables and the layout of their rows.
 *
 * Invariants of the options: `overlappingSync: false`, so a resolved transaction is on disk;
 * `eventTurnBatching: false`, because with it a failed transaction also rejects a promise that
 * lmdb keeps to itself, which nobody can handle; one generous `mapSize` in every process, so that
 * no process meets a file that another one grew beyond its map.
 */

import { closeSync, existsSync, mkdirSync, openSync, readSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';
import { OperatorError } from '../core/errors.ts';
import { metaRowKey } from './keys.ts';
import type { NewEvent, StoreEvent } from './store.ts';

export type Table = Database<Buffer, Uint8Array>;

export interface Tables {
  readonly root: RootDatabase<Buffer, Uint8Array>;
  /** key → version:u48 expires-at:u48 (0 = never) value */
  readonly entries: Table;
  /** seq → at:u48 version:u16 id-length:u8 kind-length:u8 id kind body */
  readonly journal: Table;
  /** event id → seq:u48 at:u48 */
  readonly eventIds: Table;
  /** expires-at version → kind:u8 key. A row may be stale: it counts only if its target agrees. */
  readonly expiry: Table;
  /** `format` → u32; `counters` → Counters; `probe` → nothing that matters */
  readonly meta: Table;
}

const formatVersion = 1;
/** Address space, not memory and not disk: the file grows as it is written. */
const mapBytes = 64 * 2 ** 30;
const tableOptions = { encoding: 'binary', keyEncoding: 'binary' } as const;

/** Throws an OperatorError when the directory can't be used or holds something else. */
export function openTables(path: string): Tables {
  try {
    return openEnvironment(path);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`the store in ${path} can't be opened: ${(error as Error).message}`);
  }
}

function openEnvironment(path: string): Tables {
  // lmdb makes its files readable to the group: the directory keeps others out.
  mkdirSync(path, { recursive: true, mode: 0o700 });
  refuseStrangeFile(`${path}/data.mdb`);
  const root = open<Buffer, Uint8Array>({
    path,
    ...tableOptions,
    noSubdir: false,
    overlappingSync: false,
    eventTurnBatching: false,
    mapSize: mapBytes,
    maxDbs: 8,
  });
  const table = (name: string): Table => root.openDB<Buffer, Uint8Array>(name, { ...tableOptions });
  const tables = {
    root,
    entries: table('entries'),
    journal: table('journal'),
    eventIds: table('event_ids'),
    expiry: table('expiry'),
    meta: table('meta'),
  };
  claimFormat(tables.meta);
  return tables;
}

/** LMDB's mark in the first page: magic number and format, little-endian. */
const fileMark = Buffer.from('dec0efbe02000000', 'hex');
const fileMarkAt = 24;

/** The library ends the whole process when it meets a file that LMDB didn't write. */
function refuseStrangeFile(file: string): void {
  if (!existsSync(file)) return;
  const descriptor = openSync(file, 'r');
  try {
    const start = Buffer.alloc(fileMarkAt + fileMark.length);
    const length = readSync(descriptor, start, 0, start.length, 0);
    // Another process may be making it at this moment.
    if (length === 0) return;
    if (length < start.length || !start.subarray(fileMarkAt).equals(fileMark)) {
      throw new OperatorError(`${file} is damaged, or no store`);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Synchronous, for the start only: the first process writes the format, all others compare. */
function claimFormat(meta: Table): void {
  const key = metaRowKey('format');
  const found = meta.get(key) ?? meta.transactionSync(() => writeFormat(meta, key));
  if (found.length !== 4 || found.readUInt32BE(0) !== formatVersion) {
    throw new OperatorError(
      `the data directory has store format ${found.toString('hex')}, this program knows ${formatVersion}`,
    );
  }
}

function writeFormat(meta: Table, key: Uint8Array): Buffer {
  const there = meta.get(key);
  if (there !== undefined) return there;
  const row = Buffer.alloc(4);
  row.writeUInt32BE(formatVersion);
  meta.putSync(key, row);
  return row;
}

export interface Counters {
  lastSeq: number;
  /** Given to the row set last, in the whole store: a version never comes twice. */
  lastVersion: number;
  /** Events up to here are no longer in the journal. */
  prunedThrough: number;
}

export function readCounters(meta: Table): Counters {
  const row = meta.get(metaRowKey('counters'));
  if (row === undefined) return { lastSeq: 0, lastVersion: 0, prunedThrough: 0 };
  return {
    lastSeq: row.readUIntBE(0, 6),
    lastVersion: row.readUIntBE(6, 6),
    prunedThrough: row.readUIntBE(12, 6),
  };
}

export function writeCounters(meta: Table, counters: Counters): void {
  const row = Buffer.allocUnsafe(18);
  row.writeUIntBE(counters.lastSeq, 0, 6);
  row.writeUIntBE(counters.lastVersion, 6, 6);
  row.writeUIntBE(counters.prunedThrough, 12, 6);
  meta.put(metaRowKey('counters'), row);
}

export const entryHeaderBytes = 12;

/** Version 0 is written here: it is given inside the transaction (`setEntryVersion`). */
export function encodeEntry(value: Uint8Array, expiresAt: number): Buffer {
  const row = Buffer.allocUnsafe(entryHeaderBytes + value.length);
  row.writeUIntBE(0, 0, 6);
  row.writeUIntBE(expiresAt, 6, 6);
  row.set(value, entryHeaderBytes);
  return row;
}

export function setEntryVersion(row: Buffer, version: number): void {
  row.writeUIntBE(version, 0, 6);
}

export interface EntryHeader {
  readonly version: number;
  readonly expiresAt: number;
}

export function readEntryHeader(row: Buffer): EntryHeader {
  return { version: row.readUIntBE(0, 6), expiresAt: row.readUIntBE(6, 6) };
}

/** Absent from the very millisecond named by `expiresAt`. */
export function isExpired(header: EntryHeader, nowMs: number): boolean {
  return header.expiresAt !== 0 && header.expiresAt <= nowMs;
}

const eventHeaderBytes = 10;

/** The time is given inside the transaction (`setEventTime`). */
export function encodeEvent(event: NewEvent): Buffer {
  const id = Buffer.from(event.id, 'utf8');
  const kind = Buffer.from(event.kind, 'utf8');
  const row = Buffer.allocUnsafe(eventHeaderBytes + id.length + kind.length + event.body.length);
  row.writeUIntBE(0, 0, 6);
  row.writeUInt16BE(event.version, 6);
  row.writeUInt8(id.length, 8);
  row.writeUInt8(kind.length, 9);
  row.set(id, eventHeaderBytes);
  row.set(kind, eventHeaderBytes + id.length);
  row.set(event.body, eventHeaderBytes + id.length + kind.length);
  return row;
}

export function setEventTime(row: Buffer, atMs: number): void {
  row.writeUIntBE(atMs, 0, 6);
}

export function decodeEvent(seq: bigint, row: Buffer): StoreEvent {
  const idEnd = eventHeaderBytes + row.readUInt8(8);
  const kindEnd = idEnd + row.readUInt8(9);
  return {
    seq,
    at: row.readUIntBE(0, 6),
    version: row.readUInt16BE(6),
    id: row.toString('utf8', eventHeaderBytes, idEnd),
    kind: row.toString('utf8', idEnd, kindEnd),
    body: row.subarray(kindEnd),
  };
}

export function encodeEventIdRow(seq: number, atMs: number): Buffer {
  const row = Buffer.allocUnsafe(12);
  row.writeUIntBE(seq, 0, 6);
  row.writeUIntBE(atMs, 6, 6);
  return row;
}

export function readEventIdSeq(row: Buffer): number {
  return row.readUIntBE(0, 6);
}

/** What a row of `expiry` points to. */
export const expiryKinds = { entry: 1, eventId: 2 } as const;

export function encodeExpiryTarget(kind: number, key: Uint8Array): Buffer {
  const row = Buffer.allocUnsafe(1 + key.length);
  row[0] = kind;
  row.set(key, 1);
  return row;
}
