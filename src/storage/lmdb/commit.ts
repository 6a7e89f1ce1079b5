/** The rows of LMDB as a commit reads and writes them. A write that throws dooms the transaction. */

import { setTimeout as delay } from 'node:timers/promises';
import { IF_EXISTS } from 'lmdb';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { PreparedCommit, PreparedEvent, PreparedRow, RowView } from '../apply-commit.ts';
import { FollowsFailureError, type Transactor } from '../group-commit.ts';
import {
  eventIdRowKey,
  expiryRowKey,
  isSameKey,
  journalRowKey,
  type Key,
  metaRowKey,
} from '../keys.ts';
import {
  type EntryHeader,
  encodeEntry,
  encodeEvent,
  readEntryHeader,
  sealEntry,
  sealEvent,
} from '../rows.ts';
import type { Commit } from '../store.ts';
import {
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readCounters,
  readEventIdSeq,
  type TableCounters,
  type Tables,
  writeCounters,
} from './tables.ts';

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
    isFirstTry: commit.isFirstTry === true,
    check: commit.check ?? none,
    set: (commit.set ?? none).map(({ key, value, expiresAt = 0, isNew = false }) => ({
      key,
      expiresAt,
      isNew,
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
  /** The key that was last looked for and is not there: reports of one account look for the same. */
  #absent: Key | undefined;

  constructor(tables: Tables, nowMs: number, counters: TableCounters) {
    this.tables = tables;
    this.nowMs = nowMs;
    this.counters = counters;
  }

  seqOf(id: Uint8Array): number | undefined {
    const row = this.tables.eventIds.getBinaryFast(id);
    return row === undefined ? undefined : readEventIdSeq(row);
  }

  header(key: Key): EntryHeader | undefined {
    if (this.#absent !== undefined && isSameKey(key, this.#absent)) return undefined;
    // The fast read lends a shared buffer, valid until the next read: the header is taken at once.
    const row = this.tables.entries.getBinaryFast(key);
    if (row !== undefined) return readEntryHeader(row);
    this.#absent = key;
    return undefined;
  }

  write({ key, expiresAt, row }: PreparedRow, replaced: EntryHeader | undefined): number {
    this.writes += 1;
    this.counters.lastVersion += 1;
    const version = this.counters.lastVersion;
    sealEntry(row, key, version);
    if (this.#absent !== undefined && isSameKey(key, this.#absent)) this.#absent = undefined;
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

/** In the callback of a write transaction. @param counters those before it, which it changes */
export function rowsOf(
  tables: Tables,
  nowMs: number,
  counters = readCounters(tables.meta),
): RowView & WriteContext {
  return new LmdbRows(tables, nowMs, counters);
}

// Write transactions of LMDB, with its ways of failing made plain: a transaction resolves when it
// is on disk, or rejects with the cause and has changed nothing. No rejection is left unhandled.

const probeBytes = 64 * 1024;
/** Appended groups follow each other for so long before all end, and the file is looked at again. */
const chainMs = 1_000;
/** As in lmdb.h. */
const lmdbPanic = -30_795;

export type LmdbContext = ReturnType<typeof rowsOf>;

export function createTransactor(tables: Tables, clock: Clock, log: Log): Transactor<LmdbContext> {
  const { root, meta, journal, file } = tables;
  const loss = createLossWatch(tables);
  /** Groups that were appended and have not ended, the counters behind them, and when the first of them began. */
  const chain = {
    groups: 0,
    counters: readCounters(meta),
    lastSeq: 0,
    beganMs: 0,
    end: Promise.resolve(),
  };

  async function transact(body: (context: LmdbContext) => void): Promise<void> {
    let thrown: { error: unknown } | undefined;
    let checked: LmdbContext | undefined;
    file.assertRoom();
    const committed = root.transaction(() => {
      const context = rowsOf(tables, clock.now());
      try {
        loss.check(context.counters);
        checked = context;
        body(context);
        if (context.writes > 0) writeCounters(meta, context.counters);
      } catch (error) {
        thrown = { error };
        if (context.writes > 0) assertDoomed(error, log);
        throw error;
      }
    });
    try {
      await committed;
      if (checked !== undefined) loss.acknowledge(checked.counters, checked.writes > 0);
    } catch (error) {
      const cause = await commitCause(error);
      throw thrown === undefined ? cause : thrown.error;
    }
  }

  /**
   * lmdb's own thread writes what is appended, in its next transaction, while this thread goes on. The group
   * depends on the last event of the one before it: if that one failed, it is left out.
   */
  function append(body: (context: LmdbContext) => void): Promise<void> | undefined {
    const nowMs = clock.monotonicMs();
    if (chain.groups > 0 && nowMs - chain.beganMs >= chainMs) return undefined;
    root.resetReadTxn();
    try {
      file.assertRoom();
      if (chain.groups === 0) {
        const counters = readCounters(meta);
        loss.check(counters);
        Object.assign(chain, { counters, lastSeq: 0, beganMs: nowMs });
      }
    } catch (error) {
      return Promise.reject(error);
    }
    const context = rowsOf(tables, clock.now(), { ...chain.counters });
    function write(): void {
      try {
        body(context);
        if (context.writes > 0) writeCounters(meta, context.counters);
      } catch (error) {
        assertDoomed(error, log);
        throw error;
      }
    }
    const { lastSeq } = chain;
    const written =
      lastSeq === 0
        ? root.batch(write)
        : journal.ifVersion(journalRowKey(lastSeq), IF_EXISTS, write);
    chain.groups += 1;
    chain.counters = context.counters;
    if (context.writes > 0) chain.lastSeq = context.counters.lastSeq;
    chain.end = endOf(written, context.counters, chain.end);
    return chain.end;
  }

  /** @param before the end of the group before */
  async function endOf(
    written: Promise<boolean>,
    counters: TableCounters,
    before: Promise<void>,
  ): Promise<void> {
    try {
      if (await written) loss.acknowledge(counters, false);
      else {
        await before.catch(() => {});
        throw new FollowsFailureError('the transaction before it failed');
      }
    } catch (error) {
      throw await commitCause(error);
    } finally {
      chain.groups -= 1;
    }
  }

  return {
    transact,
    append,
    writes: (context) => context.writes,
    async probe() {
      const key = metaRowKey('probe');
      const row = Buffer.alloc(probeBytes);
      file.assertRoom();
      await file.tryDisk(probeBytes);
      await transact(() => void meta.put(key, row));
      await transact(() => void meta.remove(key));
    },
    isFatal: (error) => error instanceof LostCommitsError || codeOf(error) === lmdbPanic,
  };
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** Acknowledged writes are gone from the store: whatever is written now would be built on less. */
class LostCommitsError extends Error {
  override readonly name = 'LostCommitsError';
}

/**
 * Watches that nothing goes back that was acknowledged: neither the journal, nor the rows'
 * versions, nor the number of the last transaction in the file, and that the file is still the one
 * at its path. LMDB itself keeps the number in its lock file, and reads it there alone.
 */
function createLossWatch({ file }: Tables) {
  let lastSeq = 0;
  let lastVersion = 0;
  let lastTransaction = 0n;

  /** Returns what of the acknowledged is gone; undefined when nothing is. */
  function lossIn(found: TableCounters): string | undefined {
    if (found.lastSeq < lastSeq || found.lastVersion < lastVersion) {
      return `its journal ends at ${found.lastSeq} and did at ${lastSeq}`;
    }
    if (file.isReplaced()) return 'its file was removed or replaced';
    const transaction = file.lastTransaction();
    if (transaction === undefined) return 'its file is no store any more';
    if (transaction < lastTransaction) {
      return `its last transaction is ${transaction} and was ${lastTransaction}`;
    }
    lastTransaction = transaction;
    return undefined;
  }

  return {
    /** Inside a transaction, before its first write. @throws LostCommitsError */
    check(found: TableCounters): void {
      const loss = lossIn(found);
      if (loss === undefined) return;
      throw new LostCommitsError(
        `commits that were acknowledged are gone from the store: ${loss}; ` +
          'something else wrote to its file. Stop that, run portcullis verify, and restore a backup',
      );
    },
    /** @param wrote whether the transaction that was checked last wrote anything: then it has a number */
    acknowledge(done: TableCounters, wrote: boolean): void {
      lastSeq = done.lastSeq;
      lastVersion = done.lastVersion;
      if (wrote) lastTransaction += 1n;
    },
  };
}

/**
 * An error of LMDB itself has made the transaction fail already. Any other one is a bug between
 * two writes of a commit, and lmdb would commit what was written so far: a dead process is the
 * only way left to keep the commit atomic.
 */
function assertDoomed(error: unknown, log: Log): void {
  if (typeof codeOf(error) === 'number') return;
  log.fatal({ err: error }, 'store: a commit was interrupted');
  process.abort();
}

/**
 * lmdb rejects a failed commit with a generic error whose `commitError` is a second promise,
 * rejected with the cause. Left alone that one ends the process as an unhandled rejection.
 */
async function commitCause(error: unknown): Promise<unknown> {
  const second = (error as { commitError?: unknown } | null)?.commitError;
  if (!(second instanceof Promise)) return error;
  const cause = second.then(
    () => error,
    (reason: unknown) => reason,
  );
  return Promise.race([cause, delay(1_000, error, { ref: false })]);
}
