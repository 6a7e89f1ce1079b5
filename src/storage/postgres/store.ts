/**
 * The Store in PostgreSQL, for several servers at once. Four parts share the work, each with a
 * connection of its own: commits, reads, and what waits for hints and tidies up.
 *
 * Invariants: what was acknowledged is on the primary's disk (and a synchronous standby's); times are
 * those of the clock that is passed in; a database that can't be reached makes reads reject with
 * StoreUnavailableError and commits answer `store_unavailable`, and never ends the process.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { applyCommit, type PreparedCommit } from '../apply-commit.ts';
import { createGroupCommit, type GroupCommit, type Job, type Transactor } from '../group-commit.ts';
import type { JournalWatermark } from '../journal/projection.ts';
import { eventIdRowKey, type Key } from '../keys.ts';
import { encodeEvent } from '../rows.ts';
import {
  assertAfter,
  assertCommit,
  assertKey,
  assertLimit,
  type Commit,
  type CommitResult,
  type RowCheck,
  type Store,
  type StoreEvent,
  StoreUnavailableError,
  storeLimits,
} from '../store.ts';
import { Batch, type BatchWrites, type FetchedRow, nameOf } from './batch.ts';
import {
  byteaArray,
  type Connection,
  createConnection,
  hostsText,
  int8Array,
  isLost,
  type PostgresSession,
  type Query,
  textArray,
} from './connection.ts';
import {
  createReads,
  encodeFrames,
  type JournalHead,
  type JournalPage,
  type Reads,
} from './reads.ts';
import { migrate, versionBlock } from './schema.ts';

interface PostgresStoreOptions {
  readonly url: string;
  /** The journal is read from this standby of the database; undefined: from the primary. */
  readonly replicaUrl?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs?: number;
  readonly stallMs?: number;
  readonly replicaRetryMs?: number;
  /** For tests: connections that break on command. */
  readonly connect?: typeof createConnection;
}

/** Reads are small. What waits longer would wait in vain: who asked is answered, and a new connection is tried. */
const silentMs = 8_000;
/** A replica that does not answer for this time is skipped: the primary answers instead. */
const silentReplicaMs = 2_000;

export interface PostgresStore extends Store {
  /** With a replica. */
  readonly replica: ReplicaState | undefined;
  /** Which journal this is, and how long. */
  head(): Promise<JournalHead>;
  /** Milliseconds since 1970. */
  databaseTime(): Promise<number>;
  /** The first value that anybody gave to a name of the cluster stays. @returns that one */
  claimName(name: string, value: Buffer): Promise<Buffer>;
  /** The connection for what is seldom and small. */
  session(): Promise<PostgresSession>;
  /** Whoever waits for the database learns that it is away. For a stop that would wait for one that says nothing. */
  giveUp(): void;
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
  const { url, replicaUrl, clock, log, probeMs = 1_000, stallMs = 8_000 } = options;
  const { connect = createConnection } = options;
  const node = randomUUID();
  const hints = new Set<() => void>();
  function hint(): void {
    for (const callback of hints) callback();
  }
  /** The reader may still be at a primary that another one has replaced. */
  const onWritable = () => reader.discard();
  const writer = connect({ url, log, onWritable });
  const reader = connect({ url, log, answerMs: silentMs });
  const listener = connect({
    url,
    log,
    channel: hintChannel,
    onWritable,
    onNotification(payload) {
      const { node: sender, watermark } = readHint(payload);
      if (sender === node) return;
      if (watermark === undefined) replica?.expect();
      else replica?.shown(watermark);
      hint();
    },
  });
  const connections = [writer, reader, listener];
  const transactor = createPostgresTransactor({
    connection: writer,
    clock,
    log,
    node,
    isGivenUp: () => isGivenUp,
    onAppended: (watermark) => replica?.shown(watermark),
  });
  const queue = createGroupCommit(transactor, { clock, log, probeMs, stallMs });
  const reads = createReads(reader, clock);
  const replica = replicaUrl === undefined ? undefined : openReplica(replicaUrl);
  let isClosed = false;
  let isGivenUp = false;
  let lastKnownSeq = 0n;

  function openReplica(from: string) {
    const connection = connect({ url: from, log, isReplica: true, answerMs: silentReplicaMs });
    connections.push(connection);
    return createReplicaReads({
      primary: reads,
      replica: createReads(connection, clock),
      connection,
      url: from,
      clock,
      log,
      retryMs: options.replicaRetryMs,
    });
  }

