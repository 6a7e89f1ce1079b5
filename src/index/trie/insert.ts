/**
 * Puts entries into the trie. Writer only.
 *
 * A change builds the new node next to the old one and publishes it with one `Atomics.store` of the
 * link that leads to it; nodes above stay where they are. What is replaced goes to the retired list
 * after that store. A change makes at most a handful of nodes (`CHANGE_WORDS_MAX`), so the caller
 * can make sure of the room before anything is touched.
 */

import type { IpFamily } from '../../ip/address.ts';
import { copyWords, lengthOf } from '../entries.ts';
import { byteAt, commonBits, type IndexPrefix } from '../prefix.ts';
import { KEY, ROW_SHIFT } from '../records.ts';
import type { RetiredNodes, WriterEpoch } from './epochs.ts';
import { addCover, leafEntry, type Positions, pathBits, rootCell } from './exact.ts';
import { NODE_WORDS_MAX, OFFSET_MASK, PATH_FLAG, ROOT_6, ROOT_BITS, WILD_SHIFT } from './layout.ts';
import type { IndexMemory } from './memory.ts';
import { depthOf, linkOffset, type Nodes, pathPartOffset } from './nodes.ts';

/** Words that one change can allocate at most: two large copies and some nodes of two items. */
export const CHANGE_WORDS_MAX = 4 * NODE_WORDS_MAX;

const LEAF = 0x8000_0000 | 0;

/** The parts of the index that a change of the trie uses. */
export interface TrieTools {
  readonly memory: IndexMemory;
  readonly nodesOf: Nodes;
  readonly retired: RetiredNodes;
  readonly epoch: WriterEpoch;
}

export function leafOf(rows: Int32Array, family: IpFamily, entry: number): number {
  if (family === 6) return LEAF | rows[(entry << ROW_SHIFT) + KEY]!;
  return LEAF | ((32 - lengthOf(rows, entry)) << WILD_SHIFT) | entry;
}

export function rootPositions(root: Int32Array, family: IpFamily): Positions {
  const base = (family === 4 ? 0 : ROOT_6) + 1;
  return { covers: root, base, stride: 2, fullLength: ROOT_BITS };
}

export function nodePositions(covers: Int32Array, depth: number): Positions {
  return { covers, base: 0, stride: 1, fullLength: depth + 8 };
}

/** Is called after the store that took the node out of the trie. */
export function retire({ retired, nodesOf }: TrieTools, link: number): void {
  retired.add(link & OFFSET_MASK, nodesOf.wordsOf(link));
}

/** The returned function publishes an entry whose row is complete and whose prefix is valid and not in the trie. */
export function createInsert(tools: TrieTools): (prefix: IndexPrefix, entry: number) => void {
  const { memory, nodesOf, epoch } = tools;
  const { root, nodes, rows, keys } = memory;
  const covers = new Int32Array(256);
  const words = new Uint32Array(4);
  const otherWords = new Uint32Array(4);

  /** Copy of an unpublished or published node with one more cover. */
  function withCover(link: number, depth: number, byte: number, entry: number): number {
    nodesOf.readCovers(link, covers);
    addCover(rows, nodePositions(covers, depth), byte, entry, epoch.fence);
    return nodesOf.withCovers(link, covers);
  }

  /** A node of two entries that share the first `depth` bits at least; `a` and `b` are masked. */
  function pair(family: IpFamily, depth: number, a: number, b: number): number {
    copyWords(memory, a, words);
    copyWords(memory, b, otherWords);
    const shorter = Math.min(lengthOf(rows, a), lengthOf(rows, b));
    const at = commonBits(words, otherWords, shorter) & ~7;
    const bare = nodesOf.empty(at, at > depth ? words : undefined);
    const byteA = byteAt(words, at);
    const byteB = byteAt(otherWords, at);
    const isLinkA = lengthOf(rows, a) - at >= 8;
    const isLinkB = lengthOf(rows, b) - at >= 8;
    const one = isLinkA
      ? nodesOf.withLink(bare, byteA, leafOf(rows, family, a))
      : withCover(bare, at, byteA, a);
    nodesOf.discard(bare);
    const two = isLinkB
      ? nodesOf.withLink(one, byteB, leafOf(rows, family, b))
      : withCover(one, at, byteB, b);
    return replaced(one, two);
  }

  /** Discards an unpublished node that a copy stands for. */
  function replaced(link: number, by: number): number {
    nodesOf.discard(link);
    return by;
  }

  /** A node above `link`, whose path leaves that of `prefix` at bit `shared`. */
  function split(
    prefix: IndexPrefix,
    link: number,
    depth: number,
    shared: number,
    entry: number,
  ): number {
    const at = shared & ~7;
    const path = pathPartOffset(link);
    for (let word = 0; word < 4; word++) otherWords[word] = nodes[path + word]!;
    const bare = nodesOf.empty(at, at > depth ? otherWords : undefined);
    const one = replaced(bare, nodesOf.withLink(bare, byteAt(otherWords, at), link));
    const byte = byteAt(prefix.words, at);
    const two =
      prefix.length - at < 8
        ? withCover(one, at, byte, entry)
        : nodesOf.withLink(one, byte, leafOf(rows, prefix.family, entry));
    return replaced(one, two);
  }

  return function insert(prefix: IndexPrefix, entry: number): void {
    const { family, length } = prefix;
    const cell = rootCell(family, prefix.words);
    if (length < ROOT_BITS) {
      const start = prefix.words[0]! >>> ROOT_BITS;
      addCover(rows, rootPositions(root, family), start, entry, epoch.fence);
      return;
    }
    let holder = root;
    let at = cell;
    let depth = ROOT_BITS;
    // Each turn goes at least eight bits down.
    for (;;) {
      const link = holder[at]!;
      if (link === 0) {
        Atomics.store(holder, at, leafOf(rows, family, entry));
        return;
      }
      if (link < 0) {
        Atomics.store(holder, at, pair(family, depth, leafEntry(keys, family, link), entry));
        return;
      }
      const nodeDepth = depthOf(nodes, link, depth);
      if ((link & PATH_FLAG) !== 0) {
        const shared = pathBits(nodes, link, prefix.words, Math.min(length, nodeDepth));
        if (shared < nodeDepth) {
          Atomics.store(holder, at, split(prefix, link, depth, shared, entry));
          return;
        }
      }
      const byte = byteAt(prefix.words, nodeDepth);
      const isCover = length - nodeDepth < 8;
      const child = isCover ? 0 : linkOffset(memory, link, byte);
      if (child === 0) {
        const copy = isCover
          ? withCover(link, nodeDepth, byte, entry)
          : nodesOf.withLink(link, byte, leafOf(rows, family, entry));
        Atomics.store(holder, at, copy);
        retire(tools, link);
        return;
      }
      holder = nodes;
      at = child;
      depth = nodeDepth + 8;
    }
  };
}
