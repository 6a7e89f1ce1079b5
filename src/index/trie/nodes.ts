/**
 * Node blocks as the writer makes them: each function copies a node with one difference into a
 * new block and returns its link; the old block is untouched, since readers may be in it.
 * Nothing here publishes. layout.ts draws the block.
 */

import { hostMask } from '../prefix.ts';
import type { Arena } from './arena.ts';
import {
  BITMAP_WORDS,
  COVER_FLAG,
  COVER_WORDS,
  OFFSET_MASK,
  PATH_FLAG,
  PATH_WORDS,
  popcount,
  RANKED_WORDS,
} from './layout.ts';
import type { IndexMemory } from './memory.ts';

const LAST = BITMAP_WORDS - 1;

export function linksOffset(link: number): number {
  return (link & OFFSET_MASK) + RANKED_WORDS + ((link & PATH_FLAG) === 0 ? 0 : PATH_WORDS);
}

export function linkCount({ nodes, nodeBytes }: IndexMemory, link: number): number {
  const node = link & OFFSET_MASK;
  return nodeBytes[((node + BITMAP_WORDS) << 2) + LAST]! + popcount(nodes[node + LAST]!);
}

/** Offset of the cover part, if the node has one: where the links end. */
export function coverPartOffset(memory: IndexMemory, link: number): number {
  return linksOffset(link) + linkCount(memory, link);
}

/** Offset of the path part, if the node has one. */
export function pathPartOffset(link: number): number {
  return (link & OFFSET_MASK) + RANKED_WORDS;
}

/** Depth of a node that its link places at `depth` at least. */
export function depthOf(nodes: Int32Array, link: number, depth: number): number {
  return (link & PATH_FLAG) === 0 ? depth : nodes[pathPartOffset(link) + PATH_WORDS - 1]! & 255;
}

/** Offset of the link word of a byte, or 0 when the node has none for it. */
export function linkOffset(memory: IndexMemory, link: number, byte: number): number {
  const node = link & OFFSET_MASK;
  const bits = memory.nodes[node + (byte >>> 5)]!;
  const bit = 1 << (byte & 31);
  if ((bits & bit) === 0) return 0;
  const rank = memory.nodeBytes[((node + BITMAP_WORDS) << 2) + (byte >>> 5)]!;
  return linksOffset(link) + rank + popcount(bits & (bit - 1));
}

