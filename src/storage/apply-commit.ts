/**
 * Applies one commit inside a transaction, whatever the database: the one algorithm of both stores.
 * All reads come first, then the writes, so a commit that is refused has written nothing.
 */

import type { Key } from './keys.ts';
import { type EntryHeader, isExpired } from './rows.ts';
import type { CommitResult, RowCheck } from './store.ts';

/** A commit with its rows as bytes of their own, so that the caller may reuse its buffers at once. */
export interface PreparedCommit {
  readonly isFirstTry: boolean;
  readonly check: readonly RowCheck[];
  readonly set: readonly PreparedRow[];
  readonly del: readonly Key[];
  readonly events: readonly PreparedEvent[];
}

export interface PreparedRow {
  readonly key: Key;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresAt: number;
  readonly isNew: boolean;
  readonly row: Buffer;
}

export interface PreparedEvent {
  /** The id in UTF-8. */
  readonly id: Uint8Array;
  readonly row: Buffer;
}

/** The rows that a transaction reads and writes. Alive during one transaction only. */
export interface RowView {
  readonly nowMs: number;
  readonly counters: { readonly lastSeq: number };
  /** Returns the sequence number of the event with this id; undefined if there is none. */
  seqOf(id: Uint8Array): number | undefined;
  header(key: Key): EntryHeader | undefined;
  /** @returns the version that the row has now */
  write(row: PreparedRow, replaced: EntryHeader | undefined): number;
  remove(key: Key, header: EntryHeader | undefined): void;
  append(event: PreparedEvent): void;
}

const none: readonly never[] = [];

export function applyCommit(rows: RowView, commit: PreparedCommit): CommitResult {
  const original = commit.isFirstTry ? undefined : findOriginal(rows, commit);
  if (original !== undefined) {
    return { ok: true, seq: BigInt(original), duplicate: true, versions: none };
  }
  const checked: (EntryHeader | undefined)[] = [];
  for (let i = 0; i < commit.check.length; i++) {
    const { key, version } = commit.check[i]!;
    const header = rows.header(key);
    checked.push(header);
    const found = header === undefined || isExpired(header, rows.nowMs) ? null : header.version;
    if (found !== version) {
      const seq = BigInt(rows.counters.lastSeq);
      return { ok: false, error: 'check_failed', seq, failedCheck: i };
    }
  }
  // A key that was checked, the usual case for one that is set, has been read.
  const replaced = commit.set.map(({ key, isNew }) => {
    if (isNew) return undefined;
    const at = commit.check.findIndex((check) => check.key === key);
    return at < 0 ? rows.header(key) : checked[at];
  });
  const deleted = commit.del.map((key) => rows.header(key));
  // From here on only writes.
  const versions = commit.set.map((row, i) => rows.write(row, replaced[i]));
  commit.del.forEach((key, i) => {
    rows.remove(key, deleted[i]);
  });
  for (const event of commit.events) rows.append(event);
  const seq = BigInt(rows.counters.lastSeq);
  return { ok: true, seq, duplicate: false, versions };
}

/** Seq of the last event of the earlier commit that this one repeats. */
function findOriginal(rows: RowView, commit: PreparedCommit): number | undefined {
  let known = 0;
  let last = 0;
  for (const { id } of commit.events) {
    const seq = rows.seqOf(id);
    if (seq === undefined) continue;
    known += 1;
    last = Math.max(last, seq);
  }
  if (known === 0) return undefined;
  if (known < commit.events.length) {
    throw new Error('some event ids of this commit are known and some are new: not a retry');
  }
  return last;
}
