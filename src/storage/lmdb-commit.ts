/** The rows of LMDB as a commit reads and writes them. A write that throws dooms the transaction. */

import type { PreparedCommit, PreparedEvent, PreparedRow, RowView } from './apply-commit.ts';
import { eventIdRowKey, expiryRowKey, journalRowKey, type Key } from './keys.ts';
import {
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readCounters,
  readEventIdSeq,
  type TableCounters,
  type Tables,
} from './lmdb-tables.ts';
import {
  type EntryHeader,
  encodeEntry,
  encodeEvent,
  readEntryHeader,
  sealEntry,
  sealEvent,
} from './rows.ts';
import type { Commit } from './store.ts';

/** Alive during one transaction callback only. */
export interface WriteContext {
  readonly tables: Tables;
  readonly nowMs: number;
  /** Written back at the end of the callback, if anything was written. */
  readonly counters: TableCounters;
  /** Rows written or removed so far. */
  writes: number;
}

const none: readonly never[] = [];

export function prepareCommit(commit: Commit): PreparedCommit {
  return {
    check: commit.check ?? none,
    set: (commit.set ?? none).map(({ key, value, expiresAt = 0 }) => ({
      key,
      expiresAt,
      row: encodeEntry(value, expiresAt),
    })),
    del: commit.del ?? none,
    events: (commit.events ?? none).map((event) => ({
      id: eventIdRowKey(event.id),
      row: encodeEvent(event),
    })),
  };
}

/** The rows of LMDB inside its write transaction. */
class LmdbRows implements RowView, WriteContext {
  readonly tables: Tables;
  readonly nowMs: number;
  readonly counters: TableCounters;
  writes = 0;

  constructor(tables: Tables, nowMs: number) {
    this.tables = tables;
    this.nowMs = nowMs;
    this.counters = readCounters(tables.meta);
  }

  seqOf(id: Uint8Array): number | undefined {
    const row = this.tables.eventIds.getBinaryFast(id);
    return row === undefined ? undefined : readEventIdSeq(row);
  }

  header(key: Key): EntryHeader | undefined {
    // The fast read lends a shared buffer, valid until the next read: the header is taken at once.
    const row = this.tables.entries.getBinaryFast(key);
    return row === undefined ? undefined : readEntryHeader(row);
  }

  write({ key, expiresAt, row }: PreparedRow, replaced: EntryHeader | undefined): number {
    this.writes += 1;
    this.counters.lastVersion += 1;
    const version = this.counters.lastVersion;
    sealEntry(row, key, version);
    this.tables.entries.put(key, row);
    this.#dropExpiry(replaced);
    if (expiresAt !== 0) {
      const target = encodeExpiryTarget(expiryKinds.entry, key);
      this.tables.expiry.put(expiryRowKey(expiresAt, version), target);
    }
    return version;
  }

  remove(key: Key, header: EntryHeader | undefined): void {
    if (header === undefined) return;
    this.writes += 1;
    this.tables.entries.remove(key);
    this.#dropExpiry(header);
  }

  append(event: PreparedEvent): void {
    this.writes += 1;
    this.counters.lastSeq += 1;
    const seq = this.counters.lastSeq;
    sealEvent(event.row, seq, this.nowMs);
    this.tables.journal.put(journalRowKey(seq), event.row);
    this.tables.eventIds.put(event.id, encodeEventIdRow(seq, this.nowMs));
  }

  #dropExpiry(header: EntryHeader | undefined): void {
    if (header === undefined || header.expiresAt === 0) return;
    this.tables.expiry.remove(expiryRowKey(header.expiresAt, header.version));
  }
}

/** In the callback of a write transaction. */
export function rowsOf(tables: Tables, nowMs: number): RowView & WriteContext {
  return new LmdbRows(tables, nowMs);
}
