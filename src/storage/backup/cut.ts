/**
 * Takes a restored journal back to one position. The projection goes with it when it is of a later one,
 * and is made anew from the journal, which must then be there from its first event on.
 */

import { checkpointRowKey, checkpointSeqIn } from '../journal/projection.ts';
import { journalRowKey, namespaces } from '../keys.ts';
import { encodeEventIdRow, readCounters, type Tables, writeCounters } from '../lmdb/tables.ts';
import { decodeEvent, encodeEvent, readEntry, sealEvent } from '../rows.ts';
import type { StoreEvent } from '../store.ts';
import type { About } from './content.ts';

/** The least position that `cutJournal` can take this backup to. */
export function reachOf({ prunedThrough, checkpointSeq }: About): number {
  return prunedThrough === 0 ? 0 : checkpointSeq;
}

/**
 * In a transaction, of a store that nobody else has open.
 * @param to not below `reachOf`
 * @param keeps an event behind `to` that stays: it moves to the new end, in order
 * @param onDropped each of the others
 */
export function cutJournal(
  tables: Tables,
  to: number,
  keeps: (event: StoreEvent) => boolean,
  onDropped: (event: StoreEvent) => void,
): void {
  const { journal, eventIds, meta, entries } = tables;
  const counters = readCounters(meta);
  let last = to;
  for (let seq = to + 1; seq <= counters.lastSeq; seq++) {
    const event = decodeEvent(BigInt(seq), journal.get(journalRowKey(seq))!);
    const id = Buffer.from(event.id, 'utf8');
    journal.removeSync(journalRowKey(seq));
    if (!keeps(event)) {
      eventIds.removeSync(id);
      onDropped(event);
      continue;
    }
    last += 1;
    const row = encodeEvent(event);
    sealEvent(row, last, event.at);
    journal.putSync(journalRowKey(last), row);
    eventIds.putSync(id, encodeEventIdRow(last, event.at));
  }
  writeCounters(meta, { ...counters, lastSeq: last });
  const record = entries.get(checkpointRowKey);
  if (record === undefined) return;
  if (checkpointSeqIn(readEntry(checkpointRowKey, record).value) <= BigInt(to)) return;
  for (const space of [namespaces.checkpoint, namespaces.projectionPage]) {
    const range = { start: Uint8Array.of(space), end: Uint8Array.of(space + 1) };
    for (const key of [...entries.getKeys(range)]) entries.removeSync(key);
  }
}
