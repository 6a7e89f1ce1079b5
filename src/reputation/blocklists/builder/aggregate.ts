/**
 * The fewest prefixes that cover exactly the addresses of a list, not one more. In address order,
 * what lies in a kept prefix is dropped, and two halves of a prefix become that prefix, as often
 * as that goes: what is left are the largest prefixes wholly inside the list, and fewer can't be.
 */

import { coversAt, infoOf, lengthOf, ROW, type Rows, setInfo } from './rows.ts';

/** @param rows of one family, in order. Scores and the like of the result say nothing. */
export function aggregate(rows: Rows): Rows {
  const stack = new Uint32Array(rows.length);
  let top = 0;
  for (let at = 0; at < rows.length; at += ROW) {
    const last = top - ROW;
    if (last >= 0 && coversAt(stack, last, lengthOf(stack, last), rows, at)) continue;
    for (let word = 0; word < ROW; word++) stack[top + word] = rows[at + word]!;
    top += ROW;
    while (top >= 2 * ROW && areHalves(stack, top - 2 * ROW, top - ROW)) {
      top -= ROW;
      // The lower half has the address of the whole.
      setInfo(stack, top - ROW, infoOf(stack, top - ROW) - 1);
    }
  }
  return stack.subarray(0, top);
}

function areHalves(rows: Rows, low: number, high: number): boolean {
  const length = lengthOf(rows, low);
  if (length === 0 || lengthOf(rows, high) !== length) return false;
  const bit = length - 1;
  const isLower = (rows[low + (bit >>> 5)]! & (0x8000_0000 >>> (bit & 31))) === 0;
  return isLower && coversAt(rows, low, bit, rows, high);
}
