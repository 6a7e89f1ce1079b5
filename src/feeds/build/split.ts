/**
 * Holes in prefixes: a feed can't say "all of this but that", so a listed prefix with allowlisted
 * ranges in it becomes the fewest prefixes that leave them out. No allowlisted address is blocked.
 */

import {
  compareRows,
  coversAt,
  createRowList,
  familyOf,
  flagsOf,
  infoOf,
  lengthOf,
  packInfo,
  ROW,
  type RowList,
  type Rows,
  scoreOf,
  setInfo,
} from './rows.ts';

/**
 * @param rows in order; none lies in a hole
 * @param holes in order, each the prefix of an allowlisted range; they may lie anywhere
 * @param rowsMax rows in the result at most; what would come last is left out
 */
export function cutHoles(rows: Rows, holes: Rows, rowsMax: number): Rows {
  if (holes.length === 0) return rows;
  const whole = createRowList(rowsMax, rows.length / ROW);
  const pieces = createRowList(rowsMax, 64);
  for (let at = 0; at < rows.length; at += ROW) {
    const first = firstHoleFrom(rows, at, holes, 0);
    if (isHoleIn(rows, at, holes, first)) {
      cut(rows.slice(at, at + ROW), lengthOf(rows, at), holes, first, pieces);
    } else copyRow(rows, at, whole);
  }
  return merge(whole.finish(), sorted(pieces.finish())).subarray(0, rowsMax * ROW);
}

function isHoleIn(rows: Rows, at: number, holes: Rows, hole: number): boolean {
  return (
    hole < holes.length &&
    familyOf(holes, hole) === familyOf(rows, at) &&
    lengthOf(holes, hole) >= lengthOf(rows, at) &&
    coversAt(rows, at, lengthOf(rows, at), holes, hole)
  );
}

/** Offset of the first hole at `from` or behind it that doesn't come before the row. */
function firstHoleFrom(rows: Rows, at: number, holes: Rows, from: number): number {
  let low = from / ROW;
  let high = holes.length / ROW;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRows(holes, middle * ROW, rows, at) < 0) low = middle + 1;
    else high = middle;
  }
  return low * ROW;
}

/**
 * Halves `row` until a half holds no hole (it stays) or is one (it goes): a hole costs at most
 * one piece per bit of its length. `row` is the place to work and is left as it was.
 */
function cut(row: Rows, length: number, holes: Rows, from: number, out: RowList): void {
  const info = infoOf(row, 0);
  setInfo(row, 0, ((info & ~0xff) | length) >>> 0);
  const hole = firstHoleFrom(row, 0, holes, from);
  if (!isHoleIn(row, 0, holes, hole)) copyRow(row, 0, out);
  else if (lengthOf(holes, hole) > length) {
    const word = length >>> 5;
    const bit = 0x8000_0000 >>> (length & 31);
    cut(row, length + 1, holes, hole, out);
    row[word]! |= bit;
    cut(row, length + 1, holes, hole, out);
    row[word]! &= ~bit;
  }
  setInfo(row, 0, info);
}

function copyRow(rows: Rows, at: number, out: RowList): void {
  const to = out.add();
  if (to < 0) return;
  const { words } = out;
  for (let word = 0; word < ROW; word++) words[to + word] = rows[at + word]!;
}

/** Prefixes that were cut may lie in one another: their pieces come out of order. */
function sorted(rows: Rows): Rows {
  const order = Array.from({ length: rows.length / ROW }, (_, row) => row * ROW);
  order.sort((i, j) => compareRows(rows, i, rows, j));
  const result = new Uint32Array(rows.length);
  for (const [to, at] of order.entries()) result.set(rows.subarray(at, at + ROW), to * ROW);
  return result;
}

/** Both in order. Of two rows with one prefix, the higher score and the flags of both stay. */
function merge(a: Rows, b: Rows): Rows {
  const out = createRowList((a.length + b.length) / ROW, (a.length + b.length) / ROW);
  let last = -1;
  const put = (rows: Rows, at: number) => {
    if (last >= 0 && compareRows(out.words, last, rows, at) === 0) {
      const isHigher = scoreOf(rows, at) > scoreOf(out.words, last);
      const flags = flagsOf(rows, at) | flagsOf(out.words, last);
      if (isHigher) out.words.set(rows.subarray(at, at + ROW), last);
      const score = scoreOf(out.words, last);
      setInfo(out.words, last, packInfo(lengthOf(rows, at), score, flags));
      return;
    }
    last = out.count * ROW;
    copyRow(rows, at, out);
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const isFirst = j >= b.length || (i < a.length && compareRows(a, i, b, j) <= 0);
    if (isFirst) {
      put(a, i);
      i += ROW;
    } else {
      put(b, j);
      j += ROW;
    }
  }
  return out.finish();
}
