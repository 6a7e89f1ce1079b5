/** A network without some ranges inside it, as the fewest networks that make up the rest. */

import { contains, maskWords, type Prefix, widthOf } from '../ip/prefix.ts';

/**
 * @param holes prefixes inside `prefix` or equal to it, in any order
 * @returns in address order; empty when nothing is left. At most one network for each bit of
 * each hole.
 */
export function withoutHoles(prefix: Prefix, holes: readonly Prefix[]): Prefix[] {
  if (holes.length === 0) return [prefix];
  if (holes.some((hole) => hole.length <= prefix.length)) return [];
  return [0, 1].flatMap((bit) => {
    const half = halfOf(prefix, bit);
    return withoutHoles(
      half,
      holes.filter((hole) => contains(half, hole.family, hole.words)),
    );
  });
}

function halfOf({ family, words, length }: Prefix, bit: number): Prefix {
  if (length >= widthOf(family)) throw new RangeError('a host has no halves');
  const half = words.slice();
  if (bit === 1) half[length >>> 5]! |= 1 << (31 - (length & 31));
  maskWords(family, half, length + 1);
  return { family, words: half, length: length + 1 };
}
