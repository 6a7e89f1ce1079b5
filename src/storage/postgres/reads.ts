/** Reads of the PostgreSQL store. What is asked for in one turn of the event loop is one query. */

import type { Clock } from '../../core/clock.ts';
import { type EventRow, isOtherJournal, rowOfEvent } from '../journal/projection.ts';
import { journalRowKey, type Key, prefixEnd, storedKey } from '../keys.ts';
import { DamagedRowError, missingEvent, readEvent } from '../rows.ts';
import {
  JournalPrunedError,
  type StoredRow,
  type StoreEvent,
  StoreUnavailableError,
  storeLimits,
} from '../store.ts';
import { absentVersion, nameOf } from './batch.ts';
import { byteaArray, type Connection, isLost, type PostgresSession } from './connection.ts';

// The rows of the journal and their bytes: the events of one transaction, one after the other.
//
//   for each event   length u32 · the event as in rows.ts, without time and checksum
//
// Sequence number and time come from the row: they are given after the bytes were made.

/** `encodeEvent` leaves room for a checksum that is sealed in elsewhere. */
const crcBytes = 4;

interface JournalRow {
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
function copiedRows(messages: readonly Buffer[]): JournalRow[] {
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

/** Events of a row after `afterSeq`, added to `events` up to `limit`. @throws DamagedRowError */
export function decodeFrames(
  row: JournalRow,
  afterSeq: bigint,
  limit: number,
  events: StoreEvent[],
): void {
  const { frames, at } = row;
  let seq = BigInt(row.firstSeq);
  for (let start = 0; start < frames.length && events.length < limit; seq++) {
    if (start + 4 > frames.length) throw damaged(row);
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
  return new DamagedRowError('journal', journalRowKey(row.lastSeq));
}

export interface JournalHead {
  /** Names the journal; another one after a restore that was asked for that. */
  readonly epoch: string;
  readonly lastSeq: bigint;
  /** The time of the last event, in ms since 1970; 0 in a journal without events. */
  readonly lastAt: number;
  readonly prunedThrough: bigint;
}

export interface JournalPage {
  readonly events: readonly StoreEvent[];
  /** The head as it was behind the events: none of them lies beyond it. */
  readonly head: JournalHead;
  /** True: the server that answered follows another one; a promoted replica no longer does. */
  readonly isStandby: boolean;
}

/** The journal is another one, or is not what was read of it before. */
export class ForkedJournalError extends Error {
  override readonly name = 'ForkedJournalError';
}

interface SelectedRow {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly version: string;
}
interface HeadRow {
  readonly epoch: string;
  readonly last_seq: string;
  readonly last_at: string;
  readonly pruned_through: string;
  readonly is_standby: boolean;
}
interface WantedRow {
  readonly key: Key;
  readonly resolve: (found: { value: Uint8Array; version: number } | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const getKeysMax = 1_000;
const journalRowsMax = 100;
/** More than one: the first looks may have met a commit, or another primary. */
const headTries = 3;
/** Behind every key that the bounds of the seam allow. */
const beyondAll = Buffer.alloc(storeLimits.keyBytesMax + 1, 0xff);
const isLive = `version > ${absentVersion} and (expires_at is null or expires_at > $1::int8)`;
const seeHead = {
  name: 'head',
  text: `select epoch, last_seq, last_at, pruned_through, pg_is_in_recovery() as is_standby
         from journal_head`,
};

/** Reads recent rows with a plain query, which is cheap for the database. */
async function queryRows(
  session: PostgresSession,
  afterSeq: bigint,
  rows: number,
  events: number,
): Promise<JournalRow[]> {
  const found = await session.query<JournalText>({
    name: 'journal',
    text: journalPage('$1', '$2', '$3'),
    values: [String(afterSeq), rows, events],
  });
  return found.map(journalRow);
}

/**
 * Reads a journal that is far ahead by COPY: the bytes come as they are, where a query brings each
 * as two characters. COPY can't be prepared, which costs the database 0.1 ms.
 */
async function copyRows(
  session: PostgresSession,
  afterSeq: bigint,
  rows: number,
  events: number,
): Promise<JournalRow[]> {
  return copiedRows(await session.copy(journalPage(`${afterSeq}`, `${rows}`, `${events}`)));
}

function headOf(row: HeadRow): JournalHead {
  const { epoch, last_seq, last_at, pruned_through } = row;
  return {
    epoch,
    lastSeq: BigInt(last_seq),
    lastAt: Number(last_at),
    prunedThrough: BigInt(pruned_through),
  };
}

export type Reads = ReturnType<typeof createReads>;

export function createReads(connection: Connection, clock: Clock) {
  let wanted: WantedRow[] = [];
  let epoch: string | undefined;
  /** The end of the last full page: a reader that continues there is far behind, and is served by COPY. */
  let fullEnd: bigint | undefined;

  /** Any failure but a wrong statement is the database's: it may answer later. */
  async function ask<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    let session: PostgresSession | undefined;
    try {
      session = await connection.session();
      return await work(session);
    } catch (error) {
      if (isOurs(error)) throw error;
      if (isLost(error)) session?.discard();
      throw new StoreUnavailableError(`the database gave no answer: ${(error as Error).message}`);
    }
  }

  async function getMany(batch: readonly WantedRow[]): Promise<void> {
    try {
      const rows = await ask((session) =>
        session.query<SelectedRow>({
          name: 'get',
          text: `select key, value, version from kv where key = any($2::bytea[]) and ${isLive}`,
          values: [Math.floor(clock.now()), byteaArray(batch.map(({ key }) => key))],
        }),
      );
      const found = new Map(rows.map((row) => [nameOf(row.key), row]));
      for (const { key, resolve } of batch) {
        const row = found.get(nameOf(key));
        resolve(row && { value: row.value, version: Number(row.version) });
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  function flush(): void {
    const all = wanted;
    wanted = [];
    for (let i = 0; i < all.length; i += getKeysMax) void getMany(all.slice(i, i + getKeysMax));
  }

  async function readPage(afterSeq: bigint, limit: number): Promise<JournalPage> {
    const readRows = afterSeq === fullEnd ? copyRows : queryRows;
    const rowsMax = Math.min(limit, journalRowsMax);
    const [rows, heads] = await ask((session) =>
      Promise.all([readRows(session, afterSeq, rowsMax, limit), session.query<HeadRow>(seeHead)]),
    );
    const events: StoreEvent[] = [];
    for (const row of rows) {
      decodeFrames(row, afterSeq, limit, events);
      if (events.length >= limit) break;
    }
    if (events.length >= limit || rows.length === rowsMax) fullEnd = events.at(-1)!.seq;
    const [row] = heads;
    return { events, head: headOf(row!), isStandby: row!.is_standby };
  }

  async function readHead(): Promise<JournalHead> {
    const [row] = await ask((session) => session.query<HeadRow>(seeHead));
    return headOf(row!);
  }

  async function rowOf(seq: bigint, at: number | undefined): Promise<EventRow | undefined> {
    if (at === undefined) return undefined;
    const [row] = await ask((session) =>
      session.query<EventRow>({ ...rowOfEvent, values: [String(seq)] }),
    );
    return row;
  }

  /** @throws ForkedJournalError or JournalPrunedError when what comes behind `afterSeq` can't be read here */
  function assertFollowed(
    head: JournalHead,
    afterSeq: bigint,
    afterAt: number | undefined,
    known: EventRow | undefined,
  ): void {
    epoch ??= head.epoch;
    if (head.epoch !== epoch || head.lastSeq < afterSeq) {
      throw new ForkedJournalError(
        `the journal is not the one that was followed: it ends with ${head.lastSeq}, ${afterSeq} were read`,
      );
    }
    if (afterAt !== undefined && isOtherJournal({ seq: afterSeq, at: afterAt }, known)) {
      throw new ForkedJournalError(
        `the journal is not the one that was followed: its event ${afterSeq} came at another time`,
      );
    }
    if (afterSeq < head.prunedThrough) throw new JournalPrunedError(afterSeq, head.prunedThrough);
  }

  return {
    get(key: Key): Promise<{ value: Uint8Array; version: number } | undefined> {
      return new Promise((resolve, reject) => {
        if (wanted.length === 0) setImmediate(flush);
        wanted.push({ key, resolve, reject });
      });
    },

    async scan(prefix: Key, after: Key | undefined, limit: number): Promise<StoredRow[]> {
      const rows = await ask((session) =>
        session.query<SelectedRow>({
          name: after === undefined ? 'scan' : 'scan on',
          text: `select key, value, version from (
                   select key, value, version,
                     sum(octet_length(value)) over (order by key) - octet_length(value) as before
                   from kv where key ${after === undefined ? '>=' : '>'} $2 and key < $3 and ${isLive}
                   order by key limit $4) page
                 where before <= ${storeLimits.pageBytesMax} order by key`,
          values: [
            Math.floor(clock.now()),
            Buffer.from(after ?? prefix),
            Buffer.from(prefixEnd(prefix) ?? beyondAll),
            limit,
          ],
        }),
      );
      return rows.map(({ key, value, version }) => {
        return { key: storedKey(key), value, version: Number(version) };
      });
    },

    /**
     * @throws ForkedJournalError when events that were read before are there no more
     * @throws DamagedRowError when the head tells of events that are not there
     */
    async page(afterSeq: bigint, limit: number, afterAt?: number): Promise<JournalPage> {
      for (let tries = 1; ; tries++) {
        const [page, known] = await Promise.all([
          readPage(afterSeq, limit),
          rowOf(afterSeq, afterAt),
        ]);
        assertFollowed(page.head, afterSeq, afterAt, known);
        if (page.events.length > 0 || page.head.lastSeq === afterSeq) return page;
        // The head is of a moment behind the rows: what it tells of is there when it is asked for again.
        if (tries === headTries) throw missingEvent(afterSeq + 1n);
      }
    },

    /** The same without events: whether the journal is still the one of which `afterSeq` was read. */
    async pollHead(afterSeq: bigint, afterAt?: number): Promise<JournalHead> {
      const [head, known] = await Promise.all([readHead(), rowOf(afterSeq, afterAt)]);
      assertFollowed(head, afterSeq, afterAt, known);
      return head;
    },

    /** Returns what there is behind `afterSeq`, of whatever journal it is. */
    rawPage: readPage,

    /** Returns when an event came, or undefined when the journal does not hold it. */
    async timeOf(seq: bigint): Promise<number | undefined> {
      const [row] = await ask((session) =>
        session.query<EventRow>({ ...rowOfEvent, values: [String(seq)] }),
      );
      return row === undefined || BigInt(row.first_seq) > seq ? undefined : Number(row.at);
    },

    head: readHead,
  };
}

/** A table that is not there, as while a copy is loaded, or one that this role may not use: it may come back. */
const passingCodes = ['42P01', '42501'];

/** A statement that the database refuses (SQLSTATE 42, 22) is a bug of this program, but for those. */
function isOurs(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  const state = String(code);
  return severity !== undefined && /^(42|22)/.test(state) && !passingCodes.includes(state);
}
