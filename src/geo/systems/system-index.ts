/**
 * The ranges of autonomous systems in one shared buffer: rows in the order of their addresses, an order
 * of the rows by number, and a name for each number. So both questions are a search by halves, and a
 * number that nobody has is found to be so as fast as any other.
 *
 *   header    u32[4]          rows of IPv4, rows of IPv6, numbers, bytes of names
 *   numbers   u32[n4], u32[n6]       number of each row
 *   order     u32[n4], u32[n6]       rows by number, then by address
 *   first     u32[n4], u32[4 · n6]   first and last address of each row
 *   last      u32[n4], u32[4 · n6]
 *   named     u32[n]          the numbers, ascending
 *   nameEnds  u32[n]          where the name of each ends
 *   names     u8[b]           UTF-8
 */

import type { IpFamily } from '../../ip/address.ts';
import type { IpRange } from '../../ip/prefix.ts';

const headerWords = 4;

/** Ranges of one answer; the largest systems announce some thousands. */
export const rangesMax = 20_000;

interface SystemRanges {
  /** Undefined: no range of it is known. */
  readonly name: string | undefined;
  readonly ranges: readonly IpRange[];
  /** There are more than `rangesMax`. */
  readonly isPart: boolean;
}

/** Ranges of one family, in the order of their addresses. */
interface Rows {
  readonly width: 1 | 4;
  readonly numbers: Uint32Array;
  readonly order: Uint32Array;
  readonly first: Uint32Array;
  readonly last: Uint32Array;
}

/** A list of words that grows. */
class Words {
  #words = new Uint32Array(65_536);
  length = 0;

