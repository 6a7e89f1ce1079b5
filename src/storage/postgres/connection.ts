/**
 * One connection to the primary, or to a replica, made when it is needed and again when it was lost.
 *
 * Invariants:
 * - The hosts of the URL are tried in turn, those that take writes first. A server in recovery is passed over where a
 *   primary is wanted, and any other where a replica is.
 * - No rejection of a pipelined query is left unhandled, and no message names the password.
 * - An answer whose bytes were changed on the way ends the connection and nothing else.
 * - A connection that is to end does so within two seconds, whatever the other side does.
 */

import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type pg from 'pg';
import type { Log } from '../../core/log.ts';
import { StoreUnavailableError } from '../store.ts';

export interface Query {
  /** Prepared once under this name. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** While the connection lives. */
export interface PostgresSession {
  query<Row>(query: Query): Promise<Row[]>;
  /**
   * Sends all at once and waits for all. Rejects with the first error; then no later query of the same
   * transaction took effect.
   */
  pipeline(queries: readonly Query[]): Promise<pg.QueryResult[]>;
  /** Several statements in one text, without parameters. */
  script(text: string): Promise<void>;
  /** Returns the messages of a binary COPY, one for each row, undecoded: cheap for many bytes. */
  copy(select: string): Promise<Buffer[]>;
  /** Closes the connection; the next use makes another. */
  discard(): void;
}

interface ConnectionOptions {
  readonly url: string;
  readonly log: Log;
  /** Listens on this channel. */
  readonly channel?: string;
  readonly onNotification?: (payload: string) => void;
  /** True: only a standby will do; otherwise only a primary. */
  readonly isReplica?: boolean;
  /** A statement without an answer for this time breaks the connection. */
  readonly answerMs?: number;
  /** Called when writes are taken again, here or by another host, after one was refused by a read-only primary. */
  readonly onWritable?: () => void;
}

const connectMs = 3_000;
/** For the answers under way, and for the end of the session. */
const endMsMax = 2_000;
/** Behind the library's own bound on an answer. */
const lateMs = 500;
/** Behind the server's own bound on a statement. */
const answerMsDefault = 25_000;

/**
 * Plans that are made on tables still empty would scan them for ever after; a transaction that hangs
 * must not hold others; bytes come in the form that is read here; and what is acknowledged is on disk, whatever the
 * settings of the server, the database or the user say.
 */
const setUp = `
  set lock_timeout = '5s';
  set statement_timeout = '20s';
  set idle_in_transaction_session_timeout = '5s';
  set plan_cache_mode = force_generic_plan;
  set enable_seqscan = off;
  set enable_hashjoin = off;
  set enable_mergejoin = off;
  set jit = off;
  set bytea_output = 'hex';
  select set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') in ('off', 'local')`;

/** A URL for each host of one with several: `postgres://user@one:5432,two:5432/name`. */
export function hostUrls(url: string): string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s.exec(url);
  if (parts === null) return [url];
  const [, head, hosts, tail] = parts;
  return hosts!.split(',').map((host) => `${head}${host}${tail}`);
}

/** For people: without user and password. */
export function hostsText(url: string): string {
  return hostUrls(url)
    .map((one) => one.replace(/^[^:]+:\/\/(?:[^@/?]*@)?/, '').replace(/\?.*$/s, ''))
    .join(', ');
}

/** `read_only_sql_transaction`: a primary that was fenced off, or whose disk is nearly full at a managed service. */
const readOnlyCode = '25006';

export const isReadOnly = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === readOnlyCode;

/** The connection is of no more use, and what it was doing may or may not have taken effect. */
export function isLost(error: unknown): boolean {
  if (isReadOnly(error)) return true;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  if (typeof severity !== 'string' || typeof code !== 'string') return true;
  return severity === 'FATAL' || severity === 'PANIC' || /^(08|57P)/.test(code);
}

