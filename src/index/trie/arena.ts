/**
 * Allocator of node blocks in the arena. Writer only: readers never meet a free block.
 *
 * Random insertion order makes all nodes grow together, so blocks of every size are abandoned
 * in turn; lists by size alone would waste several times the live size. So free neighbours
 * coalesce, and the best fit is taken: one bin for each size up to the largest node, and one
 * bin for all that is larger. Allocation and release are O(1).
 *
 * The unit is a granule of sixteen words, a cache line. A free block of g granules, in place:
 *
 *     first granule   +0 g   +1 next block of the bin   +2 previous   (offsets in granules, 0 = none)
 *     last granule    +3 g
 *
 * Which granules begin or end a free block stands in private tag bits, so that the words of
 * live nodes are never misread as a free block's.
 */

import { NODE_WORDS_MAX } from './layout.ts';

export const GRANULE_SHIFT = 4;
const GRANULE_WORDS = 1 << GRANULE_SHIFT;
/** Granules of the largest node: the last exact bin. */
const EXACT_MAX = (NODE_WORDS_MAX + GRANULE_WORDS - 1) >> GRANULE_SHIFT;
const LARGE = EXACT_MAX + 1;
export const BIN_COUNT = LARGE + 1;
const BIN_MAP_WORDS = (BIN_COUNT + 31) >> 5;
const STARTS = 1;
const ENDS = 2;

export interface ArenaState {
  /** Top and live granules, then the first block of each bin. */
  readonly bins: Int32Array;
  readonly tags: Uint32Array;
}

function granulesOf(words: number): number {
  return (words + GRANULE_WORDS - 1) >> GRANULE_SHIFT;
}

/** Nodes of the largest size in a block: all of them find room there, smaller ones in their places too. */
function nodesIn(granules: number): number {
  return granules < EXACT_MAX ? 0 : Math.trunc(granules / EXACT_MAX);
}

export function tagWordsOf(topGranules: number): number {
  return (topGranules + 16) >> 4;
}

