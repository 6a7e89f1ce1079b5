/**
 * The tables of the store in PostgreSQL, as numbered steps that lead any older database to them.
 *
 * Invariants: steps run one at a time over all nodes, under an advisory lock, each in a transaction
 * with the new number; a step is only ever added at the end. Steps add what older programs pass over, so
 * that nodes are updated one after the other. A step that takes something away comes a release after the
 * last program that needs it, and says that it `breaks`: older programs refuse the database from then on,
 * and one that runs already stops to write.
 */

import { OperatorError } from '../../core/errors.ts';
import { isLost, isReadOnly, type PostgresSession } from './connection.ts';

const migrationLock = 7707;
/** The database's time in SQL, milliseconds since 1970. */
export const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::int8';

/** SQL; `breaks` when a program that does not know the step can't work any more. */
export type SchemaStep = string | { readonly text: string; readonly breaks: true };

/**
 * A row of `journal` is the events of one transaction, so following costs little; its bytes are drawn
 * in reads.ts. A row of `kv` with version 0 stands for a key that was seen to be absent: who checked
 * that and wrote something else has it locked, so nobody can make the key meanwhile.
 *
 * In `nodes`, `node` names the directory and `boot` the process; a number is one process's at a time; `digests` are
 * events and digests of the node's memory, in pairs. Rows of a checkpoint are a node's memory at `seq`, under the
 * keys that they have on its disk. `told` has messages between nodes about recent counts, which nobody needs after
 * a crash.
 */
const steps: readonly SchemaStep[] = [
  `create table kv (
     key bytea primary key,
     value bytea not null,
     version bigint not null,
     expires_at bigint
   ) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
   alter table kv alter column value set storage external;
   create index kv_expires_at on kv (expires_at) where expires_at is not null;
   create sequence kv_version increment by 100000 start with 100000;
   create table journal_head (
     one bool primary key default true check (one),
     epoch uuid not null default gen_random_uuid(),
     last_seq bigint not null default 0,
     last_at bigint not null default 0,
     pruned_through bigint not null default 0
   ) with (fillfactor = 50);
   insert into journal_head default values;
   create table journal (
     last_seq bigint primary key,
     first_seq bigint not null,
     at bigint not null,
     frames bytea not null
   );
   alter table journal alter column frames set storage external;
   create table event_ids (
     id text collate "C" primary key,
     seq bigint not null,
     at bigint not null
   );
   create index event_ids_at on event_ids (at);
   create table nodes (
     id smallint primary key,
     node uuid not null unique,
     boot uuid not null,
     name text not null,
     version text not null,
     started_at bigint not null,
     seen_at bigint not null,
     applied_seq bigint not null,
     checkpoint_seq bigint not null,
     is_stopped bool not null default false,
     url text,
     digests text,
     read_version int not null
   ) with (fillfactor = 50);
   create table checkpoints (
     id uuid primary key,
     seq bigint not null,
     at bigint not null,
     rows bigint not null,
     bytes bigint not null
   );
   create table checkpoint_rows (
     id uuid not null,
     key bytea not null,
     value bytea not null,
     primary key (id, key)
   );
   alter table checkpoint_rows alter column value set storage external;
   create unlogged table told (
     boot uuid not null,
     seq bigint not null,
     at bigint not null,
     bytes bytea not null,
     primary key (boot, seq)
   )`,
];

/** The tables and the sequence that the steps make. */
const relations = [
  'kv',
  'kv_version',
  'journal',
  'journal_head',
  'event_ids',
  'nodes',
  'checkpoints',
  'checkpoint_rows',
  'told',
];

/** The data format that this program knows, the number of steps. */
export const knownFormat = steps.length;

/** Versions that a node takes at a time; the sequence's increment. */
export const versionBlock = 100_000;

/**
 * @param more steps of a program to come; for tests
 * @throws OperatorError when this program is too old for the database, when it can't be written, or lacks a table
 */
export async function migrate(
  session: PostgresSession,
  more: readonly SchemaStep[] = [],
): Promise<void> {
  const plan = [...steps, ...more];
  await session.script(`select pg_advisory_lock(${migrationLock})`);
  try {
    // Even where it is there, a database that only reads refuses to make it.
    const [meta] = await session.query<{ isThere: boolean }>({
      text: `select to_regclass('meta') is not null as "isThere"`,
    });
    if (!meta!.isThere) {
      await session.script(
        'create table if not exists meta (name text primary key, value bytea not null)',
      );
    }
    const rows = await session.query<{ name: string; value: Buffer }>({
      text: "select name, value from meta where name in ('format', 'format_from', 'schema')",
    });
    const numberOf = (wanted: string) =>
      Number(rows.find(({ name }) => name === wanted)?.value.toString('utf8') ?? 0);
    if (numberOf('format_from') > plan.length) {
      throw new OperatorError(
        `the database has data format ${numberOf('format')} and needs a program that knows ${numberOf('format_from')}, ` +
          `this one knows ${plan.length}: start the newer version again`,
      );
    }
    if (numberOf('schema') > 0) {
      throw new OperatorError(
        'the database was written by a build from before data format 1, which no release reads: set another DATABASE_URL, or go on with that build',
      );
    }
    for (let step = numberOf('format'); step < plan.length; step++) {
      await session.script(stepScript(plan[step]!, step + 1));
    }
    await refuseIncomplete(session);
  } catch (error) {
    const isPassing = isLost(error) && !isReadOnly(error);
    if (error instanceof OperatorError || isPassing) throw error;
    // No right to create, read-only, a table of somebody else: the database's message says which.
    throw new OperatorError(`the database's tables can't be made: ${(error as Error).message}`);
  } finally {
    await session.script(`select pg_advisory_unlock(${migrationLock})`).catch(() => {});
  }
}

/** Tables may be lost to an unfinished `pg_restore`, or to a hand. */
async function refuseIncomplete(session: PostgresSession): Promise<void> {
  const rows = await session.query<{ name: string }>({
    text: 'select name from unnest($1::text[]) as name where to_regclass(name) is null',
    values: [relations],
  });
  let lost = rows.map(({ name }) => name).join(', ');
  if (lost === '') {
    const heads = await session.query({ text: 'select one from journal_head' });
    if (heads.length === 0) lost = 'the row of journal_head';
  }
  if (lost === '') return;
  throw new OperatorError(
    `the database is not whole, it lacks ${lost}: restore it (docs/CLUSTER.md, Backups)`,
  );
}

function stepScript(step: SchemaStep, number: number): string {
  const isBreaking = typeof step !== 'string';
  const set = (name: string) => `insert into meta values ('${name}', '${number}')
    on conflict (name) do update set value = excluded.value`;
  return `begin;
    ${isBreaking ? step.text : step};
    ${set('format')};
    ${isBreaking ? `${set('format_from')};` : ''}
    commit`;
}
