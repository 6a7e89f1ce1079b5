/** A slow index that is right by inspection: a map from prefix to value, asked per length. */

import { commonBits, comparePrefixes, hostMask, type IndexPrefix } from '../../src/index/prefix.ts';
import { widthOf } from '../../src/ip/prefix.ts';

export function masked(family: 4 | 6, words: ArrayLike<number>, length: number): IndexPrefix {
  const out = new Uint32Array(widthOf(family) >> 5);
  for (let word = 0; word < out.length; word++) {
    out[word] = words[word]! & ~hostMask(length - (word << 5));
  }
  return { family, words: out, length };
}

/** Says the same as `textOf`, sooner: each address is asked for at each length. */
function keyOf({ family, words, length }: IndexPrefix): string {
  return family === 4 ? `${words[0]}/${length}` : `${words.join()}/${length}`;
}

export function textOf({ family, words, length }: IndexPrefix): string {
  const hex = Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
  return `${family}:${hex}/${length}`;
}

export interface Golden {
  readonly entries: Map<string, { prefix: IndexPrefix; value: number }>;
  set(prefix: IndexPrefix, value: number): void;
  has(prefix: IndexPrefix): boolean;
  delete(prefix: IndexPrefix): boolean;
  /** Values of all entries that cover the address, most specific first. */
  covering(family: 4 | 6, words: Uint32Array): number[];
  /** Texts of the entries within `within`, in address order. */
  within(within: IndexPrefix): string[];
}

export function createGolden(): Golden {
  const entries = new Map<string, { prefix: IndexPrefix; value: number }>();
  return {
    entries,
    set: (prefix, value) => void entries.set(keyOf(prefix), { prefix, value }),
    has: (prefix) => entries.has(keyOf(prefix)),
    delete: (prefix) => entries.delete(keyOf(prefix)),
    covering(family, words) {
      const found: number[] = [];
      for (let length = widthOf(family); length >= 0; length--) {
        const entry = entries.get(keyOf(masked(family, words, length)));
        if (entry !== undefined) found.push(entry.value);
      }
      return found;
    },
    within(within) {
      return Array.from(entries.values(), (entry) => entry.prefix)
        .filter((prefix) => covers(within, prefix))
        .sort(comparePrefixes)
        .map(textOf);
    },
  };
}

function covers(outer: IndexPrefix, inner: IndexPrefix): boolean {
  return (
    outer.family === inner.family &&
    outer.length <= inner.length &&
    commonBits(outer.words, inner.words, outer.length) === outer.length
  );
}
