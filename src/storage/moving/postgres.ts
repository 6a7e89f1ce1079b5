/** The database as a side of a move, held by one connection while no node uses it. */

import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../core/errors.ts';
import { byteaArray, int8Array, textArray } from '../postgres/arrays.ts';
import type { PostgresSession, Query } from '../postgres/connection.ts';
import {
  decodeFrames,
  encodeFrames,
  type JournalText,
  journalPage,
  journalRow,
} from '../postgres/journal.ts';
import { nowMs, versionBlock } from '../postgres/schema.ts';
import { type StoreEvent, storeLimits } from '../store.ts';
import { type Mark, markQuery, readMark } from './marks.ts';
import {
  eventRowOf,
  isCarried,
  type MovedRow,
  type MoveTarget,
  type Part,
  rowOfEvent,
  type Side,
} from './rows.ts';

/** One move at a time over the database. */
const moveLock = 7708;
/** A process that was killed is let go by the server as soon as it notices. */
const othersMs = 5_000;
const othersPauseMs = 100;
const nodeAliveMs = 10_000;
const none = Buffer.alloc(0);

/** @throws OperatorError when a node or a command uses the database, or another move does */
export async function holdDatabase(session: PostgresSession): Promise<void> {
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
      text: `select pg_try_advisory_lock(${moveLock}) as held, (
               select count(*) from pg_stat_activity where datname = current_database()
               and application_name = 'portcullis' and pid <> pg_backend_pid()) as others`,
    });
    if (row!.held && Number(row!.others) === 0) return;
    if (waitedMs >= othersMs) {
      throw new OperatorError(
        'the database is in use by another Portcullis (a node, a command or a move): stop it first',
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
function pageOf(columns: string, from: string, bytes: string, limit: number): string {
  return `select ${columns} from (
            select ${columns}, sum(octet_length(${bytes})) over (order by key)
              - octet_length(${bytes}) as before
            from ${from} and key > $1 order by key limit ${limit}) page
          where before <= ${storeLimits.pageBytesMax} order by key`;
}

async function* pages<Row extends { readonly key: Buffer }>(
  session: PostgresSession,
  after: Buffer | undefined,
  query: { text: string; values: readonly unknown[] },
): AsyncGenerator<Row[]> {
  for (let last = after ?? none; ; ) {
    const page = await session.query<Row>({ text: query.text, values: [last, ...query.values] });
    if (page.length === 0) return;
    last = page.at(-1)!.key;
    yield page;
  }
}

async function* readEntries(
  session: PostgresSession,
  after: Buffer | undefined,
  limit: number,
  onBad: (line: string) => void,
): AsyncGenerator<MovedRow[]> {
  const text = pageOf('key, value, version, expires_at', 'kv where version > 0', 'value', limit);
  for await (const page of pages<EntryRow>(session, after, { text, values: [] })) {
    const rows: MovedRow[] = [];
    for (const { key, value, version, expires_at } of page) {
      if (key.length === 0 || key.length > storeLimits.keyBytesMax) {
        onBad(`the row ${key.toString('hex').slice(0, 64)} of kv has a key of ${key.length} bytes`);
      } else if (value.length > storeLimits.valueBytesMax) {
        onBad(`the row ${key.toString('hex')} of kv has ${value.length} bytes`);
      } else if (isCarried(key)) {
        rows.push({ key, value, number: Number(version), at: Number(expires_at ?? 0) });
      }
    }
    if (rows.length > 0) yield rows;
  }
}

async function* readJournal(
  session: PostgresSession,
  after: Buffer | undefined,
  limit: number,
  onBad: (line: string) => void,
): AsyncGenerator<MovedRow[]> {
  for (let last = after?.readBigUInt64BE() ?? 0n; ; ) {
    const found = await session.query<JournalText>({
      text: journalPage('$1', `${limit}`, `${Number.MAX_SAFE_INTEGER}`),
      values: [String(last)],
    });
    if (found.length === 0) return;
    const events: StoreEvent[] = [];
    for (const row of found) {
      try {
        decodeFrames(journalRow(row), last, Number.POSITIVE_INFINITY, events);
      } catch {
        onBad(`the row ${row.last_seq} of journal is damaged`);
      }
    }
    last = BigInt(found.at(-1)!.last_seq);
    if (events.length > 0) yield events.map(rowOfEvent);
  }
}

async function* readIds(session: PostgresSession, after: Buffer | undefined, limit: number) {
  for (let last = after?.toString() ?? ''; ; ) {
    const found = await session.query<{ id: string; seq: string; at: string }>({
      text: `select id, seq, at from event_ids where id > $1 order by id limit ${limit}`,
      values: [last],
    });
    if (found.length === 0) return;
    last = found.at(-1)!.id;
    yield found.map(({ id, seq, at }): MovedRow => {
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

async function* readCheckpoint(
  session: PostgresSession,
  id: string,
  after: Buffer | undefined,
  limit: number,
): AsyncGenerator<MovedRow[]> {
  const text = pageOf('key, value', 'checkpoint_rows where id = $2::uuid', 'value', limit);
  const rows = pages<{ key: Buffer; value: Buffer }>(session, after, { text, values: [id] });
  for await (const page of rows) {
    yield page.map(({ key, value }): MovedRow => ({ key, value, number: 0, at: 0 }));
  }
}

/** @param checkpointId of rows that no checkpoint names yet; absent: the newest one's */
export function postgresSide(session: PostgresSession, checkpointId?: string): Side {
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
        lastSeq: Number(head!.last_seq),
        prunedThrough: Number(head!.pruned),
        lastVersion: Number(head!.version),
        masterKeyId: key?.value,
        checkpointSeq: checkpoint && Number(checkpoint.seq),
        rowsAbout: Math.ceil(Number(head!.rows)),
      };
    },
    async *read(part, after, limit, onBad) {
      if (part === 'entries') yield* readEntries(session, after, limit, onBad);
      if (part === 'journal') yield* readJournal(session, after, limit, onBad);
      if (part === 'eventIds') yield* readIds(session, after, limit);
      if (part !== 'checkpoint') return;
      const id = checkpointId ?? (await newestCheckpoint(session))?.id;
      if (id !== undefined) yield* readCheckpoint(session, id, after, limit);
    },
  };
}

/** Events of one moment stand in one row, as far as they are written together. */
function journalQuery(rows: readonly MovedRow[]): Query {
  const groups: MovedRow[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0]?.at === row.at) group.push(row);
    else groups.push([row]);
  }
  return {
    name: 'move journal',
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

function insertQuery(part: Part, rows: readonly MovedRow[], checkpointId: string): Query {
  const keys = byteaArray(rows.map(({ key }) => key));
  const values = byteaArray(rows.map(({ value }) => value));
  const numbers = int8Array(rows.map(({ number }) => number));
  if (part === 'journal') return journalQuery(rows);
  if (part === 'eventIds') {
    const ids = textArray(rows.map(({ key }) => key.toString()));
    return {
      name: 'move ids',
      text: 'insert into event_ids (id, seq, at) select * from unnest($1::text[], $2::int8[], $3::int8[])',
      values: [ids, numbers, int8Array(rows.map(({ at }) => at))],
    };
  }
  if (part === 'checkpoint') {
    return {
      name: 'move pages',
      text: `insert into checkpoint_rows (id, key, value)
             select $3::uuid, * from unnest($1::bytea[], $2::bytea[])`,
      values: [keys, values, checkpointId],
    };
  }
  return {
    name: 'move entries',
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

export interface PostgresTarget extends MoveTarget {
  /** All of it is there: nodes may start. */
  done(): Promise<void>;
}

/**
 * An empty database, or one that the same move began to fill; held already.
 * @param id of the move; it names the checkpoint too
 * @throws OperatorError when it holds anything else
 */
export async function postgresTarget(
  session: PostgresSession,
  id: string,
): Promise<PostgresTarget> {
  const known = await readMark(session);
  if (known?.to !== 'postgres' || known.id !== id || known.isDone) await refuseFilled(session);
  const mark = (more: Partial<Mark>): Query => {
    return markQuery({ to: 'postgres', id, isDone: false, ...more });
  };
  const side = postgresSide(session, id);
  return {
    ...side,
    async place() {
      return (await readMark(session))?.place;
    },
    async clear() {
      const tables = 'kv, journal, event_ids, checkpoints, checkpoint_rows';
      const wasWritten = (await readMark(session))?.place !== undefined;
      await transact(session, [...(wasWritten ? [{ text: `truncate ${tables}` }] : []), mark({})]);
    },
    async write(part, rows, place) {
      await transact(session, [insertQuery(part, rows, id), mark({ place })]);
    },
    async finish({ lastSeq, prunedThrough, lastVersion, masterKeyId, checkpointSeq }, lastAt) {
      const versions = Math.max(1, Math.ceil(lastVersion / versionBlock)) * versionBlock;
      const queries: Query[] = [
        {
          text: 'update journal_head set last_seq = $1::int8, last_at = $2::int8, pruned_through = $3::int8',
          values: [`${lastSeq}`, `${lastAt}`, `${prunedThrough}`],
        },
        { text: "select setval('kv_version', $1::int8)", values: [`${versions}`] },
      ];
      if (masterKeyId !== undefined) {
        queries.push({
          text: `insert into meta values ('master_key', $1)
                 on conflict (name) do update set value = excluded.value`,
          values: [masterKeyId],
        });
      }
      if (checkpointSeq !== undefined) {
        queries.push({
          text: `insert into checkpoints (id, seq, at, rows, bytes)
                 select $1::uuid, $2::int8, ${nowMs}, count(*), coalesce(sum(octet_length(value)), 0)
                 from checkpoint_rows where id = $1::uuid on conflict (id) do nothing`,
          values: [id, `${checkpointSeq}`],
        });
      }
      await transact(session, queries);
    },
    async done() {
      await transact(session, [mark({ isDone: true })]);
      // Plans are good from the first query on.
      await session.script('analyze kv, journal, event_ids, checkpoint_rows');
    },
  };
}

async function refuseFilled(session: PostgresSession): Promise<void> {
  const [row] = await session.query<{ filled: boolean }>({
    text: `select exists (select from kv) or exists (select from journal) or exists (select from nodes)
             or exists (select from meta where name = 'master_key')
             or (select last_seq > 0 from journal_head) as filled`,
  });
  if (row!.filled) {
    throw new OperatorError(
      'the database of DATABASE_URL is not empty: a store is moved into an empty one',
    );
  }
}
