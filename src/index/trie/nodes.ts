/**
 * Node blocks as the writer makes them: each function copies a node with one difference into a
 * new block and returns its slot; the old block is untouched, since readers may be in it.
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

export function slotsOffset(slot: number): number {
  return (slot & OFFSET_MASK) + RANKED_WORDS + ((slot & PATH_FLAG) === 0 ? 0 : PATH_WORDS);
}

export function slotCount({ nodes, nodeBytes }: IndexMemory, slot: number): number {
  const node = slot & OFFSET_MASK;
  return nodeBytes[((node + BITMAP_WORDS) << 2) + LAST]! + popcount(nodes[node + LAST]!);
}

/** Offset of the cover part, if the node has one: where the slots end. */
export function coverPartOffset(memory: IndexMemory, slot: number): number {
  return slotsOffset(slot) + slotCount(memory, slot);
}

/** Offset of the path part, if the node has one. */
export function pathPartOffset(slot: number): number {
  return (slot & OFFSET_MASK) + RANKED_WORDS;
}

/** Depth of a node that its slot places at `depth` at least. */
export function depthOf(nodes: Int32Array, slot: number, depth: number): number {
  return (slot & PATH_FLAG) === 0 ? depth : nodes[pathPartOffset(slot) + PATH_WORDS - 1]! & 255;
}

/** Offset of the slot word of a byte, or 0 when the node has none for it. */
export function slotOffset(memory: IndexMemory, slot: number, byte: number): number {
  const node = slot & OFFSET_MASK;
  const bits = memory.nodes[node + (byte >>> 5)]!;
  const bit = 1 << (byte & 31);
  if ((bits & bit) === 0) return 0;
  const rank = memory.nodeBytes[((node + BITMAP_WORDS) << 2) + (byte >>> 5)]!;
  return slotsOffset(slot) + rank + popcount(bits & (bit - 1));
}

export function createNodes(memory: IndexMemory, arena: Arena) {
  const { nodes, nodeBytes } = memory;

  function allocate(words: number): number {
    const node = arena.allocate(words);
    // The trie asks for room before it begins, so this is a bug there.
    if (node === 0) throw new Error('the node arena is full');
    return node;
  }

  function coverWords(slot: number): number {
    if ((slot & COVER_FLAG) === 0) return 0;
    return COVER_WORDS + nodes[coverPartOffset(memory, slot) + COVER_WORDS - 1]!;
  }

  function wordsOf(slot: number): number {
    return coverPartOffset(memory, slot) - (slot & OFFSET_MASK) + coverWords(slot);
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

  /** A node without slots or covers; with a path part when `path` is given. */
  function empty(depth: number, path: Uint32Array | undefined): number {
    const node = allocate(RANKED_WORDS + (path === undefined ? 0 : PATH_WORDS));
    clear(node, RANKED_WORDS);
    if (path === undefined) return node;
    writePath(node + RANKED_WORDS, depth, path);
    return node | PATH_FLAG;
  }

  function withSlot(slot: number, byte: number, value: number): number {
    const old = slot & OFFSET_MASK;
    const fixed = slotsOffset(slot) - old;
    // The words behind the head: slots, and the cover part if there is one.
    const count = wordsOf(slot) - fixed;
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
    return node | (slot & ~OFFSET_MASK);
  }

  function withoutSlot(slot: number, byte: number): number {
    const old = slot & OFFSET_MASK;
    const fixed = slotsOffset(slot) - old;
    const count = wordsOf(slot) - fixed;
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
    return node | (slot & ~OFFSET_MASK);
  }

  /** `covers`: 256 entry numbers, the most specific cover of each byte. */
  function withCovers(slot: number, covers: Int32Array): number {
    let runs = 1;
    for (let byte = 1; byte < 256; byte++) if (covers[byte] !== covers[byte - 1]) runs++;
    const kept = runs > 1 || covers[0] !== 0;
    const old = slot & OFFSET_MASK;
    const fixed = coverPartOffset(memory, slot) - old;
    const node = allocate(fixed + (kept ? COVER_WORDS + runs : 0));
    copy(old, node, fixed);
    const tag = slot & PATH_FLAG;
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

  /** For a node without a path part. */
  function withPath(slot: number, depth: number, path: Uint32Array): number {
    const old = slot & OFFSET_MASK;
    const words = wordsOf(slot);
    const node = allocate(words + PATH_WORDS);
    copy(old, node, RANKED_WORDS);
    writePath(node + RANKED_WORDS, depth, path);
    copy(old + RANKED_WORDS, node + RANKED_WORDS + PATH_WORDS, words - RANKED_WORDS);
    return node | (slot & ~OFFSET_MASK) | PATH_FLAG;
  }

  /** Expands the cover part into `covers`; all 0 without one. */
  function readCovers(slot: number, covers: Int32Array): void {
    if ((slot & COVER_FLAG) === 0) {
      covers.fill(0);
      return;
    }
    const part = coverPartOffset(memory, slot);
    let run = part + COVER_WORDS - 1;
    for (let byte = 0; byte < 256; byte++) {
      if (((nodes[part + (byte >>> 5)]! >>> (byte & 31)) & 1) !== 0) run++;
      covers[byte] = nodes[run]!;
    }
  }

  return {
    empty,
    withSlot,
    withoutSlot,
    withCovers,
    withPath,
    readCovers,
    wordsOf,
    slotCount: (slot: number): number => slotCount(memory, slot),
    /** Releases a block that was never published. */
    discard: (slot: number): void => arena.release(slot & OFFSET_MASK, wordsOf(slot)),
  };
}

export type Nodes = ReturnType<typeof createNodes>;
