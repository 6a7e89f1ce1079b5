/** Seeded prefixes that collide on purpose: shared bytes, nesting, edges of the address space. */

import type { IndexPrefix } from '../../src/index/prefix.ts';
import { widthOf } from '../../src/ip/prefix.ts';
import { seededRandom } from '../support/seeded.ts';
import { masked } from './golden.ts';

export interface Sample {
  next(): number;
  below(limit: number): number;
  /** An address of few distinct bytes, near others. */
  address(family: 4 | 6): Uint32Array;
  prefix(family: 4 | 6): IndexPrefix;
  shuffle<T>(items: T[]): T[];
}

const EDGE_BYTES = [0, 1, 31, 32, 127, 128, 254, 255];

export function createSample(seed: number): Sample {
  const { next } = seededRandom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);

  function address(family: 4 | 6): Uint32Array {
    const words = new Uint32Array(widthOf(family) >> 5);
    // A random number of leading bytes is common to all, so that paths share and part anywhere.
    const shared = below(words.length * 4 + 1);
    for (let byte = 0; byte < words.length * 4; byte++) {
      const value = byte < shared ? [32, 1, 13, 184][byte & 3]! : EDGE_BYTES[below(8)]!;
      words[byte >> 2]! |= (next() < 0.1 ? below(256) : value) << (24 - (byte & 3) * 8);
    }
    return words;
  }

  return {
    next,
    below,
    address,
    prefix(family) {
      const bits = widthOf(family);
      const length = next() < 0.4 ? bits : below(bits + 1);
      return masked(family, address(family), length);
    },
    shuffle(items) {
      for (let i = items.length - 1; i > 0; i--) {
        const j = below(i + 1);
        [items[i], items[j]] = [items[j]!, items[i]!];
      }
      return items;
    },
  };
}

/** Every prefix of an address, /0 to the host. */
export function chain(family: 4 | 6, words: Uint32Array): IndexPrefix[] {
  return Array.from({ length: widthOf(family) + 1 }, (_, length) => masked(family, words, length));
}
