/**
 * The content of a backup, unpacked: a line that says what it is, then records, each its length u32 and
 *
 *     1  about: JSON; the first record
 *     2  rows: number of the part u8, then of each row key length u16, value length u32, number u48,
 *        time u48, key, value (rows.ts)
 *     3  end: JSON with the number of rows and a SHA-256 of all records before; the last record
 *
 * A file is that under gzip, and where it is encrypted that in the age format (age.ts).
 */

import { createHash, type Hash } from 'node:crypto';
import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import { keyBytesMax, namespaces } from '../keys.ts';
import { encodeEvent } from '../rows.ts';
import type { StoreEvent } from '../store.ts';

// The rows of a backup: in one shape, whichever kind of store they are of, and counted and hashed to
// compare two sides, each namespace by itself, in key order.
//
// Invariant: a row's shape says all that the row means. Two sides with equal counts and hashes hold
// the same.

/** Stand in the order in which they are written. */
export const parts = ['entries', 'journal', 'eventIds', 'checkpoint'] as const;
export type Part = (typeof parts)[number];

/**
 *   part         key                value             number    at
 *   entries      the entry's        the entry's       version   when it expires, 0 never
 *   journal      seq u64            event, no time    seq       its time
 *   eventIds     the id as UTF-8    nothing           seq       the event's time
 *   checkpoint   of page or record  the entry's       0         0
 */
export interface BackupRow {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly number: number;
  readonly at: number;
}

export interface StoreFacts {
  readonly dataFormat: number;
  /** The row `format` of `meta` behind that number: how far an update had come (format.ts), in hex. */
  readonly migration: string;
  /** The journal's last event in it. */
  readonly seq: number;
  /** No row has a later version. */
  readonly lastVersion: number;
  /** Events up to here had left the journal. */
  readonly prunedThrough: number;
  /** The journal's last event that the projection in it holds; 0: there is no projection. */
  readonly checkpointSeq: number;
  /** The store's identity in hex; empty before the first start of a server, and of a database. */
  readonly identity: string;
  /** Name of the key that seals its secrets, in hex; empty: it never had one. */
  readonly masterKeyId: string;
  /** Rows in it, about. */
  readonly rowsAbout: number;
}

/** A store as it is at one moment. */
export interface RowSource {
  facts(): Promise<StoreFacts>;
  /** In key order, a few rows at a time. @throws DamagedRowError */
  read(part: Part): AsyncGenerator<BackupRow[]>;
}

/** Pages and record go as `checkpoint`; a lease is that of a process which runs. */
const others: ReadonlySet<number> = new Set([
  namespaces.checkpoint,
  namespaces.projectionPage,
  namespaces.lease,
]);

export function isEntry(key: Uint8Array): boolean {
  return !others.has(key[0]!);
}

/** `encodeEvent` leaves room for a checksum. */
const crcBytes = 4;

export function backupRowOfEvent(event: StoreEvent): BackupRow {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(event.seq);
  const row = encodeEvent(event);
  const value = row.subarray(0, row.length - crcBytes);
  return { key, value, number: Number(event.seq), at: event.at };
}

export function eventRowOf({ value }: BackupRow): Buffer {
  return Buffer.concat([value, Buffer.alloc(crcBytes)]);
}

export interface RowDigest {
  /** A namespace, or a part. */
  readonly name: string;
  readonly rows: number;
  readonly sha256: string;
}

const names = new Map(Object.entries(namespaces).map(([name, byte]) => [byte as number, name]));

function nameOf(part: Part, { key }: BackupRow): string {
  if (part !== 'entries') return part;
  return names.get(key[0]!) ?? `namespace ${key[0]!.toString(16)}`;
}

/** Counts and hashes what it is given. */
export function createRowDigests() {
  const counted = new Map<string, { rows: number; hash: Hash }>();
  const numbers = Buffer.alloc(24);
  return {
    add(part: Part, rows: readonly BackupRow[]): void {
      for (const row of rows) {
        const name = nameOf(part, row);
        let digest = counted.get(name);
        if (digest === undefined) {
          digest = { rows: 0, hash: createHash('sha256') };
          counted.set(name, digest);
        }
        digest.rows += 1;
        numbers.writeUInt32BE(row.key.length, 0);
        numbers.writeUInt32BE(row.value.length, 4);
        numbers.writeDoubleBE(row.number, 8);
        numbers.writeDoubleBE(row.at, 16);
        digest.hash.update(numbers).update(row.key).update(row.value);
      }
    },
    /** Is called once, at the end. */
    finish(): RowDigest[] {
      return [...counted].map(([name, { rows, hash }]) => {
        return { name, rows, sha256: hash.digest('hex') };
      });
    },
  };
}

export type OnProgress = (rows: number, rowsAbout: number, verb: string) => void;

/**
 * Reads all that was written, and compares it with what was to be.
 * @throws OperatorError with the names of what differs
 */
