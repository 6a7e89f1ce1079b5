/**
 * The Store in PostgreSQL, for several servers at once. Four parts share the work, each with a
 * connection of its own: commits, reads, and what waits for hints and tidies up.
 *
 * Invariants: what was acknowledged is on the primary's disk (and a synchronous standby's); times are
 * those of the clock that is passed in; a database that can't be reached makes reads reject with
 * StoreUnavailableError and commits answer `store_unavailable`, and never ends the process.
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import { applyCommit, type PreparedCommit } from '../apply-commit.ts';
import { assertAfter, assertCommit, assertKey, assertLimit } from '../bounds.ts';
import { createGroupCommit, type GroupCommit } from '../group-commit.ts';
import { eventIdRowKey, type Key } from '../keys.ts';
import { encodeEvent } from '../rows.ts';
import {
  type Commit,
  type CommitResult,
  type RowCheck,
  type Store,
  storeLimits,
} from '../store.ts';
import type { Batch } from './batch.ts';
import { createConnection, type PostgresSession } from './connection.ts';
import { prune, sweepRows } from './maintenance.ts';
import { createReads, type JournalHead } from './reads.ts';
import { migrate } from './schema.ts';
import { createPostgresTransactor, hintChannel, type PostgresTransactor } from './transactor.ts';

export interface PostgresStoreOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs?: number;
  readonly stallMs?: number;
  /** For tests: connections that break when they are told to. */
  readonly connect?: typeof createConnection;
}

/** Reads are small. What waits longer would wait in vain: who asked is answered, and a new connection is tried. */
const silentMs = 8_000;

export interface PostgresStore extends Store {
  /** Which journal this is, and how long. */
  head(): Promise<JournalHead>;
  /** Milliseconds since 1970. */
  databaseTime(): Promise<number>;
  /** The first value that anybody gave to a name of the cluster stays. @returns that one */
  claimName(name: string, value: Buffer): Promise<Buffer>;
  /** The connection for what is seldom and small. */
  session(): Promise<PostgresSession>;
  /** @param fence of a lease: under another one nothing is removed */
  pruneEvents(throughSeq: bigint, fence?: RowCheck): Promise<number>;
  sweep(limit: number, fence?: RowCheck): Promise<number>;
}

/**
 * Leads the database to the present schema first.
 * @throws StoreUnavailableError when no primary can be reached
 * @throws OperatorError when the database is of a newer program
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { url, clock, log, probeMs = 1_000, stallMs = 8_000 } = options;
  const { connect = createConnection } = options;
  const node = randomUUID();
  const hints = new Set<() => void>();
  function hint(): void {
    for (const callback of hints) callback();
  }
  const writer = connect({ url, log });
  const reader = connect({ url, log, answerMs: silentMs });
  const listener = connect({
    url,
    log,
    channel: hintChannel,
    onNotification(sender) {
      if (sender !== node) hint();
    },
  });
  const connections = [writer, reader, listener];
  const transactor = createPostgresTransactor({ connection: writer, clock, log, node });
  const queue = createGroupCommit(transactor, { clock, log, probeMs, stallMs });
  const reads = createReads(reader, clock);
  let isClosed = false;
  let lastKnownSeq = 0n;

  function assertOpen(): void {
    if (isClosed) throw new Error('the store is closed');
  }

  async function closeAll(): Promise<void> {
    await Promise.all(connections.map((connection) => connection.close()));
  }

  try {
    await migrate(await listener.session());
    lastKnownSeq = (await reads.head()).lastSeq;
  } catch (error) {
    await closeAll();
    throw error;
  }
  /** Hints come over a connection that nothing else would notice to be gone. */
  const watch = setInterval(() => void listener.session().catch(() => {}), probeMs);
  watch.unref();

  return {
    async commit(commit) {
      assertOpen();
      const bytes = assertCommit(commit);
      const result = await runCommit(queue, transactor, commit, bytes, () => lastKnownSeq);
      if (result.seq > lastKnownSeq) lastKnownSeq = result.seq;
      if (result.ok && !result.duplicate && (commit.events?.length ?? 0) > 0) hint();
      return result;
    },
    async get(key) {
      assertOpen();
      assertKey(key);
      return reads.get(key);
    },
    async scan(prefix, { after, limit }) {
      assertOpen();
      assertLimit(limit, storeLimits.scanLimitMax);
      assertKey(prefix);
      if (after !== undefined) assertAfter(prefix, after);
      return reads.scan(prefix, after, limit);
    },
    async read(afterSeq, limit, afterAt) {
      assertOpen();
      assertLimit(limit, storeLimits.readLimitMax);
      return reads.read(afterSeq, limit, afterAt);
    },
    async lastSeq() {
      assertOpen();
      return (await reads.head()).lastSeq;
    },
    async head() {
      assertOpen();
      return reads.head();
    },
    async databaseTime() {
      const session = await reader.session();
      const [row] = await session.query<{ ms: string }>({
        name: 'time',
        text: 'select extract(epoch from clock_timestamp()) * 1000 as ms',
      });
      return Number(row!.ms);
    },
    async claimName(name, value) {
      const session = await listener.session();
      const [, rows] = await session.pipeline([
        {
          text: 'insert into meta values ($1, $2) on conflict (name) do nothing',
          values: [name, value],
        },
        { text: 'select value from meta where name = $1', values: [name] },
      ]);
      return (rows!.rows[0] as { value: Buffer }).value;
    },
    onHint(callback) {
      hints.add(callback);
      return () => hints.delete(callback);
    },
    onWriteState: (callback) => queue.onWriteState(callback),
    writeState: () => queue.writeState(),
    tables: queue.tables,
    session: () => listener.session(),
    async pruneEvents(throughSeq, fence) {
      assertOpen();
      return prune(await listener.session(), throughSeq, clock.now(), fence);
    },
    async sweep(limit, fence) {
      assertOpen();
      assertLimit(limit, storeLimits.sweepLimitMax);
      return sweepRows(await listener.session(), limit, clock.now(), fence);
    },
    async close() {
      isClosed = true;
      clearInterval(watch);
      await queue.close();
      hints.clear();
      await closeAll();
    },
  };
}

