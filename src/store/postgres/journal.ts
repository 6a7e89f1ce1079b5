/**
 * The bytes of a journal row: the events of one transaction, one after the other.
 *
 *   for each event   length u32 · the event as in rows.ts, without time and checksum
 *
 * Sequence number and time come from the row: they are given after the bytes were made.
 */

import { decodeEvent } from '../rows.ts';
import type { StoreEvent } from '../store.ts';

/** `encodeEvent` leaves room for a checksum that is sealed in elsewhere. */
const crcBytes = 4;

export interface JournalRow {
  readonly last_seq: string;
  readonly first_seq: string;
  readonly at: string;
  readonly frames: Buffer;
}

export function encodeFrames(events: readonly Buffer[]): Buffer {
  const size = events.reduce((sum, event) => sum + 4 + event.length - crcBytes, 0);
  const out = Buffer.allocUnsafe(size);
  let at = 0;
  for (const event of events) {
    const length = event.length - crcBytes;
    at = out.writeUInt32BE(length, at);
    at += event.copy(out, at, 0, length);
  }
  return out;
}

/** Events of a row after `afterSeq`, added to `events` up to `limit`. */
export function decodeFrames(
  row: JournalRow,
  afterSeq: bigint,
  limit: number,
  events: StoreEvent[],
): void {
  const { frames } = row;
  const at = Number(row.at);
  let seq = BigInt(row.first_seq);
  for (let start = 0; start < frames.length && events.length < limit; seq++) {
    const length = frames.readUInt32BE(start);
    start += 4;
    if (start + length > frames.length) throw damaged(row);
    if (seq > afterSeq) {
      events.push({ ...decodeEvent(seq, frames.subarray(start, start + length)), at });
    }
    start += length;
  }
  if (events.length < limit && seq !== BigInt(row.last_seq) + 1n) {
    throw damaged(row);
  }
}

function damaged(row: JournalRow): Error {
  return new Error(`the journal row that ends with ${row.last_seq} is damaged`);
}
