/**
 * The Store seam: the one way to durable state. A commit is atomic, and when its promise
 * resolves the change is on disk. Every implementation passes test/storage/contract.ts.
 *
 * Keys come from `keys.ts` only (the brand sees to it). Expiry is an absolute time by the
 * store's clock; an expired entry counts as absent everywhere, swept or not.
 */

import type { BoundedTable } from '../core/bounded-tables.ts';
import { dayMs } from '../core/time.ts';
import { type Key, keyBytesMax } from './keys.ts';

/** Bounds of every implementation. Going over one is a bug of the caller: a RangeError. */
export const storeLimits = {
  keyBytesMax,
  valueBytesMax: 4 * 1024 * 1024,
  eventBodyBytesMax: 1024 * 1024,
  eventIdBytesMax: 64,
  eventKindBytesMax: 64,
  /** Checks, sets, deletions and events of one commit together. */
  commitRowsMax: 10_000,
  commitBytesMax: 16 * 1024 * 1024,
  scanLimitMax: 1_000,
  readLimitMax: 1_000,
  /** A page of `scan` or `read` ends early past this many bytes, but holds at least one row. */
  pageBytesMax: 4 * 1024 * 1024,
  sweepLimitMax: 10_000,
  /** An event id is remembered at least this long, and while its event is in the journal. */
  eventIdKeepMs: dayMs,
} as const;

export interface NewEvent {
  /** Made by the caller (see event-id.ts) and kept for a retry after an unknown outcome. */
  readonly id: string;
  readonly kind: string;
  /** Version of the body's layout, 0 to 65,535. */
  readonly version: number;
  readonly body: Uint8Array;
  /** The event version from which on nodes read it; 1 if it is left out. */
  readonly since?: number;
  /** While a node is too old to read it, it is left out, and the rest of its commit is written. */
  readonly optional?: boolean;
}

export interface StoreEvent extends NewEvent {
  /** 1, 2, 3 … in commit order, without gaps. */
  readonly seq: bigint;
  /** Milliseconds since 1970 by the store's clock, read inside the transaction. */
  readonly at: number;
}

export interface Entry {
  readonly key: Key;
  readonly value: Uint8Array;
  readonly version: number;
}

export interface RowCheck {
  readonly key: Key;
  /** The version the entry must have; null: it must be absent or expired. */
  readonly version: number | null;
}

export interface SetRow {
  readonly key: Key;
  readonly value: Uint8Array;
  /** Absolute, milliseconds since 1970. The entry is absent from this moment on. */
  readonly expiresAt?: number;
}

/** A key may be set or deleted once in a commit, not both. */
export interface Commit {
  readonly check?: readonly RowCheck[];
  readonly set?: readonly SetRow[];
  readonly del?: readonly Key[];
  readonly events?: readonly NewEvent[];
}

export type CommitResult =
  | {
      readonly ok: true;
      /**
       * The sequence number of the commit's last event, of the original's for a duplicate; the journal's
       * last without events.
       */
      readonly seq: bigint;
      /** True: the events were applied by an earlier commit, this one changed nothing. */
      readonly duplicate: boolean;
      /** New version of each `set` row, in order. Empty for a duplicate. */
      readonly versions: readonly number[];
    }
  | {
      readonly ok: false;
      readonly error: 'check_failed';
      readonly seq: bigint;
      /** Index into `check`; nothing was changed. */
      readonly failedCheck: number;
    }
  | {
      /** Retry later with the same event ids: whether this one took effect is unknown. */
      readonly ok: false;
      readonly error: 'store_unavailable';
      readonly seq: bigint;
      readonly detail: string;
    };

export interface WriteState {
  readonly available: boolean;
  /** True when only a new process can write again: the supervisor should restart this one. */
  readonly fatal: boolean;
  readonly detail: string;
}

export interface Store {
  commit(commit: Commit): Promise<CommitResult>;
  get(key: Key): Promise<{ value: Uint8Array; version: number } | undefined>;
  /**
   * Entries under a prefix in key order, `after` (a key under that prefix) excluded. An empty page
   * means the end was reached; a short one does not.
   */
  scan(prefix: Key, options: { after?: Key; limit: number }): Promise<Entry[]>;
  /**
   * Events after `afterSeq`, gapless, in commit order. An empty page means that there is none yet;
   * a short one does not. Throws JournalPrunedError when events after `afterSeq` are no longer there.
   * @param afterAt the time of the event `afterSeq`, for who has applied it: a shared journal that has another
   *   one there is another journal
   */
  read(afterSeq: bigint, limit: number, afterAt?: number): Promise<StoreEvent[]>;
  lastSeq(): Promise<bigint>;
  /**
   * Calls back when the journal has grown; returns its undo. The embedded store calls at each
   * commit, in order, with the events. A shared one calls without them, and may miss commits of
   * other nodes: whoever follows its journal polls from time to time.
   */
  onHint(callback: (events?: readonly StoreEvent[]) => void): () => void;
  /** Calls back at each change, never twice with the same state; returns its undo. */
  onWriteState(callback: (state: WriteState) => void): () => void;
  writeState(): WriteState;
  /** Queued writes, with their bounds. */
  readonly tables: readonly BoundedTable[];
  /** Removes events with seq ≤ `throughSeq` from the journal, in short transactions. Number removed. */
  pruneEvents(throughSeq: bigint): Promise<number>;
  /** Removes at most `limit` expired rows. Number removed; less than `limit` means done. */
  sweep(limit: number): Promise<number>;
  /** Waits for the commits made before. Any call after it throws. */
  close(): Promise<void>;
}

/**
 * `get`, `scan`, `read` and `lastSeq` reject with it when the store can't be reached for now: never a
 * reason to end. Commits answer `store_unavailable` instead, for whether they took effect is unknown.
 */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}

/** A follower that starts before the journal's oldest event would silently miss some. */
export class JournalPrunedError extends Error {
  override readonly name = 'JournalPrunedError';
  readonly prunedThrough: bigint;
  constructor(afterSeq: bigint, prunedThrough: bigint) {
    super(`journal is pruned through ${prunedThrough}, can't read after ${afterSeq}`);
    this.prunedThrough = prunedThrough;
  }
}