  function assertOpen(): void {
    if (isClosed) throw new Error('the store is closed');
  }

  async function closeAll(): Promise<void> {
    replica?.stop();
    await Promise.all(connections.map((connection) => connection.close()));
  }

  try {
    await migrate(await listener.session());
    lastKnownSeq = (await reads.head()).lastSeq;
    await replica?.begin();
  } catch (error) {
    await closeAll();
    throw error;
  }
  /** Hints come over a connection that nothing else would notice to be gone. */
  const watch = every(probeMs, () => listener.session(), { onFailure: () => {} });

  return {
    async commit(commit) {
      assertOpen();
      const bytes = assertCommit(commit);
      const result = await runCommit(queue, transactor, commit, bytes, () => lastKnownSeq);
      if (result.seq > lastKnownSeq) lastKnownSeq = result.seq;
      replica?.expect(result.seq);
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
      if (replica !== undefined) return replica.read(afterSeq, limit, afterAt);
      return [...(await reads.page(afterSeq, limit, afterAt)).events];
    },
    async lastSeq() {
      assertOpen();
      const { lastSeq } = await reads.head();
      replica?.expect(lastSeq);
      return lastSeq;
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
      const known = { text: 'select value from meta where name = $1', values: [name] };
      // A database that only reads refuses the insertion even where it has nothing to do.
      const [there] = await session.query<{ value: Buffer }>(known);
      if (there !== undefined) return there.value;
      const [, rows] = await session.pipeline([
        {
          text: 'insert into meta values ($1, $2) on conflict (name) do nothing',
          values: [name, value],
        },
        known,
      ]);
      return (rows!.rows[0] as { value: Buffer }).value;
    },
    onJournalGrowth(callback) {
      hints.add(callback);
      return () => hints.delete(callback);
    },
    onWriteState: (callback) => queue.onWriteState(callback),
    writeState: () => queue.writeState(),
    tables: queue.tables,
    replica,
    session: () => listener.session(),
    giveUp(): void {
      isGivenUp = true;
      for (const connection of connections) connection.abandon();
    },
    async pruneEvents(throughSeq, fence) {
      assertOpen();
      const session = await listener.session();
      return await prune(session, throughSeq, clock.now(), fence).catch(throwAsUnavailable);
    },
    async sweep(limit, fence) {
      assertOpen();
      assertLimit(limit, storeLimits.sweepLimitMax);
      const session = await listener.session();
      return await removeExpiredRows(session, limit, clock.now(), fence).catch(throwAsUnavailable);
    },
    async close() {
      isClosed = true;
      void watch.stop();
      await queue.close();
      hints.clear();
      await closeAll();
    },
  };
}

const outOfReach = 'The database can not be reached at the moment.';

