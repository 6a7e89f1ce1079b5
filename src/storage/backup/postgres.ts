/**
 * Reads the database for a backup while nodes use it, and loads a restored store into a database that nobody else
 * uses meanwhile.
 *
 * Invariant: a database that is being loaded has a row `restoring` in `meta` from before its first row until both
 * sides are compared, and no node opens a database with that row.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { namespaces } from '../keys.ts';
import { currentFormat, encodeFormat } from '../lmdb/format.ts';
import {
  byteaArray,
  createConnection,
  int8Array,
  type PostgresSession,
  type Query,
  textArray,
} from '../postgres/connection.ts';
import {
  decodeFrames,
  encodeFrames,
  type JournalText,
  journalPage,
  journalRow,
} from '../postgres/reads.ts';
import { migrate, nowMs, versionBlock } from '../postgres/schema.ts';
import { type StoreEvent, StoreUnavailableError, storeLimits } from '../store.ts';
import {
  type BackupRow,
  backupRowOfEvent,
  compareRows,
  createRowDigests,
  eventRowOf,
  isEntry,
  type OnProgress,
  type Part,
  parts,
  type RowDigest,
  type RowSource,
} from './content.ts';

/** One restore at a time into the database. */
const restoreLock = 7708;
const pageRows = 500;
/** A process that was killed is let go by the server as soon as it notices. */
const othersMs = 5_000;
const othersPauseMs = 100;
const nodeAliveMs = 10_000;
const none = Buffer.alloc(0);

/** @throws OperatorError when a node or a command uses the database, or another restore does */
async function holdDatabase(session: PostgresSession): Promise<void> {
  const names = await session.query<{ id: number; name: string }>({
    text: `select id, name from nodes where not is_stopped and seen_at > ${nowMs} - ${nodeAliveMs}`,
  });
  if (names.length > 0) {
    const nodes = names.map(({ id, name }) => `${id} (${name})`).join(', ');
    throw new OperatorError(
      `node ${nodes} uses the database: stop all nodes first; one that was killed counts for ten seconds`,
    );
  }
  for (let waitedMs = 0; ; waitedMs += othersPauseMs) {
    const [row] = await session.query<{ others: string; held: boolean }>({
      text: `select pg_try_advisory_lock(${restoreLock}) as held, (
               select count(*) from pg_stat_activity where datname = current_database()
               and application_name = 'portcullis' and pid <> pg_backend_pid()) as others`,
    });
    if (row!.held && Number(row!.others) === 0) return;
    if (waitedMs >= othersMs) {
      throw new OperatorError(
        'the database is in use by another Portcullis (a node, a command or a restore): stop it first',
      );
    }
    await delay(othersPauseMs);
  }
}

interface EntryRow {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly version: string;
  readonly expires_at: string | null;
}

/** Rows behind a key, at least one and no more bytes than a page. */
function pageOf(columns: string, from: string, bytes: string): string {
  return `select ${columns} from (
            select ${columns}, sum(octet_length(${bytes})) over (order by key)
              - octet_length(${bytes}) as before
            from ${from} and key > $1 order by key limit ${pageRows}) page
          where before <= ${storeLimits.pageBytesMax} order by key`;
}

async function* pages<Row extends { readonly key: Buffer }>(
  session: PostgresSession,
  text: string,
  values: readonly unknown[] = [],
): AsyncGenerator<Row[]> {
  for (let last: Buffer = none; ; ) {
    const page = await session.query<Row>({ text, values: [last, ...values] });
    if (page.length === 0) return;
    last = page.at(-1)!.key;
    yield page;
  }
}

