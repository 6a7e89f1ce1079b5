/**
 * The rows of the journal and their bytes: the events of one transaction, one after the other.
 *
 *   for each event   length u32 · the event as in rows.ts, without time and checksum
 *
 * Sequence number and time come from the row: they are given after the bytes were made.
 */

import { readEvent } from '../rows.ts';
import { type StoreEvent, storeLimits } from '../store.ts';

/** `encodeEvent` leaves room for a checksum that is sealed in elsewhere. */
const crcBytes = 4;

export interface JournalRow {
  readonly lastSeq: number;
  readonly firstSeq: number;
  readonly at: number;
  readonly frames: Buffer;
}

/** As `pg` reads it. */
export interface JournalText {
  readonly last_seq: string;
  readonly first_seq: string;
  readonly at: string;
  readonly frames: Buffer;
}

export function journalRow({ last_seq, first_seq, at, frames }: JournalText): JournalRow {
  return { lastSeq: Number(last_seq), firstSeq: Number(first_seq), at: Number(at), frames };
}

/**
 * The page of rows behind `afterSeq` in SQL, each part a number or a parameter. It ends early past so many
 * bytes, and before a row of which no event is wanted: that is asked outside, for inside the scan would go
 * on to the end of the journal.
 */
export function journalPage(afterSeq: string, rows: string, events: string): string {
  return `select last_seq, first_seq, at, frames from (
            select *, sum(octet_length(frames)) over (order by last_seq) - octet_length(frames) as before
            from journal where last_seq > ${afterSeq} order by last_seq limit ${rows}) page
          where before <= ${storeLimits.pageBytesMax} and first_seq <= ${afterSeq} + ${events}::int8
          order by last_seq`;
}

/**
 * Rows of that page as COPY gives them in its binary format, a message for each, and one for the end.
 *
 *   before the first: signature 11 bytes · flags u32 · length u32 and so much more
 *   number of fields i16 (at the end −1) · for each its length u32 and its bytes
 */
export function copiedRows(messages: readonly Buffer[]): JournalRow[] {
  return messages.flatMap((message, i) => {
    const row = i === 0 ? message.subarray(19 + message.readUInt32BE(15)) : message;
    if (row.readInt16BE() === -1) return [];
    const number = (at: number) => Number(row.readBigInt64BE(at));
    return {
      lastSeq: number(6),
      firstSeq: number(18),
      at: number(30),
      frames: row.subarray(42, 42 + row.readUInt32BE(38)),
    };
  });
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
  const { frames, at } = row;
  let seq = BigInt(row.firstSeq);
  for (let start = 0; start < frames.length && events.length < limit; seq++) {
    const end = start + 4 + frames.readUInt32BE(start);
    start += 4;
    if (end > frames.length) throw damaged(row);
    if (seq > afterSeq) {
      const event = readEvent(seq, at, frames, start, end);
      if (event === undefined) throw damaged(row);
      events.push(event);
    }
    start = end;
  }
  if (events.length < limit && seq !== BigInt(row.lastSeq) + 1n) throw damaged(row);
}

function damaged(row: JournalRow): Error {
  return new Error(`the journal row that ends with ${row.lastSeq} is damaged`);
}