export function createConnection(options: ConnectionOptions) {
  const { url, log } = options;
  let current: { client: pg.Client; session: PostgresSession } | undefined;
  let connecting: Promise<PostgresSession> | undefined;
  let isClosed = false;
  let wasRefused = false;

  /** A host that takes writes comes first; where there is none, one that only reads will do. */
  async function connect(): Promise<PostgresSession> {
    let reason = 'no host is named';
    const readOnly: string[] = [];
    for (const hostUrl of hostUrls(url)) {
      try {
        return await connectTo(hostUrl, false);
      } catch (error) {
        if (error instanceof ReadOnlyError) readOnly.push(hostUrl);
        reason = `${hostsText(hostUrl)}: ${(error as Error).message}`;
      }
    }
    for (const hostUrl of readOnly) {
      try {
        return await connectTo(hostUrl, true);
      } catch (error) {
        reason = `${hostsText(hostUrl)}: ${(error as Error).message}`;
      }
    }
    throw new StoreUnavailableError(`the database can't be reached: ${reason}`);
  }

  async function connectTo(
    connectionString: string,
    mayBeReadOnly: boolean,
  ): Promise<PostgresSession> {
    // Most servers and commands never need the library: reading it would be a tenth of their start.
    const { Client, Query: PgQuery, types } = (await import('pg')).default;
    boundReading();
    const client = new Client({
      connectionString,
      pipeline: true,
      connectionTimeoutMillis: connectMs,
      query_timeout: options.answerMs ?? answerMsDefault,
      keepAlive: true,
      application_name: 'portcullis',
      stream: () => new AnswerSocket(),
      types: {
        getTypeParser: ((oid: number, format: 'text') =>
          oid === byteaOid
            ? readBytes
            : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
      },
    });
    function drop(reason?: unknown): void {
      if (current?.client === client) current = undefined;
      if (isReadOnly(reason)) wasRefused = true;
    }
    // Without a listener, a connection that breaks while nothing is asked would end the process.
    client.on('error', (error) => {
      const level = error instanceof ChangedBytesError ? 'error' : 'debug';
      log[level]({ err: error }, 'postgres: a connection broke');
      drop();
    });
    client.on('end', () => drop());
    const session = sessionOf(client, PgQuery, drop, options.answerMs ?? answerMsDefault);
    try {
      await client.connect();
      await session.script(setUp);
      const [row] = await session.query<{ standby: boolean; writes: boolean }>({
        text: `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'off' as writes`,
      });
      const { standby, writes } = row!;
      if (standby !== (options.isReplica === true)) {
        throw new Error(standby ? 'it is a standby' : 'it is no standby');
      }
      if (!writes && !standby && !mayBeReadOnly) throw new ReadOnlyError();
      if (options.channel !== undefined) {
        client.on('notification', ({ payload }) => options.onNotification?.(payload ?? ''));
        await session.script(`listen ${options.channel}`);
      }
    } catch (error) {
      endQuietly(client);
      throw error;
    }
    if (isClosed) {
      endQuietly(client);
      throw new StoreUnavailableError('the store is closed');
    }
    current = { client, session };
    if (wasRefused && !mayBeReadOnly) {
      wasRefused = false;
      options.onWritable?.();
    }
    return session;
  }

  return {
    /** @throws StoreUnavailableError when no host answers as what is wanted */
    session(): Promise<PostgresSession> {
      if (current !== undefined) return Promise.resolve(current.session);
      if (isClosed) return Promise.reject(new StoreUnavailableError('the store is closed'));
      connecting ??= connect().finally(() => {
        connecting = undefined;
      });
      return connecting;
    },
    /** The next use makes another connection. */
    discard(): void {
      current?.session.discard();
    },
    /** Questions that wait for an answer fail now, and so do all from now on. */
    abandon(): void {
      isClosed = true;
      if (current !== undefined) destroy(current.client, new Error('the server stops'));
    },
    async close(): Promise<void> {
      isClosed = true;
      await connecting?.catch(() => {});
      if (current !== undefined) await endQuietly(current.client);
      current = undefined;
    },
  };
}

export type Connection = ReturnType<typeof createConnection>;

function sessionOf(
  client: pg.Client,
  PgQuery: typeof pg.Query,
  drop: (reason?: unknown) => void,
  answerMs: number,
): PostgresSession {
  let isOnStandby = true;
  // A wait for the standby that somebody ends early is a commit all the same, with a warning.
  client.on('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') isOnStandby = false;
  });

  function assertOnStandby(): void {
    if (isOnStandby) return;
    drop();
    endQuietly(client);
    throw new Error('the wait for the standby was ended: whether it has the commit is unknown');
  }

  async function pipeline(queries: readonly Query[]): Promise<pg.QueryResult[]> {
    // The library's own bound does not hold for a question whose answer it took for another one's.
    const late = setTimeout(() => {
      drop();
      destroy(client, new Error('the database did not answer'));
    }, answerMs + lateMs);
    // Each promise gets its handler in the turn in which it is made.
    const settled = await Promise.allSettled(
      queries.map((query) => client.query({ ...query, values: [...(query.values ?? [])] })),
    );
    clearTimeout(late);
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed !== undefined) {
      if (isLost(failed.reason)) {
        drop(failed.reason);
        endQuietly(client);
      }
      throw failed.reason;
    }
    assertOnStandby();
    return settled.map((one) => (one as PromiseFulfilledResult<pg.QueryResult>).value);
  }
  return {
    pipeline,
    async query<Row>(query: Query) {
      const [result] = await pipeline([query]);
      return result!.rows as Row[];
    },
    async script(text) {
      await client.query(text);
    },
    copy(select) {
      return new Promise((resolve, reject) => {
        const messages: Buffer[] = [];
        const text = `copy (${select}) to stdout (format binary)`;
        const query = new PgQuery(text, (error) => {
          if (!error) return resolve(messages);
          if (isLost(error)) drop();
          reject(error);
        });
        // The library uses the memory of a message again.
        const handleCopyData = ({ chunk }: { chunk: Buffer }) => messages.push(Buffer.from(chunk));
        client.query(Object.assign(query, { handleCopyData }));
      });
    },
    discard() {
      drop();
      endQuietly(client);
    },
  };
}