async function* readEntries(session: PostgresSession): AsyncGenerator<BackupRow[]> {
  const text = pageOf('key, value, version, expires_at', 'kv where version > 0', 'value');
  for await (const page of pages<EntryRow>(session, text)) {
    for (const { key, value } of page) {
      const isRight =
        key.length > 0 &&
        key.length <= storeLimits.keyBytesMax &&
        value.length <= storeLimits.valueBytesMax;
      if (!isRight) throw damaged(`row ${key.toString('hex').slice(0, 64)} of kv`);
    }
    const rows = page
      .filter(({ key }) => isEntry(key))
      .map(({ key, value, version, expires_at }) => {
        return { key, value, number: Number(version), at: Number(expires_at ?? 0) };
      });
    if (rows.length > 0) yield rows;
  }
}

async function* readJournal(session: PostgresSession): AsyncGenerator<BackupRow[]> {
  for (let last = 0n; ; ) {
    const found = await session.query<JournalText>({
      text: journalPage('$1', `${pageRows}`, `${Number.MAX_SAFE_INTEGER}`),
      values: [String(last)],
    });
    if (found.length === 0) return;
    const events: StoreEvent[] = [];
    for (const row of found) {
      try {
        decodeFrames(journalRow(row), last, Number.POSITIVE_INFINITY, events);
      } catch {
        throw damaged(`row ${row.last_seq} of journal`);
      }
    }
    last = BigInt(found.at(-1)!.last_seq);
    if (events.length > 0) yield events.map(backupRowOfEvent);
  }
}

function damaged(row: string): OperatorError {
  return new OperatorError(`the database is damaged (the ${row}): restore a backup`);
}

async function* readIds(session: PostgresSession): AsyncGenerator<BackupRow[]> {
  for (let last = ''; ; ) {
    const found = await session.query<{ id: string; seq: string; at: string }>({
      text: `select id, seq, at from event_ids where id > $1 order by id limit ${pageRows}`,
      values: [last],
    });
    if (found.length === 0) return;
    last = found.at(-1)!.id;
    yield found.map(({ id, seq, at }) => {
      return { key: Buffer.from(id), value: none, number: Number(seq), at: Number(at) };
    });
  }
}

/** The newest checkpoint that is whole. */
async function newestCheckpoint(session: PostgresSession) {
  const [row] = await session.query<{ id: string; seq: string }>({
    text: 'select id, seq from checkpoints order by seq desc, at desc limit 1',
  });
  return row;
}

async function* readCheckpoint(session: PostgresSession): AsyncGenerator<BackupRow[]> {
  const newest = await newestCheckpoint(session);
  if (newest === undefined) return;
  const text = pageOf('key, value', 'checkpoint_rows where id = $2::uuid', 'value');
  const rows = pages<{ key: Buffer; value: Buffer }>(session, text, [newest.id]);
  for await (const page of rows) {
    yield page.map(({ key, value }) => ({ key, value, number: 0, at: 0 }));
  }
}

function databaseSource(session: PostgresSession): RowSource {
  return {
    async facts() {
      const [head] = await session.query<
        Record<'last_seq' | 'pruned' | 'version' | 'rows', string>
      >({
        text: `select last_seq, pruned_through as pruned, (select last_value from kv_version) as version,
                 last_seq - pruned_through + (select greatest(sum(reltuples), 0) from pg_class
                   where relname in ('kv', 'event_ids', 'checkpoint_rows')) as rows
               from journal_head`,
      });
      const [key] = await session.query<{ value: Buffer }>({
        text: "select value from meta where name = 'master_key'",
      });
      const checkpoint = await newestCheckpoint(session);
      return {
        dataFormat: currentFormat.number,
        migration: encodeFormat(currentFormat).toString('hex', 4),
        seq: Number(head!.last_seq),
        lastVersion: Number(head!.version),
        prunedThrough: Number(head!.pruned),
        checkpointSeq: Number(checkpoint?.seq ?? 0),
        identity: '',
        masterKeyId: key?.value.toString('hex') ?? '',
        rowsAbout: Math.ceil(Number(head!.rows)),
      };
    },
    read(part) {
      return {
        entries: readEntries,
        journal: readJournal,
        eventIds: readIds,
        checkpoint: readCheckpoint,
      }[part](session);
    },
  };
}

