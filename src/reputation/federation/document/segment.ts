/**
 * Segments and snapshots: lines of what a server says of addresses, sorted by address, IPv4 before IPv6. Each is
 * written in one way only, so the same rows are the same bytes.
 *
 *     + <address> <first hour> <last hour> <categories> <reports> <reporters>
 *     - <address>
 *
 * An address is a host or an IPv6 /64. Hours are counted since 1970. Categories are numbers separated by commas;
 * reports are a power of 2; reporters are how many of the staff, members and accounts that earned it, such as
 * `s1m3`, where 3 is three or more. A snapshot has no lines of the second kind.
 *
 * The reader takes pieces of bytes as they come, keeps no more than a line of them, and ends at the first fault.
 */

import { createHash } from 'node:crypto';
import { lastHour32 } from '../../../core/time.ts';
import {
  formatIp,
  type IpFamily,
  type IpWords,
  parseIpBytes,
  wordCountOf,
} from '../../../ip/address.ts';
import { widthOf } from '../../../ip/prefix.ts';
import { categoriesOf, categoryMax } from '../../reports/categories.ts';

export const segmentBytesMax = 4 * 1_048_576;
export const snapshotBytesMax = 256 * 1_048_576;
export const snapshotRowsMax = 1_000_000;
/** A host of 39 characters and all 23 categories is shorter. */
const lineBytesMax = 192;
const countMax = 2 ** 20;
/** Three stands for three or more. */
const reportersMax = 3;
const prefixBits = 64;

/** The chain before the first segment. */
export const chainStart = '0'.repeat(64);

/** @param before the chain so far, 64 hexadecimal digits */
export function chainAfter(before: string, segment: Uint8Array): string {
  const hash = createHash('sha256').update(segment).digest();
  return createHash('sha256').update(Buffer.from(before, 'hex')).update(hash).digest('hex');
}

export interface AddressRef extends IpWords {
  /** 32 and 128: a host; 64: an IPv6 /64. */
  readonly length: number;
}

/** All that is said of an address but its categories, which stand in the reports themselves. */
export interface CountedRow {
  readonly firstHour: number;
  readonly lastHour: number;
  /** A power of 2. */
  readonly reports: number;
  /** 0 to 3 of each. */
  readonly staff: number;
  readonly members: number;
  readonly earned: number;
}

/** The counts and times that a server says of an address. */
export interface RowFacts extends CountedRow {
  /** Bit n for category n. */
  readonly categories: number;
}

/** The facts of an address of which nothing is said. */
export const noFacts: RowFacts = {
  firstHour: 0,
  lastHour: 0,
  categories: 0,
  reports: 0,
  staff: 0,
  members: 0,
  earned: 0,
};

export function deletionLine({ family, words, length }: AddressRef): string {
  return `- ${addressText(family, words, length)}\n`;
}

export function rowLine(address: AddressRef, facts: RowFacts): string {
  const { family, words, length } = address;
  const start = `+ ${addressText(family, words, length)}`;
  const hours = `${facts.firstHour} ${facts.lastHour}`;
  return `${start} ${hours} ${categoriesText(facts.categories)} ${facts.reports} ${reportersText(facts)}\n`;
}

function addressText(family: IpFamily, words: Uint32Array, length: number): string {
  const text = formatIp(family, words);
  return family === 6 && length === prefixBits ? `${text}/${prefixBits}` : text;
}

/** Few choices of categories make most rows. */
const categoryTexts = new Map<number, string>();

function categoriesText(categories: number): string {
  const known = categoryTexts.get(categories);
  if (known !== undefined) return known;
  const text = categoriesOf(categories).join(',');
  if (categoryTexts.size < 4_096) categoryTexts.set(categories, text);
  return text;
}

function reportersText({ staff, members, earned }: RowFacts): string {
  return `${staff > 0 ? `s${staff}` : ''}${members > 0 ? `m${members}` : ''}${earned > 0 ? `e${earned}` : ''}`;
}

/** Rounds down to a power of 2. */
export function reportsShown(reports: number): number {
  return 2 ** Math.min(20, 31 - Math.clz32(Math.max(1, reports)));
}

/** A row as it is read: one object, filled anew for each. */
export interface SegmentRow extends AddressRef, RowFacts {
  /** A tombstone: the server says nothing of the address any more. */
  readonly isGone: boolean;
}

