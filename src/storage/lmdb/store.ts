/**
 * The Store on LMDB: one file in the data directory, opened by one process alone (claim.ts).
 *
 * Invariants: a commit is acknowledged only after its transaction was synced; checks, `seq` and
 * versions are taken inside the write transaction; no cursor and no read transaction is held across an await.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { IF_EXISTS } from 'lmdb';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import {
  applyCommit,
  type PreparedCommit,
  type PreparedEvent,
  type PreparedRow,
  type RowView,
} from '../apply-commit.ts';
import { backUpTables, intoFile } from '../backup/write.ts';
import {
  createGroupCommit,
  FollowsFailureError,
  type GroupCommit,
  type Transactor,
} from '../group-commit.ts';
import {
  eventIdRowKey,
  expiryRowKey,
  isSameKey,
  journalRowKey,
  type Key,
  metaRowKey,
  prefixEnd,
  storedKey,
} from '../keys.ts';
import {
  DamagedRowError,
  decodeEvent,
  type EntryHeader,
  encodeEntry,
  encodeEvent,
  isExpired,
  missingEvent,
  readEntry,
  readEntryHeader,
  readSealedEvent,
  type StoredEntry,
  sealEntry,
  sealEvent,
} from '../rows.ts';
import {
  assertAfter,
  assertCommit,
  assertKey,
  assertLimit,
  type Commit,
  type CommitResult,
  JournalPrunedError,
  type Store,
  type StoredRow,
  type StoreEvent,
  StoreUnavailableError,
  storeLimits,
} from '../store.ts';
import { openTables } from './environment.ts';
import {
  type DataFormat,
  dataFormat,
  type FormatRow,
  formatIn,
  isUpToDate,
  type MigrationReader,
  type MigrationRow,
  type MigrationStep,
  writeFormat,
} from './format.ts';
import {
  claimMasterKey,
  claimPresence,
  type MasterKeyClaim,
  refuseHalfRestored,
  refuseLostStore,
} from './presence.ts';
import {
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readCounters,
  readEventIdSeq,
  type Table,
  type TableCounters,
  type Tables,
  writeCounters,
} from './tables.ts';

interface StoreParts {
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
 * A store that has the present data format already, or is empty; `openStore` opens any other.
 * @throws OperatorError on another format, or when the directory can't be opened
 */
export function openLmdbStore(options: LmdbStoreOptions): Store {
  return createLmdbStore(openTables(options.path), options);
}