/** Reads the database as of one moment, while nodes write. */
export async function readDatabase<T>(
  database: Database,
  read: (source: RowSource) => Promise<T>,
): Promise<T> {
  return withDatabase(database, async (session) => {
    // The rows may be taken slowly. The connection ends with the reading, and the transaction with it.
    await session.script(`set idle_in_transaction_session_timeout = 0;
                          begin isolation level repeatable read read only`);
    return read(databaseSource(session));
  });
}

/** Events of one moment stand in one row, as far as they are written together. */
function journalQuery(rows: readonly BackupRow[]): Query {
  const groups: BackupRow[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0]?.at === row.at) group.push(row);
    else groups.push([row]);
  }
  return {
    name: 'load journal',
    text: `insert into journal (last_seq, first_seq, at, frames)
           select * from unnest($1::int8[], $2::int8[], $3::int8[], $4::bytea[])`,
    values: [
      int8Array(groups.map((group) => group.at(-1)!.number)),
      int8Array(groups.map((group) => group[0]!.number)),
      int8Array(groups.map((group) => group[0]!.at)),
      byteaArray(groups.map((group) => encodeFrames(group.map(eventRowOf)))),
    ],
  };
}

function insertQuery(part: Part, rows: readonly BackupRow[], checkpointId: string): Query {
  const keys = byteaArray(rows.map(({ key }) => key));
  const values = byteaArray(rows.map(({ value }) => value));
  const numbers = int8Array(rows.map(({ number }) => number));
  if (part === 'journal') return journalQuery(rows);
  if (part === 'eventIds') {
    const ids = textArray(rows.map(({ key }) => key.toString()));
    return {
      name: 'load ids',
      text: 'insert into event_ids (id, seq, at) select * from unnest($1::text[], $2::int8[], $3::int8[])',
      values: [ids, numbers, int8Array(rows.map(({ at }) => at))],
    };
  }
  if (part === 'checkpoint') {
    return {
      name: 'load pages',
      text: `insert into checkpoint_rows (id, key, value)
             select $3::uuid, * from unnest($1::bytea[], $2::bytea[])`,
      values: [keys, values, checkpointId],
    };
  }
  return {
    name: 'load entries',
    // A row may be there: the index of API keys is written with the keys (schema.ts).
    text: `insert into kv (key, value, version, expires_at)
           select * from unnest($1::bytea[], $2::bytea[], $3::int8[], $4::int8[])
           on conflict (key) do update set value = excluded.value, version = excluded.version,
             expires_at = excluded.expires_at`,
    values: [keys, values, numbers, int8Array(rows.map(({ at }) => (at === 0 ? null : at)))],
  };
}

async function transact(session: PostgresSession, queries: readonly Query[]): Promise<void> {
  const all = [{ name: 'begin', text: 'begin' }, ...queries, { name: 'commit', text: 'commit' }];
  const results = await session.pipeline(all).catch(async (error) => {
    await session.script('rollback').catch(() => undefined);
    throw error;
  });
  const { command } = results.at(-1)!;
  if (command !== 'COMMIT') throw new Error(`a commit ended with ${command}`);
}

const restoringRow = "select from meta where name = 'restoring'";

/** @throws OperatorError when a restore into the database did not come to its end */
export async function refuseHalfLoaded(session: PostgresSession): Promise<void> {
  if ((await session.query({ text: restoringRow })).length === 0) return;
  throw new OperatorError(
    'a restore into the database of DATABASE_URL was broken off, so half of a store may be in it: run `portcullis restore` again before a node starts',
  );
}

interface Database {
  readonly url: string;
  readonly log: Log;
}

/**
 * Loads a store into an empty database, or one that an earlier restore began to fill, and compares both.
 * @param make makes the store, once the database is known to be free
 */
