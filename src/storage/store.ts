/**
 * The Store seam: the one way to durable state. A commit is atomic, and when its promise
 * resolves the change is on disk. Every implementation passes test/storage/contract.ts.
 *
 * Keys come from `keys.ts` only (the brand sees to it). Expiry is an absolute time by the
 * store's clock; an expired entry counts as absent everywhere, swept or not.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BoundedTable } from '../core/bounded-tables.ts';
import { dayMs } from '../core/time.ts';
import { isSameKey, type Key, keyBytesMax } from './keys.ts';

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
  /** Made by the caller (see journal/define-event.ts) and kept for a retry after an unknown outcome. */
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

export interface StoredRow {
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
  /** Its key has random bytes that were made for it: there is nothing that it could replace. */
  readonly isNew?: boolean;
}

/** A key may be set or deleted once in a commit, not both. */
export interface Commit {
  /** The ids of its events were made for this call: no earlier commit is looked for. */
  readonly isFirstTry?: boolean;
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
  /**
   * Stands for a store that this process alone writes to: the same object for all that wrap it. Absent:
   * other processes write to it too.
   */
  readonly soleOwner?: object;
  commit(commit: Commit): Promise<CommitResult>;
  get(key: Key): Promise<{ value: Uint8Array; version: number } | undefined>;
  /**
   * Entries under a prefix in key order, `after` (a key under that prefix) excluded. An empty page
   * means the end was reached; a short one does not.
   */
  scan(prefix: Key, options: { after?: Key; limit: number }): Promise<StoredRow[]>;
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
  onJournalGrowth(callback: (events?: readonly StoreEvent[]) => void): () => void;
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

/** Rows of a page, of whoever needs all rows under a prefix. */
const limitDefault = 200;

/**
 * Yields all rows under a prefix in key order, a page at a time; other work runs between pages. Rows changed
 * meanwhile behind the last page appear as they are then.
 * @param options `after`: this key and all before it are left out; `limit`: rows a page, at most
 */
export async function* pagesUnder(
  store: Pick<Store, 'scan'>,
  prefix: Key,
  options: { readonly after?: Key | undefined; readonly limit?: number } = {},
): AsyncGenerator<readonly StoredRow[]> {
  const limit = options.limit ?? limitDefault;
  for (let after = options.after; ; ) {
    const page = await store.scan(prefix, after === undefined ? { limit } : { after, limit });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)!.key;
    await nextTurn();
  }
}

/**
 * Returns the last event that is older than `atMs` (ms since 1970), or the one before the journal's first; as
 * exact as the clocks that gave the events their times.
 */
export async function seqBefore(
  store: Pick<Store, 'read' | 'lastSeq'>,
  atMs: number,
): Promise<bigint> {
  let low = 0n;
  let high = await store.lastSeq();
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    try {
      const [event] = await store.read(middle - 1n, 1);
      if (event === undefined || event.at >= atMs) high = middle - 1n;
      else low = middle;
    } catch (error) {
      if (!(error instanceof JournalPrunedError)) throw error;
      low = error.prunedThrough;
    }
  }
  return low;
}

// The bounds of the seam, checked before any implementation sees the data. Input from outside
// is bounded at the edge, so going over one here is a bug and throws a RangeError.

export function assertKey(key: Uint8Array): void {
  if (key.length === 0 || key.length > storeLimits.keyBytesMax) {
    throw new RangeError(`a key has 1 to ${storeLimits.keyBytesMax} bytes, not ${key.length}`);
  }
}

/** Checks the `after` of a `scan`. */
export function assertAfter(prefix: Key, after: Key): void {
  assertKey(after);
  if (Buffer.compare(prefix, after.subarray(0, prefix.length)) !== 0) {
    throw new RangeError('`after` is not under the prefix');
  }
}

export function assertLimit(limit: number, max: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw new RangeError(`limit ${limit} is not from 1 to ${max}`);
  }
}

/** Sizes, times and versions in range, no key written twice, no event id twice. Returns the bytes. */
export function assertCommit(commit: Commit): number {
  const check = commit.check ?? [];
  const set = commit.set ?? [];
  const del = commit.del ?? [];
  const events = commit.events ?? [];
  if (check.length + set.length + del.length + events.length > storeLimits.commitRowsMax) {
    throw new RangeError(`a commit has at most ${storeLimits.commitRowsMax} rows`);
  }
  let bytes = 0;
  for (const { key, version } of check) {
    assertKey(key);
    if (version !== null && !Number.isSafeInteger(version)) throw new RangeError('bad version');
  }
  for (const row of set) {
    assertKey(row.key);
    if (row.value.length > storeLimits.valueBytesMax) {
      throw new RangeError(`a value has at most ${storeLimits.valueBytesMax} bytes`);
    }
    if (row.expiresAt !== undefined) assertTime(row.expiresAt);
    bytes += row.key.length + row.value.length;
  }
  for (const key of del) assertKey(key);
  for (const event of events) {
    assertText(event.id, storeLimits.eventIdBytesMax, 'event id');
    assertText(event.kind, storeLimits.eventKindBytesMax, 'event kind');
    if (!Number.isInteger(event.version) || event.version < 0 || event.version > 0xffff) {
      throw new RangeError(`event version ${event.version}`);
    }
    if (event.body.length > storeLimits.eventBodyBytesMax) {
      throw new RangeError(`an event body has at most ${storeLimits.eventBodyBytesMax} bytes`);
    }
    bytes += event.body.length;
  }
  if (bytes > storeLimits.commitBytesMax) {
    throw new RangeError(`a commit has at most ${storeLimits.commitBytesMax} bytes`);
  }
  assertDistinctKeys(set, del);
  if (events.length > 1 && new Set(events.map((event) => event.id)).size < events.length) {
    throw new RangeError('an event id stands twice in one commit');
  }
  return bytes;
}

/** 48 bits of milliseconds, and never 0, which stands for "does not expire" in the rows. */
function assertTime(timeMs: number): void {
  if (!Number.isInteger(timeMs) || timeMs < 1 || timeMs >= 2 ** 48) {
    throw new RangeError(`expiresAt ${timeMs} is not a time in milliseconds`);
  }
}

function assertText(value: string, bytesMax: number, name: string): void {
  // A UTF-16 unit takes three bytes at most: only a long text is counted.
  if (value !== '' && 3 * value.length <= bytesMax) return;
  const length = Buffer.byteLength(value, 'utf8');
  if (length < 1 || length > bytesMax) {
    throw new RangeError(`an ${name} has 1 to ${bytesMax} bytes, not ${length}`);
  }
}

/** Pairs of so few keys are compared faster than texts of them are made. */
const comparedKeysMax = 8;

function assertDistinctKeys(set: readonly { key: Key }[], del: readonly Key[]): void {
  const count = set.length + del.length;
  if (count < 2) return;
  const keyAt = (i: number): Key => (i < set.length ? set[i]!.key : del[i - set.length]!);
  const texts = new Set<string>();
  for (let i = 0; i < count; i++) {
    if (count > comparedKeysMax) texts.add(keyText(keyAt(i)));
    else for (let j = 0; j < i; j++) if (isSameKey(keyAt(i), keyAt(j))) throw twice();
  }
  if (count > comparedKeysMax && texts.size < count) throw twice();
}

const twice = () => new RangeError('a key is written twice');

function keyText(key: Key): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
}