/** @param tables closed with the store */
function createLmdbStore(
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

// Opens a store for the server or a command, and leads an older one to the present data format
// first: step by step, batch by batch, each batch in one transaction with the place it reached.
//
// Invariants: nobody else has the store open while its rows change (its directory is claimed); the new
// number is written before the first row, so a program of an older format stays out from then on; a kill at any
// moment leaves a store that the next open leads on to the same end.

export interface StoreOpening extends StoreParts {
  readonly random: Random;
  /** The claim of the master key; missing for callers that read nothing that it seals. */
  readonly masterKey?: MasterKeyClaim | undefined;
  /** False: there is a backup of it already. Else an update begins with one, in `dataDir`. */
  readonly backsUp?: boolean;
  /** For tests: a format to come, smaller batches, a pause after each. */
  readonly format?: DataFormat;
  readonly batchRows?: number;
  readonly afterBatch?: () => Promise<void>;
}

export interface OpenStoreOptions extends StoreOpening {
  /** Directory of the database, made when it is missing. */
  readonly path: string;
  readonly dataDir: string;
}

/** Rows of one batch: some milliseconds of work, far below the bounds of a commit. */
const batchRowsDefault = 500;

/**
 * The store in the present format.
 * @throws OperatorError when it is newer, can't be opened, or is in use by another process
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { format = dataFormat } = options;
  refuseHalfRestored(options.dataDir, options.path);
  refuseLostStore(options.dataDir, options.path);
  const tables = openTables(options.path, format, true);
  const store = createLmdbStore(tables, options);
  try {
    const found = formatIn(tables.meta)!;
    if (!isUpToDate(found, format)) await update(tables, found, format, options);
    if (options.masterKey !== undefined) claimMasterKey(tables.meta, options.masterKey);
    claimPresence(tables.meta, options.dataDir, options.random);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function update(
  tables: Tables,
  found: FormatRow,
  format: DataFormat,
  options: OpenStoreOptions,
): Promise<void> {
  const { number: to } = format;
  // Once: what was begun is no state to go back to.
  if (found.number !== to) await backUp(tables, to, options);
  // The new number first, so that an older program stays out from the first batch on.
  tables.file.assertRoom();
  tables.meta.transactionSync(() => writeFormat(tables.meta, { ...found, number: to }));
  const rows = await runSteps(tables, format, options);
  options.log.info({ from: found.number, to, rows }, 'store: migrated to the current data format');
}

async function backUp(tables: Tables, to: number, options: OpenStoreOptions): Promise<void> {
  const { dataDir, clock, random, log, backsUp = true } = options;
  if (!backsUp) return;
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]|\.\d+/g, '');
  const file = join(dataDir, `before-format-${to}-${stamp}.backup`);
  const made = await intoFile(file, random, (write) => backUpTables(tables, { clock, write }));
  log.info({ file, rows: made.rows, bytes: made.bytes }, 'store: backed up before the update');
}

/** @returns how many rows were written */
async function runSteps(
  tables: Tables,
  { steps }: DataFormat,
  { clock, log, batchRows = batchRowsDefault, afterBatch }: OpenStoreOptions,
): Promise<number> {
  let rows = 0;
  for (;;) {
    const format = formatIn(tables.meta)!;
    const step = steps[format.done];
    if (step === undefined) return rows;
    if (format.after === undefined) log.info({ step: step.name }, 'store: a step of the update');
    const nowMs = clock.now();
    tables.file.assertRoom();
    rows += tables.root.transactionSync(() => runBatch(tables, step, format, nowMs, batchRows));
    await afterBatch?.();
    await new Promise(setImmediate);
  }
}

function runBatch(
  tables: Tables,
  step: MigrationStep,
  { number, done, after }: FormatRow,
  nowMs: number,
  limit: number,
): number {
  const context = rowsOf(tables, nowMs);
  const { commit, next } = step.plan(readerOf(tables, nowMs), after, limit);
  const result = applyCommit(context, prepareCommit(commit));
  if (!result.ok) throw new Error(`a batch of '${step.name}' was refused: ${result.error}`);
  if (context.writes > 0) writeCounters(tables.meta, context.counters);
  writeFormat(tables.meta, { number, done: next === undefined ? done + 1 : done, after: next });
  return context.writes;
}

function readerOf({ entries }: Tables, nowMs: number): MigrationReader {
  /** A copy: the row's bytes lie in the page that the batch is about to change. */
  function rowOf(key: Key, row: Buffer): MigrationRow | undefined {
    const entry = readEntry(key, row);
    if (isExpired(entry, nowMs)) return undefined;
    return { key, value: Uint8Array.from(entry.value), expiresAt: entry.expiresAt };
  }
  return {
    nowMs,
    get(key) {
      const row = entries.get(key);
      return row === undefined ? undefined : rowOf(key, row);
    },
    scan(prefix, after, limit) {
      const end = prefixEnd(prefix);
      const range = entries.getRange({
        start: after ?? prefix,
        exclusiveStart: after !== undefined,
        limit,
        ...(end === undefined ? {} : { end }),
      });
      const rows: MigrationRow[] = [];
      let seen = 0;
      let last: Key | undefined;
      for (const { key, value } of range) {
        seen += 1;
        last = storedKey(key);
        const row = rowOf(last, value);
        if (row !== undefined) rows.push(row);
      }
      return { rows, last: seen < limit ? undefined : last };
    },
  };
}

// The rows of LMDB as a commit reads and writes them. A write that throws dooms the transaction.

/** Alive during one transaction callback only. */
interface WriteContext {
  readonly tables: Tables;
  readonly nowMs: number;
  /** Written back at the end of the callback, if anything was written. */
  readonly counters: TableCounters;
  /** Rows written or removed so far. */
  writes: number;
}

const none: readonly never[] = [];

function prepareCommit(commit: Commit): PreparedCommit {
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

type LmdbContext = ReturnType<typeof rowsOf>;

function createTransactor(tables: Tables, clock: Clock, log: Log): Transactor<LmdbContext> {
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
