/**
 * Takes entries out of the trie. Writer only. As in insert.ts, new nodes are built next to the old
 * ones and one `Atomics.store` publishes the change. A node left with one item is dissolved into
 * the link above it, so an insertion leaves no trace once it is taken back.
 */

import { wordCountOf } from '../../ip/address.ts';
import { byteAt, type IndexPrefix } from '../prefix.ts';
import { PARENT, ROW_SHIFT } from '../records.ts';
import { removeCover, rootCell } from './exact.ts';
import { leafOf, nodePositions, retire, rootPositions, type TrieTools } from './insert.ts';
import {
  COVER_FLAG,
  COVER_WORDS,
  NODE_LEVELS_MAX,
  OFFSET_MASK,
  PATH_FLAG,
  ROOT_BITS,
} from './layout.ts';
import { coverPartOffset, depthOf, linkOffset, linksOffset } from './nodes.ts';

/** The returned function takes out an entry that is in the trie. Its row stays readable. */
export function createRemove(tools: TrieTools): (prefix: IndexPrefix, entry: number) => void {
  const { memory, nodesOf } = tools;
  const { root, nodes, rows } = memory;
  const covers = new Int32Array(256);
  const words = new Uint32Array(4);
  // The way down to the link that changes: where each link word is, and the depth below it.
  const wayArrays: Int32Array[] = new Array(NODE_LEVELS_MAX + 1).fill(root);
  const wayOffsets = new Int32Array(NODE_LEVELS_MAX + 1);
  const wayDepths = new Int32Array(NODE_LEVELS_MAX + 1);
  /** A published child that `simplified` copied, to be retired after the store; 0 = none. */
  let lifted = 0;

  /** Discards an unpublished node that `by` stands for. */
  function replaceUnpublished(link: number, by: number): number {
    nodesOf.discard(link);
    return by;
  }

  /** The link that should stand for an unpublished node: a node of one item is not kept. */
  function simplified(prefix: IndexPrefix, link: number, depth: number): number {
    const count = nodesOf.linkCount(link);
    const hasCovers = (link & COVER_FLAG) !== 0;
    if (count === 0) {
      const only = onlyCover(link);
      return only === 0 ? link : replaceUnpublished(link, leafOf(rows, prefix.family, only));
    }
    if (count > 1 || hasCovers) return link;
    const value = nodes[linksOffset(link)]!;
    if (value < 0) return replaceUnpublished(link, value);
    if ((value & PATH_FLAG) !== 0) return replaceUnpublished(link, value);
    // The child takes the node's place: its path is the node's and the byte of its link.
    words.set(prefix.words.subarray(0, wordCountOf(prefix.family)));
    const byte = onlyByte(link);
    const shift = 24 - (depth & 24);
    words[depth >> 5] = (words[depth >> 5]! & ~(255 << shift)) | (byte << shift);
    const raised = nodesOf.withPath(value, depth + 8, words);
    nodesOf.discard(link);
    lifted = value;
    return raised;
  }

  /** The single entry of a cover part, or 0 when it holds more. */
  function onlyCover(link: number): number {
    const runs = coverPartOffset(memory, link) + COVER_WORDS;
    const count = nodes[runs - 1]!;
    let only = 0;
    for (let run = 0; run < count; run++) {
      const cover = nodes[runs + run]!;
      if (cover === 0 || cover === only) continue;
      if (only !== 0 || rows[(cover << ROW_SHIFT) + PARENT] !== 0) return 0;
      only = cover;
    }
    return only;
  }

  function onlyByte(link: number): number {
    const node = link & OFFSET_MASK;
    let word = 0;
    while (nodes[node + word] === 0) word++;
    return (word << 5) + 31 - Math.clz32(nodes[node + word]!);
  }

  /** Records the way to the link whose node or leaf holds the prefix; returns its level. */
  function wayTo(prefix: IndexPrefix): number {
    let level = 0;
    wayArrays[0] = root;
    wayOffsets[0] = rootCell(prefix.family, prefix.words);
    wayDepths[0] = ROOT_BITS;
    for (;;) {
      const link = wayArrays[level]![wayOffsets[level]!]!;
      if (link <= 0) return level;
      const depth = depthOf(nodes, link, wayDepths[level]!);
      if (prefix.length - depth < 8) return level;
      level++;
      wayArrays[level] = nodes;
      wayOffsets[level] = linkOffset(memory, link, byteAt(prefix.words, depth));
      wayDepths[level] = depth + 8;
    }
  }

  return function displace(prefix: IndexPrefix, entry: number): void {
    if (prefix.length < ROOT_BITS) {
      const start = prefix.words[0]! >>> ROOT_BITS;
      removeCover(rows, rootPositions(root, prefix.family), start, entry);
      return;
    }
    let level = wayTo(prefix);
    const link = wayArrays[level]![wayOffsets[level]!]!;
    let value = 0;
    lifted = 0;
    const gone: number[] = [];
    if (link > 0) {
      const depth = depthOf(nodes, link, wayDepths[level]!);
      nodesOf.readCovers(link, covers);
      removeCover(rows, nodePositions(covers, depth), byteAt(prefix.words, depth), entry);
      value = simplified(prefix, nodesOf.withCovers(link, covers), depth);
      gone.push(link);
    }
    if (link < 0 && level > 0) {
      // The leaf's node has another item at least, so nothing further up changes.
      level--;
      const parent = wayArrays[level]![wayOffsets[level]!]!;
      const depth = depthOf(nodes, parent, wayDepths[level]!);
      const copy = nodesOf.withoutLink(parent, byteAt(prefix.words, depth));
      value = simplified(prefix, copy, depth);
      gone.push(parent);
    }
    Atomics.store(wayArrays[level]!, wayOffsets[level]!, value);
    if (lifted !== 0) gone.push(lifted);
    for (const old of gone) retire(tools, old);
  };
}