const outOfReach = 'The database can not be reached at the moment.';

function prepare(commit: Commit): PreparedCommit {
  return {
    check: commit.check ?? [],
    set: (commit.set ?? []).map(({ key, value, expiresAt = 0 }) => {
      return { key, expiresAt, row: Buffer.from(value) };
    }),
    del: commit.del ?? [],
    events: (commit.events ?? []).map((event) => {
      return { id: eventIdRowKey(event.id), row: encodeEvent(event) };
    }),
  };
}

function runCommit(
  queue: GroupCommit<Batch>,
  transactor: PostgresTransactor,
  commit: Commit,
  bytes: number,
  lastSeq: () => bigint,
): Promise<CommitResult> {
  const prepared = prepare(commit);
  const { check, set, del, events } = prepared;
  const keys = [...check, ...set].map(({ key }) => key).concat(del);
  const eventIds = (commit.events ?? []).map(({ id }) => id);
  let firstVersion: number | undefined;
  /** The commit was a retry of an earlier one before the connection broke. */
  let wasDuplicate = false;
  let ran: { batch: Batch; result: CommitResult } | undefined;

  function run(batch: Batch): CommitResult {
    firstVersion ??= transactor.reserveVersions(set.length);
    if (batch.isRepeat && !wasDuplicate) {
      const earlier = foundAgain(batch, prepared, firstVersion);
      if (earlier !== undefined) return earlier;
    }
    batch.counters.lastVersion = firstVersion - 1;
    const result = applyCommit(batch, prepared);
    if (result.ok && result.duplicate) batch.tellsOfEarlier = true;
    if (!batch.isRepeat) wasDuplicate = result.ok && result.duplicate;
    if (result.ok && !result.duplicate) holdAbsent(batch, prepared);
    // The first try may have been committed and removed what this check asks for.
    if (!result.ok && batch.isRepeat) {
      const detail = 'the connection broke while it was written';
      return { ok: false, error: 'store_unavailable', seq: result.seq, detail };
    }
    return result;
  }

  return new Promise((resolve, reject) => {
    queue.add({
      bytes,
      maintenance: false,
      reads: { keys, eventIds, sets: set.length },
      run(batch) {
        ran = { batch, result: run(batch) };
      },
      done() {
        const { batch, result } = ran!;
        resolve({ ...result, seq: batch.seqOnceCommitted(Number(result.seq)) });
      },
      // Callers may show it to anybody: the reason, with hosts in it, is in the log.
      unavailable: () =>
        resolve({ ok: false, error: 'store_unavailable', seq: lastSeq(), detail: outOfReach }),
      threw: reject,
    });
  });

  /** Written by the try before: its events are known, or a row bears a version that was ours alone. */
  function foundAgain(
    batch: Batch,
    { set: rows }: PreparedCommit,
    version: number,
  ): CommitResult | undefined {
    const last = events.at(-1);
    const seq = last === undefined ? undefined : batch.seqOf(last.id);
    const isOurs = rows.some(({ key }, i) => batch.header(key)?.version === version + i);
    if (seq === undefined && !isOurs) return undefined;
    batch.tellsOfEarlier = true;
    const versions = rows.map((_, i) => version + i);
    return { ok: true, seq: BigInt(seq ?? batch.seenSeq), duplicate: false, versions };
  }
}

/** Absences that were checked alone are locked too, or two commits could each miss the other's row. */
function holdAbsent(batch: Batch, { check, set }: PreparedCommit): void {
  for (const { key, version } of check) {
    if (version === null && !set.some((row) => isSame(row.key, key))) batch.holdAbsent(key);
  }
}

function isSame(a: Key, b: Key): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}