function prepare(commit: Commit): PreparedCommit {
  // A transaction may have to be repeated: what it writes is always looked for.
  return {
    isFirstTry: false,
    check: commit.check ?? [],
    set: (commit.set ?? []).map(({ key, value, expiresAt = 0 }) => {
      return { key, expiresAt, isNew: false, row: Buffer.from(value) };
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
      const earlier = resultOfEarlierTry(batch, prepared, firstVersion);
      if (earlier !== undefined) return earlier;
    }
    batch.counters.lastVersion = firstVersion - 1;
    const result = applyCommit(batch, prepared);
    if (result.ok && result.duplicate) batch.hasEarlierResult = true;
    if (!batch.isRepeat) wasDuplicate = result.ok && result.duplicate;
    if (result.ok && !result.duplicate) lockAbsent(batch, prepared);
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
  function resultOfEarlierTry(
    batch: Batch,
    { set: rows }: PreparedCommit,
    version: number,
  ): CommitResult | undefined {
    const last = events.at(-1);
    const seq = last === undefined ? undefined : batch.seqOf(last.id);
    const isOurs = rows.some(({ key }, i) => batch.header(key)?.version === version + i);
    if (seq === undefined && !isOurs) return undefined;
    batch.hasEarlierResult = true;
    const versions = rows.map((_, i) => version + i);
    return { ok: true, seq: BigInt(seq ?? batch.seenSeq), duplicate: false, versions };
  }
}

/** Absences that were checked alone are locked too, or two commits could each miss the other's row. */
function lockAbsent(batch: Batch, { check, set }: PreparedCommit): void {
  for (const { key, version } of check) {
    if (version === null && !set.some((row) => isSame(row.key, key))) batch.lockAbsent(key);
  }
}

function isSame(a: Key, b: Key): boolean {
  return a === b || Buffer.compare(a, b) === 0;
}

const batchJobsMax = 512;
/** One block of versions is enough for a batch. */
const batchSetsMax = versionBlock / 2;
const triesMax = 40;
/** Time in which a transaction with an unknown outcome is tried again, milliseconds. */
const settleMs = 20_000;
const settlePauseMs = 100;
const headLock = 7706;
const hintChannel = 'portcullis';

/** Returns whose commit a hint reports and, except from older programs, the last event of it. */
export function readHint(payload: string): {
  node: string;
  watermark: JournalWatermark | undefined;
} {
  const [node = '', seq, at] = payload.split(' ');
  const watermark = seq === undefined ? undefined : { seq: BigInt(seq), at: Number(at) };
  return { node, watermark };
}

/** Writes as little as there is: its commit is on all disks that count, and with it what came before. */
const barrier: Query = {
  name: 'barrier',
  text: "insert into meta values ('probe', '') on conflict (name) do update set value = excluded.value",
};

/** Another transaction was faster, or waited for this one: the same jobs may succeed at once. */
const passingCodes = new Set(['23505', '40001', '40P01']);

interface PostgresTransactor extends Transactor<Batch> {
  /** Versions for so many rows, one after the other. Only while a transaction runs its jobs. */
  reserveVersions(count: number): number;
}

/**
 * Makes write transactions: two pipelined round trips for many commits.
 *
 * The first locks the rows in key order; then the commits run over them; the second writes rows, then the
 * journal, and commits. Everything that a commit checks or writes is locked in two strict phases; the head of
 * the journal comes last and is held until the commit, so events are in commit order, without gaps. Rows,
 * inserts and head are always taken in the same order: no two transactions wait for each other.
 *
 * When the connection breaks while the commit is under way nobody knows whether it took effect. The same
 * transaction runs again on a new connection: its event ids, and the versions that its rows were given before
 * the first try, show which of its commits are stored already. A server that was killed while it waited for
 * its standby may have stored them alone, so callers are answered only when the standby has them.
 */
function createPostgresTransactor(options: {
  connection: Connection;
  clock: Clock;
  log: Log;
  /** Tells this node's hints from those of others. */
  node: string;
  /** A commit whose outcome is unknown is settled no more. */
  isGivenUp: () => boolean;
  /** Called with the last event of a transaction once it is committed. */
  onAppended: (watermark: JournalWatermark) => void;
}): PostgresTransactor {
  const { connection, clock, log, node, isGivenUp, onAppended } = options;
  let nextVersion = 0;
  let versionsLeft = 0;

  function reserveVersions(count: number): number {
    if (count > versionsLeft) throw new Error('no versions are left');
    const first = nextVersion;
    nextVersion += count;
    versionsLeft -= count;
    return first;
  }

  async function refillVersions(session: PostgresSession): Promise<void> {
    if (versionsLeft >= batchSetsMax) return;
    const [row] = await session.query<{ last: string }>({
      name: 'versions',
      text: "select nextval('kv_version') as last",
    });
    nextVersion = Number(row!.last) - versionBlock + 1;
    versionsLeft = versionBlock;
  }

  async function begin(
    session: PostgresSession,
    jobs: readonly Job<Batch>[],
    isRepeat: boolean,
  ): Promise<Batch> {
    const keys = jobs.flatMap(({ reads }) => reads?.keys ?? []);
    const ids = jobs.flatMap(({ reads }) => reads?.eventIds ?? []);
    const [, rows, seqs, head] = await session.pipeline([
      { name: 'begin', text: 'begin' },
      {
        name: 'lock rows',
        text: 'select key, version, expires_at from kv where key = any($1::bytea[]) order by key for update',
        values: [byteaArray(keys)],
      },
      {
        name: 'known ids',
        text: 'select id, seq from event_ids where id = any($1::text[])',
        values: [textArray(ids)],
      },
      { name: 'see head', text: 'select last_seq from journal_head' },
    ]);
    const known = (seqs!.rows as { id: string; seq: string }[]).map(
      ({ id, seq }) => [nameOf(Buffer.from(id, 'utf8')), Number(seq)] as const,
    );
    return new Batch({
      nowMs: Math.floor(clock.now()),
      lastSeq: Number((head!.rows[0] as { last_seq: string }).last_seq),
      isRepeat,
      rows: rows!.rows as FetchedRow[],
      ids: new Map(known),
    });
  }

  /** @param onSent the commit is on its way: from now on its outcome may stay unknown */
  async function end(session: PostgresSession, batch: Batch, onSent: () => void): Promise<void> {
    const writes = batch.result();
    const queries = writeQueries(writes);
    const { length: count } = writes.events;
    if (count > 0) queries.push(...journalQueries(writes, batch.nowMs, node));
    if (queries.length === 0 && batch.hasEarlierResult) queries.push(barrier);
    if (queries.length === 0) {
      await session.pipeline([{ name: 'rollback', text: 'rollback' }]);
      return;
    }
    onSent();
    const results = await session.pipeline([...queries, { name: 'commit', text: 'commit' }]);
    // A commit of a transaction that was given up succeeds, and says ROLLBACK.
    const { command } = results.at(-1)!;
    if (command !== 'COMMIT') throw new Error(`a commit ended with ${command}`);
    if (count === 0) return;
    const row = results.at(-2)!.rows[0] as { last_seq: string; last_at: string };
    batch.shift = Number(row.last_seq) - count - batch.seenSeq;
    onAppended({ seq: BigInt(row.last_seq), at: Number(row.last_at) });
  }

  async function transact(
    body: (batch: Batch) => void,
    ahead: (jobsMax: number, setsMax: number) => readonly Job<Batch>[],
  ): Promise<void> {
    const jobs = ahead(batchJobsMax, batchSetsMax);
    const startMs = clock.monotonicMs();
    let isUnknown = false;
    for (let tries = 1; ; tries++) {
      let isSent = false;
      let session: PostgresSession | undefined;
      try {
        session = await connection.session();
        await refillVersions(session);
        const batch = await begin(session, jobs, isUnknown);
        body(batch);
        await end(session, batch, () => {
          isSent = true;
        });
        return;
      } catch (error) {
        if (isBug(error)) {
          session?.discard();
          throw error;
        }
        const isUnavailable = error instanceof StoreUnavailableError || isLost(error);
        if (isUnavailable) {
          session?.discard();
          isUnknown ||= isSent;
          const isOver = isGivenUp() || clock.monotonicMs() - startMs > settleMs;
          if (!isUnknown || isOver) throw asUnavailable(error);
          log.warn({ err: error }, 'postgres: a commit is settled on a new connection');
          await delay(settlePauseMs);
          continue;
        }
        await session?.script('rollback').catch(() => session?.discard());
        const { code } = error as { code?: string };
        if (!passingCodes.has(code ?? '') || tries >= triesMax) throw error;
        await delay(Math.random() * tries);
      }
    }
  }

  return {
    transact,
    reserveVersions,
    writes: (batch) => batch.writes,
    async probe() {
      const session = await connection.session();
      await session.query(barrier);
    },
    // Tried again in `transact` as often as is of use.
    isFatal: () => false,
  };
}

/** Thrown by a commit that runs, not by the database. */
function isBug(error: unknown): boolean {
  return error instanceof RangeError || error instanceof TypeError;
}

function asUnavailable(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error;
  return new StoreUnavailableError(`the database went away: ${(error as Error).message}`);
}

function throwAsUnavailable(error: unknown): never {
  throw isLost(error) ? asUnavailable(error) : error;
}

function writeQueries({ inserts, updates, deletes }: BatchWrites): Query[] {
  const queries: Query[] = [];
  const columns = (rows: BatchWrites['inserts']) => [
    byteaArray(rows.map(({ key }) => key)),
    byteaArray(rows.map(({ value }) => value)),
    int8Array(rows.map(({ version }) => version)),
    int8Array(rows.map(({ expiresAt }) => (expiresAt === 0 ? null : expiresAt))),
  ];
  const given =
    'unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[]) as n(key, value, version, expires_at)';
  if (inserts.length > 0) {
    queries.push({
      name: 'insert rows',
      text: `insert into kv (key, value, version, expires_at) select * from ${given} order by 1`,
      values: columns(inserts),
    });
  }
  if (updates.length > 0) {
    queries.push({
      name: 'update rows',
      text: `update kv set value = n.value, version = n.version, expires_at = n.expires_at from ${given} where kv.key = n.key`,
      values: columns(updates),
    });
  }
  if (deletes.length > 0) {
    queries.push({
      name: 'delete rows',
      text: 'delete from kv where key = any($1::bytea[])',
      values: [byteaArray(deletes)],
    });
  }
  return queries;
}

/** The lock hands the head on in the order in which nodes came for it. */
function journalQueries({ events }: BatchWrites, nowMs: number, node: string): Query[] {
  return [
    { name: 'wait for head', text: `select pg_advisory_xact_lock(${headLock})` },
    {
      name: 'append',
      text: `with head as (
               update journal_head set last_seq = last_seq + $1::int8, last_at = greatest(last_at, $2::int8)
               returning last_seq, last_at),
             rows as (
               insert into journal (last_seq, first_seq, at, frames)
               select last_seq, last_seq - $1::int8 + 1, last_at, $3::bytea from head),
             ids as (
               insert into event_ids (id, seq, at)
               select i.id, last_seq - $1::int8 + i.place, last_at
               from head, unnest($4::text[]) with ordinality as i(id, place) order by 1)
             select last_seq, last_at,
               pg_notify('${hintChannel}', $5 || ' ' || last_seq || ' ' || last_at) from head`,
      values: [
        events.length,
        nowMs,
        encodeFrames(events.map(({ row }) => row)),
        textArray(events.map(({ id }) => Buffer.from(id).toString('utf8'))),
        node,
      ],
    },
  ];
}

// The database's time, so that all nodes mean the same by a moment. It is counted by the clock of this machine that
// nobody can set, and measured again now and then. A correction is spread out, so that time never goes back; one
// far forward, as after a sleep of the machine, takes effect at once.

const readings = 8;
const againMs = 30_000;
/**
 * A correction of so much is not spread out, and is reported to the operator, who should check this
 * machine's clock.
 */
const warnMs = 2_000;
/** A correction of so much in each millisecond. */
const slew = 0.05;

export function databaseClock(own: Clock, log: Log) {
  /** Added to the monotonic clock as of `setAtMs`; on its way to `goalMs`. */
  let offsetMs = own.now() - own.monotonicMs();
  let goalMs = offsetMs;
  let setAtMs = own.monotonicMs();

  function offset(): number {
    const elapsedMs = own.monotonicMs() - setAtMs;
    const way = goalMs - offsetMs;
    if (way > warnMs) return goalMs;
    const part = Math.min(Math.abs(way), elapsedMs * slew);
    return offsetMs + Math.sign(way) * part;
  }

  /** The reading with the least time around it is the best. */
  async function measure(ask: () => Promise<number>): Promise<number> {
    let best = { tripMs: Number.POSITIVE_INFINITY, offsetMs: 0 };
    for (let i = 0; i < readings; i++) {
      const beforeMs = own.monotonicMs();
      const theirsMs = await ask();
      const afterMs = own.monotonicMs();
      const tripMs = afterMs - beforeMs;
      if (tripMs >= best.tripMs) continue;
      best = { tripMs, offsetMs: theirsMs + tripMs / 2 - afterMs };
    }
    return best.offsetMs;
  }

  return {
    now: () => Math.floor(own.monotonicMs() + offset()),
    monotonicMs: () => own.monotonicMs(),
    /**
     * Measures at once, and from then on every half minute.
     * @param ask the database's time, milliseconds since 1970
     * @returns ends it
     */
    async follow(ask: () => Promise<number>): Promise<() => void> {
      offsetMs = await measure(ask);
      goalMs = offsetMs;
      setAtMs = own.monotonicMs();
      let hasWarned = false;
      function poll(): void {
        const aheadMs = own.now() - (own.monotonicMs() + goalMs);
        if (Math.abs(aheadMs) <= warnMs) hasWarned = false;
        else if (!hasWarned) {
          hasWarned = true;
          log.warn({ aheadMs: Math.round(aheadMs) }, "this machine's clock is not the database's");
        }
      }
      poll();
      async function measureAgain(): Promise<void> {
        const measuredMs = await measure(ask);
        offsetMs = offset();
        setAtMs = own.monotonicMs();
        goalMs = measuredMs;
        poll();
      }
      // The database is away: the last offset holds.
      return every(againMs, measureAgain, { onFailure: () => {} }).stop;
    },
  };
}

// The journal read from a replica: a standby that follows the primary, near this node. The primary
// is asked for what else there is, and reports which events it has: in the hints of commits, and
// when it is polled.
//
// Invariants: a page ends with an event whose number and time the primary has reported, so a
// replica that lags, is promoted, follows another primary or is of another database brings nothing
// into memory that the primary has not. An event that the replica does not show 200 ms after the
// primary reported it is read from the primary, and so is all that follows until the replica has
// caught up. A replica that fails never makes a read fail.

/** An event that the primary has may be missing for this time. */
const lagMsMax = 200;
/** The first query of a read may take this long, however late the node is. */
const firstMsMin = 50;
/** Between two questions for an event that is not there yet. */
const pauseMs = 5;
/** An answer to a node that is far behind may be long. */
const answerMsMax = 2_000;
/** The follower polls every 200 ms, and each poll asks the primary. */
const pollMs = 150;
/** A replica that was left is tried again so often. */
const retryMsDefault = 5_000;
/** Events that the primary shows within this time share one watermark, as old as the first. */
const watermarkMs = 10;
const watermarksMax = 1_000;

/** A process that serves shows these two in /metrics. */
type ReplicaState = Pick<ReturnType<typeof createReplicaReads>, 'lagEvents' | 'isRead'>;

interface ShownWatermark extends JournalWatermark {
  /** By the monotonic clock, when the primary reported it. */
  readonly sinceMs: number;
}

function createReplicaReads(options: {
  readonly primary: Pick<Reads, 'page' | 'pollHead' | 'timeOf' | 'head'>;
  readonly replica: Pick<Reads, 'rawPage' | 'timeOf'>;
  readonly connection: Pick<Connection, 'session'>;
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly retryMs?: number | undefined;
}) {
  const { primary, replica, connection, url, clock, log, retryMs = retryMsDefault } = options;
  const host = hostsText(url);
  let isRead = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  /** The watermarks of the primary that are not read yet, the newest last. */
  let watermarks: ShownWatermark[] = [];
  let newest: JournalWatermark = { seq: -1n, at: 0 };
  /** The last event that the replica showed. */
  let seenSeq = 0n;
  let epoch: string | undefined;
  let polledMs = Number.NEGATIVE_INFINITY;
  let expectedSeq = 0n;
  /** True: the log says already that the replica is not read, so it is not said again. */
  let isReported = false;

  /** Notes an event that the primary has. */
  function shown(watermark: JournalWatermark): void {
    if (watermark.seq <= newest.seq) return;
    newest = watermark;
    if (!isRead) return;
    const nowMs = clock.monotonicMs();
    const last = watermarks.at(-1);
    const isSameMoment =
      last !== undefined && last.seq > seenSeq && nowMs - last.sinceMs < watermarkMs;
    const sinceMs = isSameMoment ? last.sinceMs : nowMs;
    if (isSameMoment || watermarks.length >= watermarksMax) watermarks.pop();
    watermarks.push({ seq: watermark.seq, at: watermark.at, sinceMs });
  }

  /** @param before the newest event when the primary was asked: one that has less now is another primary */
  function shownHead(head: JournalHead, before: JournalWatermark): void {
    epoch = head.epoch;
    const watermark = { seq: head.lastSeq, at: head.lastAt };
    if (watermark.seq < before.seq) {
      newest = watermark;
      watermarks = [];
    }
    shown(watermark);
  }

  async function readPrimary(
    afterSeq: bigint,
    limit: number,
    afterAt: number | undefined,
  ): Promise<StoreEvent[]> {
    const startMs = clock.monotonicMs();
    const before = newest;
    const { head, events } = await primary.page(afterSeq, limit, afterAt);
    polledMs = startMs;
    shownHead(head, before);
    return [...events];
  }

  /** Leaves the replica for the primary, and tries it again later. */
  function leave(reason: string): void {
    isRead = false;
    watermarks = [];
    if (!isReported && !isStopped) {
      log.warn({ reason: `${host}: ${reason}` }, 'replica: the journal is read from the primary');
    }
    isReported = true;
    retry();
  }

  function retry(): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void tryAgain(lagMsMax), retryMs);
    timer.unref();
  }

  /** @param waitMs the time in which the replica must show what the primary has now */
  async function tryAgain(waitMs: number): Promise<void> {
    const wanted = newest;
    await delay(waitMs, undefined, { ref: false });
    let reason: string | undefined;
    try {
      reason = await reasonAgainst(wanted);
    } catch (error) {
      reason = (error as Error).message;
    }
    if (isStopped) return;
    if (reason !== undefined) return leave(reason);
    isRead = true;
    isReported = false;
    watermarks = [{ seq: newest.seq, at: newest.at, sinceMs: clock.monotonicMs() }];
    log.info({ host }, 'replica: the journal is read from it');
  }

  /** Returns why the replica is not read, or undefined when it shows what the primary has. */
  async function reasonAgainst(wanted: JournalWatermark): Promise<string | undefined> {
    const { head, isStandby } = await inTime(replica.rawPage(wanted.seq, 1), answerMsMax);
    if (!isStandby) return notStandby();
    if (head.epoch !== epoch) return otherJournal;
    seenSeq = head.lastSeq;
    if (head.lastSeq < wanted.seq) return `it lags by ${wanted.seq - head.lastSeq} events`;
    const at = await inTime(replica.timeOf(wanted.seq), answerMsMax);
    return at === undefined || at === wanted.at ? undefined : otherJournal;
  }

  /** The next question goes to a new connection: to another host of the URL, or to this one as a standby again. */
  function notStandby(): string {
    void connection.session().then(
      (session) => session.discard(),
      () => undefined,
    );
    return 'it is no standby: it was promoted, or never was one';
  }

  /** @returns undefined when the event that comes next is not there in time, or the replica is not to be read */
  async function readReplica(afterSeq: bigint, limit: number): Promise<StoreEvent[] | undefined> {
    const longMs = clock.monotonicMs() + answerMsMax;
    const isFarBehind = newest.seq - afterSeq > BigInt(limit);
    for (let leastMs = firstMsMin; isRead; leastMs = 0) {
      const endMs = isFarBehind ? longMs : (missingMs() ?? longMs);
      const leftMs = Math.max(endMs - clock.monotonicMs(), leastMs);
      const page = await inTime(replica.rawPage(afterSeq, limit), leftMs);
      if (!page.isStandby) return fail(notStandby());
      if (page.head.epoch !== epoch) return fail(otherJournal);
      seenSeq = page.head.lastSeq;
      const events = await sentEvents(page, afterSeq);
      if (events === undefined) return fail(otherJournal);
      const isLate = (missingMs() ?? longMs) <= clock.monotonicMs();
      if (isLate) fail(`it lags by ${newest.seq - seenSeq} events`);
      if (events.length > 0) return events;
      await delay(pauseMs);
    }
    return undefined;
  }

  /** Returns when the oldest event that the replica did not show is late. */
  function missingMs(): number | undefined {
    const missing = watermarks.find(({ seq }) => seq > seenSeq);
    return missing && missing.sinceMs + lagMsMax;
  }

  function fail(reason: string): undefined {
    if (isRead) leave(reason);
    return undefined;
  }

  /**
   * Cuts a page behind its newest event that the primary has reported.
   * @returns undefined when the primary has another event there
   */
  async function sentEvents(
    { events }: JournalPage,
    afterSeq: bigint,
  ): Promise<StoreEvent[] | undefined> {
    const last = events.at(-1);
    if (last === undefined) return [];
    const watermark = [...watermarks, newest].findLast(
      ({ seq }) => seq > afterSeq && seq <= last.seq,
    );
    if (watermark !== undefined) {
      const cut = events.filter(({ seq }) => seq <= watermark.seq);
      return isOf(watermark, cut.at(-1)) ? cut : undefined;
    }
    // All that it holds lies before what the primary reported last.
    return (await primary.timeOf(last.seq)) === last.at ? [...events] : undefined;
  }

  return {
    shown,
    /** Makes the next read ask the primary: it has this event, or one that it did not report by number and time. */
    expect(seq?: bigint): void {
      if (seq === undefined) polledMs = Number.NEGATIVE_INFINITY;
      else if (seq > expectedSeq) expectedSeq = seq;
    },
    async read(afterSeq: bigint, limit: number, afterAt?: number): Promise<StoreEvent[]> {
      if (!isRead) return readPrimary(afterSeq, limit, afterAt);
      const startMs = clock.monotonicMs();
      if (startMs - polledMs >= pollMs || expectedSeq > newest.seq || afterSeq > newest.seq) {
        const before = newest;
        shownHead(await primary.pollHead(afterSeq, afterAt), before);
        polledMs = startMs;
      }
      if (newest.seq <= afterSeq) return [];
      watermarks = watermarks.filter(({ seq }) => seq > afterSeq);
      try {
        const events = await readReplica(afterSeq, limit);
        if (events !== undefined) return events;
      } catch (error) {
        fail((error as Error).message);
      }
      return readPrimary(afterSeq, limit, afterAt);
    },
    /** Resolves when the replica was tried for the first time, whether it answers or not. */
    async begin(): Promise<void> {
      shownHead(await primary.head(), newest);
      await tryAgain(0);
    },
    /** Ends the tries; the connection is its owner's to close. */
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
    /** Returns by how many events the replica was behind when it was asked last. */
    lagEvents: () => Math.max(0, Number(newest.seq - seenSeq)),
    /** Returns whether the journal is read from the replica at present. */
    isRead: () => isRead,
  };
}

