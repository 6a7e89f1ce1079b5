/** The tables of the LMDB environment (environment.ts) and the layout of their rows. */

import type { Database, RootDatabase } from 'lmdb';
import { metaRowKey } from '../keys.ts';
import type { OpenFile } from './file.ts';

export type Table = Database<Buffer, Uint8Array>;

/** In the order in which they are copied. */
export const tableNames = ['entries', 'journal', 'eventIds', 'expiry', 'meta'] as const;
export type TableName = (typeof tableNames)[number];

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
  /**
   * `format`, `migration`: see format.ts; `identity`, `master_key`: see presence.ts; `counters` → Counters;
   * `probe` → nothing that matters
   */
  readonly meta: Table;
  readonly file: OpenFile;
}

export interface TableCounters {
  lastSeq: number;
  /** Given to the row set last, in the whole store: a version never comes twice. */
  lastVersion: number;
  /** Events up to here are no longer in the journal. */
  prunedThrough: number;
}

export function readCounters(meta: { get(key: Uint8Array): Buffer | undefined }): TableCounters {
  const row = meta.get(metaRowKey('counters'));
  if (row === undefined) return { lastSeq: 0, lastVersion: 0, prunedThrough: 0 };
  return {
    lastSeq: row.readUIntBE(0, 6),
    lastVersion: row.readUIntBE(6, 6),
    prunedThrough: row.readUIntBE(12, 6),
  };
}

export function writeCounters(meta: Table, counters: TableCounters): void {
  const row = Buffer.allocUnsafe(18);
  row.writeUIntBE(counters.lastSeq, 0, 6);
  row.writeUIntBE(counters.lastVersion, 6, 6);
  row.writeUIntBE(counters.prunedThrough, 12, 6);
  meta.put(metaRowKey('counters'), row);
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

/** The kinds of rows that a row of `expiry` may point to. */
export const expiryKinds = { entry: 1, eventId: 2 } as const;

export function encodeExpiryTarget(kind: number, key: Uint8Array): Buffer {
  const row = Buffer.allocUnsafe(1 + key.length);
  row[0] = kind;
  row.set(key, 1);
  return row;
}
