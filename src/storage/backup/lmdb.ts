/** The embedded store as what is backed up, and as what a backup is restored into. */

import { checkpointRowKey, checkpointSeqIn } from '../journal/projection.ts';
import {
  expiryRowKey,
  journalRowKey,
  metaRowKey,
  namespaces,
  readProjectionPageKey,
} from '../keys.ts';
import { currentFormat, encodeFormat, formatIn } from '../lmdb/format.ts';
import {
  encodeEventIdRow,
  encodeExpiryTarget,
  expiryKinds,
  readEventIdSeq,
  type Tables,
  writeCounters,
} from '../lmdb/tables.ts';
import { batchesOf, type RawRow, type View } from '../lmdb/view.ts';
import { decodeEvent, encodeEntry, readEntry, sealEntry, sealEvent } from '../rows.ts';
import { storeLimits } from '../store.ts';
import {
  type BackupRow,
  backupRowOfEvent,
  eventRowOf,
  isEntry,
  type Part,
  type RowSource,
  type StoreFacts,
} from './content.ts';

const tableOf = {
  entries: 'entries',
  journal: 'journal',
  eventIds: 'eventIds',
  checkpoint: 'entries',
} as const;
const batchBytes = 1024 * 1024;
const checkpointEnd = namespaces.projectionPage + 1;

/** The caller releases the view. */
export function lmdbSource(view: View): RowSource {
  const hexOf = (name: Parameters<View['meta']>[0]) => view.meta(name)?.toString('hex') ?? '';
  function checkpointSeq(): number {
    const record = view.get('entries', checkpointRowKey);
    if (record === undefined) return 0;
    return Number(checkpointSeqIn(readEntry(checkpointRowKey, record).value));
  }

  function rowOf(part: Part, { key, value }: RawRow): BackupRow {
    const own = Buffer.from(key);
    if (part === 'journal') return backupRowOfEvent(decodeEvent(own.readBigUInt64BE(), value));
    if (part === 'eventIds') {
      const at = value.readUIntBE(6, 6);
      return { key: own, value: Buffer.alloc(0), number: readEventIdSeq(value), at };
    }
    const entry = readEntry(key, value);
    if (part === 'checkpoint') return { key: own, value: entry.value, number: 0, at: 0 };
    return { key: own, value: entry.value, number: entry.version, at: entry.expiresAt };
  }

  return {
    async facts() {
      const { lastSeq, prunedThrough, lastVersion } = view.counters;
      const format = formatIn({ get: (key) => view.get('meta', key) }) ?? currentFormat;
      return {
        dataFormat: format.number,
        migration: encodeFormat(format).toString('hex', 4),
        seq: lastSeq,
        lastVersion,
        prunedThrough,
        checkpointSeq: checkpointSeq(),
        identity: hexOf('identity'),
        masterKeyId: hexOf('master_key'),
        rowsAbout: view.rowsAbout,
      };
    },
    async *read(part) {
      const seq = part === 'checkpoint' ? checkpointSeq() : 0;
      if (part === 'checkpoint' && seq === 0) return;
      const isWanted = {
        entries: isEntry,
        journal: () => true,
        eventIds: () => true,
        checkpoint: (key: Uint8Array) => isOfCheckpoint(key, seq),
      }[part];
      const start = part === 'checkpoint' ? Uint8Array.of(namespaces.checkpoint) : undefined;
      for (const batch of batchesOf(view, tableOf[part], batchBytes, start)) {
        const rows = batch.filter(({ key }) => isWanted(key)).map((raw) => rowOf(part, raw));
        if (rows.length > 0) yield rows;
        await new Promise(setImmediate);
        if (part === 'checkpoint' && batch.at(-1)!.key[0]! >= checkpointEnd) return;
      }
    },
  };
}

/** The record, and pages that it lists: a checkpoint that was cut short wrote later ones. */
function isOfCheckpoint(key: Uint8Array, seq: number): boolean {
  if (key[0] === namespaces.checkpoint) return Buffer.compare(key, checkpointRowKey) === 0;
  if (key[0] !== namespaces.projectionPage) return false;
  return readProjectionPageKey(key).seq <= BigInt(seq);
}

/** Writes into a new store, which nobody else has open. */
export function lmdbTarget(tables: Tables, facts: StoreFacts) {
  const { entries, journal, eventIds, expiry, meta, root } = tables;
  let { lastVersion } = facts;

  function writeRow(part: Part, row: BackupRow): void {
    const { key, number, at } = row;
    if (part === 'journal') {
      const event = eventRowOf(row);
      sealEvent(event, number, at);
      journal.putSync(journalRowKey(number), event);
    } else if (part === 'eventIds') {
      eventIds.putSync(key, encodeEventIdRow(number, at));
      // Behind the journal an id is known for a while only.
      if (number > facts.prunedThrough) return;
      lastVersion += 1;
      const due = expiryRowKey(at + storeLimits.eventIdKeepMs, lastVersion);
      expiry.putSync(due, encodeExpiryTarget(expiryKinds.eventId, key));
    } else {
      const isPage = part === 'checkpoint';
      if (isPage) lastVersion += 1;
      const version = isPage ? lastVersion : number;
      const entry = encodeEntry(row.value, at);
      sealEntry(entry, key, version);
      entries.putSync(key, entry);
      if (at === 0) return;
      expiry.putSync(expiryRowKey(at, version), encodeExpiryTarget(expiryKinds.entry, key));
    }
  }

  return {
    write(part: Part, rows: readonly BackupRow[]): void {
      root.transactionSync(() => {
        for (const row of rows) writeRow(part, row);
      });
    },
    /** Is called behind the last row. */
    finish(): void {
      const { seq, prunedThrough, dataFormat, ...names } = facts;
      root.transactionSync(() => {
        // A new store has rows of its own there.
        for (const key of [...meta.getKeys()]) meta.removeSync(key);
        writeCounters(meta, { lastSeq: seq, prunedThrough, lastVersion });
        const format = Buffer.alloc(4);
        format.writeUInt32BE(dataFormat);
        const rows = {
          format: `${format.toString('hex')}${names.migration}`,
          identity: names.identity,
          master_key: names.masterKeyId,
        };
        for (const [name, hex] of Object.entries(rows)) {
          if (hex !== '')
            meta.putSync(metaRowKey(name as keyof typeof rows), Buffer.from(hex, 'hex'));
        }
      });
    },
  };
}
