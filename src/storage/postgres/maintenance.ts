/** Removes expired rows, events that all followers have read, and ids that no retry will use again. */

import { type RowCheck, storeLimits } from '../store.ts';
import type { PostgresSession } from './connection.ts';

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
export async function removeExpiredRows(
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
