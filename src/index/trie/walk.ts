/**
 * Entries in address order, a shorter prefix before the longer ones beneath it. A walk can stop
 * after some entries and go on from the last prefix: a position is a prefix and not a place in
 * memory, so the trie may change in between. What was added behind the position is not visited.
 *
 * One call must not span an `await`, and its `visit` must not change the trie.
 */

import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import { copyWords, lengthOf, prefixOf } from '../entries.ts';
import { byteAt, commonBits, comparePrefixes, hostMask, type IndexPrefix } from '../prefix.ts';
import { PARENT, ROW_SHIFT } from '../records.ts';
import { leafEntry, nodeCover } from './exact.ts';
import { COVER_FLAG, OFFSET_MASK, PATH_FLAG, ROOT_6, ROOT_BITS } from './layout.ts';
import type { IndexMemory } from './memory.ts';
import { coverPartOffset, depthOf, linkOffset, pathPartOffset } from './nodes.ts';

export interface WalkOptions {
  /** Only what comes after this prefix in order. */
  readonly after?: IndexPrefix | undefined;
  /** Stop after so many entries. */
  readonly limit?: number | undefined;
}

/** The last visited prefix, which is the `after` of the next call; undefined = all visited. */
export type WalkPosition = IndexPrefix | undefined;

/** State of one call. */
interface Walk {
  readonly memory: IndexMemory;
  readonly family: IpFamily;
  readonly within: IndexPrefix;
  readonly after: IndexPrefix | undefined;
  /** First and last address of interest. */
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  readonly visit: (entry: number) => void;
  readonly scratch: Uint32Array;
  left: number;
  last: number;
}

/** Visits the entries that lie in `within`, itself included. */
export function walk(
  memory: IndexMemory,
  within: IndexPrefix,
  visit: (entry: number) => void,
  { after, limit = Number.MAX_SAFE_INTEGER }: WalkOptions = {},
): WalkPosition {
  const { family } = within;
  if (after !== undefined && after.family !== family) throw new RangeError('another family');
  if (limit < 1) throw new RangeError('a walk visits at least one entry');
  const words = widthOf(family) >> 5;
  const low = new Uint32Array(4);
  const high = new Uint32Array(4);
  const from = after !== undefined && comparePrefixes(after, within) > 0 ? after : within;
  for (let word = 0; word < words; word++) {
    low[word] = from.words[word]!;
    high[word] = within.words[word]! | hostMask(within.length - (word << 5));
  }
  const scratch = new Uint32Array(4);
  const state = { memory, family, within, after, low, high, visit, scratch, left: limit, last: 0 };
  walkRoot(state);
  return state.left > 0 ? undefined : (prefixOf(memory, state.last) ?? after);
}

function walkRoot(state: Walk): void {
  const { memory, family, low, high } = state;
  const { root } = memory;
  const base = family === 4 ? 0 : ROOT_6;
  const first = low[0]! >>> ROOT_BITS;
  const last = high[0]! >>> ROOT_BITS;
  for (let cell = first; cell <= last && state.left > 0; cell++) {
    const at = base + (cell << 1);
    const cover = root[at + 1]!;
    const link = root[at]!;
    const isEdge = cell === first || cell === last;
    if (cover !== 0) visitCovers(state, cover, cell, 16, isEdge);
    if (link !== 0) walkLink(state, link, ROOT_BITS, cell === first, cell === last);
  }
}

/** The covers that start at `position`, least specific first: they are the deep end of a chain. */
function visitCovers(
  state: Walk,
  cover: number,
  position: number,
  fullLength: number,
  isEdge: boolean,
): void {
  const { rows } = state.memory;
  const parent = rows[(cover << ROW_SHIFT) + PARENT]!;
  const span = 1 << (fullLength - lengthOf(rows, cover));
  // At most sixteen deep: a less specific one starts no later.
  if ((position & (span - 1)) !== 0) return;
  if (parent !== 0) visitCovers(state, parent, position, fullLength, isEdge);
  visitOne(state, cover, isEdge);
}

function visitOne(state: Walk, entry: number, isEdge: boolean): void {
  if (state.left === 0 || (isEdge && !isWanted(state, entry))) return;
  state.left--;
  state.last = entry;
  state.visit(entry);
}

/** Off the edges all entries lie between the bounds; on them each is compared. */
function isWanted(state: Walk, entry: number): boolean {
  const { memory, within, after, scratch, family } = state;
  const length = lengthOf(memory.rows, entry);
  copyWords(memory, entry, scratch);
  if (length < within.length) return false;
  if (commonBits(scratch, within.words, within.length) < within.length) return false;
  return after === undefined || comparePrefixes({ family, words: scratch, length }, after) > 0;
}

function walkLink(
  state: Walk,
  link: number,
  linkDepth: number,
  onLow: boolean,
  onHigh: boolean,
): void {
  const { memory, family, low, high } = state;
  const { nodes, keys } = memory;
  if (link < 0) {
    visitOne(state, leafEntry(keys, family, link), onLow || onHigh);
    return;
  }
  const depth = depthOf(nodes, link, linkDepth);
  if ((link & PATH_FLAG) !== 0) {
    const path = pathPartOffset(link);
    const lowOrder = onLow ? comparePath(nodes, path, low, depth) : 1;
    const highOrder = onHigh ? comparePath(nodes, path, high, depth) : -1;
    if (lowOrder < 0 || highOrder > 0) return;
    onLow = lowOrder === 0;
    onHigh = highOrder === 0;
  }
  const node = link & OFFSET_MASK;
  const part = (link & COVER_FLAG) === 0 ? 0 : coverPartOffset(memory, link);
  const first = onLow ? byteAt(low, depth) : 0;
  const last = onHigh ? byteAt(high, depth) : 255;
  for (let byte = first; byte <= last && state.left > 0; byte++) {
    const word = byte >>> 5;
    const runBits = (link & COVER_FLAG) === 0 ? 0 : nodes[part + word]!;
    const linkBits = nodes[node + word]!;
    const rest = (runBits | linkBits) >>> (byte & 31);
    if (rest === 0) {
      byte |= 31;
      continue;
    }
    if ((rest & 1) === 0) continue;
    const isLow = onLow && byte === first;
    const isHigh = onHigh && byte === last;
    if ((runBits >>> (byte & 31)) & 1) {
      const cover = nodeCover(memory, link, byte);
      if (cover !== 0) visitCovers(state, cover, byte, depth + 8, isLow || isHigh);
    }
    if ((linkBits >>> (byte & 31)) & 1) {
      const value = nodes[linkOffset(memory, link, byte)]!;
      walkLink(state, value, depth + 8, isLow, isHigh);
    }
  }
}

/** -1, 0 or 1: the order of a node's path and the first `depth` bits of `bound`. */
function comparePath(nodes: Int32Array, path: number, bound: Uint32Array, depth: number): number {
  for (let word = 0; word << 5 < depth; word++) {
    const mask = ~hostMask(depth - (word << 5));
    const a = (nodes[path + word]! & mask) >>> 0;
    const b = (bound[word]! & mask) >>> 0;
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}
