/**
 * Country and provider of an address from the compiled tables. A look-up reads a few words of
 * shared memory, allocates nothing and ends after at most 16 halvings (IPv6: and as many again
 * as a list's length has bits). Any thread opens its own reader over the same buffer.
 */

import { type IpFamily, readIp } from '../ip/address.ts';
import {
  aliasFlags,
  countryMask,
  countryOf,
  deepFlag,
  type GeoSections,
  providerMask,
  providerOf,
  readCounts,
  sectionsOf,
  unknownCountry,
  unknownProvider,
} from './layout.ts';

export type GeoReader = ReturnType<typeof openGeoReader>;

export { countryOf, providerOf, unknownCountry, unknownProvider } from './layout.ts';

/** Throws when `shared` was not made by `compileGeo` of this version. */
export function openGeoReader(shared: SharedArrayBuffer) {
  const counts = readCounts(shared);
  if (counts === undefined) throw new Error('not a compiled geo table of this version');
  const sections = sectionsOf(shared, counts);
  const { nameBytes, countryEnds, providerEnds, fragmentAts, usageIds, arena } = sections;
  return {
    /** Ids are 0 (unknown) .. count - 1. */
    countryCount: counts.countries,
    providerCount: counts.providers,
    ...finder(sections),
    /** Fragments of names, see layout.ts. */
    fragmentAts,
    usageIds,
    arena,
    /** ISO 3166-1 alpha-2 code, `ZZ` for id 0. Decoded at first use. */
    country: nameReader(nameBytes, countryEnds, unknownCountry),
    /** Name of the provider (ISP), `Unknown` for id 0. Decoded at first use. */
    provider: nameReader(nameBytes, providerEnds, unknownProvider),
  };
}

function nameReader(bytes: Uint8Array, ends: Uint32Array, unknown: string): (id: number) => string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const cache: (string | undefined)[] = new Array(ends.length - 1);
  cache[0] = unknown;
  return (id) => {
    const cached = cache[id];
    if (cached !== undefined) return cached;
    if (!(id > 0 && id < ends.length - 1)) return unknown;
    const name = text.toString('utf8', ends[id]!, ends[id + 1]!);
    cache[id] = name;
    return name;
  };
}

/**
 * Returns both ids of an address in one number; take them apart with `countryOf` and `providerOf`.
 * `words` as `parseIp` leaves them.
 */
type Find = (family: IpFamily, words: Uint32Array) => number;
/**
 * Writes what `find` returns for each of many IPv4 addresses into `out`, and reads where the names of their providers
 * begin. Each step is that of all before the next, so that the processor waits for many lines of memory at once.
 */
type FindMany = (addresses: Uint32Array, count: number, out: Uint32Array) => void;