export async function compareRows(
  written: readonly RowDigest[],
  found: RowSource,
  onProgress?: OnProgress,
): Promise<void> {
  const total = written.reduce((sum, { rows }) => sum + rows, 0);
  const digests = createRowDigests();
  let rows = 0;
  for (const part of parts) {
    for await (const batch of found.read(part)) {
      digests.add(part, batch);
      rows += batch.length;
      onProgress?.(rows, Math.max(rows, total), 'compared');
    }
  }
  const other = new Map(digests.finish().map((digest) => [digest.name, digest]));
  const differing = written.filter(({ name, rows: count, sha256 }) => {
    const there = other.get(name);
    other.delete(name);
    return there?.rows !== count || there.sha256 !== sha256;
  });
  const differ = [...differing.map(({ name }) => name), ...other.keys()];
  if (differ.length === 0) return;
  throw new OperatorError(
    `what was written is not what the backup holds: it differs in ${differ.join(', ')}`,
  );
}

export const backupMagic = Buffer.from('portcullis backup 1\n');
/** The largest rows of a page of a database and their keys, rounded up. */
export const recordBytesMax = 16 * 1024 * 1024;
export const recordKinds = { about: 1, rows: 2, end: 3 } as const;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2 ** 48 - 1));
const hexOf = (bytes: number) =>
  v.pipe(v.string(), v.regex(new RegExp(`^([0-9a-f]{${2 * bytes}})?$`)));

const aboutSchema = v.object({
  /** Milliseconds since 1970. */
  createdAt: whole,
  // Facts about the store (rows.ts).
  dataFormat: whole,
  migration: v.pipe(v.string(), v.regex(/^([0-9a-f]{2}){0,4096}$/)),
  seq: whole,
  lastVersion: whole,
  prunedThrough: whole,
  checkpointSeq: whole,
  identity: hexOf(16),
  masterKeyId: hexOf(4),
  rowsAbout: whole,
  /** The key itself in hex; in encrypted backups alone. */
  masterKey: v.optional(v.pipe(hexOf(32), v.nonEmpty())),
  /** A list of deleted accounts lies next to it, and is not older. */
  hasListBeside: v.boolean(),
});

/** Facts about the store that a backup was made of, and about the backup. */
export type About = v.InferOutput<typeof aboutSchema>;

const endSchema = v.object({ rows: whole, digest: v.string() });
export type End = v.InferOutput<typeof endSchema>;

/** The record with its length before it. */
export function frameRecord(record: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(record.length);
  return Buffer.concat([length, record]);
}

export function encodeJson(kind: number, value: About | End): Buffer {
  return Buffer.concat([Buffer.of(kind), Buffer.from(JSON.stringify(value))]);
}

export const decodeAbout = (record: Buffer): About => decodeJson(record, 'about', aboutSchema);
export const decodeEnd = (record: Buffer): End => decodeJson(record, 'end', endSchema);

function decodeJson<T extends v.GenericSchema>(
  record: Buffer,
  kind: keyof typeof recordKinds,
  schema: T,
): v.InferOutput<T> {
  if (record[0] !== recordKinds[kind]) throw strange();
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), record.toString('utf8', 1));
  if (!parsed.success) throw strange();
  return parsed.output;
}

const rowHeaderBytes = 18;

export function encodeRows(part: Part, rows: readonly BackupRow[]): Buffer {
  const bytes = rows.reduce(
    (sum, { key, value }) => sum + rowHeaderBytes + key.length + value.length,
    2,
  );
  const record = Buffer.allocUnsafe(bytes);
  record[0] = recordKinds.rows;
  record[1] = parts.indexOf(part);
  let at = 2;
  for (const { key, value, number, at: time } of rows) {
    record.writeUInt16BE(key.length, at);
    record.writeUInt32BE(value.length, at + 2);
    record.writeUIntBE(number, at + 6, 6);
    record.writeUIntBE(time, at + 12, 6);
    record.set(key, at + rowHeaderBytes);
    record.set(value, at + rowHeaderBytes + key.length);
    at += rowHeaderBytes + key.length + value.length;
  }
  return record;
}

export function decodeRows(record: Buffer): { part: Part; rows: BackupRow[] } {
  const part = parts[record[1] ?? 0xff];
  if (record[0] !== recordKinds.rows || part === undefined) throw strange();
  const rows: BackupRow[] = [];
  for (let at = 2; at < record.length; ) {
    const start = at + rowHeaderBytes;
    if (start > record.length) throw strange();
    const keyEnd = start + record.readUInt16BE(at);
    const end = keyEnd + record.readUInt32BE(at + 2);
    const keyLength = keyEnd - start;
    if (end > record.length || keyLength < 1 || keyLength > keyBytesMax) throw strange();
    rows.push({
      key: record.subarray(start, keyEnd),
      value: record.subarray(keyEnd, end),
      number: record.readUIntBE(at + 6, 6),
      at: record.readUIntBE(at + 12, 6),
    });
    at = end;
  }
  return { part, rows };
}

/** The file is as it was written, so this is no damage. */
function strange(): OperatorError {
  return new OperatorError('the backup holds what this version of Portcullis does not know');
}