/** The library waits for answers under way and for the other side, both without end. */
async function endQuietly(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => destroy(client), endMsMax);
  await client.end().catch(() => {});
  clearTimeout(timer);
}

interface BufferReader {
  readonly buffer: Buffer;
  readonly offset: number;
  string(length: number): string;
}
let isBound = false;

/**
 * The library's reader gives empty texts behind the end of what came. Where the kind of a message
 * was changed, it searches for the end of its fields there for ever, and blocks the whole process.
 */
function boundReading(): void {
  if (isBound) return;
  isBound = true;
  const ofPg = createRequire(createRequire(import.meta.url).resolve('pg'));
  const found = ofPg('pg-protocol/dist/buffer-reader') as {
    readonly BufferReader: { readonly prototype: BufferReader };
  };
  const { prototype } = found.BufferReader;
  const { string } = prototype;
  prototype.string = function (this: BufferReader, length) {
    if (this.offset + length > this.buffer.length) throw new RangeError('a message without an end');
    return string.call(this, length);
  };
}

const byteaOid = 17;

/** The library's own reader loops for ever at a stray backslash, and leaves out what is no digit. */
function readBytes(text: string): Buffer {
  const bytes = Buffer.from(text.slice(2), 'hex');
  if (text.startsWith('\\x') && 2 * bytes.length === text.length - 2) return bytes;
  throw new ChangedBytesError(
    'bytes of the database are no hex digits: they were changed on the way',
  );
}

function destroy(client: pg.Client, error?: Error): void {
  const { connection } = client as unknown as { readonly connection: { readonly stream: Socket } };
  connection.stream.destroy(error);
}

class ReadOnlyError extends Error {
  override readonly name = 'ReadOnlyError';
  override readonly message = 'it takes no writes';
}

/** The database sent bytes that are not PostgreSQL's protocol. */
class ChangedBytesError extends Error {
  override readonly name = 'ChangedBytesError';
}

/** The library reads answers in a listener of the socket: what it throws there would end the process. */
class AnswerSocket extends Socket {
  override emit(event: string | symbol, ...given: unknown[]): boolean {
    if (event !== 'data') return super.emit(event, ...given);
    try {
      return super.emit(event, ...given);
    } catch (error) {
      const reason = (error as Error).message;
      const reasonText = `what the database sent can't be read, so bytes were changed on the way (${reason})`;
      this.destroy(new ChangedBytesError(reasonText));
      return true;
    }
  }
}

// Arrays as PostgreSQL reads them in binary: as text each byte would be two characters, and escaped.
// A Buffer is sent as it is, in the binary format of the parameter's type.
//
//   dimensions u32 (1, or 0 when empty) · has-null u32 · element oid u32 · count u32 · first index u32
//   and for each element its length u32 (2^32-1: null) and its bytes

const oids = { bytea: 17, int8: 20, text: 25 } as const;
const headBytes = 20;
const nullLength = -1;

function encode(oid: number, parts: readonly (Uint8Array | null)[]): Buffer {
  if (parts.length === 0) {
    const empty = Buffer.alloc(12);
    empty.writeUInt32BE(oid, 8);
    return empty;
  }
  const size = parts.reduce((sum, part) => sum + 4 + (part?.length ?? 0), headBytes);
  const out = Buffer.allocUnsafe(size);
  out.writeUInt32BE(1, 0);
  out.writeUInt32BE(parts.includes(null) ? 1 : 0, 4);
  out.writeUInt32BE(oid, 8);
  out.writeUInt32BE(parts.length, 12);
  out.writeUInt32BE(1, 16);
  let at = headBytes;
  for (const part of parts) {
    at = out.writeInt32BE(part?.length ?? nullLength, at);
    if (part === null) continue;
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function byteaArray(values: readonly Uint8Array[]): Buffer {
  return encode(oids.bytea, values);
}

export function textArray(values: readonly string[]): Buffer {
  return encode(
    oids.text,
    values.map((value) => Buffer.from(value, 'utf8')),
  );
}

/** Whole numbers up to 2^53. */
export function int8Array(values: readonly (number | null)[]): Buffer {
  return encode(
    oids.int8,
    values.map((value) => {
      if (value === null) return null;
      const part = Buffer.allocUnsafe(8);
      part.writeBigInt64BE(BigInt(value));
      return part;
    }),
  );
}
