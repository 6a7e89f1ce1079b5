/**
 * Holes in prefixes: a feed can't say "all of this but that", so a listed prefix with allowlisted
 * ranges in it becomes the fewest prefixes that leave them out. No allowlisted address is blocked.
 */

import type { Prefix } from '../../../ip/prefix.ts';
import { withoutHoles } from '../../../ip/prefix-pieces.ts';
import {
  compareRows,
  coversAt,
  createRowList,
  familyOf,
  flagsOf,
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
 * @param rowsMax rows in the result at most; what would come last is left out, and counted
 */
export function cutHoles(
  rows: Rows,
  holes: Rows,
  rowsMax: number,
): { rows: Rows; dropped: number } {
  if (holes.length === 0) return { rows, dropped: 0 };
  const whole = createRowList(rowsMax, rows.length / ROW);
  const pieces = createRowList(rowsMax, 64);
  let dropped = 0;
  for (let at = 0; at < rows.length; at += ROW) {
    const first = firstHoleFrom(rows, at, holes);
    if (isHoleIn(rows, at, holes, first)) dropped += cut(rows, at, holes, first, pieces);
    else copyRow(rows, at, whole);
  }
  const merged = merge(whole.finish(), sorted(pieces.finish()));
  const kept = merged.subarray(0, rowsMax * ROW);
  return { rows: kept, dropped: dropped + (merged.length - kept.length) / ROW };
}

function isHoleIn(rows: Rows, at: number, holes: Rows, hole: number): boolean {
  return (
    hole < holes.length &&
    familyOf(holes, hole) === familyOf(rows, at) &&
    lengthOf(holes, hole) >= lengthOf(rows, at) &&
    coversAt(rows, at, lengthOf(rows, at), holes, hole)
  );
}

/** Offset of the first hole that doesn't come before the row: those in it follow. */
function firstHoleFrom(rows: Rows, at: number, holes: Rows): number {
  let low = 0;
  let high = holes.length / ROW;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRows(holes, middle * ROW, rows, at) < 0) low = middle + 1;
    else high = middle;
  }
  return low * ROW;
}

/** Adds the pieces of one row; each is the row but for its prefix. @returns those without room */
function cut(rows: Rows, at: number, holes: Rows, first: number, out: RowList): number {
  const inside: Prefix[] = [];
  for (let hole = first; isHoleIn(rows, at, holes, hole); hole += ROW) {
    inside.push(prefixAt(holes, hole));
  }
  let dropped = 0;
  for (const { words, length } of withoutHoles(prefixAt(rows, at), inside)) {
    const to = copyRow(rows, at, out);
    if (to < 0) {
      dropped++;
      continue;
    }
    out.words.set(words, to);
    setInfo(out.words, to, packInfo(length, scoreOf(rows, at), flagsOf(rows, at)));
  }
  return dropped;
}

function prefixAt(rows: Rows, at: number): Prefix {
  return { family: familyOf(rows, at), words: rows.slice(at, at + 4), length: lengthOf(rows, at) };
}

/** Offset of the copy, -1 when there is no room. */
function copyRow(rows: Rows, at: number, out: RowList): number {
  const to = out.add();
  if (to < 0) return -1;
  const { words } = out;
  for (let word = 0; word < ROW; word++) words[to + word] = rows[at + word]!;
  return to;
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
