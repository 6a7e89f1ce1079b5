/**
 * The layout of the trie in shared memory: every offset, tag and mask stands here and nowhere
 * else. All structures are arrays of 32-bit words; a word is written whole, so a reader sees
 * its old or its new value and never a mixture.
 *
 * ROOT, one per family: 65,536 cells of two words, indexed by the first 16 bits of an address.
 *
 *     cell c     +0  link: what lies beneath c with a length of 16 or more
 *                +1  cover: most specific entry with a length of 0..15 that covers c, or 0
 *
 * LINK, one word, in a root cell or in a node:
 *
 *     0                                             nothing
 *     0 C P 0 oooooooooooooooooooooooooooo          node at word offset o (28 bits) of the arena
 *       │ └ the node has a path part                (C and P stand in the link, so that a
 *       └── the node has a cover part               reader never loads a header for them)
 *     1 hhhhh eeeeeeeeeeeeeeeeeeeeeeeeee            IPv4 leaf: entry e (26 bits), the only one
 *                                                   beneath the link; h = 32 - length
 *     1 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb             IPv6 leaf: key block b, which names the entry
 *
 * NODE at bit depth d (a multiple of 8) decides bits d..d+7 of an address:
 *
 *     +0..7      link bitmap: bit i of 256 says that byte i has a link
 *     +8..9      eight bytes; byte w = number of links in bitmap words before w
 *     ── path part, if P: the node skips bits, so an address must be compared ──
 *     +0..3      the first d bits of every address beneath the node, then zeros (IPv4: +0);
 *                but the last byte of +3 is d: it is free, since d is at most 120
 *     ── links ──
 *     ...        one link word for each bit of the link bitmap, in order
 *     ── cover part, if C: the node holds entries with a length of d..d+7 ──
 *     +0..7      run bitmap: bit i says that a run of equal covers starts at byte i; bit 0 is set
 *     +8..9      eight bytes; byte w = number of runs in bitmap words before w
 *     +10        r = number of runs
 *     +11..      r words: most specific entry with a length of d..d+7 that covers the run, or 0
 *
 * An entry of length l in a node at depth d is a cover when l - d < 8, else it lies in the link
 * of its next byte: alone as a leaf, or with others in a child node. A node's depth is the
 * deepest multiple of 8 up to which all entries beneath it agree, so that it has at least two
 * of them and n entries never make more than n nodes, whatever an attacker chooses.
 *
 * Nodes begin on a cache line (64 bytes): bitmap, ranks, path and the first two links are one
 * line, so a node of two hosts is one miss, and a larger one two.
 *
 * Covers are not pushed down into child nodes: an insertion above a million hosts touches one node,
 * or at most 65,536 root cells. A look-up goes down by the links alone, and only if it ends without
 * a leaf checks the covers on its way, deepest first.
 *
 * KEY BLOCK, one per IPv6 entry, six words: address (4), entry, length.
 * ROW, one per entry, eight words = half a cache line: see records.ts.
 */

export const ROOT_BITS = 16;
const ROOT_CELLS = 1 << ROOT_BITS;
/** Words of both roots: the IPv4 cells, then the IPv6 cells. */
export const ROOT_WORDS = 4 * ROOT_CELLS;
/** Word offset of the first IPv6 cell. */
export const ROOT_6 = 2 * ROOT_CELLS;

export const COVER_FLAG = 0x4000_0000;
export const PATH_FLAG = 0x2000_0000;
export const OFFSET_MASK = 0x0fff_ffff;
export const ENTRY_MASK = 0x03ff_ffff;
/** Position of h in an IPv4 leaf. */
export const WILD_SHIFT = 26;
export const KEY_MASK = 0x7fff_ffff;

export const BITMAP_WORDS = 8;
/** Bitmap and its rank bytes. */
export const RANKED_WORDS = 10;
export const PATH_WORDS = 4;
/** Ranked run bitmap and the number of runs, without the runs. */
export const COVER_WORDS = 11;
/** Ranked bitmap, path, cover part with 256 runs, 256 links. */
export const NODE_WORDS_MAX = RANKED_WORDS + PATH_WORDS + COVER_WORDS + 512;
/** The node at depth 16 and one for each further byte. */
export const NODE_LEVELS_MAX = 14;

export const KEY_WORDS = 6;
export const KEY_ENTRY = 4;
export const KEY_LENGTH = 5;

/** Entries that may cover one address: an IPv6 address has lengths 0 to 128. */
export const COVERING_MAX = 129;

/** Set bits of a 32-bit word. Node 20 has no instruction for it; about 1.5 ns. */
export function popcount(word: number): number {
  word -= (word >>> 1) & 0x5555_5555;
  word = (word & 0x3333_3333) + ((word >>> 2) & 0x3333_3333);
  return Math.imul((word + (word >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