export function createNodes(memory: IndexMemory, arena: Arena) {
  const { nodes, nodeBytes } = memory;

  function allocate(words: number): number {
    const node = arena.allocate(words);
    // The trie asks for room before it begins, so this is a bug there.
    if (node === 0) throw new Error('the node arena is full');
    return node;
  }

  function coverWords(link: number): number {
    if ((link & COVER_FLAG) === 0) return 0;
    return COVER_WORDS + nodes[coverPartOffset(memory, link) + COVER_WORDS - 1]!;
  }

  function wordsOf(link: number): number {
    return coverPartOffset(memory, link) - (link & OFFSET_MASK) + coverWords(link);
  }

  /** Short copies: a loop beats the call of `copyWithin`. */
  function copy(from: number, to: number, words: number): void {
    if (words > 48) nodes.copyWithin(to, from, from + words);
    else for (let i = 0; i < words; i++) nodes[to + i] = nodes[from + i]!;
  }

  function rank(part: number): void {
    const bytes = (part + BITMAP_WORDS) << 2;
    let before = 0;
    for (let word = 0; word < BITMAP_WORDS; word++) {
      nodeBytes[bytes + word] = before;
      before += popcount(nodes[part + word]!);
    }
  }

  function clear(from: number, words: number): void {
    for (let i = 0; i < words; i++) nodes[from + i] = 0;
  }

  function writePath(part: number, depth: number, path: Uint32Array): void {
    for (let word = 0; word < PATH_WORDS; word++) {
      nodes[part + word] = path[word]! & ~hostMask(depth - (word << 5));
    }
    nodes[part + PATH_WORDS - 1]! |= depth;
  }

  /** A node without links or covers; with a path part when `path` is given. */
  function empty(depth: number, path: Uint32Array | undefined): number {
    const node = allocate(RANKED_WORDS + (path === undefined ? 0 : PATH_WORDS));
    clear(node, RANKED_WORDS);
    if (path === undefined) return node;
    writePath(node + RANKED_WORDS, depth, path);
    return node | PATH_FLAG;
  }

  function withLink(link: number, byte: number, value: number): number {
    const old = link & OFFSET_MASK;
    const fixed = linksOffset(link) - old;
    // The words behind the head: links, and the cover part if there is one.
    const count = wordsOf(link) - fixed;
    const node = allocate(fixed + count + 1);
    copy(old, node, fixed);
    const word = byte >>> 5;
    const bits = nodes[node + word]!;
    const bit = 1 << (byte & 31);
    const bytes = (node + BITMAP_WORDS) << 2;
    const index = nodeBytes[bytes + word]! + popcount(bits & (bit - 1));
    nodes[node + word] = bits | bit;
    for (let i = word + 1; i < BITMAP_WORDS; i++) nodeBytes[bytes + i]!++;
    copy(old + fixed, node + fixed, index);
    nodes[node + fixed + index] = value;
    copy(old + fixed + index, node + fixed + index + 1, count - index);
    return node | (link & ~OFFSET_MASK);
  }

  function withoutLink(link: number, byte: number): number {
    const old = link & OFFSET_MASK;
    const fixed = linksOffset(link) - old;
    const count = wordsOf(link) - fixed;
    const node = allocate(fixed + count - 1);
    copy(old, node, fixed);
    const word = byte >>> 5;
    const bits = nodes[node + word]!;
    const bit = 1 << (byte & 31);
    const bytes = (node + BITMAP_WORDS) << 2;
    const index = nodeBytes[bytes + word]! + popcount(bits & (bit - 1));
    nodes[node + word] = bits & ~bit;
    for (let i = word + 1; i < BITMAP_WORDS; i++) nodeBytes[bytes + i]!--;
    copy(old + fixed, node + fixed, index);
    copy(old + fixed + index + 1, node + fixed + index, count - index - 1);
    return node | (link & ~OFFSET_MASK);
  }

  /** `covers`: 256 entry numbers, the most specific cover of each byte. */
  function withCovers(link: number, covers: Int32Array): number {
    let runs = 1;
    for (let byte = 1; byte < 256; byte++) if (covers[byte] !== covers[byte - 1]) runs++;
    const kept = runs > 1 || covers[0] !== 0;
    const old = link & OFFSET_MASK;
    const fixed = coverPartOffset(memory, link) - old;
    const node = allocate(fixed + (kept ? COVER_WORDS + runs : 0));
    copy(old, node, fixed);
    const tag = link & PATH_FLAG;
    if (!kept) return node | tag;
    const at = node + fixed;
    clear(at, BITMAP_WORDS);
    nodes[at + COVER_WORDS - 1] = runs;
    let run = at + COVER_WORDS;
    for (let byte = 0; byte < 256; byte++) {
      if (byte > 0 && covers[byte] === covers[byte - 1]) continue;
      nodes[at + (byte >>> 5)]! |= 1 << (byte & 31);
      nodes[run++] = covers[byte]!;
    }
    rank(at);
    return node | tag | COVER_FLAG;
  }

  /** Gives a path part to a node that has none. */
  function withPath(link: number, depth: number, path: Uint32Array): number {
    const old = link & OFFSET_MASK;
    const words = wordsOf(link);
    const node = allocate(words + PATH_WORDS);
    copy(old, node, RANKED_WORDS);
    writePath(node + RANKED_WORDS, depth, path);
    copy(old + RANKED_WORDS, node + RANKED_WORDS + PATH_WORDS, words - RANKED_WORDS);
    return node | (link & ~OFFSET_MASK) | PATH_FLAG;
  }

  /** Expands the cover part into `covers`; all 0 without one. */
  function readCovers(link: number, covers: Int32Array): void {
    if ((link & COVER_FLAG) === 0) {
      covers.fill(0);
      return;
    }
    const part = coverPartOffset(memory, link);
    let run = part + COVER_WORDS - 1;
    for (let byte = 0; byte < 256; byte++) {
      if (((nodes[part + (byte >>> 5)]! >>> (byte & 31)) & 1) !== 0) run++;
      covers[byte] = nodes[run]!;
    }
  }

  return {
    empty,
    withLink,
    withoutLink,
    withCovers,
    withPath,
    readCovers,
    wordsOf,
    linkCount: (link: number): number => linkCount(memory, link),
    /** Releases a block that was never published. */
    discard: (link: number): void => arena.release(link & OFFSET_MASK, wordsOf(link)),
  };
}

export type Nodes = ReturnType<typeof createNodes>;