export type SegmentFault = {
  /** Counted from 1. */
  readonly line: number;
  readonly reason:
    | 'a line is too long'
    | 'too many bytes'
    | 'too many rows'
    | 'not a line of this format'
    | 'not sorted by address'
    | 'a tombstone in a snapshot'
    | 'the last line has no end';
};

/**
 * Reads a segment or a snapshot. `push` gives undefined until there is a fault, and then that fault; `end` must
 * be called once after the last piece.
 * @param onRow called with each row, the same object each time
 */
export function createSegmentReader(options: {
  readonly kind: 'segment' | 'snapshot';
  readonly onRow: (row: SegmentRow) => void;
  readonly bytesMax?: number;
  readonly rowsMax?: number;
}) {
  const { kind, onRow } = options;
  const bytesMax = options.bytesMax ?? (kind === 'segment' ? segmentBytesMax : snapshotBytesMax);
  const rowsMax = options.rowsMax ?? snapshotRowsMax;
  const hash = createHash('sha256');
  const row = newRow();
  const last = new Uint32Array(6);
  /** The begin of a line that a piece did not end. */
  const carry = Buffer.allocUnsafe(lineBytesMax);
  let carried = 0;
  let bytes = 0;
  let rows = 0;
  let fault: SegmentFault | undefined;

  function refuse(reason: SegmentFault['reason']): SegmentFault {
    fault = { line: rows + 1, reason };
    return fault;
  }

  function line(from: Uint8Array, start: number, end: number): SegmentFault | undefined {
    if (rows === rowsMax) return refuse('too many rows');
    if (!readLine(from, start, end, row)) return refuse('not a line of this format');
    if (row.isGone && kind === 'snapshot') return refuse('a tombstone in a snapshot');
    if (rows > 0 && !isBehind(row, last)) return refuse('not sorted by address');
    remember(row, last);
    rows++;
    onRow(row);
    return undefined;
  }

  function push(piece: Uint8Array): SegmentFault | undefined {
    if (fault !== undefined) return fault;
    bytes += piece.length;
    if (bytes > bytesMax) return refuse('too many bytes');
    hash.update(piece);
    let start = 0;
    while (start < piece.length) {
      const end = piece.indexOf(0x0a, start);
      const length = (end < 0 ? piece.length : end) - start;
      if (carried + length > lineBytesMax) return refuse('a line is too long');
      if (end < 0 || carried > 0) {
        carry.set(piece.subarray(start, start + length), carried);
        carried += length;
      }
      if (end < 0) return undefined;
      const wrong = carried > 0 ? line(carry, 0, carried) : line(piece, start, end);
      if (wrong !== undefined) return wrong;
      carried = 0;
      start = end + 1;
    }
    return undefined;
  }

  return {
    push,
    /** Returns the fault of the whole; undefined: every line is right. */
    end(): SegmentFault | undefined {
      return fault ?? (carried > 0 ? refuse('the last line has no end') : undefined);
    },
    rows: () => rows,
    bytes: () => bytes,
    /** Once, after the last piece: SHA-256 of the bytes, 64 hexadecimal digits. */
    sha256: () => hash.digest('hex'),
  };
}

type FilledRow = { -readonly [Name in keyof SegmentRow]: SegmentRow[Name] };

function newRow(): FilledRow {
  return { isGone: false, family: 4, words: new Uint32Array(4), length: 32, ...noFacts };
}

const plus = 0x2b;
const minus = 0x2d;
const blank = 0x20;
const comma = 0x2c;
const slash = 0x2f;

/** The place where the next field begins; one reader runs at a time. */
let at = 0;

/** Fills `row`. False: the line has another form than the writer gives it. */
function readLine(from: Uint8Array, start: number, end: number, row: FilledRow): boolean {
  const sign = from[start];
  if ((sign !== plus && sign !== minus) || from[start + 1] !== blank || end - start < 4)
    return false;
  row.isGone = sign === minus;
  at = start + 2;
  if (!readAddress(from, end, row)) return false;
  if (row.isGone) {
    row.firstHour = row.lastHour = row.categories = row.reports = 0;
    row.staff = row.members = row.earned = 0;
    return at === end;
  }
  if (!nextField(from)) return false;
  row.firstHour = readNumber(from, end, lastHour32);
  if (row.firstHour < 0 || !nextField(from)) return false;
  row.lastHour = readNumber(from, end, lastHour32);
  if (row.lastHour < row.firstHour || !nextField(from)) return false;
  row.categories = readCategories(from, end);
  if (row.categories <= 0 || !nextField(from)) return false;
  row.reports = readNumber(from, end, countMax);
  if (row.reports <= 0 || (row.reports & (row.reports - 1)) !== 0) return false;
  return nextField(from) && readReporters(from, end, row) && at === end;
}

