/** The embedded store as a side of a move. */

import { rmSync } from 'node:fs';
import {
  expiryRowKey,
  journalRowKey,
  metaRowKey,
  namespaces,
  readProjectionPageKey,
} from '../keys.ts';
import { openTables } from '../lmdb-environment.ts';
import {
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readCounters,
  readEventIdSeq,
  type TableCounters,
  writeCounters,
} from '../lmdb-tables.ts';
import { checkpointRowKey, checkpointSeqIn } from '../projection.ts';
import {
  DamagedRowError,
  decodeEvent,
  encodeEntry,
  readEntry,
  sealEntry,
  sealEvent,
} from '../rows.ts';
import { storeLimits } from '../store.ts';
import { batchesOf, openView, type RawRow, type View } from '../view.ts';
import {
  eventRowOf,
  isCarried,
  type MovedRow,
  type MoveTarget,
  type Part,
  type RowPlace,
  rowOfEvent,
  type Side,
} from './rows.ts';

const tableOf = {
  entries: 'entries',
  journal: 'journal',
  eventIds: 'eventIds',
  checkpoint: 'entries',
} as const;
const batchBytes = 1024 * 1024;
const checkpointEnd = namespaces.projectionPage + 1;

/** Reads a store that nobody else writes to. The caller releases the view. */
export function embeddedSide(view: View): Side {
  const record = view.get('entries', checkpointRowKey);
  const checkpointSeq =
    record && Number(checkpointSeqIn(readEntry(checkpointRowKey, record).value));

  /** Undefined: it stays behind. @throws DamagedRowError */
  function movedRow(part: Part, { key, value }: RawRow): MovedRow | undefined {
    const own = Buffer.from(key);
    if (part === 'journal') return rowOfEvent(decodeEvent(own.readBigUInt64BE(), value));
    if (part === 'eventIds') {
      const at = value.readUIntBE(6, 6);
      return { key: own, value: Buffer.alloc(0), number: readEventIdSeq(value), at };
    }
    if ((part === 'checkpoint') === isCarried(key)) return undefined;
    if (part === 'checkpoint' && !isOfCheckpoint(key, checkpointSeq)) return undefined;
    const entry = readEntry(key, value);
    if (part === 'checkpoint') return { key: own, value: entry.value, number: 0, at: 0 };
    return { key: own, value: entry.value, number: entry.version, at: entry.expiresAt };
  }

  return {
    async facts() {
      const { lastSeq, prunedThrough, lastVersion } = view.counters;
      const masterKeyId = view.meta('master_key');
      const { rowsAbout } = view;
      return { lastSeq, prunedThrough, lastVersion, masterKeyId, checkpointSeq, rowsAbout };
    },
    async *read(part, after, limit, onBad) {
      if (part === 'checkpoint' && checkpointSeq === undefined) return;
      const start = part === 'checkpoint' ? Uint8Array.of(namespaces.checkpoint) : undefined;
      for (const batch of batchesOf(view, tableOf[part], batchBytes, after ?? start)) {
        const rows: MovedRow[] = [];
        for (const raw of batch) {
          // The first batch begins with the row that was the last before.
          if (after !== undefined && Buffer.compare(raw.key, after) <= 0) continue;
          try {
            const row = movedRow(part, raw);
            if (row !== undefined) rows.push(row);
          } catch (error) {
            if (!(error instanceof DamagedRowError)) throw error;
            onBad(error.message);
          }
        }
        for (let i = 0; i < rows.length; i += limit) yield rows.slice(i, i + limit);
        await new Promise(setImmediate);
        if (part === 'checkpoint' && batch.at(-1)!.key[0]! >= checkpointEnd) return;
      }
    },
  };
}

/** The record, and pages that it lists: a checkpoint that was cut short wrote later ones. */
function isOfCheckpoint(key: Uint8Array, seq: number | undefined): boolean {
  if (seq === undefined) return false;
  if (key[0] === namespaces.checkpoint) return Buffer.compare(key, checkpointRowKey) === 0;
  if (key[0] !== namespaces.projectionPage) return false;
  return readProjectionPageKey(key).seq <= BigInt(seq);
}

export interface EmbeddedTarget extends MoveTarget {
  /** Which move wrote it. */
  readonly id: () => string | undefined;
  close(): Promise<void>;
}

/** A new store in this folder, or the one that the same move left there. */
export function embeddedTarget(path: string, id: string): EmbeddedTarget {
  let tables = openTables(path);
  const moveKey = metaRowKey('move');

  function mark(): { id: string; place?: RowPlace } | undefined {
    const row = tables.meta.get(moveKey);
    return row && JSON.parse(row.toString());
  }

  function writeRow(part: Part, row: MovedRow, counters: TableCounters): void {
    const { key, number, at } = row;
    if (part === 'journal') {
      const event = eventRowOf(row);
      sealEvent(event, number, at);
      tables.journal.putSync(journalRowKey(number), event);
    } else if (part === 'eventIds') {
      tables.eventIds.putSync(key, encodeEventIdRow(number, at));
      // Behind the journal an id is known for a while only.
      if (number <= counters.prunedThrough) {
        counters.lastVersion += 1;
        const due = expiryRowKey(at + storeLimits.eventIdKeepMs, counters.lastVersion);
        tables.expiry.putSync(due, encodeExpiryTarget(expiryKinds.eventId, key));
      }
    } else {
      const isPage = part === 'checkpoint';
      if (isPage) counters.lastVersion += 1;
      const version = isPage ? counters.lastVersion : number;
      const entry = encodeEntry(row.value, at);
      sealEntry(entry, key, version);
      tables.entries.putSync(key, entry);
      if (at === 0) return;
      const target = encodeExpiryTarget(expiryKinds.entry, key);
      tables.expiry.putSync(expiryRowKey(at, version), target);
    }
  }

  async function withView<T>(work: (side: Side) => Promise<T>): Promise<T> {
    const view = openView(tables);
    try {
      return await work(embeddedSide(view));
    } finally {
      view.release();
    }
  }

  return {
    id: () => mark()?.id,
    facts: () => withView((side) => side.facts()),
    async *read(part, after, limit, onBad) {
      const view = openView(tables);
      try {
        yield* embeddedSide(view).read(part, after, limit, onBad);
      } finally {
        view.release();
      }
    },
    async place() {
      const known = mark();
      return known?.id === id ? known.place : undefined;
    },
    async clear() {
      await tables.root.close();
      rmSync(path, { recursive: true, force: true });
      tables = openTables(path);
    },
    async write(part, rows, place, { prunedThrough, lastSeq, lastVersion }) {
      tables.root.transactionSync(() => {
        const known = readCounters(tables.meta);
        const counters: TableCounters = {
          lastSeq,
          prunedThrough,
          lastVersion: Math.max(known.lastVersion, lastVersion),
        };
        for (const row of rows) writeRow(part, row, counters);
        writeCounters(tables.meta, counters);
        tables.meta.putSync(moveKey, Buffer.from(JSON.stringify({ id, place })));
      });
    },
    async finish({ masterKeyId, lastSeq, prunedThrough, lastVersion }) {
      tables.root.transactionSync(() => {
        const known = readCounters(tables.meta);
        const version = Math.max(known.lastVersion, lastVersion);
        writeCounters(tables.meta, { lastSeq, prunedThrough, lastVersion: version });
        if (masterKeyId !== undefined) tables.meta.putSync(metaRowKey('master_key'), masterKeyId);
      });
    },
    close: () => tables.root.close(),
  };
}
