/**
 * Entries of one node (or of the root) that cover several bytes (or cells), as an array of the
 * most specific one at each position, with the less specific ones chained through PARENT.
 * Parents never leave the node: that bounds an insertion by the positions it covers.
 *
 * An entry hidden everywhere by more specific ones is still in the chain of each of them.
 */

import { lengthOf } from '../entries.ts';
import { PARENT, ROW_SHIFT } from '../records.ts';

export interface Positions {
  readonly covers: Int32Array;
  /** Position p is at `base + p * stride`. */
  readonly base: number;
  readonly stride: number;
  /** Prefix length that covers exactly one position: node depth + 8, or 16 in the root. */
  readonly fullLength: number;
}

function parentOf(rows: Int32Array, entry: number): number {
  return rows[(entry << ROW_SHIFT) + PARENT]!;
}

/** The least specific of `entry` and its parents that is longer than `length`. */
function topmostLonger(rows: Int32Array, entry: number, length: number): number {
  let parent = parentOf(rows, entry);
  while (parent !== 0 && lengthOf(rows, parent) > length) {
    entry = parent;
    parent = parentOf(rows, entry);
  }
  return entry;
}

/** Most specific cover at `position` that is no longer than `length`, or 0. */
export function coverUpTo(rows: Int32Array, cover: number, length: number): number {
  while (cover !== 0 && lengthOf(rows, cover) > length) cover = parentOf(rows, cover);
  return cover;
}

/** First position after the longer entry `inner` that covers `position`. */
function endOf(rows: Int32Array, inner: number, position: number, fullLength: number): number {
  const span = 1 << (fullLength - lengthOf(rows, inner));
  return (position & -span) + span;
}

/**
 * Adds `entry`, whose positions begin at `start`. `publish` is called once, after the entry's
 * row is complete and before any word that leads to it is written.
 */
export function addCover(
  rows: Int32Array,
  { covers, base, stride, fullLength }: Positions,
  start: number,
  entry: number,
  publish: () => void,
): void {
  const length = lengthOf(rows, entry);
  const end = start + (1 << (fullLength - length));
  rows[(entry << ROW_SHIFT) + PARENT] = coverUpTo(rows, covers[base + start * stride]!, length);
  publish();
  let position = start;
  while (position < end) {
    const at = base + position * stride;
    const cover = covers[at]!;
    if (cover === 0 || lengthOf(rows, cover) < length) {
      covers[at] = entry;
      position++;
      continue;
    }
    const inner = topmostLonger(rows, cover, length);
    rows[(inner << ROW_SHIFT) + PARENT] = entry;
    position = endOf(rows, inner, position, fullLength);
  }
}

/** Takes `entry` out again; what lay beneath it gets its parent. */
export function removeCover(
  rows: Int32Array,
  { covers, base, stride, fullLength }: Positions,
  start: number,
  entry: number,
): void {
  const length = lengthOf(rows, entry);
  const end = start + (1 << (fullLength - length));
  const parent = parentOf(rows, entry);
  let position = start;
  while (position < end) {
    const at = base + position * stride;
    const cover = covers[at]!;
    if (cover === entry) {
      covers[at] = parent;
      position++;
      continue;
    }
    const inner = topmostLonger(rows, cover, length);
    rows[(inner << ROW_SHIFT) + PARENT] = parent;
    position = endOf(rows, inner, position, fullLength);
  }
}
