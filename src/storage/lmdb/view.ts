/**
 * Shows what a store holds at one moment, while others go on writing: one read transaction of LMDB.
 *
 * Invariants: everything that is read through a view belongs to the same commit; a view writes
 * nothing. While it is open LMDB takes no page that was freed since, so the file grows by what is
 * written meanwhile: whoever opens a view gives it back soon.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { journalRowKey, metaRowKey, storedKey } from '../keys.ts';
import { DamagedRowError, decodeEvent, isExpired, missingEvent, readEntry } from '../rows.ts';
import {
  JournalPrunedError,
  type Store,
  type StoredRow,
  type StoreEvent,
  storeLimits,
} from '../store.ts';
import { readCounters, type TableName, type Tables, tableNames } from './tables.ts';

/** A row as it lies in its table. Copies: they may be kept. */
export interface RawRow {
  readonly key: Uint8Array;
  readonly value: Buffer;
}

const batchRowsMax = 5_000;

export function openView(tables: Tables) {
  tables.root.resetReadTxn();
  const transaction = tables.root.useReadTransaction();
  const own = { transaction };
  const get = (table: TableName, key: Uint8Array): Buffer | undefined =>
    tables[table].get(key, own);
  const meta = (name: Parameters<typeof metaRowKey>[0]): Buffer | undefined =>
    get('meta', metaRowKey(name));
  return {
    counters: readCounters({ get: (key) => get('meta', key) }),
    /** Rows in all tables, for a progress bar: about as many. */
    rowsAbout: rowCount(tables),
    meta,
    get,
    /**
     * Returns rows in key order, from the first key that is not before `start`; ends behind `bytesMax`, with at least
     * one row while there are some.
     * @param exclusive leave out `start` itself
     */
    batch(
      table: TableName,
      start: Uint8Array | undefined,
      exclusive: boolean,
      bytesMax: number,
    ): RawRow[] {
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
    release: (): void => transaction.done(),
  };
}

export type View = ReturnType<typeof openView>;

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

/**
 * Shows a view as a Store, for what reads one. What is written goes nowhere and counts as done: the state's
 * parts tidy up what they load.
 * @param hides keys that are as if they were not there
 */
export function viewStore(
  view: View,
  nowMs: number,
  hides: (key: Uint8Array) => boolean = () => false,
): Store {
  const { lastSeq, prunedThrough } = view.counters;

  /** Undefined: expired, hidden or damaged. The rows are looked at elsewhere. */
  function live(key: Uint8Array, row: Buffer): StoredRow | undefined {
    if (hides(key)) return undefined;
    try {
      const { version, value, ...header } = readEntry(key, row);
      if (isExpired({ version, ...header }, nowMs)) return undefined;
      return { key: storedKey(key), value, version };
    } catch (error) {
      if (error instanceof DamagedRowError) return undefined;
      throw error;
    }
  }

  return {
    async commit({ set = [] }) {
      return { ok: true, seq: BigInt(lastSeq), duplicate: false, versions: set.map(() => 0) };
    },
    async get(key) {
      const row = view.get('entries', key);
      return row === undefined ? undefined : live(key, row);
    },
    async scan(prefix, { after, limit }) {
      const found: StoredRow[] = [];
      let from: Uint8Array = after ?? prefix;
      let isExclusive = after !== undefined;
      for (;;) {
        const batch = view.batch('entries', from, isExclusive, storeLimits.pageBytesMax);
        for (const { key, value } of batch) {
          const isUnder = Buffer.compare(key.subarray(0, prefix.length), prefix) === 0;
          if (!isUnder || found.length >= limit) return found;
          const entry = live(key, value);
          if (entry !== undefined) found.push(entry);
        }
        if (batch.length === 0) return found;
        from = batch.at(-1)!.key;
        isExclusive = true;
        await nextTurn();
      }
    },
    async read(afterSeq, limit) {
      if (afterSeq < BigInt(prunedThrough)) {
        throw new JournalPrunedError(afterSeq, BigInt(prunedThrough));
      }
      const events: StoreEvent[] = [];
      const start = journalRowKey(Number(afterSeq) + 1);
      for (const { key, value } of view.batch('journal', start, false, storeLimits.pageBytesMax)) {
        if (events.length >= limit) break;
        events.push(decodeEvent(Buffer.from(key).readBigUInt64BE(), value));
      }
      // Whoever follows would wait for it.
      if (events.length === 0 && afterSeq < BigInt(lastSeq)) {
        throw missingEvent(afterSeq + 1n);
      }
      return events;
    },
    tables: [],
    lastSeq: async () => BigInt(lastSeq),
    onJournalGrowth: () => () => undefined,
    onWriteState: () => () => undefined,
    writeState: () => ({ available: true, fatal: false, detail: '' }),
    pruneEvents: async () => 0,
    sweep: async () => 0,
    close: async () => undefined,
  };
}

/** A store as one that writes nothing, as above. */
export function readOnlyStore(store: Store): Store {
  return {
    ...store,
    async commit({ set = [] }) {
      return { ok: true, seq: await store.lastSeq(), duplicate: false, versions: set.map(() => 0) };
    },
    pruneEvents: async () => 0,
    sweep: async () => 0,
  };
}
