/**
 * The list as packed rows: eight words each, so that a million of them are one array, are sorted
 * and hashed without an object, and cost 32 MB.
 *
 *     +0..3  address, big-endian words; IPv4 in the first, the others 0
 *     +4     length u8 | score u8 << 8 | flags u8 << 16 | turn u8 << 24: see `turn` of index/records.ts
 *     +5     reports
 *     +6     last report, seconds since 1970, 0 = never
 *     +7     country and provider ids, as the geo reader gives them
 *
 * Order: IPv4 before IPv6, then by address, a prefix before what lies in it.
 */

import type { IpFamily } from '../../../ip/address.ts';

export const FEED_ROW = 8;
const INFO = 4;

export const rowFlags = {
  /** Some entry that covers it is an anonymous exit. */
  anon: 1,
  /** The exit list names exactly this. */
  exit: 2,
  six: 4,
  /** The operator names exactly this by hand. */
  own: 8,
  /** The row was made of a line, which does not say by whose word it is there. */
  ownUnknown: 16,
  /** A list makes exactly this malicious by itself. */
  listed: 32,
  /** Reports make exactly this malicious by themselves. */
  reported: 64,
} as const;

export type Rows = Uint32Array;

export function feedRowCount(rows: Rows): number {
  return rows.length / FEED_ROW;
}

export function lengthOfRow(rows: Rows, at: number): number {
  return rows[at + INFO]! & 0xff;
}

export function scoreOf(rows: Rows, at: number): number {
  return (rows[at + INFO]! >>> 8) & 0xff;
}

export function flagsOfRow(rows: Rows, at: number): number {
  return (rows[at + INFO]! >>> 16) & 0xff;
}

export function familyOf(rows: Rows, at: number): IpFamily {
  return (flagsOfRow(rows, at) & rowFlags.six) === 0 ? 4 : 6;
}

export function reportsOfRow(rows: Rows, at: number): number {
  return rows[at + 5]!;
}

/** Seconds since 1970, 0 = never. */
export function lastReportedAtOfRow(rows: Rows, at: number): number {
  return rows[at + 6]!;
}

export function geoOf(rows: Rows, at: number): number {
  return rows[at + 7]!;
}

export function turnOfRow(rows: Rows, at: number): number {
  return rows[at + INFO]! >>> 24;
}

/**
 * Returns who makes each row malicious, and its turn, in a byte each: what a list that is made of its lines anew does
 * not know. In shared memory, so that it is not copied from thread to thread.
 */
export function originsOf(rows: Rows): Uint8Array {
  const origins = new Uint8Array(new SharedArrayBuffer(feedRowCount(rows)));
  for (let i = 0; i < origins.length; i++) {
    origins[i] =
      (flagsOfRow(rows, i * FEED_ROW) & byWhom) | (turnOfRow(rows, i * FEED_ROW) & turnMask);
  }
  return origins;
}

/** Writes the origins of the same rows into them; of others it writes nothing. */
export function setOrigins(rows: Rows, origins: Uint8Array): void {
  if (origins.length !== feedRowCount(rows)) return;
  for (const [i, origin] of origins.entries()) {
    const at = i * FEED_ROW;
    const flags = (flagsOfRow(rows, at) & ~byWhom) | (origin & byWhom);
    rows[at + INFO] = packInfo(lengthOfRow(rows, at), scoreOf(rows, at), flags, origin & turnMask);
  }
}

export function packInfo(length: number, score: number, flags: number, turn = 0): number {
  return (length | (score << 8) | (flags << 16) | (turn << 24)) >>> 0;
}

/** Tells who makes a row malicious, and since when: it changes no byte of a feed. */
const byWhom = rowFlags.own | rowFlags.ownUnknown | rowFlags.listed | rowFlags.reported;
/** Turns have the bits below those flags. */
const turnMask = rowFlags.own - 1;

/** Returns the packed info but for what changes no byte of a feed. */
export function shownInfoOf(rows: Rows, at: number): number {
  return rows[at + INFO]! & ~(byWhom << 16) & 0xff_ffff;
}

/** Returns whether the same make both rows malicious, and nothing changed between; true where it is not known. */
export function isBySame(a: Rows, i: number, b: Rows, j: number): boolean {
  if (((flagsOfRow(a, i) | flagsOfRow(b, j)) & rowFlags.ownUnknown) !== 0) return true;
  return (
    ((flagsOfRow(a, i) ^ flagsOfRow(b, j)) & byWhom) === 0 && turnOfRow(a, i) === turnOfRow(b, j)
  );
}

export function infoOf(rows: Rows, at: number): number {
  return rows[at + INFO]!;
}

export function setInfo(rows: Rows, at: number, info: number): void {
  rows[at + INFO] = info;
}

export type RowList = ReturnType<typeof createFeedRowList>;

export function createFeedRowList(rowsMax: number, roomFor = 1_024) {
  let words: Rows = new Uint32Array(Math.min(roomFor, rowsMax) * FEED_ROW);
  let count = 0;
  return {
    /** Offset of a new row, its words 0. Never beyond `rowsMax`: -1 then. */
    add(): number {
      if (count === rowsMax) return -1;
      if ((count + 1) * FEED_ROW > words.length) {
        const larger = new Uint32Array(
          Math.min(rowsMax * FEED_ROW, Math.max(FEED_ROW, 2 * words.length)),
        );
        larger.set(words);
        words = larger;
      }
      return count++ * FEED_ROW;
    },
    /** The array at the moment: another one after the next `add`. */
    get words(): Rows {
      return words;
    },
    get count(): number {
      return count;
    },
    /** The rows alone. */
    finish: (): Rows => words.subarray(0, count * FEED_ROW),
  };
}

