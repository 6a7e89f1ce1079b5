/**
 * Write transactions on PostgreSQL: two pipelined round trips for many commits.
 *
 * The first locks the rows in key order; then the commits run over them; the second writes rows, then
 * the journal, and commits. Strict two-phase locking over everything that a commit checks or writes;
 * the head of the journal comes last and is held until the commit, so events are in commit order,
 * without gaps. Rows, inserts and head are always taken in the same order: no two transactions wait
 * for each other.
 *
 * When the connection breaks while the commit is under way nobody knows whether it took effect. The
 * same transaction runs again on a new connection: its event ids and the versions that its rows were
 * given before the first try tell which of its commits are in already. A server that was killed while it waited
 * for its standby has them alone, so who is told that they are in waits until the standby has them.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log/log.ts';
import type { Job, Transactor } from '../group-commit.ts';
import { StoreUnavailableError } from '../store.ts';
import { byteaArray, int8Array, textArray } from './arrays.ts';
import { Batch, type BatchWrites, type FetchedRow, nameOf } from './batch.ts';
import { type Connection, isLost, type PostgresSession, type Query } from './connection.ts';
import { encodeFrames } from './journal.ts';
import { versionBlock } from './schema.ts';

const batchJobsMax = 512;
/** One block of versions is enough for a batch. */
const batchSetsMax = versionBlock / 2;
const triesMax = 40;
/** Time in which a transaction with an unknown outcome is tried again, milliseconds. */
const settleMs = 20_000;
const settlePauseMs = 100;
const headLock = 7706;
export const hintChannel = 'portcullis';

/** Writes as little as there is: its commit is on all disks that count, and with it what came before. */
const barrier: Query = {
  name: 'barrier',
  text: "insert into meta values ('probe', '') on conflict (name) do update set value = excluded.value",
};

/** Another transaction was faster, or waited for this one: the same jobs may succeed at once. */
const passingCodes = new Set(['23505', '40001', '40P01']);

export interface PostgresTransactor extends Transactor<Batch> {
  /** Versions for so many rows, one after the other. Only while a transaction runs its jobs. */
  reserveVersions(count: number): number;
}

export function createPostgresTransactor(options: {
  connection: Connection;
  clock: Clock;
  log: Log;
  /** Tells this node's hints from those of others. */
  node: string;
}): PostgresTransactor {
  const { connection, clock, log, node } = options;
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
    if (queries.length === 0 && batch.tellsOfEarlier) queries.push(barrier);
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
    const { last_seq: lastSeq } = results.at(-2)!.rows[0] as { last_seq: string };
    batch.shift = Number(lastSeq) - count - batch.seenSeq;
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
        const isAway = error instanceof StoreUnavailableError || isLost(error);
        if (isAway) {
          session?.discard();
          isUnknown ||= isSent;
          if (!isUnknown || clock.monotonicMs() - startMs > settleMs) throw asUnavailable(error);
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
             select last_seq, pg_notify('${hintChannel}', $5) from head`,
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