const otherJournal = 'its journal is another one than that of the primary';

const isOf = ({ seq, at }: JournalWatermark, event: StoreEvent | undefined) =>
  event !== undefined && event.seq === seq && event.at === at;

/** @throws when there is no answer in time; a later answer is ignored */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = new AbortController();
  const timeout = delay(Math.max(0, ms), undefined, { signal: late.signal, ref: false }).then(
    () => {
      throw new Error('it did not show in time what the primary has');
    },
  );
  try {
    return await Promise.race([work, timeout]);
  } finally {
    late.abort();
    work.catch(() => undefined);
    timeout.catch(() => undefined);
  }
}

// Removes expired rows, events that all followers have read, and ids that no retry will use again.

/**
 * A node that has lost its lease removes nothing: the row of the lease is locked together with the removed rows.
 * Without a lease anybody may remove.
 */
export const leaseClause = (key: string, version: string) =>
  `fence as materialized (
     select from kv where key = ${key}::bytea and version = ${version}::int8 for share),
   held as (select ${key}::bytea is null or exists (select from fence) as is_held)`;

export const leaseValues = (fence: RowCheck | undefined) =>
  fence === undefined ? [null, null] : [Buffer.from(fence.key), fence.version];

/**
 * Several nodes may sweep at once: each takes rows that no other has.
 * @returns the number of rows removed
 */
