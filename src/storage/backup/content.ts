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

import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import { keyBytesMax } from '../keys.ts';
import { type BackupRow, type Part, parts } from './rows.ts';

export const backupMark = Buffer.from('portcullis backup 1\n');
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
export function framed(record: Buffer): Buffer {
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
