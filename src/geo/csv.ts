/**
 * Ranges from CSV text: `first,last,number,name`, the name quoted when it holds a comma, quotes
 * doubled inside. Read as bytes: half a million lines, of which most repeat a name. A line that
 * does not fit is skipped and counted, never fatal.
 */

import { parseIpBytes } from '../ip/address.ts';
import type { PartitionBuilder } from './partition.ts';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const COMMA = 0x2c;
const QUOTE = 0x22;

export interface CsvResult {
  readonly ranges: number;
  /** Lines that are malformed, out of order or inside an earlier range. */
  readonly skipped: number;
}

/** `names` maps the text of the fourth field to an id. Lines of the other family are skipped. */
export function readCsvRanges(
  bytes: Buffer,
  family: 4 | 6,
  partition: PartitionBuilder,
  idOf: (name: string) => number,
): CsvResult {
  const first = new Uint32Array(4);
  const last = new Uint32Array(4);
  // Keyed by the raw bytes as Latin-1, which is cheaper than decoding UTF-8 on every line.
  const ids = new Map<string, number>();
  let ranges = 0;
  let skipped = 0;

  function addLine(start: number, end: number): boolean {
    const comma1 = bytes.indexOf(COMMA, start);
    if (comma1 < 0 || comma1 >= end) return false;
    const comma2 = bytes.indexOf(COMMA, comma1 + 1);
    if (comma2 < 0 || comma2 >= end) return false;
    const comma3 = bytes.indexOf(COMMA, comma2 + 1);
    if (comma3 < 0 || comma3 >= end) return false;
    if (parseIpBytes(bytes, start, comma1, first) !== family) return false;
    if (parseIpBytes(bytes, comma1 + 1, comma2, last) !== family) return false;
    const key = bytes.toString('latin1', comma3 + 1, end);
    let id = ids.get(key);
    if (id === undefined) {
      id = idOf(unquoted(bytes.toString('utf8', comma3 + 1, end)));
      ids.set(key, id);
    }
    return partition.add(first, last, id);
  }

  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, start);
    const next = found < 0 ? bytes.length : found;
    const end = next > start && bytes[next - 1] === CARRIAGE_RETURN ? next - 1 : next;
    if (end > start) {
      if (addLine(start, end)) ranges++;
      else skipped++;
    }
    start = next + 1;
  }
  return { ranges, skipped };
}

function unquoted(field: string): string {
  if (field.charCodeAt(0) !== QUOTE) return field;
  const end = field.endsWith('"') && field.length > 1 ? -1 : undefined;
  return field.slice(1, end).replaceAll('""', '"');
}
