/**
 * Groups of networks that an operator names as a whole: an autonomous system (`AS64500`) or a country (`FR`), and the
 * ranges of a country out of the compiled tables. Those of a system are in `systems/`.
 */

import { type IpFamily, wordCountOf } from '../ip/address.ts';
import type { IpRange } from '../ip/prefix.ts';
import { countryOf, deepFlag, type GeoSections, readCounts, sectionsOf } from './layout.ts';
import { openGeoReader } from './reader.ts';

export type NetworkGroup =
  | { readonly kind: 'system'; readonly number: number }
  | { readonly kind: 'country'; readonly code: string };

/** The last number is reserved (RFC 7300), and so is 0 (RFC 7607). */
const systemMax = 2 ** 32 - 2;
const regionNames = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' });
/** Tables of registries have it, though it is no country. */
const asiaPacific = 'AP';

/** Returns the group that a text names, why it names none, or undefined for a text of another kind. */
export function parseNetworkGroup(text: string): NetworkGroup | string | undefined {
  const [, digits] = /^AS ?(\d{1,10})$/i.exec(text) ?? [];
  if (digits !== undefined) {
    const number = Number(digits);
    const isNumber = number >= 1 && number <= systemMax;
    return isNumber ? { kind: 'system', number } : `AS${number} is the number of no network`;
  }
  if (!/^[a-z]{2}$/i.test(text)) return undefined;
  const code = text.toUpperCase();
  const isKnown = code !== 'ZZ' && (code === asiaPacific || regionNames.of(code) !== undefined);
  return isKnown ? { kind: 'country', code } : `${code} is the code of no country`;
}

/** Codes of more than one country, and of none: tables name the countries. */
const unions = ['EU', 'EZ', 'QO', 'UN', 'XA', 'XB'];

/**
 * Returns why the tables have no network under this code: another one is in use, as GB for UK, or it is of no
 * one country.
 */
export function faultOfCountry(code: string): string | undefined {
  const today = Intl.getCanonicalLocales(`und-${code}`)[0]!.slice(-2);
  if (today !== code) return `${code} is the code of no country: name ${today}`;
  return unions.includes(code) ? `${code} is no country: name each country of it` : undefined;
}

/** Writes a group as `parseNetworkGroup` reads it: two capital letters first, as no address begins. */
export function groupName(group: NetworkGroup): string {
  return group.kind === 'system' ? `AS${group.number}` : group.code;
}

/** Ranges in the order of their addresses, IPv4 first, as look-ups of the same tables answer. */
export function* rangesOfCountry(shared: SharedArrayBuffer, code: string): Generator<IpRange> {
  const counts = readCounts(shared);
  if (counts === undefined) throw new Error('not a compiled geo table of this version');
  const sections = sectionsOf(shared, counts);
  const reader = openGeoReader(shared);
  let id = 1;
  while (id < counts.countries && reader.country(id) !== code) id++;
  if (id === counts.countries) return;
  yield* rangesOf(4, starts4(sections), id);
  yield* rangesOf(6, starts6(sections), id);
}

/** The first address of an entry, which holds until the next one begins, and the value of the entry. */
type Start = { readonly words: readonly number[]; readonly value: number };

function* rangesOf(family: IpFamily, starts: Iterable<Start>, id: number): Generator<IpRange> {
  let first: Uint32Array | undefined;
  for (const { words, value } of starts) {
    const isOfIt = countryOf(value) === id;
    if (isOfIt && first === undefined) {
      first = new Uint32Array(4);
      first.set(words);
    } else if (!isOfIt && first !== undefined) {
      yield { family, first, last: before(words) };
      first = undefined;
    }
  }
  if (first === undefined) return;
  const last = new Uint32Array(4).fill(0xffff_ffff, 0, wordCountOf(family));
  yield { family, first, last };
}

function before(words: readonly number[]): Uint32Array {
  const last = new Uint32Array(4);
  last.set(words);
  for (let i = words.length - 1; i >= 0; i--) {
    const word = last[i]!;
    last[i] = word - 1;
    if (word !== 0) break;
  }
  return last;
}

function* starts4({ root4, low4, value4 }: GeoSections): Generator<Start> {
  for (const [word, at] of entriesOf(root4, low4)) yield { words: [word], value: value4[at]! };
}

function* starts6(sections: GeoSections): Generator<Start> {
  const { root6, low6, value6, deepRoot, deepWord1, deepWord2, deepWord3, deepValue } = sections;
  for (const [word, at] of entriesOf(root6, low6)) {
    const value = value6[at]!;
    if (value < deepFlag) {
      yield { words: [word, 0, 0, 0], value };
      continue;
    }
    const list = value - deepFlag;
    for (let i = deepRoot[list]!; i < deepRoot[list + 1]!; i++) {
      yield { words: [word, deepWord1[i]!, deepWord2[i]!, deepWord3[i]!], value: deepValue[i]! };
    }
  }
}

/** Yields the word at which each entry begins, and the number of the entry. */
function* entriesOf(root: Uint32Array, lows: Uint16Array): Generator<[word: number, at: number]> {
  for (let high = 0; high + 1 < root.length; high++) {
    for (let at = root[high]!; at < root[high + 1]!; at++) yield [high * 65_536 + lows[at]!, at];
  }
}
