/**
 * The content of a backup's blocks, unpacked. A kind u8, then:
 *
 *     1  about: JSON; the first block
 *     2  rows: number of the table u8, then of each row key length u16, value length u32, key, value
 *     3  end: JSON with the number of rows and a SHA-256 of all content before; the last block
 *
 * Rows are copied as they lie in their tables, checksums included, in key order.
 */

import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import { keyBytesMax } from '../keys.ts';
import { type TableName, tableNames } from '../lmdb-tables.ts';
import type { RawRow } from '../view.ts';

export const blockKinds = { about: 1, rows: 2, end: 3 } as const;

const whole = v.pipe(v.number(), v.integer(), v.minValue(0));
const hex = v.pipe(v.string(), v.regex(/^[0-9a-f]*$/));

const aboutSchema = v.object({
  /** Milliseconds since 1970. */
  createdAt: whole,
  dataFormat: whole,
  /** The journal's last event in it. */
  seq: whole,
  /** Events up to here had left the journal. */
  prunedThrough: whole,
  /** The journal's last event that the projection in it holds. */
  checkpointSeq: whole,
  /** The store's identity; empty before the first start of a server. */
  identity: hex,
  /** Name of the key that seals its secrets; empty: it never had one. */
  masterKeyId: hex,
  /** The key itself; in encrypted backups alone. */
  masterKey: v.optional(v.pipe(hex, v.length(64))),
  /** A list of deleted accounts lies next to it, and is not older. Older backups do not say. */
  hasListBeside: v.optional(v.boolean(), false),
  /** Rows in it, about. */
  rowsAbout: whole,
});

/** Facts about the store that a backup was made of. */
export type About = v.InferOutput<typeof aboutSchema>;

const endSchema = v.object({ rows: whole, digest: hex });
export type End = v.InferOutput<typeof endSchema>;

export function encodeJson(kind: number, value: About | End): Buffer {
  return Buffer.concat([Buffer.of(kind), Buffer.from(JSON.stringify(value))]);
}

export const decodeAbout = (content: Buffer): About => decodeJson(content, 'about', aboutSchema);
export const decodeEnd = (content: Buffer): End => decodeJson(content, 'end', endSchema);

function decodeJson<T extends v.GenericSchema>(
  content: Buffer,
  kind: keyof typeof blockKinds,
  schema: T,
): v.InferOutput<T> {
  if (content[0] !== blockKinds[kind]) throw strange();
  const parsed = v.safeParse(
    v.pipe(v.string(), v.parseJson(), schema),
    content.toString('utf8', 1),
  );
  if (!parsed.success) throw strange();
  return parsed.output;
}

const rowHeaderBytes = 6;

export function encodeRows(table: TableName, rows: readonly RawRow[]): Buffer {
  const bytes = rows.reduce((sum, row) => sum + rowHeaderBytes + rowBytes(row), 2);
  const content = Buffer.allocUnsafe(bytes);
  content[0] = blockKinds.rows;
  content[1] = tableNames.indexOf(table);
  let at = 2;
  for (const { key, value } of rows) {
    content.writeUInt16BE(key.length, at);
    content.writeUInt32BE(value.length, at + 2);
    content.set(key, at + rowHeaderBytes);
    content.set(value, at + rowHeaderBytes + key.length);
    at += rowHeaderBytes + key.length + value.length;
  }
  return content;
}

export function decodeRows(content: Buffer): { table: TableName; rows: RawRow[] } {
  const table = tableNames[content[1] ?? 0xff];
  if (content[0] !== blockKinds.rows || table === undefined) throw strange();
  const rows: RawRow[] = [];
  for (let at = 2; at < content.length; ) {
    if (at + rowHeaderBytes > content.length) throw strange();
    const keyEnd = at + rowHeaderBytes + content.readUInt16BE(at);
    const end = keyEnd + content.readUInt32BE(at + 2);
    const keyLength = keyEnd - at - rowHeaderBytes;
    if (end > content.length || keyLength < 1 || keyLength > keyBytesMax) throw strange();
    rows.push({
      key: content.subarray(at + rowHeaderBytes, keyEnd),
      value: content.subarray(keyEnd, end),
    });
    at = end;
  }
  return { table, rows };
}

function rowBytes({ key, value }: RawRow): number {
  return key.length + value.length;
}

/** The seals are right, so this is no damage. */
function strange(): OperatorError {
  return new OperatorError('the backup holds what this version of Portcullis does not know');
}
