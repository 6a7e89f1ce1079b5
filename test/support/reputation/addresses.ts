/** Seeded random addresses, texts and mutations, spelled by code apart from the code under test. */

import type { IpFamily } from '../../../src/ip/address.ts';
import { seededRandom } from '../seeded.ts';

export type Seeded = ReturnType<typeof seededRandom>;

/** A generator whose seed is in the name of every failure: `label(seed)`. */
export function seeded(seed: number): Seeded {
  return seededRandom(seed);
}

export function below(random: Seeded, limit: number): number {
  return Math.floor(random.next() * limit);
}

export function pick<T>(random: Seeded, items: readonly T[]): T {
  return items[below(random, items.length)]!;
}

export function randomWord(random: Seeded): number {
  return below(random, 0x1_0000_0000);
}

/** Eight groups, zero-rich so that `::` occurs in every place. */
export function randomGroups(random: Seeded): number[] {
  const zeroShare = random.next();
  return Array.from({ length: 8 }, () =>
    random.next() < zeroShare ? 0 : below(random, random.next() < 0.3 ? 256 : 65_536),
  );
}

export function groupsToWords(groups: readonly number[]): Uint32Array {
  return Uint32Array.from([0, 2, 4, 6], (i) => groups[i]! * 65_536 + groups[i + 1]!);
}

export function quadText(word: number): string {
  return [24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join('.');
}

/** One of the many valid spellings of an IPv6 address: case, padding, `::`, dotted tail. */
export function spellGroups(random: Seeded, groups: readonly number[]): string {
  const dotted = random.next() < 0.2;
  const shown = dotted ? groups.slice(0, 6) : groups;
  const texts = shown.map((group) => {
    const padded = random.next() < 0.3 ? group.toString(16).padStart(4, '0') : group.toString(16);
    return random.next() < 0.3 ? padded.toUpperCase() : padded;
  });
  if (dotted) texts.push(quadText(groups[6]! * 65_536 + groups[7]!));
  const runs: [number, number][] = [];
  for (let from = 0; from < shown.length; from++) {
    for (let to = from + 1; to <= shown.length && shown[to - 1] === 0; to++) runs.push([from, to]);
  }
  if (runs.length === 0 || random.next() < 0.3) return texts.join(':');
  const [from, to] = pick(random, runs);
  return `${texts.slice(0, from).join(':')}::${texts.slice(to).join(':')}`;
}

const alphabet = '0123456789abcdefABCDEF::::....g-/%[] \t\n\u0000\u0660\uff11x+';

/** Changes one to three characters: inserts, deletes, replaces, doubles, swaps. */
export function mutate(random: Seeded, text: string): string {
  for (let n = 1 + below(random, 3); n > 0; n--) {
    const at = below(random, text.length + 1);
    const char = alphabet[below(random, alphabet.length)]!;
    const kind = below(random, 5);
    if (kind === 0) text = text.slice(0, at) + char + text.slice(at);
    else if (kind === 1) text = text.slice(0, at) + text.slice(at + 1);
    else if (kind === 2) text = text.slice(0, at) + char + text.slice(at + 1);
    else if (kind === 3) text = text.slice(0, at) + text.slice(Math.max(0, at - 2));
    else text = text.slice(at) + text.slice(0, at);
  }
  return text;
}

export function randomGarbage(random: Seeded): string {
  let text = '';
  for (let n = below(random, 50); n > 0; n--) text += alphabet[below(random, alphabet.length)];
  return text;
}

export function wordsToBigInt(family: IpFamily, words: Uint32Array): bigint {
  if (family === 4) return BigInt(words[0]!);
  return words.reduce((value, word) => (value << 32n) | BigInt(word), 0n);
}

export function bigIntToWords(family: IpFamily, value: bigint): Uint32Array {
  if (family === 4) return Uint32Array.of(Number(value), 0, 0, 0);
  return Uint32Array.from([96n, 64n, 32n, 0n], (shift) => Number((value >> shift) & 0xffffffffn));
}
