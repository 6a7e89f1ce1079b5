/**
 * Rows of the blacklist in typed arrays: a million of them as objects would cost 100 bytes each
 * and long pauses of garbage collection. All IPv4 rows stand before all IPv6 rows.
 */

import type { Turns } from '../../core/work/turns.ts';
import { formatIp, type IpFamily } from '../../ip/address.ts';

export interface BlacklistRows {
  count(): number;
  /** @returns its number, or -1 when there is no room. IPv4 must come first. `words` is copied. */
  add(row: NewRow): number;
  family(row: number): IpFamily;
  /** Canonical address, or CIDR text when it is a network. */
  text(row: number): string;
  /** 0..100 by row. */
  readonly score: Uint8Array;
  /** Seconds since 1970 of the last report, 0 for none, by row. */
  readonly lastReportedAt: Uint32Array;
  /** Country id of the geo table, by row. */
  readonly country: Uint16Array;
}

export interface NewRow {
  readonly family: IpFamily;
  readonly words: Uint32Array;
  readonly length: number;
  readonly score: number;
  readonly lastReportedAt: number;
  readonly country: number;
}

/** @param capacity rows at most; those not used cost address space only */
export function createBlacklistRows(capacity: number): BlacklistRows {
  const firstWord = new Uint32Array(capacity);
  /** Three words a row, from the first IPv6 row on. */
  const restWords = new Uint32Array(3 * capacity);
  const length = new Uint8Array(capacity);
  const score = new Uint8Array(capacity);
  const lastReportedAt = new Uint32Array(capacity);
  const country = new Uint16Array(capacity);
  const words = new Uint32Array(4);
  let count = 0;
  let firstOf6 = capacity;

  const family = (row: number): IpFamily => (row < firstOf6 ? 4 : 6);

  return {
    score,
    lastReportedAt,
    country,
    count: () => count,
    family,
    add(row) {
      if (count === capacity) return -1;
      if (row.family === 6) {
        firstOf6 = Math.min(firstOf6, count);
        const at = 3 * (count - firstOf6);
        for (let word = 1; word < 4; word++) restWords[at + word - 1] = row.words[word]!;
      } else if (firstOf6 < capacity) throw new RangeError('IPv4 behind IPv6');
      firstWord[count] = row.words[0]!;
      length[count] = row.length;
      score[count] = row.score;
      lastReportedAt[count] = row.lastReportedAt;
      country[count] = row.country;
      return count++;
    },
    text(row) {
      words[0] = firstWord[row]!;
      const rowFamily = family(row);
      if (rowFamily === 6) {
        const at = 3 * (row - firstOf6);
        for (let word = 1; word < 4; word++) words[word] = restWords[at + word - 1]!;
      }
      const address = formatIp(rowFamily, words);
      return length[row] === (rowFamily === 4 ? 32 : 128) ? address : `${address}/${length[row]}`;
    },
  };
}

const rowsPerLook = 8_192;
const digits = 65_536;

/**
 * Row numbers by score, then last report, both descending; equal rows stay in address order.
 * A radix sort (least significant digit first): its passes can stop anywhere to let others run.
 */
export async function orderRows(rows: BlacklistRows, turns: Turns): Promise<Uint32Array> {
  const count = rows.count();
  const { score, lastReportedAt } = rows;
  let order = new Uint32Array(count);
  let spare = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    order[i] = i;
    if (i % rowsPerLook === 0 && turns.isOver()) await turns.next();
  }
  const passes: ((row: number) => number)[] = [
    (row) => lastReportedAt[row]! & 0xffff,
    (row) => lastReportedAt[row]! >>> 16,
    (row) => score[row]!,
  ];
  for (const digitOf of passes) {
    await sortByDigit(order, spare, digitOf, turns);
    [order, spare] = [spare, order];
  }
  return order;
}

/** Stable, larger digits first. */
async function sortByDigit(
  from: Uint32Array,
  to: Uint32Array,
  digitOf: (row: number) => number,
  turns: Turns,
): Promise<void> {
  const places = new Uint32Array(digits);
  for (let i = 0; i < from.length; i++) {
    places[digitOf(from[i]!)]! += 1;
    if (i % rowsPerLook === 0 && turns.isOver()) await turns.next();
  }
  let place = 0;
  for (let digit = digits - 1; digit >= 0; digit--) {
    const here = places[digit]!;
    places[digit] = place;
    place += here;
  }
  for (let i = 0; i < from.length; i++) {
    const row = from[i]!;
    const digit = digitOf(row);
    to[places[digit]!] = row;
    places[digit]! += 1;
    if (i % rowsPerLook === 0 && turns.isOver()) await turns.next();
  }
}
