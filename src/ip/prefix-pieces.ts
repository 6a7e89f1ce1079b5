/** A network without some ranges inside it, as the fewest networks that make up the rest. */

import { maskWords, type Prefix, widthOf } from './prefix.ts';

/**
 * Pieces in address order, none when nothing is left: at most one for each bit of each hole.
 * They are made one at a time, so that a long row of them may be broken by other work.
 * @param holes prefixes inside `prefix` or equal to it, in address order, the wider one first
 */
export function withoutHoles(prefix: Prefix, holes: readonly Prefix[]): Generator<Prefix> {
  return rest(prefix, holes, 0, holes.length);
}

/** @param from and `to`: the holes that lie in `prefix` */
function* rest(
  prefix: Prefix,
  holes: readonly Prefix[],
  from: number,
  to: number,
): Generator<Prefix> {
  if (from === to) {
    yield prefix;
    return;
  }
  if (holes[from]!.length <= prefix.length) return;
  const high = halfOf(prefix, 1);
  const middle = firstFrom(high.words, holes, from, to);
  yield* rest(halfOf(prefix, 0), holes, from, middle);
  yield* rest(high, holes, middle, to);
}

/** Number of the first hole that does not begin before `words`. */
function firstFrom(words: Uint32Array, holes: readonly Prefix[], from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(holes[middle]!.words, words)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: Uint32Array, b: Uint32Array): boolean {
  for (let word = 0; word < 4; word++) {
    if (a[word] !== b[word]) return a[word]! < b[word]!;
  }
  return false;
}

function halfOf({ family, words, length }: Prefix, bit: number): Prefix {
  if (length >= widthOf(family)) throw new RangeError('a host has no halves');
  const half = words.slice();
  if (bit === 1) half[length >>> 5]! |= 1 << (31 - (length & 31));
  maskWords(family, half, length + 1);
  return { family, words: half, length: length + 1 };
}