export async function loadDatabase<T>(
  database: Database,
  make: (load: (source: RowSource, onProgress: OnProgress) => Promise<RowDigest[]>) => Promise<T>,
): Promise<T> {
  return withDatabase(database, async (session) => {
    await migrate(session);
    await holdEmpty(session);
    const made = await make((source, onProgress) => load(session, source, onProgress));
    await session.script("delete from meta where name = 'restoring'");
    // Plans are good from the first query on.
    await session.script('analyze kv, journal, event_ids, checkpoint_rows');
    return made;
  });
}

/** @throws OperatorError when somebody uses the database, or it holds a store */
async function holdEmpty(session: PostgresSession): Promise<void> {
  await holdDatabase(session);
  const [row] = await session.query<{ filled: boolean }>({
    text: `select not exists (${restoringRow}) and (exists (select from kv) or exists (select from journal)
             or exists (select from nodes) or exists (select from meta where name = 'master_key')
             or (select last_seq > 0 from journal_head)) as filled`,
  });
  if (!row!.filled) return;
  throw new OperatorError(
    'the database of DATABASE_URL is not empty: a backup is restored into an empty one',
  );
}

async function load(
  session: PostgresSession,
  source: RowSource,
  onProgress: OnProgress,
): Promise<RowDigest[]> {
  const { seq, prunedThrough, lastVersion, masterKeyId, checkpointSeq, rowsAbout } =
    await source.facts();
  // A node may have come since.
  await holdEmpty(session);
  const [made] = await session.query<{ id: string }>({ text: 'select gen_random_uuid() as id' });
  await transact(session, [
    { text: "insert into meta values ('restoring', '') on conflict do nothing" },
    { text: "delete from meta where name = 'master_key'" },
    { text: 'truncate kv, journal, event_ids, checkpoints, checkpoint_rows' },
  ]);
  const digests = createRowDigests();
  let rows = 0;
  let lastAt = 0;
  for (const part of parts) {
    for await (const batch of source.read(part)) {
      const shared = part === 'entries' ? batch.filter(isShared) : batch;
      if (shared.length > 0) await transact(session, [insertQuery(part, shared, made!.id)]);
      digests.add(part, shared);
      rows += batch.length;
      if (part === 'journal') lastAt = batch.at(-1)!.at;
      onProgress(rows, rowsAbout, 'loaded');
    }
  }
  const versions = Math.max(1, Math.ceil(lastVersion / versionBlock)) * versionBlock;
  const queries: Query[] = [
    {
      text: 'update journal_head set last_seq = $1::int8, last_at = $2::int8, pruned_through = $3::int8',
      values: [`${seq}`, `${lastAt}`, `${prunedThrough}`],
    },
    { text: "select setval('kv_version', $1::int8)", values: [`${versions}`] },
  ];
  if (masterKeyId !== '') {
    const values = [Buffer.from(masterKeyId, 'hex')];
    queries.push({ text: "insert into meta values ('master_key', $1)", values });
  }
  if (checkpointSeq > 0) {
    queries.push({
      text: `insert into checkpoints (id, seq, at, rows, bytes)
             select $1::uuid, $2::int8, ${nowMs}, count(*), coalesce(sum(octet_length(value)), 0)
             from checkpoint_rows where id = $1::uuid`,
      values: [made!.id, `${checkpointSeq}`],
    });
  }
  await transact(session, queries);
  const kinds = digests.finish();
  await compareRows(kinds, databaseSource(session), onProgress);
  return kinds;
}

/** Returns false for the counts of what one machine's server did: they are not the cluster's. */
function isShared({ key }: BackupRow): boolean {
  return key[0] !== namespaces.counters;
}

async function withDatabase<T>(
  { url, log }: Database,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const connection = createConnection({ url, log });
  try {
    return await work(await connection.session());
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { severity } = error as { severity?: string };
    const isDatabase = error instanceof StoreUnavailableError || severity !== undefined;
    if (!isDatabase && !/connection|timeout/i.test((error as Error).message)) throw error;
    throw new OperatorError(`DATABASE_URL: ${(error as Error).message}`);
  } finally {
    await connection.close();
  }
}
