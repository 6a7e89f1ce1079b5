/**
 * The rows that a server publishes, packed in one array: nine words a row, sorted by address.
 *
 *     words 0..3  address | 4  length and who reported | 5  first hour | 6  last hour | 7  categories | 8  reports
 *
 * A million rows are 36 MB, and are passed to a thread without a copy.
 */

import type { IpFamily } from '../../../ip/address.ts';
import type { AddressRef, RowFacts } from './segment.ts';

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
