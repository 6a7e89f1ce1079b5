/**
 * The Store on LMDB: one file in the data directory, opened by one process alone (claim.ts).
 *
 * Invariants: a commit is acknowledged only after its transaction was synced; checks, `seq` and
 * versions are taken inside the write transaction; no cursor and no read transaction is held across an await.
 */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { applyCommit, type PreparedCommit } from '../apply-commit.ts';
import { createGroupCommit, type GroupCommit } from '../group-commit.ts';
import {
  eventIdRowKey,
  expiryRowKey,
  journalRowKey,
  type Key,
  prefixEnd,
  storedKey,
} from '../keys.ts';
import {
  DamagedRowError,
  decodeEvent,
  isExpired,
  missingEvent,
  readEntry,
  readEntryHeader,
  readSealedEvent,
  type StoredEntry,
} from '../rows.ts';
import {
  assertAfter,
  assertCommit,
  assertKey,
  assertLimit,
  type CommitResult,
  JournalPrunedError,
  type Store,
  type StoredRow,
  type StoreEvent,
  StoreUnavailableError,
  storeLimits,
} from '../store.ts';
import { createTransactor, type LmdbContext, prepareCommit, type WriteContext } from './commit.ts';
import { openTables } from './environment.ts';
import {
  encodeExpiryTarget,
  expiryKinds,
  readCounters,
  type Table,
  type Tables,
} from './tables.ts';

export interface StoreParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between trial writes while writes are unavailable. */
  readonly probeMs?: number;
  /** A transaction that takes longer makes the store count as unavailable. */
  readonly stallMs?: number;
}

interface LmdbStoreOptions extends StoreParts {
  /** Directory of the database, made when it is missing. */
  readonly path: string;
}

/** Damaged rows named in the log. */
const reportedMax = 1_000;
/** Events removed in one transaction: about 5 ms of the event loop. */
const pruneSlice = 500;

/**
 * A store that has the present data format already, or is empty; `lmdb/open.ts` opens any other.
 * @throws OperatorError on another format, or when the directory can't be opened
 */
export function openLmdbStore(options: LmdbStoreOptions): Store {
  return createLmdbStore(openTables(options.path), options);
}

