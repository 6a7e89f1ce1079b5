/**
 * Longest-prefix match for readers: plain loads of typed arrays, numbers in, numbers out, no
 * allocation. Every loop ends: a node lies deeper than its parent, a parent entry is shorter.
 *
 * A look-up may run while the writer works. It sees each update wholly or not at all (of two that
 * fall within it, perhaps only the later one); what it found stays valid until the end of the
 * request (epochs.ts).
 */

import type { IpFamily } from '../../ip/address.ts';
import { hostMask } from '../prefix.ts';
import { KEY, PARENT, ROW_SHIFT } from '../records.ts';
import {
  BITMAP_WORDS,
  COVER_FLAG,
  COVER_WORDS,
  ENTRY_MASK,
  KEY_ENTRY,
  KEY_LENGTH,
  KEY_MASK,
  KEY_WORDS,
  NODE_LEVELS_MAX,
  OFFSET_MASK,
  PATH_FLAG,
  PATH_WORDS,
  popcount,
  RANKED_WORDS,
  ROOT_6,
  WILD_SHIFT,
} from './layout.ts';
import type { IndexMemory } from './memory.ts';

/** Look-ups that are made together at most: what they read stays in the nearest cache. */
export const LOOKUPS_MAX = 64;

export function createLookup(memory: IndexMemory) {
  const { root, nodes, nodeBytes, keys, rows } = memory;
  /** Way down: links of nodes with covers (or the covers, for `covering`), and their bytes. */
  const met = new Int32Array(NODE_LEVELS_MAX + 2);
  const metBytes = new Int32Array(NODE_LEVELS_MAX + 2);
  /** The links at which many look-ups stand. */
  const links = new Int32Array(LOOKUPS_MAX);

  /** Most specific cover of a byte in a node with a cover part. */
  function coverAt(link: number, byte: number): number {
    const node = link & OFFSET_MASK;
    const ranks = (node + BITMAP_WORDS) << 2;
    const part =
      node +
      RANKED_WORDS +
      ((link & PATH_FLAG) === 0 ? 0 : PATH_WORDS) +
      nodeBytes[ranks + BITMAP_WORDS - 1]! +
      popcount(nodes[node + BITMAP_WORDS - 1]!);
    const word = byte >>> 5;
    // Runs that start at or before the byte, less one: the run that holds it.
    const upTo = nodes[part + word]! & (-1 >>> (31 - (byte & 31)));
    const rank = nodeBytes[((part + BITMAP_WORDS) << 2) + word]! + popcount(upTo);
    return nodes[part + COVER_WORDS - 1 + rank]!;
  }

  /** The link of a byte; `links` is the offset of the node's first link. */
  function linkAt(node: number, links: number, byte: number): number {
    const word = byte >>> 5;
    const bits = nodes[node + word]!;
    const bit = 1 << (byte & 31);
    if ((bits & bit) === 0) return 0;
    const rank = nodeBytes[((node + BITMAP_WORDS) << 2) + word]!;
    return nodes[links + rank + popcount(bits & (bit - 1))]!;
  }

  /** Number of the most specific entry that covers the address; 0 = none. */
  function find4(address: number): number {
    const cell = (address >>> 16) << 1;
    // The links passed: of a node at depth 16, of one at depth 24.
    let upper = 0;
    let lower = 0;
    let link = root[cell]!;
    if (link > 0 && (link & PATH_FLAG) === 0) {
      upper = link;
      const node = link & OFFSET_MASK;
      link = linkAt(node, node + RANKED_WORDS, (address >>> 8) & 255);
    }
    if (link > 0) {
      const node = link & OFFSET_MASK;
      let links = node + RANKED_WORDS;
      const skips = (link & PATH_FLAG) !== 0;
      if (skips) links += PATH_WORDS;
      if (!skips || (address ^ nodes[links - PATH_WORDS]!) >>> 8 === 0) {
        lower = link;
        link = linkAt(node, links, address & 255);
        // All 32 bits are decided: a leaf here is the address itself.
        if (link !== 0) return link & ENTRY_MASK;
      }
    } else if (link !== 0) {
      const entry = link & ENTRY_MASK;
      const key = rows[(entry << ROW_SHIFT) + KEY]!;
      if ((address ^ key) >>> ((link >>> WILD_SHIFT) & 31) === 0) return entry;
    }
    if ((lower & COVER_FLAG) !== 0) {
      const cover = coverAt(lower, address & 255);
      if (cover !== 0) return cover;
    }
    if ((upper & COVER_FLAG) !== 0) {
      const cover = coverAt(upper, (address >>> 8) & 255);
      if (cover !== 0) return cover;
    }
    return root[cell + 1]!;
  }

  /** Returns true when the address begins with the first `length` bits of the four words at `at`. */
  function matches(
    words: Int32Array,
    at: number,
    length: number,
    w0: number,
    w1: number,
    w2: number,
    w3: number,
  ): boolean {
    if (length === 128) {
      const last = (words[at + 3]! ^ w3) | (words[at + 2]! ^ w2);
      return (last | (words[at + 1]! ^ w1) | (words[at]! ^ w0)) === 0;
    }
    if (((words[at]! ^ w0) & ~hostMask(length)) !== 0) return false;
    if (length <= 32) return true;
    if (((words[at + 1]! ^ w1) & ~hostMask(length - 32)) !== 0) return false;
    if (length <= 64) return true;
    if (((words[at + 2]! ^ w2) & ~hostMask(length - 64)) !== 0) return false;
    return length <= 96 || ((words[at + 3]! ^ w3) & ~hostMask(length - 96)) === 0;
  }

  /** Does what `find4` does, for IPv6; the words are big-endian. */
  function find6(w0: number, w1: number, w2: number, w3: number): number {
    const cell = ROOT_6 + ((w0 >>> 16) << 1);
    let link = root[cell]!;
    let depth = 16;
    let levels = 0;
    while (link > 0) {
      const node = link & OFFSET_MASK;
      let links = node + RANKED_WORDS;
      if ((link & PATH_FLAG) !== 0) {
        depth = nodes[links + PATH_WORDS - 1]! & 255;
        if (!matches(nodes, links, depth, w0, w1, w2, w3)) {
          link = 0;
          break;
        }
        links += PATH_WORDS;
      }
      const word = depth < 64 ? (depth < 32 ? w0 : w1) : depth < 96 ? w2 : w3;
      const byte = (word >>> (24 - (depth & 24))) & 255;
      if ((link & COVER_FLAG) !== 0) {
        met[levels] = link;
        metBytes[levels++] = byte;
      }
      link = linkAt(node, links, byte);
      depth += 8;
    }
    if (link !== 0) {
      const block = (link & KEY_MASK) * KEY_WORDS;
      if (matches(keys, block, keys[block + KEY_LENGTH]!, w0, w1, w2, w3)) {
        return keys[block + KEY_ENTRY]!;
      }
    }
    while (levels > 0) {
      const cover = coverAt(met[--levels]!, metBytes[levels]!);
      if (cover !== 0) return cover;
    }
    return root[cell + 1]!;
  }

  /** `met[0..levels)` and the less specific entries of each one's node, deepest first. */
  function collect(levels: number, out: Int32Array): number {
    let count = 0;
    for (let level = levels - 1; level >= 0; level--) {
      let entry = met[level]!;
      while (entry !== 0) {
        if (count === out.length) return count;
        out[count++] = entry;
        entry = rows[(entry << ROW_SHIFT) + PARENT]!;
      }
    }
    return count;
  }

  /**
   * Writes all entries that cover the address into `out`, most specific first, and returns
   * their number. Stops when `out` is full: COVERING_MAX (129) always suffices, 33 for IPv4.
   */
  function covering4(address: number, out: Int32Array): number {
    const cell = (address >>> 16) << 1;
    let link = root[cell]!;
    let levels = 1;
    met[0] = root[cell + 1]!;
    for (let shift = 8; link > 0 && shift >= 0; shift -= 8) {
      const node = link & OFFSET_MASK;
      let links = node + RANKED_WORDS;
      if ((link & PATH_FLAG) !== 0) {
        if ((address ^ nodes[links]!) >>> 8 !== 0) return collect(levels, out);
        links += PATH_WORDS;
        shift = 0;
      }
      const byte = (address >>> shift) & 255;
      if ((link & COVER_FLAG) !== 0) met[levels++] = coverAt(link, byte);
      link = linkAt(node, links, byte);
    }
    if (link !== 0) {
      const entry = link & ENTRY_MASK;
      const key = rows[(entry << ROW_SHIFT) + KEY]!;
      if ((address ^ key) >>> ((link >>> WILD_SHIFT) & 31) === 0) met[levels++] = entry;
    }
    return collect(levels, out);
  }

  /**
   * Finds the only entry that covers each of many IPv4 addresses, each level of all of them before the next: so the
   * processor waits for many lines of memory at once, where look-ups one by one wait for one after the other.
   * @param count at most LOOKUPS_MAX
   * @param out takes the entry; 0 where there is none, -1 where `covering4` has to say, as there may be more
   */
  function sole4(addresses: Uint32Array, count: number, out: Int32Array): void {
    for (let i = 0; i < count; i++) {
      const cell = (addresses[i]! >>> 16) << 1;
      links[i] = root[cell]!;
      out[i] = root[cell + 1]!;
    }
    for (let i = 0; i < count; i++) {
      const link = links[i]!;
      if (link <= 0 || (link & PATH_FLAG) !== 0) continue;
      out[i]! |= link & COVER_FLAG;
      const node = link & OFFSET_MASK;
      links[i] = linkAt(node, node + RANKED_WORDS, (addresses[i]! >>> 8) & 255);
    }
    for (let i = 0; i < count; i++) {
      const link = links[i]!;
      if (link <= 0) continue;
      out[i]! |= link & COVER_FLAG;
      const node = link & OFFSET_MASK;
      const start = node + RANKED_WORDS;
      if ((link & PATH_FLAG) === 0) links[i] = linkAt(node, start, addresses[i]! & 255);
      else if ((addresses[i]! ^ nodes[start]!) >>> 8 !== 0) links[i] = 0;
      else links[i] = linkAt(node, start + PATH_WORDS, addresses[i]! & 255);
    }
    for (let i = 0; i < count; i++) {
      const link = links[i]!;
      const row = (link & ENTRY_MASK) << ROW_SHIFT;
      const differs = (addresses[i]! ^ rows[row + KEY]!) >>> ((link >>> WILD_SHIFT) & 31) !== 0;
      if (out[i] !== 0) out[i] = -1;
      else out[i] = differs ? 0 : link & ENTRY_MASK;
    }
  }

  function covering6(w0: number, w1: number, w2: number, w3: number, out: Int32Array): number {
    const cell = ROOT_6 + ((w0 >>> 16) << 1);
    let link = root[cell]!;
    let levels = 1;
    met[0] = root[cell + 1]!;
    let depth = 16;
    while (link > 0) {
      const node = link & OFFSET_MASK;
      let links = node + RANKED_WORDS;
      if ((link & PATH_FLAG) !== 0) {
        depth = nodes[links + PATH_WORDS - 1]! & 255;
        if (!matches(nodes, links, depth, w0, w1, w2, w3)) return collect(levels, out);
        links += PATH_WORDS;
      }
      const word = depth < 64 ? (depth < 32 ? w0 : w1) : depth < 96 ? w2 : w3;
      const byte = (word >>> (24 - (depth & 24))) & 255;
      if ((link & COVER_FLAG) !== 0) met[levels++] = coverAt(link, byte);
      link = linkAt(node, links, byte);
      depth += 8;
    }
    if (link !== 0) {
      const block = (link & KEY_MASK) * KEY_WORDS;
      if (matches(keys, block, keys[block + KEY_LENGTH]!, w0, w1, w2, w3)) {
        met[levels++] = keys[block + KEY_ENTRY]!;
      }
    }
    return collect(levels, out);
  }

  return {
    find4,
    find6,
    covering4,
    covering6,
    sole4,
    find: (family: IpFamily, words: Uint32Array): number =>
      family === 4 ? find4(words[0]!) : find6(words[0]!, words[1]!, words[2]!, words[3]!),
    covering: (family: IpFamily, words: Uint32Array, out: Int32Array): number =>
      family === 4
        ? covering4(words[0]!, out)
        : covering6(words[0]!, words[1]!, words[2]!, words[3]!, out),
  };
}

export type Lookup = ReturnType<typeof createLookup>;