async function removeExpiredRows(
  session: PostgresSession,
  limit: number,
  nowMs: number,
  fence?: RowCheck,
): Promise<number> {
  const [rows] = await session.pipeline([
    {
      name: 'sweep',
      text: `with ${leaseClause('$3', '$4')}
             delete from kv where (select is_held from held) and key = any(array(
               select key from kv where expires_at <= $1 order by expires_at limit $2
               for update skip locked))`,
      values: [Math.floor(nowMs), limit, ...leaseValues(fence)],
    },
  ]);
  const swept = rows!.rowCount ?? 0;
  if (swept >= limit) return swept;
  const [ids] = await session.pipeline([
    {
      name: 'forget ids',
      text: `with ${leaseClause('$3', '$4')}
             delete from event_ids where (select is_held from held) and id = any(array(
               select id from event_ids
               where at <= $1 and seq <= (select pruned_through from journal_head)
               order by at limit $2 for update skip locked))`,
      values: [Math.floor(nowMs) - storeLimits.eventIdKeepMs, limit - swept, ...leaseValues(fence)],
    },
  ]);
  return swept + (ids!.rowCount ?? 0);
}

const pruneRows = 500;

/**
 * Whole rows of the journal alone: events that were committed together go together.
 * @returns the number of events removed
 */
