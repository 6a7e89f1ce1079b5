/** The entry of exactly one prefix, and the chains of covers above it. Any thread; the cost of one look-up. */

import type { IpFamily } from '../../ip/address.ts';
import { lengthOf } from '../entries.ts';
import { byteAt, hostMask, type IndexPrefix } from '../prefix.ts';
import { KEY, PARENT, ROW_SHIFT } from '../records.ts';
import {
  BITMAP_WORDS,
  COVER_FLAG,
  COVER_WORDS,
  ENTRY_MASK,
  KEY_ENTRY,
  KEY_MASK,
  KEY_WORDS,
  PATH_FLAG,
  popcount,
  ROOT_6,
  ROOT_BITS,
} from './layout.ts';
import type { IndexMemory } from './memory.ts';
import { coverPartOffset, depthOf, linkOffset, pathPartOffset } from './nodes.ts';

/** Offset of the root cell of an address. */
export function rootCell(family: IpFamily, words: Uint32Array): number {
  return (family === 4 ? 0 : ROOT_6) + ((words[0]! >>> ROOT_BITS) << 1);
}

export function leafEntry(keys: Int32Array, family: IpFamily, link: number): number {
  return family === 4 ? link & ENTRY_MASK : keys[(link & KEY_MASK) * KEY_WORDS + KEY_ENTRY]!;
}

/** Most specific cover of a byte in a node with or without a cover part. */
export function nodeCover(memory: IndexMemory, link: number, byte: number): number {
  if ((link & COVER_FLAG) === 0) return 0;
  const part = coverPartOffset(memory, link);
  const word = byte >>> 5;
  const upTo = memory.nodes[part + word]! & (-1 >>> (31 - (byte & 31)));
  const rank = memory.nodeBytes[((part + BITMAP_WORDS) << 2) + word]! + popcount(upTo);
  return memory.nodes[part + COVER_WORDS - 1 + rank]!;
}

/** Leading bits that `words` shares with the path of a node, at most `limit`. */
export function pathBits(
  nodes: Int32Array,
  link: number,
  words: Uint32Array,
  limit: number,
): number {
  const path = pathPartOffset(link);
  for (let word = 0; word << 5 < limit; word++) {
    const difference = (nodes[path + word]! ^ words[word]!) & ~hostMask(limit - (word << 5));
    if (difference !== 0) return (word << 5) + Math.clz32(difference);
  }
  return limit;
}

function hasWords(
  memory: IndexMemory,
  family: IpFamily,
  entry: number,
  words: Uint32Array,
): boolean {
  const key = memory.rows[(entry << ROW_SHIFT) + KEY]!;
  if (family === 4) return key === (words[0]! | 0);
  const block = key * KEY_WORDS;
  for (let word = 0; word < 4; word++) {
    if (memory.keys[block + word] !== (words[word]! | 0)) return false;
  }
  return true;
}

/** 0 = none. The prefix must be valid (`isPrefix`). */
export function exactEntry(memory: IndexMemory, { family, words, length }: IndexPrefix): number {
  const { root, nodes, rows, keys } = memory;
  const cell = rootCell(family, words);
  if (length < ROOT_BITS) {
    const cover = coverUpTo(rows, root[cell + 1]!, length);
    return cover !== 0 && lengthOf(rows, cover) === length ? cover : 0;
  }
  let link = root[cell]!;
  let depth = ROOT_BITS;
  while (link > 0) {
    depth = depthOf(nodes, link, depth);
    if (depth > length) return 0;
    if ((link & PATH_FLAG) !== 0 && pathBits(nodes, link, words, depth) < depth) return 0;
    if (length - depth < 8) {
      const cover = coverUpTo(rows, nodeCover(memory, link, byteAt(words, depth)), length);
      return cover !== 0 && lengthOf(rows, cover) === length ? cover : 0;
    }
    const at = linkOffset(memory, link, byteAt(words, depth));
    if (at === 0) return 0;
    link = nodes[at]!;
    depth += 8;
  }
  if (link === 0) return 0;
  const entry = leafEntry(keys, family, link);
  return lengthOf(rows, entry) === length && hasWords(memory, family, entry, words) ? entry : 0;
}

// Entries of one node (or of the root) that cover several bytes (or cells), as an array of the
// most specific one at each position, with the less specific ones chained through PARENT.
// Parents never leave the node: that bounds an insertion by the positions it covers.
//
// An entry hidden everywhere by more specific ones is still in the chain of each of them.

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
function coverUpTo(rows: Int32Array, cover: number, length: number): number {
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
