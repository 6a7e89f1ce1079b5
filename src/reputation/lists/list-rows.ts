/**
 * The known lists as durable rows, which a loader reads before it begins. A row is added with the run
 * that makes the list known and removed with the event that ends it, in the same commits, and all of
 * them change the ledger's row: of two loaders that begin at once the second sees the first.
 */

import { listPrefix, listRowKey } from '../../storage/keys.ts';
import { bareRecord, flag, text, time, varint } from '../../storage/record.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';
import type { ListRef } from '../state/events.ts';
import { runMsMax } from './sources.ts';

export interface ListRow {
  readonly run: string;
  /** Rows of the run. */
  readonly rows: number;
  readonly loading: boolean;
  readonly begunAt: number;
}

export interface FoundList {
  readonly row: ListRow | undefined;
  readonly check: RowCheck;
}

const listRows = bareRecord<ListRow>({ run: text, rows: varint, loading: flag, begunAt: time });

type Name = Pick<ListRef, 'list' | 'source'>;

export async function findList(store: Store, { list, source }: Name): Promise<FoundList> {
  const key = listRowKey(list, source);
  const found = await store.get(key);
  return {
    row: found && listRows.decode(found.value),
    check: { key, version: found?.version ?? null },
  };
}

export function listRow({ list, source }: Name, row: ListRow): SetRow {
  return { key: listRowKey(list, source), value: listRows.encode(row) };
}

/** Rows that runs under way have said they bring; a run that takes too long counts no more. */
export async function rowsUnderWay(store: Store, except: Name, now: number): Promise<number> {
  const own = Buffer.from(listRowKey(except.list, except.source));
  let rows = 0;
  for (const { key, value } of await store.scan(listPrefix(), { limit: 1_000 })) {
    const row = listRows.decode(value);
    if (row?.loading !== true || now - row.begunAt > runMsMax || own.equals(key)) continue;
    rows += row.rows;
  }
  return rows;
}