export function createArena(nodes: Int32Array) {
  const limit = nodes.length >> GRANULE_SHIFT;
  // Two bits for each granule. Shared only because a large plain ArrayBuffer counts as
  // garbage-collector pressure; untouched pages cost nothing.
  const tags = new Uint32Array(new SharedArrayBuffer(tagWordsOf(limit) * 4));
  const bins = new Int32Array(BIN_COUNT);
  const binMap = new Int32Array(BIN_MAP_WORDS);
  // Granule 0 is never handed out: a link with offset 0 means nothing.
  let top = 1;
  let live = 0;
  /**
   * The free blocks, each for itself, hold so many nodes of the largest size. An allocation takes one of them
   * at most.
   */
  let nodesFree = 0;

  function hasTag(granule: number, tag: number): boolean {
    return ((tags[granule >> 4]! >>> ((granule & 15) << 1)) & tag) !== 0;
  }

  function flipTag(granule: number, tag: number): void {
    tags[granule >> 4]! ^= tag << ((granule & 15) << 1);
  }

  function link(granule: number, size: number): void {
    const bin = size > EXACT_MAX ? LARGE : size;
    const next = bins[bin]!;
    const word = granule << GRANULE_SHIFT;
    nodes[word] = size;
    nodes[word + 1] = next;
    nodes[word + 2] = 0;
    nodes[((granule + size - 1) << GRANULE_SHIFT) + 3] = size;
    if (next !== 0) nodes[(next << GRANULE_SHIFT) + 2] = granule;
    bins[bin] = granule;
    binMap[bin >> 5]! |= 1 << (bin & 31);
    nodesFree += nodesIn(size);
    flipTag(granule, STARTS);
    flipTag(granule + size - 1, ENDS);
  }

  function unlink(granule: number, size: number): void {
    const bin = size > EXACT_MAX ? LARGE : size;
    const word = granule << GRANULE_SHIFT;
    const next = nodes[word + 1]!;
    const previous = nodes[word + 2]!;
    if (next !== 0) nodes[(next << GRANULE_SHIFT) + 2] = previous;
    if (previous !== 0) nodes[(previous << GRANULE_SHIFT) + 1] = next;
    else {
      bins[bin] = next;
      if (next === 0) binMap[bin >> 5]! &= ~(1 << (bin & 31));
    }
    nodesFree -= nodesIn(size);
    flipTag(granule, STARTS);
    flipTag(granule + size - 1, ENDS);
  }

  /** Smallest bin of at least `size` granules that holds a block, or 0. */
  function binFor(size: number): number {
    let word = size >> 5;
    let bits = binMap[word]! & (-1 << (size & 31));
    while (bits === 0) {
      if (++word === BIN_MAP_WORDS) return 0;
      bits = binMap[word]!;
    }
    return (word << 5) + 31 - Math.clz32(bits & -bits);
  }

  /** Counts what the free blocks of the bins hold, as they were restored. */
  function countNodesFree(): void {
    nodesFree = 0;
    for (const bin of [EXACT_MAX, LARGE]) {
      for (let granule = bins[bin]!; granule !== 0; ) {
        const word = granule << GRANULE_SHIFT;
        nodesFree += nodesIn(nodes[word]!);
        granule = nodes[word + 1]!;
      }
    }
  }

  return {
    /** Word offset of a block of at least `words` words, or 0 when there is no room. */
    allocate(words: number): number {
      const size = granulesOf(words);
      const bin = binFor(size);
      if (bin === 0) {
        if (top + size > limit) return 0;
        const granule = top;
        top += size;
        live += size;
        return granule << GRANULE_SHIFT;
      }
      const granule = bins[bin]!;
      const found = nodes[granule << GRANULE_SHIFT]!;
      unlink(granule, found);
      if (found > size) link(granule + size, found - size);
      live += size;
      return granule << GRANULE_SHIFT;
    },
    /** `words` as it was allocated. */
    release(offset: number, words: number): void {
      let granule = offset >> GRANULE_SHIFT;
      let size = granulesOf(words);
      live -= size;
      const after = granule + size;
      if (after < top && hasTag(after, STARTS)) {
        const sizeAfter = nodes[after << GRANULE_SHIFT]!;
        unlink(after, sizeAfter);
        size += sizeAfter;
      }
      if (hasTag(granule - 1, ENDS)) {
        const sizeBefore = nodes[((granule - 1) << GRANULE_SHIFT) + 3]!;
        granule -= sizeBefore;
        unlink(granule, sizeBefore);
        size += sizeBefore;
      }
      if (granule + size === top) top = granule;
      else link(granule, size);
    },
    /** Returns true while nodes of `words` words together find room, in whatever sizes they are asked for. */
    hasRoom(words: number): boolean {
      if (top + granulesOf(words) <= limit) return true;
      return nodesFree + nodesIn(limit - top) >= Math.ceil(words / NODE_WORDS_MAX);
    },
    /** Words up to the end of the last block. */
    topWords: (): number => top << GRANULE_SHIFT,
    /** Words in live blocks. */
    liveWords: (): number => live << GRANULE_SHIFT,
    /** State to save and restore together with the words below the top. */
    state(): ArenaState {
      const saved = new Int32Array(2 + BIN_COUNT);
      saved[0] = top;
      saved[1] = live;
      saved.set(bins, 2);
      return { bins: saved, tags: tags.slice(0, tagWordsOf(top)) };
    },
    restore(state: ArenaState): void {
      top = state.bins[0]!;
      live = state.bins[1]!;
      bins.set(state.bins.subarray(2));
      for (let bin = 0; bin < BIN_COUNT; bin++) {
        if (bins[bin] !== 0) binMap[bin >> 5]! |= 1 << (bin & 31);
      }
      tags.set(state.tags);
      countNodesFree();
    },
  };
}

export type Arena = ReturnType<typeof createArena>;
