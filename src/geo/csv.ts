/**
 * Ranges from CSV text: `first,last,number,name`, the name quoted when it holds a comma, quotes
 * doubled inside. Read as bytes: half a million lines, of which most repeat a name. A line that
 * does not fit is skipped and counted, never fatal.
 */

import { type IpFamily, parseIpBytes } from '../ip/address.ts';
import type { RangeSink } from './partition.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COMMA = 0x2c;
const QUOTE = 0x22;

interface CsvResult {
  readonly ranges: number;
  /** Lines that are malformed, out of order or inside an earlier range. */
  readonly skipped: number;
}

/**
 * @param idOf maps the text of the fourth field to an id, or that of the third and the fourth as they stand.
 * Lines of the other family are skipped.
 */
export function readCsvRanges(
  bytes: Buffer,
  family: IpFamily,
  partition: RangeSink,
  idOf: (name: string) => number,
  fields: 'name' | 'number and name' = 'name',
): CsvResult {
  const first = new Uint32Array(4);
  const last = new Uint32Array(4);
  // Keyed by the raw bytes as Latin-1, which is cheaper than decoding UTF-8 on every line.
  const ids = new Map<string, number>();
  let ranges = 0;
  let skipped = 0;

  /** Commas at which the first three fields end; the name may hold more. */
  let comma1 = 0;
  let comma2 = 0;
  let comma3 = 0;

  /** Sets the commas of the line at `start` (0: none) and returns where it ends. */
  function scanLine(start: number): number {
    comma1 = 0;
    comma2 = 0;
    comma3 = 0;
    for (let at = start; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === LINE_FEED) return at;
      if (byte !== COMMA || comma3 !== 0) continue;
      if (comma1 === 0) comma1 = at;
      else if (comma2 === 0) comma2 = at;
      else comma3 = at;
    }
    return bytes.length;
  }

  function addLine(start: number, end: number): boolean {
    if (comma3 === 0) return false;
    if (parseIpBytes(bytes, start, comma1, first) !== family) return false;
    if (parseIpBytes(bytes, comma1 + 1, comma2, last) !== family) return false;
    const from = (fields === 'name' ? comma3 : comma2) + 1;
    const key = bytes.toString('latin1', from, end);
    let id = ids.get(key);
    if (id === undefined) {
      const text = bytes.toString('utf8', from, end);
      id = idOf(fields === 'name' ? unquoted(text) : text);
      ids.set(key, id);
    }
    return partition.add(first, last, id);
  }

  for (let start = 0; start < bytes.length; ) {
    const next = scanLine(start);
    const end = next > start && bytes[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    if (end > start) {
      if (addLine(start, end)) ranges++;
      else skipped++;
    }
    start = next + 1;
  }
  return { ranges, skipped };
}

export function unquoted(field: string): string {
  if (field.charCodeAt(0) !== QUOTE) return field;
  const end = field.endsWith('"') && field.length > 1 ? -1 : undefined;
  return field.slice(1, end).replaceAll('""', '"');
}
