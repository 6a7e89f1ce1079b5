/** Reads of the PostgreSQL store. What is asked for in one turn of the event loop is one query. */

import type { Clock } from '../../core/clock.ts';
import { isOtherJournal, rowOfEvent } from '../journal-mark.ts';
import { type Key, prefixEnd, storedKey } from '../keys.ts';
import {
  type Entry,
  JournalPrunedError,
  type StoreEvent,
  StoreUnavailableError,
  storeLimits,
} from '../store.ts';
import { byteaArray } from './arrays.ts';
import { absentVersion, nameOf } from './batch.ts';
import { type Connection, isLost, type PostgresSession } from './connection.ts';
import { decodeFrames, type JournalRow } from './journal.ts';

export interface JournalHead {
  /** Names the journal; another one after a restore that was told so. */
  readonly epoch: string;
  readonly lastSeq: bigint;
  readonly prunedThrough: bigint;
}

/** The journal is another one, or is not what was read of it before. */
export class ForkedJournalError extends Error {
  override readonly name = 'ForkedJournalError';
}

interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly version: string;
}
interface HeadRow {
  readonly epoch: string;
  readonly last_seq: string;
  readonly pruned_through: string;
}
interface Wanted {
  readonly key: Key;
  readonly resolve: (found: { value: Uint8Array; version: number } | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const getKeysMax = 1_000;
const journalRowsMax = 100;
/** Behind every key that the bounds of the seam allow. */
const beyondAll = Buffer.alloc(storeLimits.keyBytesMax + 1, 0xff);
const isLive = `version > ${absentVersion} and (expires_at is null or expires_at > $1::int8)`;
const seeHead = { name: 'head', text: 'select epoch, last_seq, pruned_through from journal_head' };

function readHead(row: HeadRow): JournalHead {
  const { epoch, last_seq, pruned_through } = row;
  return { epoch, lastSeq: BigInt(last_seq), prunedThrough: BigInt(pruned_through) };
}

export function createReads(connection: Connection, clock: Clock) {
  let wanted: Wanted[] = [];
  let epoch: string | undefined;

  /** Any failure but a wrong statement is the database's: it may answer later. */
  async function ask<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    let session: PostgresSession | undefined;
    try {
      session = await connection.session();
      return await work(session);
    } catch (error) {
      if (isOurs(error)) throw error;
      if (isLost(error)) session?.discard();
      throw new StoreUnavailableError(`the database did not answer: ${(error as Error).message}`);
    }
  }

  async function getMany(batch: readonly Wanted[]): Promise<void> {
    try {
      const rows = await ask((session) =>
        session.query<Row>({
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

  return {
    get(key: Key): Promise<{ value: Uint8Array; version: number } | undefined> {
      return new Promise((resolve, reject) => {
        if (wanted.length === 0) setImmediate(flush);
        wanted.push({ key, resolve, reject });
      });
    },

    async scan(prefix: Key, after: Key | undefined, limit: number): Promise<Entry[]> {
      const rows = await ask((session) =>
        session.query<Row>({
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

    /** @throws ForkedJournalError when events that were read before are there no more */
    async read(afterSeq: bigint, limit: number, afterAt?: number): Promise<StoreEvent[]> {
      const [rows, heads, known] = await ask((session) =>
        session.pipeline([
          {
            name: 'journal',
            text: `select last_seq, first_seq, at, frames from (
                     select *, sum(octet_length(frames)) over (order by last_seq) - octet_length(frames) as before
                     from journal where last_seq > $1 order by last_seq limit $2) page
                   where before <= ${storeLimits.pageBytesMax} and first_seq <= $1 + $3::int8
                   order by last_seq`,
            // Outside of the page, for inside it the scan would go on to the end of the journal.
            values: [String(afterSeq), Math.min(limit, journalRowsMax), limit],
          },
          seeHead,
          ...(afterAt === undefined ? [] : [{ ...rowOfEvent, values: [String(afterSeq)] }]),
        ]),
      );
      const head = readHead(heads!.rows[0] as HeadRow);
      epoch ??= head.epoch;
      if (head.epoch !== epoch || head.lastSeq < afterSeq) {
        throw new ForkedJournalError(
          `the journal is not the one that was followed: it ends with ${head.lastSeq}, ${afterSeq} were read`,
        );
      }
      const mark = { seq: afterSeq, at: afterAt ?? 0 };
      if (known !== undefined && isOtherJournal(mark, known.rows[0])) {
        throw new ForkedJournalError(
          `the journal is not the one that was followed: its event ${afterSeq} came at another time`,
        );
      }
      if (afterSeq < head.prunedThrough) throw new JournalPrunedError(afterSeq, head.prunedThrough);
      const events: StoreEvent[] = [];
      for (const row of rows!.rows as JournalRow[]) {
        decodeFrames(row, afterSeq, limit, events);
        if (events.length >= limit) break;
      }
      return events;
    },

    async head(): Promise<JournalHead> {
      const [row] = await ask((session) => session.query<HeadRow>(seeHead));
      return readHead(row!);
    },
  };
}

/** A statement that the database refuses (SQLSTATE 42, 22) is a bug of this program. */
function isOurs(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return severity !== undefined && /^(42|22)/.test(String(code));
}
