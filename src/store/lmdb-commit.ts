/**
 * What one job does inside a write transaction. All reads come first, then the writes, so a job
 * that is refused has written nothing; a write that throws dooms the whole transaction.
 */

import { eventIdRowKey, expiryRowKey, journalRowKey, type Key } from './keys.ts';
import {
  type Counters,
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readEventIdSeq,
  type Tables,
} from './lmdb-tables.ts';
import {
  type EntryHeader,
  encodeEntry,
  encodeEvent,
  isExpired,
  readEntryHeader,
  sealEntry,
  sealEvent,
} from './rows.ts';
import type { Check, Commit, CommitResult } from './store.ts';

/** Alive during one transaction callback only. */
export interface WriteContext {
  readonly tables: Tables;
  readonly nowMs: number;
  /** Written back at the end of the callback, if anything was written. */
  readonly counters: Counters;
  /** Rows written or removed so far. */
  writes: number;
}

/** A commit with its rows encoded, so that the caller may reuse its buffers at once. */
export interface PreparedCommit {
  readonly check: readonly Check[];
  readonly set: readonly { key: Key; expiresAt: number; row: Buffer }[];
  readonly del: readonly Key[];
  readonly events: readonly { id: Uint8Array; row: Buffer }[];
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

export function applyCommit(context: WriteContext, commit: PreparedCommit): CommitResult {
  const original = findOriginal(context, commit);
  if (original !== undefined) {
    return { ok: true, seq: BigInt(original), duplicate: true, versions: none };
  }
  const checked: (EntryHeader | undefined)[] = [];
  for (let i = 0; i < commit.check.length; i++) {
    const { key, version } = commit.check[i]!;
    const header = readHeader(context, key);
    checked.push(header);
    const found = header === undefined || isExpired(header, context.nowMs) ? null : header.version;
    if (found !== version) {
      const seq = BigInt(context.counters.lastSeq);
      return { ok: false, error: 'check_failed', seq, failedCheck: i };
    }
  }
  // A key that was checked, the usual case for one that is set, has been read.
  const replaced = commit.set.map(({ key }) => {
    const at = commit.check.findIndex((check) => check.key === key);
    return at < 0 ? readHeader(context, key) : checked[at];
  });
  const deleted = commit.del.map((key) => readHeader(context, key));
  // From here on only writes.
  const versions = commit.set.map((row, i) => writeEntry(context, row, replaced[i]));
  commit.del.forEach((key, i) => {
    removeEntry(context, key, deleted[i]);
  });
  for (const event of commit.events) appendEvent(context, event);
  const seq = BigInt(context.counters.lastSeq);
  return { ok: true, seq, duplicate: false, versions };
}

/** Seq of the last event of the earlier commit that this one repeats. */
function findOriginal(context: WriteContext, commit: PreparedCommit): number | undefined {
  let known = 0;
  let last = 0;
  for (const { id } of commit.events) {
    const row = context.tables.eventIds.getBinaryFast(id);
    if (row === undefined) continue;
    known += 1;
    last = Math.max(last, readEventIdSeq(row));
  }
  if (known === 0) return undefined;
  if (known < commit.events.length) {
    throw new Error('some event ids of this commit are known and some are new: not a retry');
  }
  return last;
}

function readHeader(context: WriteContext, key: Key): EntryHeader | undefined {
  // The fast read lends a shared buffer, valid until the next read: the header is taken at once.
  const row = context.tables.entries.getBinaryFast(key);
  return row === undefined ? undefined : readEntryHeader(row);
}

function writeEntry(
  context: WriteContext,
  { key, expiresAt, row }: { key: Key; expiresAt: number; row: Buffer },
  replaced: EntryHeader | undefined,
): number {
  context.writes += 1;
  context.counters.lastVersion += 1;
  const version = context.counters.lastVersion;
  sealEntry(row, key, version);
  context.tables.entries.put(key, row);
  dropExpiry(context, replaced);
  if (expiresAt !== 0) {
    const target = encodeExpiryTarget(expiryKinds.entry, key);
    context.tables.expiry.put(expiryRowKey(expiresAt, version), target);
  }
  return version;
}

function removeEntry(context: WriteContext, key: Key, header: EntryHeader | undefined): void {
  if (header === undefined) return;
  context.writes += 1;
  context.tables.entries.remove(key);
  dropExpiry(context, header);
}

function dropExpiry(context: WriteContext, header: EntryHeader | undefined): void {
  if (header === undefined || header.expiresAt === 0) return;
  context.tables.expiry.remove(expiryRowKey(header.expiresAt, header.version));
}

function appendEvent(context: WriteContext, event: { id: Uint8Array; row: Buffer }): void {
  context.writes += 1;
  context.counters.lastSeq += 1;
  const seq = context.counters.lastSeq;
  sealEvent(event.row, seq, context.nowMs);
  context.tables.journal.put(journalRowKey(seq), event.row);
  context.tables.eventIds.put(event.id, encodeEventIdRow(seq, context.nowMs));
}