function finder(sections: GeoSections): { readonly find: Find; readonly findMany: FindMany } {
  const { header, root4, low4, value4, root6, low6, value6 } = sections;
  const { deepRoot, deepWord1, deepWord2, deepWord3, deepValue } = sections;
  const { fragmentAts, arena } = sections;
  const flags = header[2]!;
  const countries = sections.countryEnds.length - 1;
  // biome-ignore lint/correctness/noUnusedVariables: keeps reads whose result nobody needs
  let touched = 0;
  const sixToFour = aliasMask(flags, aliasFlags.countrySixToFour, aliasFlags.providerSixToFour);
  const teredo = aliasMask(flags, aliasFlags.countryTeredo, aliasFlags.providerTeredo);

  /**
   * Last entry of the chunk of `word` that begins at or before its lower half. The step is
   * arithmetic instead of a branch: which half holds the address can't be predicted.
   */
  function entryOf(root: Uint32Array, lows: Uint16Array, word: number): number {
    const high = word >>> 16;
    const low = word & 0xffff;
    let from = root[high]!;
    let length = root[high + 1]! - from;
    while (length > 1) {
      const half = length >>> 1;
      // All ones when the entry begins behind the address.
      const behind = (low - lows[from + half]!) >> 31;
      from += half & ~behind;
      length -= half;
    }
    return from;
  }

  function findDeep(list: number, words: Uint32Array): number {
    const w1 = words[1]!;
    const w2 = words[2]!;
    const w3 = words[3]!;
    let from = deepRoot[list]!;
    let to = deepRoot[list + 1]! - 1;
    while (from < to) {
      const middle = (from + to + 1) >>> 1;
      const d1 = deepWord1[middle]!;
      const d2 = deepWord2[middle]!;
      if (d1 < w1 || (d1 === w1 && (d2 < w2 || (d2 === w2 && deepWord3[middle]! <= w3)))) {
        from = middle;
      } else to = middle - 1;
    }
    return deepValue[from]!;
  }

  function find6(words: Uint32Array): number {
    const value = value6[entryOf(root6, low6, words[0]!)]!;
    return value < deepFlag ? value : findDeep(value - deepFlag, words);
  }

  function find4(word: number): number {
    return value4[entryOf(root4, low4, word)]!;
  }

  function findMany(addresses: Uint32Array, count: number, out: Uint32Array): void {
    for (let i = 0; i < count; i++) out[i] = root4[addresses[i]! >>> 16]!;
    for (let i = 0; i < count; i++) out[i] = entryOf(root4, low4, addresses[i]!);
    for (let i = 0; i < count; i++) out[i] = value4[out[i]!]!;
    for (let i = 0; i < count; i++) touched ^= fragmentAts[countries + providerOf(out[i]!)]!;
    for (let i = 0; i < count; i++) {
      touched ^= arena[fragmentAts[countries + providerOf(out[i]!)]!]!;
    }
  }

  const find: Find = (family, words) => {
    const w0 = words[0]!;
    if (family === 4) return find4(w0);
    const value = find6(words);
    if (w0 >>> 16 === 0x2002 && sixToFour !== 0) {
      const embedded = ((w0 << 16) | (words[1]! >>> 16)) >>> 0;
      return (value & ~sixToFour) | (find4(embedded) & sixToFour);
    }
    if (w0 === 0x2001_0000 && teredo !== 0) {
      return (value & ~teredo) | (find4(words[1]!) & teredo);
    }
    return value;
  };
  return { find, findMany };
}

/** The halves of a value that an alias takes from the IPv4 table. */
function aliasMask(flags: number, countryFlag: number, providerFlag: number): number {
  return (flags & countryFlag ? countryMask : 0) | (flags & providerFlag ? providerMask : 0);
}

/** Country of a client address as text, `ZZ` when unknown. */
export function clientCountry(geo: GeoReader, clientIp: string): string {
  const ip = readIp(clientIp);
  return ip === undefined ? unknownCountry : geo.country(countryOf(geo.find(ip.family, ip.words)));
}

export type GeoFragments = ReturnType<typeof createGeoFragments>;

/**
 * Country, provider and use of an address as ready JSON, so that a check quotes no name: fragments copied as
 * bytes.
 */
export function createGeoFragments(geo: GeoReader) {
  const { arena, fragmentAts, usageIds, countryCount, providerCount } = geo;

  let provider = 0;

  function copy(view: DataView, at: number, id: number): number {
    const from = fragmentAts[id]! + 1;
    const length = arena[from - 1]!;
    // Eight words are all of most fragments: no loop ends where the processor can’t foretell it.
    view.setInt32(at, arena[from]!, true);
    view.setInt32(at + 4, arena[from + 1]!, true);
    view.setInt32(at + 8, arena[from + 2]!, true);
    view.setInt32(at + 12, arena[from + 3]!, true);
    view.setInt32(at + 16, arena[from + 4]!, true);
    view.setInt32(at + 20, arena[from + 5]!, true);
    view.setInt32(at + 24, arena[from + 6]!, true);
    view.setInt32(at + 28, arena[from + 7]!, true);
    const words = (length + 3) >>> 2;
    for (let i = 8; i < words; i++) view.setInt32(at + 4 * i, arena[from + i]!, true);
    return at + length;
  }

  /**
   * Writes `,"countryCode":"FR","isp":"…"` as UTF-8, to stand behind other members of an object. Whole words are
   * written, eight at least: up to 32 bytes behind it are overwritten.
   * @param ids of the address, where they are known
   * @returns the offset behind it
   */
  function write(
    view: DataView,
    at: number,
    family: IpFamily,
    words: Uint32Array,
    ids = geo.find(family, words),
  ): number {
    provider = providerOf(ids);
    return copy(view, copy(view, at, countryOf(ids)), countryCount + provider);
  }

  /** Writes `,"usageType":"…","domain":"…"` of the address that `write` wrote last, as `write` does. */
  function writeUsage(view: DataView, at: number): number {
    return copy(view, at, countryCount + providerCount + usageIds[provider]!);
  }

  return { write, writeUsage };
}