/** @param tables closed with the store */
export function createLmdbStore(
  tables: Tables,
  { clock, log, probeMs = 1_000, stallMs = 30_000 }: StoreParts,
): Store {
  const transactor = createTransactor(tables, clock, log);
  const queue = createGroupCommit(transactor, { clock, log, probeMs, stallMs });
  const hints = new Set<(events: readonly StoreEvent[]) => void>();
  const reported = new Set<string>();
  let closed = false;

  /** Once for each row: whoever reads a list often would fill the log with it. */
  function onDamage({ message }: DamagedRowError): void {
    if (reported.has(message) || reported.size >= reportedMax) return;
    reported.add(message);
    log.error({ detail: message }, 'store: a damaged row is left out; restore a backup');
  }

  /** Reads see every commit made before them. */
  function renewReadTransaction(): void {
    if (closed) throw new Error('the store is closed');
    tables.root.resetReadTxn();
  }

  function onCommitted(prepared: PreparedCommit, lastSeq: bigint): void {
    if (prepared.events.length === 0 || hints.size === 0) return;
    const events = committedEvents(prepared, lastSeq);
    for (const hint of hints) hint(events);
  }

  async function maintain(run: (context: WriteContext) => number): Promise<number> {
    return runMaintenance(queue, run);
  }

  return {
    soleOwner: tables,
    commit(commit) {
      try {
        const bytes = assertCommit(commit);
        return runCommit(queue, tables, prepareCommit(commit), bytes, onCommitted);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    async get(key) {
      assertKey(key);
      renewReadTransaction();
      const row = tables.entries.get(key);
      if (row === undefined) return undefined;
      const entry = readEntry(key, row);
      return isExpired(entry, clock.now()) ? undefined : entry;
    },
    async scan(prefix, { after, limit }) {
      assertLimit(limit, storeLimits.scanLimitMax);
      assertKey(prefix);
      if (after !== undefined) assertAfter(prefix, after);
      let position = after;
      for (;;) {
        renewReadTransaction();
        const page = scanPage(tables, prefix, position, limit, clock.now(), onDamage);
        if (page.entries.length > 0 || page.last === undefined) return page.entries;
        // A page of nothing but expired rows: go on behind it, after letting others run.
        position = page.last;
        await new Promise(setImmediate);
      }
    },
    async read(afterSeq, limit) {
      assertLimit(limit, storeLimits.readLimitMax);
      renewReadTransaction();
      return readPage(tables, afterSeq, limit);
    },
    async lastSeq() {
      renewReadTransaction();
      return BigInt(readCounters(tables.meta).lastSeq);
    },
    onJournalGrowth(callback) {
      hints.add(callback);
      return () => hints.delete(callback);
    },
    onWriteState: (callback) => queue.onWriteState(callback),
    writeState: () => queue.writeState(),
    tables: queue.tables,
    async pruneEvents(throughSeq) {
      let removed = 0;
      for (;;) {
        const slice = await maintain((context) =>
          pruneJournal(context, Number(throughSeq), pruneSlice),
        );
        removed += slice;
        if (slice < pruneSlice) return removed;
      }
    },
    async sweep(limit) {
      assertLimit(limit, storeLimits.sweepLimitMax);
      return maintain((context) => sweepExpired(context, limit));
    },
    async close() {
      await queue.close();
      closed = true;
      hints.clear();
      await tables.root.close();
    },
  };
}

/** Returns the events of a commit as the journal has them. @param lastSeq of the last one */
function committedEvents({ events }: PreparedCommit, lastSeq: bigint): StoreEvent[] {
  const first = lastSeq - BigInt(events.length - 1);
  return events.map(({ row }, i) => readSealedEvent(first + BigInt(i), row));
}

/**
 * Returns true if all that it looks for are rows that no commit of its kind writes, and all that it writes are
 * new.
 */
function isIndependent({ isFirstTry, check, set, del, events }: PreparedCommit): boolean {
  return (
    isFirstTry &&
    events.length > 0 &&
    del.length === 0 &&
    check.every(({ version }) => version === null) &&
    set.every(({ isNew, expiresAt }) => isNew && expiresAt === 0)
  );
}

function runCommit(
  queue: GroupCommit<LmdbContext>,
  tables: Tables,
  prepared: PreparedCommit,
  bytes: number,
  onCommitted: (prepared: PreparedCommit, lastSeq: bigint) => void,
): Promise<CommitResult> {
  let result: CommitResult | undefined;
  return new Promise((resolve, reject) => {
    queue.add({
      bytes,
      maintenance: false,
      isIndependent: isIndependent(prepared),
      run(context) {
        result = applyCommit(context, prepared);
      },
      done() {
        if (result!.ok && !result!.duplicate) onCommitted(prepared, result!.seq);
        resolve(result!);
      },
      unavailable(detail) {
        const seq = BigInt(readCounters(tables.meta).lastSeq);
        resolve({ ok: false, error: 'store_unavailable', seq, detail });
      },
      threw: reject,
    });
  });
}

/** Rejects while writes are impossible: the sweeper tries again later. */
function runMaintenance(
  queue: GroupCommit<LmdbContext>,
  run: (context: WriteContext) => number,
): Promise<number> {
  let count = 0;
  return new Promise((resolve, reject) => {
    queue.add({
      bytes: 0,
      maintenance: true,
      run(context) {
        count = run(context);
      },
      done: () => resolve(count),
      unavailable: (detail) => reject(new StoreUnavailableError(`store unavailable: ${detail}`)),
      threw: reject,
    });
  });
}

/** `last` is the last key looked at, undefined at the end of the prefix. */
function scanPage(
  { entries: table }: Tables,
  prefix: Key,
  after: Key | undefined,
  limit: number,
  nowMs: number,
  onDamage: (error: DamagedRowError) => void,
): { entries: StoredRow[]; last: Key | undefined } {
  const end = prefixEnd(prefix);
  const range = table.getRange({
    start: after ?? prefix,
    exclusiveStart: after !== undefined,
    limit,
    ...(end === undefined ? {} : { end }),
  });
  const entries: StoredRow[] = [];
  let last: Key | undefined;
  let bytes = 0;
  for (const { key, value } of range) {
    last = storedKey(key);
    const entry = readable(last, value, onDamage);
    if (entry === undefined || isExpired(entry, nowMs)) continue;
    entries.push({ key: last, value: entry.value, version: entry.version });
    bytes += value.length;
    if (bytes > storeLimits.pageBytesMax) break;
  }
  return { entries, last };
}

/** A list goes on without a row that is damaged. */
function readable(
  key: Key,
  row: Buffer,
  onDamage: (error: DamagedRowError) => void,
): StoredEntry | undefined {
  try {
    return readEntry(key, row);
  } catch (error) {
    if (!(error instanceof DamagedRowError)) throw error;
    onDamage(error);
    return undefined;
  }
}

function readPage({ journal, meta }: Tables, afterSeq: bigint, limit: number): StoreEvent[] {
  const counters = readCounters(meta);
  if (afterSeq < BigInt(counters.prunedThrough)) {
    throw new JournalPrunedError(afterSeq, BigInt(counters.prunedThrough));
  }
  if (afterSeq >= BigInt(counters.lastSeq)) return [];
  const events: StoreEvent[] = [];
  let seq = afterSeq;
  let bytes = 0;
  const start = journalRowKey(Number(afterSeq) + 1);
  for (const { key, value } of journal.getRange({ start, limit })) {
    seq += 1n;
    if (Buffer.from(key).readBigUInt64BE() !== seq) throw missingEvent(seq);
    events.push(decodeEvent(seq, value));
    bytes += value.length;
    if (bytes > storeLimits.pageBytesMax) break;
  }
  // Whoever follows would wait for it.
  if (events.length === 0) throw missingEvent(seq + 1n);
  return events;
}

/** Removes at most `limit` expired rows, in a few milliseconds, and returns how many. */
function sweepExpired(context: WriteContext, limit: number): number {
  const { expiry } = context.tables;
  const end = expiryRowKey(context.nowMs + 1, 0);
  const due = [...expiry.getRange({ end, limit })];
  context.writes += due.length;
  for (const { key, value } of due) {
    const target = value.subarray(1);
    if (value[0] === expiryKinds.eventId) context.tables.eventIds.remove(target);
    else removeIfSame(context.tables.entries, target, key);
    expiry.remove(key);
  }
  return due.length;
}

/** Only the very row that the index entry was made for: its time and version are in the key. */
function removeIfSame(entries: Table, key: Uint8Array, indexKey: Uint8Array): void {
  const row = entries.getBinaryFast(key);
  if (row === undefined) return;
  const header = readEntryHeader(row);
  const own = expiryRowKey(header.expiresAt, header.version);
  if (header.expiresAt !== 0 && Buffer.compare(own, indexKey) === 0) entries.remove(key);
}

/** Removes at most `limit` events with seq ≤ `throughSeq`, oldest first, and returns how many. */
function pruneJournal(context: WriteContext, throughSeq: number, limit: number): number {
  const { counters } = context;
  const first = counters.prunedThrough + 1;
  const last = Math.min(throughSeq, counters.lastSeq, first + limit - 1);
  const start = journalRowKey(first);
  const end = journalRowKey(last + 1);
  if (last < first) return 0;
  const rows = [...context.tables.journal.getRange({ start, end })];
  if (rows.length !== last - first + 1) {
    throw new Error(`the journal has ${rows.length} events from ${first} to ${last}`);
  }
  context.writes += rows.length;
  for (const [i, { key, value }] of rows.entries()) {
    forgetEventId(context, decodeEvent(BigInt(first + i), value));
    context.tables.journal.remove(key);
  }
  counters.prunedThrough = last;
  return rows.length;
}

/** At once, or when the id is old enough to be of no more use to a retry. */
function forgetEventId({ tables, counters, nowMs }: WriteContext, event: StoreEvent): void {
  const id = eventIdRowKey(event.id);
  const forgetAt = event.at + storeLimits.eventIdKeepMs;
  if (forgetAt <= nowMs) {
    tables.eventIds.remove(id);
    return;
  }
  // A version that nothing else has keeps the index key unique.
  counters.lastVersion += 1;
  const target = encodeExpiryTarget(expiryKinds.eventId, id);
  tables.expiry.put(expiryRowKey(forgetAt, counters.lastVersion), target);
}