/** Copies one row, without a loop: that takes up to two fifths less. */
export function copyRow(from: Rows, at: number, to: Rows, toAt: number): void {
  to[toAt] = from[at]!;
  to[toAt + 1] = from[at + 1]!;
  to[toAt + 2] = from[at + 2]!;
  to[toAt + 3] = from[at + 3]!;
  to[toAt + 4] = from[at + 4]!;
  to[toAt + 5] = from[at + 5]!;
  to[toAt + 6] = from[at + 6]!;
  to[toAt + 7] = from[at + 7]!;
}

/** Negative, 0 or positive: the order of two rows' prefixes. */
export function compareFeedRows(a: Rows, i: number, b: Rows, j: number): number {
  const family = familyOf(a, i) - familyOf(b, j);
  if (family !== 0) return family;
  const first = a[i]! - b[j]!;
  if (first !== 0) return first;
  for (let word = 1; word < 4; word++) {
    const difference = a[i + word]! - b[j + word]!;
    if (difference !== 0) return difference;
  }
  return lengthOfRow(a, i) - lengthOfRow(b, j);
}

/** The rows in order; `rows` itself when they are. */
export function feedRowsInOrder(rows: Rows): Rows {
  // Mostly it is in order already: a million rows need no sorting then, nor an array of their places.
  let at = FEED_ROW;
  while (at < rows.length && compareFeedRows(rows, at - FEED_ROW, rows, at) < 0) at += FEED_ROW;
  if (at >= rows.length) return rows;
  const order = Array.from({ length: feedRowCount(rows) }, (_, row) => row * FEED_ROW);
  order.sort((a, b) => compareFeedRows(rows, a, rows, b));
  const sorted = new Uint32Array(rows.length);
  for (const [to, from] of order.entries()) {
    sorted.set(rows.subarray(from, from + FEED_ROW), to * FEED_ROW);
  }
  return sorted;
}

/** True when the prefix of `length` bits at `a[i]` covers the address at `b[j]`, of one family. */
export function coversAt(a: Rows, i: number, length: number, b: Rows, j: number): boolean {
  for (let word = 0, left = length; left > 0; word++, left -= 32) {
    const mask = left >= 32 ? -1 : ~(-1 >>> left);
    if (((a[i + word]! ^ b[j + word]!) & mask) !== 0) return false;
  }
  return true;
}

/** Rows that `isWanted` says true of, in their order; `rows` itself when that is all of them. */
export function filterRows(rows: Rows, isWanted: (at: number) => boolean): Rows {
  let from = 0;
  while (from < rows.length && isWanted(from)) from += FEED_ROW;
  if (from === rows.length) return rows;
  // Room that is not used costs address space alone.
  const kept = new Uint32Array(rows.length - FEED_ROW);
  kept.set(rows.subarray(0, from));
  let to = from;
  for (let at = from + FEED_ROW; at < rows.length; at += FEED_ROW) {
    if (!isWanted(at)) continue;
    copyRow(rows, at, kept, to);
    to += FEED_ROW;
  }
  return kept.subarray(0, to);
}

/** IPv4 rows and IPv6 rows, as views. */
export function splitFamilies(rows: Rows): { four: Rows; six: Rows } {
  let low = 0;
  let high = feedRowCount(rows);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (familyOf(rows, middle * FEED_ROW) === 4) low = middle + 1;
    else high = middle;
  }
  return { four: rows.subarray(0, low * FEED_ROW), six: rows.subarray(low * FEED_ROW) };
}

// The fewest prefixes that cover exactly the addresses of a list, not one more. In address order,
// what lies in a kept prefix is dropped, and two halves of a prefix become that prefix, as often
// as that goes: what is left are the largest prefixes wholly inside the list, and fewer can't be.

/** @param rows of one family, in order. Scores and the like of the result say nothing. */
export function aggregate(rows: Rows): Rows {
  const stack = new Uint32Array(rows.length);
  let top = 0;
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const last = top - FEED_ROW;
    if (last >= 0 && coversAt(stack, last, lengthOfRow(stack, last), rows, at)) continue;
    copyRow(rows, at, stack, top);
    top += FEED_ROW;
    while (top >= 2 * FEED_ROW && areHalves(stack, top - 2 * FEED_ROW, top - FEED_ROW)) {
      top -= FEED_ROW;
      // The lower half has the address of the whole.
      setInfo(stack, top - FEED_ROW, infoOf(stack, top - FEED_ROW) - 1);
    }
  }
  return stack.subarray(0, top);
}

function areHalves(rows: Rows, low: number, high: number): boolean {
  const length = lengthOfRow(rows, low);
  if (length === 0 || lengthOfRow(rows, high) !== length) return false;
  const bit = length - 1;
  const isLower = (rows[low + (bit >>> 5)]! & (0x8000_0000 >>> (bit & 31))) === 0;
  return isLower && coversAt(rows, low, bit, rows, high);
}