function nextField(from: Uint8Array): boolean {
  return from[at++] === blank;
}

function readAddress(from: Uint8Array, end: number, row: FilledRow): boolean {
  let stop = at;
  while (stop < end && from[stop] !== blank && from[stop] !== slash) stop++;
  const family = parseIpBytes(from, at, stop, row.words);
  if (family === 0) return false;
  row.family = family;
  row.length = widthOf(family);
  if (family === 4) {
    // An IPv4 address in the clothes of IPv6 is another text of it.
    for (let i = at; i < stop; i++) if (from[i] === 0x3a) return false;
  } else {
    const text = formatIp(6, row.words);
    if (text.length !== stop - at) return false;
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== from[at + i]) return false;
  }
  at = stop;
  if (from[at] !== slash || at >= end) return true;
  if (family === 4 || from[at + 1] !== 0x36 || from[at + 2] !== 0x34) return false;
  if (row.words[2] !== 0 || row.words[3] !== 0) return false;
  row.length = prefixBits;
  at += 3;
  return at <= end;
}

/** Returns -1 for what is not a whole number from 0 to `max`, as it is written. */
function readNumber(from: Uint8Array, end: number, max: number): number {
  const start = at;
  let value = 0;
  while (at < end) {
    const digit = from[at]! - 0x30;
    if (digit < 0 || digit > 9) break;
    value = 10 * value + digit;
    if (value > max) return -1;
    at++;
  }
  const isWritten = at > start && (from[start] !== 0x30 || at === start + 1);
  return isWritten ? value : -1;
}

function readCategories(from: Uint8Array, end: number): number {
  let mask = 0;
  for (let before = 0; ; at++) {
    const number = readNumber(from, end, categoryMax);
    if (number <= before) return -1;
    mask |= 1 << number;
    before = number;
    if (at >= end || from[at] !== comma) return mask;
  }
}

function readReporters(from: Uint8Array, end: number, row: FilledRow): boolean {
  row.staff = readShare(from, end, 0x73);
  row.members = readShare(from, end, 0x6d);
  row.earned = readShare(from, end, 0x65);
  return (
    row.staff >= 0 &&
    row.members >= 0 &&
    row.earned >= 0 &&
    row.staff + row.members + row.earned > 0
  );
}

/** Returns 0 without this letter, -1 for a wrong count behind it. */
function readShare(from: Uint8Array, end: number, letter: number): number {
  if (at >= end || from[at] !== letter) return 0;
  at++;
  const count = at < end ? from[at++]! - 0x30 : 0;
  return count >= 1 && count <= reportersMax ? count : -1;
}

function remember(row: SegmentRow, last: Uint32Array): void {
  last[0] = row.family;
  last[1] = row.words[0]!;
  if (row.family === 6) last.set(row.words.subarray(1), 2);
  else last.fill(0, 2, 5);
  last[5] = row.length;
}

/** Sorted by family, address and length; the same twice is not sorted. */
function isBehind(row: SegmentRow, last: Uint32Array): boolean {
  if (row.family !== last[0]) return row.family > last[0]!;
  const words = wordCountOf(row.family);
  for (let i = 0; i < words; i++) {
    if (row.words[i] !== last[i + 1]) return row.words[i]! > last[i + 1]!;
  }
  return row.length > last[5]!;
}

// Several segments in one answer: before each a line `segment <seq> <bytes>`. An answer has no more bytes than a
// segment may have, except where it is one segment.

export const segmentsPerAnswer = 256;
/** The lines between the segments of one answer are shorter. */
const betweenBytesMax = 32;
export const batchBytesMax = segmentBytesMax + segmentsPerAnswer * betweenBytesMax;

export type NumberedSegment = { readonly seq: number; readonly bytes: Uint8Array };

