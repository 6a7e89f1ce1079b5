/**
 * Shows what a store holds at one moment, while others go on writing: one read transaction of LMDB.
 *
 * Invariants: everything that is read through a view belongs to the same commit; a view writes
 * nothing. While it is open LMDB takes no page that was freed since, so the file grows by what is
 * written meanwhile: whoever opens a view gives it back soon.
 */

import { metaRowKey } from './keys.ts';
import {
  readCounters,
  type TableCounters,
  type TableName,
  type Tables,
  tableNames,
} from './lmdb-tables.ts';

/** A row as it lies in its table. Copies: they may be kept. */
export interface RawRow {
  readonly key: Uint8Array;
  readonly value: Buffer;
}

export interface View {
  readonly counters: TableCounters;
  meta(name: Parameters<typeof metaRowKey>[0]): Buffer | undefined;
  get(table: TableName, key: Uint8Array): Buffer | undefined;
  /** Rows in all tables, for a progress bar: about as many. */
  readonly rowsAbout: number;
  /**
   * In key order, from the first key that is not before `start`; ends behind `bytesMax`, with at least one row while there are some.
   * @param exclusive leave out `start` itself
   */
  batch(
    table: TableName,
    start: Uint8Array | undefined,
    exclusive: boolean,
    bytesMax: number,
  ): RawRow[];
  release(): void;
}

const batchRowsMax = 5_000;

export function openView(tables: Tables): View {
  tables.root.resetReadTxn();
  const transaction = tables.root.useReadTransaction();
  const own = { transaction };
  const get = (table: TableName, key: Uint8Array) => tables[table].get(key, own);
  const meta: View['meta'] = (name) => get('meta', metaRowKey(name));
  return {
    counters: readCounters({ get: (key) => get('meta', key) }),
    rowsAbout: rowCount(tables),
    meta,
    get,
    batch(table, start, exclusive, bytesMax) {
      const rows: RawRow[] = [];
      let bytes = 0;
      const range = { ...own, limit: batchRowsMax };
      const from = start === undefined ? range : { ...range, start, exclusiveStart: exclusive };
      for (const { key, value } of tables[table].getRange(from)) {
        rows.push({ key, value });
        bytes += key.length + value.length;
        if (bytes > bytesMax) break;
      }
      return rows;
    },
    release: () => transaction.done(),
  };
}

function rowCount(tables: Tables): number {
  return tableNames.reduce((sum, name) => {
    const { entryCount } = tables[name].getStats() as { entryCount?: number };
    return sum + (entryCount ?? 0);
  }, 0);
}

/** All rows of a table from `start` on, a batch at a time. */
export function* batchesOf(
  view: View,
  table: TableName,
  bytesMax: number,
  start?: Uint8Array,
): Generator<RawRow[]> {
  let from = start;
  let isExclusive = false;
  for (;;) {
    const rows = view.batch(table, from, isExclusive, bytesMax);
    if (rows.length === 0) return;
    yield rows;
    from = rows.at(-1)!.key;
    isExclusive = true;
  }
}
