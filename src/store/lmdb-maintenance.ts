/**
 * Removal inside a write transaction: expired rows, and journal events behind a checkpoint.
 * Each call is bounded, so that commits waiting behind it wait for a few milliseconds at most.
 */

import { eventIdRowKey, expiryRowKey, journalRowKey } from './keys.ts';
import type { WriteContext } from './lmdb-commit.ts';
import { encodeExpiryTarget, expiryKinds, type Table } from './lmdb-tables.ts';
import { decodeEvent, readEntryHeader } from './rows.ts';
import { type StoreEvent, storeLimits } from './store.ts';

/** Removes at most `limit` rows whose time has come. Returns the number. */
export function sweepExpired(context: WriteContext, limit: number): number {
  const { expiry } = context.tables;
  const end = expiryRowKey(context.nowMs + 1, 0);
  const due = [...expiry.getRange({ end, limit })];
  context.writes += due.length;
  for (const { key, value } of due) {
    const target = value.subarray(1);
    if (value[0] === expiryKinds.eventId) context.tables.eventIds.remove(target);
    else removeIfSame(context.tables.entries, target, key);
    expiry.remove(key);
  }
  return due.length;
}

/** Only the very row that the index entry was made for: its time and version are in the key. */
function removeIfSame(entries: Table, key: Uint8Array, indexKey: Uint8Array): void {
  const row = entries.getBinaryFast(key);
  if (row === undefined) return;
  const header = readEntryHeader(row);
  const own = expiryRowKey(header.expiresAt, header.version);
  if (header.expiresAt !== 0 && Buffer.compare(own, indexKey) === 0) entries.remove(key);
}

/** Removes at most `limit` events with seq ≤ `throughSeq`, oldest first. Returns the number. */
export function pruneJournal(context: WriteContext, throughSeq: number, limit: number): number {
  const { counters } = context;
  const first = counters.prunedThrough + 1;
  const last = Math.min(throughSeq, counters.lastSeq, first + limit - 1);
  const start = journalRowKey(first);
  const end = journalRowKey(last + 1);
  if (last < first) return 0;
  const rows = [...context.tables.journal.getRange({ start, end })];
  if (rows.length !== last - first + 1) {
    throw new Error(`the journal has ${rows.length} events from ${first} to ${last}`);
  }
  context.writes += rows.length;
  for (const [place, { key, value }] of rows.entries()) {
    forgetEventId(context, decodeEvent(BigInt(first + place), value));
    context.tables.journal.remove(key);
  }
  counters.prunedThrough = last;
  return rows.length;
}

/** At once, or when the id is old enough to be of no more use to a retry. */
function forgetEventId({ tables, counters, nowMs }: WriteContext, event: StoreEvent): void {
  const id = eventIdRowKey(event.id);
  const forgetAt = event.at + storeLimits.eventIdKeepMs;
  if (forgetAt <= nowMs) {
    tables.eventIds.remove(id);
    return;
  }
  // A version that nothing else has keeps the index key unique.
  counters.lastVersion += 1;
  const target = encodeExpiryTarget(expiryKinds.eventId, id);
  tables.expiry.put(expiryRowKey(forgetAt, counters.lastVersion), target);
}