export function writeBatch(segments: readonly NumberedSegment[]): Buffer {
  return Buffer.concat(
    segments.flatMap(({ seq, bytes }) => [Buffer.from(`segment ${seq} ${bytes.length}\n`), bytes]),
  );
}

/**
 * Returns the segments of an answer, which follow one another; undefined when it has another form.
 * @param first the number of the first one
 */
export function readBatch(body: Uint8Array, first: number): NumberedSegment[] | undefined {
  if (body.length > batchBytesMax) return undefined;
  const found: NumberedSegment[] = [];
  for (let from = 0; from < body.length; ) {
    const end = body.indexOf(0x0a, from);
    if (end < 0 || end - from > betweenBytesMax || found.length === segmentsPerAnswer)
      return undefined;
    const line = Buffer.from(body.subarray(from, end)).toString('latin1');
    const [, seq, length] = /^segment (\d{1,13}) (\d{1,8})$/.exec(line) ?? [];
    const stop = end + 1 + Number(length);
    if (seq !== String(first + found.length) || !(stop <= body.length)) return undefined;
    found.push({ seq: Number(seq), bytes: body.subarray(end + 1, stop) });
    from = stop;
  }
  return found;
}

// The rows that a server publishes, packed in one array: nine words a row, sorted by address.
//
// words 0..3  address | 4  length and who reported | 5  first hour | 6  last hour | 7  categories | 8  reports
//
// A million rows are 36 MB, and are passed to a thread without a copy.

export const ROW = 9;
const rowsBegin = 1_024;

export function rowCount(rows: Uint32Array): number {
  return rows.length / ROW;
}

/** The address of a row, and nothing kept of it: one object a caller. */
interface AddressView extends AddressRef {
  family: IpFamily;
  length: number;
}

export function newAddress(): AddressView {
  return { family: 4, words: new Uint32Array(4), length: 32 };
}

export function addressAt(rows: Uint32Array, row: number, into: AddressView): AddressView {
  const at = row * ROW;
  for (let word = 0; word < 4; word++) into.words[word] = rows[at + word]!;
  into.length = rows[at + 4]! & 0xff;
  into.family = into.length === 32 ? 4 : 6;
  return into;
}

const wordOf = { firstHour: 5, lastHour: 6, categories: 7 } as const;

/** One of the facts alone, without an object. */
export function wordAt(rows: Uint32Array, row: number, name: keyof typeof wordOf): number {
  return rows[row * ROW + wordOf[name]]!;
}

export function factsAt(rows: Uint32Array, row: number): RowFacts {
  const at = row * ROW;
  const reporters = rows[at + 4]! >>> 8;
  return {
    firstHour: rows[at + 5]!,
    lastHour: rows[at + 6]!,
    categories: rows[at + 7]!,
    reports: rows[at + 8]!,
    staff: reporters & 3,
    members: (reporters >>> 2) & 3,
    earned: (reporters >>> 4) & 3,
  };
}

/** Gathers rows that come sorted. @param expected so many or fewer */
export function createRowList(expected = rowsBegin) {
  let words = new Uint32Array(Math.max(1, expected) * ROW);
  let used = 0;

  function room(): number {
    if (used + ROW > words.length) {
      const wider = new Uint32Array(2 * words.length);
      wider.set(words);
      words = wider;
    }
    used += ROW;
    return used - ROW;
  }

  return {
    add(address: AddressRef, facts: RowFacts): void {
      const at = room();
      const isFour = address.family === 4;
      for (let word = 0; word < 4; word++) {
        words[at + word] = isFour && word > 0 ? 0 : address.words[word]!;
      }
      const reporters = facts.staff | (facts.members << 2) | (facts.earned << 4);
      words[at + 4] = address.length | (reporters << 8);
      words[at + 5] = facts.firstHour;
      words[at + 6] = facts.lastHour;
      words[at + 7] = facts.categories;
      words[at + 8] = facts.reports;
    },
    /** Adds a row of another list as it is. */
    copy(rows: Uint32Array, row: number): void {
      // It may move the words: first it, then they.
      const at = room();
      words.set(rows.subarray(row * ROW, (row + 1) * ROW), at);
    },
    count: () => used / ROW,
    /** An array of their size. */
    finish: () => (used === words.length ? words : words.slice(0, used)),
  };
}