  push(word: number): void {
    if (this.length === this.#words.length) {
      const grown = new Uint32Array(this.length * 2);
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[this.length++] = word;
  }

  view(): Uint32Array {
    return this.#words.subarray(0, this.length);
  }
}

export function createSystemIndexBuilder() {
  const families = {
    4: { width: 1, before: [0], numbers: new Words(), first: new Words(), last: new Words() },
    6: {
      width: 4,
      before: [0, 0, 0, 0],
      numbers: new Words(),
      first: new Words(),
      last: new Words(),
    },
  };
  const names = new Map<number, string>();

  /** Returns false for what is no range, or does not lie behind the last one of its family. */
  function add(
    family: IpFamily,
    first: ArrayLike<number>,
    last: ArrayLike<number>,
    number: number,
  ): boolean {
    const rows = families[family];
    const { width, before } = rows;
    const isBehind = rows.numbers.length === 0 || compareFirst(first, before, width) > 0;
    if (!isBehind || compareFirst(last, first, width) < 0) return false;
    rows.numbers.push(number);
    for (let i = 0; i < width; i++) {
      rows.first.push(first[i]!);
      rows.last.push(last[i]!);
      before[i] = last[i]!;
    }
    return true;
  }

  /** The first name of a number counts. */
  function name(number: number, name: string): void {
    if (!names.has(number)) names.set(number, name);
  }

  function finish(): SharedArrayBuffer {
    const [numbers4, numbers6] = [families[4].numbers.view(), families[6].numbers.view()];
    const named = Uint32Array.from(names.keys()).sort();
    const texts = Array.from(named, (number) => Buffer.from(names.get(number)!));
    const nameBytes = texts.reduce((sum, text) => sum + text.length, 0);
    const header = Uint32Array.of(numbers4.length, numbers6.length, named.length, nameBytes);
    let end = 0;
    const nameEnds = Uint32Array.from(texts, (text) => (end += text.length));
    const parts = [
      header,
      numbers4,
      numbers6,
      byNumber(numbers4, named),
      byNumber(numbers6, named),
      families[4].first.view(),
      families[6].first.view(),
      families[4].last.view(),
      families[6].last.view(),
      named,
      nameEnds,
    ];
    const words = parts.reduce((sum, part) => sum + part.length, 0);
    const shared = new SharedArrayBuffer(words * 4 + nameBytes);
    const all = new Uint32Array(shared, 0, words);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    new Uint8Array(shared, words * 4).set(Buffer.concat(texts));
    return shared;
  }

  return { add, name, finish };
}

/** Rows by number, counted out: those of one number stay in the order of their addresses. */
function byNumber(numbers: Uint32Array, named: Uint32Array): Uint32Array {
  const ranks = new Map<number, number>();
  const next = new Uint32Array(named.length + 1);
  for (const [rank, number] of named.entries()) ranks.set(number, rank);
  for (const number of numbers) next[ranks.get(number)! + 1]!++;
  for (let i = 1; i < next.length; i++) next[i]! += next[i - 1]!;
  const order = new Uint32Array(numbers.length);
  for (const [row, number] of numbers.entries()) order[next[ranks.get(number)!]!++] = row;
  return order;
}

/** Compares by the first `width` words. */
function compareFirst(a: ArrayLike<number>, b: ArrayLike<number>, width: number): number {
  for (let i = 0; i < width; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

export type SystemIndex = ReturnType<typeof openSystemIndex>;

export function openSystemIndex(shared: SharedArrayBuffer) {
  const [n4 = 0, n6 = 0, namedCount = 0, nameBytes = 0] = new Uint32Array(shared, 0, headerWords);
  let at = headerWords;
  const next = (length: number) => {
    const view = new Uint32Array(shared, at * 4, length);
    at += length;
    return view;
  };
  const [numbers4, numbers6, order4, order6] = [next(n4), next(n6), next(n4), next(n6)];
  const [first4, first6, last4, last6] = [next(n4), next(4 * n6), next(n4), next(4 * n6)];
  const [named, nameEnds] = [next(namedCount), next(namedCount)];
  const names = new Uint8Array(shared, at * 4, nameBytes);
  const rowsOf: Readonly<Record<IpFamily, Rows>> = {
    4: { width: 1, numbers: numbers4, order: order4, first: first4, last: last4 },
    6: { width: 4, numbers: numbers6, order: order6, first: first6, last: last6 },
  };

  function nameOf(number: number): string | undefined {
    const rank = lowest(namedCount, (i) => named[i]! >= number);
    if (named[rank] !== number) return undefined;
    const from = rank === 0 ? 0 : nameEnds[rank - 1]!;
    return Buffer.from(names.slice(from, nameEnds[rank])).toString('utf8');
  }

  return {
    rangesOf(number: number): SystemRanges {
      const ranges: IpRange[] = [];
      for (const family of [4, 6] as const) {
        const { width, numbers, order, first, last } = rowsOf[family];
        const wide = (words: Uint32Array, row: number) => {
          const all = new Uint32Array(4);
          // Views of shared memory cost more than all else here.
          for (let i = 0; i < width; i++) all[i] = words[row * width + i]!;
          return all;
        };
        const from = lowest(order.length, (i) => numbers[order[i]!]! >= number);
        for (let i = from; i < order.length && numbers[order[i]!] === number; i++) {
          if (ranges.length === rangesMax) return { name: nameOf(number), ranges, isPart: true };
          const row = order[i]!;
          ranges.push({ family, first: wide(first, row), last: wide(last, row) });
        }
      }
      return { name: nameOf(number), ranges, isPart: false };
    },
    /** Returns the number that holds the address; 0: none. */
    numberOf(family: IpFamily, words: ArrayLike<number>): number {
      const { width, numbers, first, last } = rowsOf[family];
      const compare = (all: Uint32Array, row: number) => {
        for (let i = 0; i < width; i++) {
          const difference = all[row * width + i]! - words[i]!;
          if (difference !== 0) return difference;
        }
        return 0;
      };
      const row = lowest(numbers.length, (i) => compare(first, i) > 0) - 1;
      return row >= 0 && compare(last, row) >= 0 ? numbers[row]! : 0;
    },
  };
}

/**
 * Returns the lowest of `count` ranks for which `isThere` is true, else `count`. It is true for all ranks after
 * that one.
 */
function lowest(count: number, isThere: (rank: number) => boolean): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isThere(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
