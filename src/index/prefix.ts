/**
 * Bit arithmetic on prefixes, the same for both families: an address is four big-endian
 * 32-bit words (IPv4 uses the first). Bits past the length of a prefix are zero; `isPrefix`
 * is the one place that checks this.
 */

import type { IpFamily } from '../ip/address.ts';
import { widthOf } from '../ip/prefix.ts';

export interface IndexPrefix {
  readonly family: IpFamily;
  /** Big-endian words: one or more for IPv4 (the first counts), four for IPv6. */
  readonly words: Uint32Array;
  /** 0..32 or 0..128. */
  readonly length: number;
}

/** Returns true when length, word count and masking are right. */
export function isPrefix({ family, words, length }: IndexPrefix): boolean {
  const bits = widthOf(family);
  if (!Number.isInteger(length) || length < 0 || length > bits) return false;
  if (words.length < bits >> 5) return false;
  for (let word = 0; word < bits >> 5; word++) {
    if (((words[word]! & hostMask(length - (word << 5))) | 0) !== 0) return false;
  }
  return true;
}

/** Mask of the bits of one word that lie past its first `length` bits; any integer will do. */
export function hostMask(length: number): number {
  if (length <= 0) return -1;
  return length >= 32 ? 0 : -1 >>> length;
}

/** The eight bits that start at bit `depth`, a multiple of 8 below 128. */
export function byteAt(words: Uint32Array, depth: number): number {
  return (words[depth >> 5]! >>> (24 - (depth & 24))) & 255;
}

/** Number of leading bits that `a` and `b` share, at most `limit` (0..128). */
export function commonBits(a: Uint32Array, b: Uint32Array, limit: number): number {
  for (let word = 0; word << 5 < limit; word++) {
    const difference = a[word]! ^ b[word]!;
    if (difference !== 0) return Math.min(limit, (word << 5) + Math.clz32(difference));
  }
  return limit;
}

/** Address order; a shorter prefix comes before the longer ones beneath it. */
export function comparePrefixes(a: IndexPrefix, b: IndexPrefix): number {
  if (a.family !== b.family) return a.family - b.family;
  for (let word = 0; word < widthOf(a.family) >> 5; word++) {
    if (a.words[word] !== b.words[word]) return a.words[word]! < b.words[word]! ? -1 : 1;
  }
  return a.length - b.length;
}
