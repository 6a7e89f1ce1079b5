/** Sets of addresses as ranges, written out plainly: to compare what tools made of a list. */

import { parsePrefix } from '../../../src/ip/prefix.ts';

/** First and last address; IPv6 above all of IPv4. */
type AddressRange = readonly [bigint, bigint];

export function rangeOf(text: string): AddressRange {
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new Error(text);
  const { family, words, length } = prefix.value;
  const count = family === 4 ? 1 : 4;
  let first = family === 4 ? 0n : 1n;
  for (let word = 0; word < count; word++) first = (first << 32n) | BigInt(words[word]!);
  const size = 1n << BigInt(32 * count - length);
  return [first, first + size - 1n];
}

/** Neighbours and what overlaps become one. */
export function united(ranges: readonly AddressRange[]): AddressRange[] {
  const sorted = [...ranges].sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
  const result: [bigint, bigint][] = [];
  for (const [first, last] of sorted) {
    const top = result.at(-1);
    if (top === undefined || first > top[1] + 1n) result.push([first, last]);
    else if (last > top[1]) top[1] = last;
  }
  return result;
}