export async function prune(
  session: PostgresSession,
  throughSeq: bigint,
  nowMs: number,
  fence?: RowCheck,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const [result] = await session.pipeline([
      {
        name: 'prune',
        text: `with ${leaseClause('$3', '$4')},
               old as (
                 select last_seq from journal where (select is_held from held) and last_seq <= $1
                 order by last_seq limit ${pruneRows}),
               gone as (
                 delete from journal where last_seq = any(array(select last_seq from old))
                 returning first_seq, last_seq, at),
               head as (
                 update journal_head set pruned_through =
                   greatest(pruned_through, (select max(last_seq) from gone))
                 where exists (select from gone)),
               ids as (
                 delete from event_ids
                 where at >= (select min(at) from gone)
                   and at <= least((select max(at) from gone), $2::int8)
                   and seq <= (select max(last_seq) from gone))
               select coalesce(sum(last_seq - first_seq + 1), 0) as events, count(*) as rows from gone`,
        values: [
          String(throughSeq),
          Math.floor(nowMs) - storeLimits.eventIdKeepMs,
          ...leaseValues(fence),
        ],
      },
    ]);
    const { events, rows } = result!.rows[0] as { events: string; rows: string };
    removed += Number(events);
    if (Number(rows) < pruneRows) return removed;
  }
}
