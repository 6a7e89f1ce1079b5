/**
 * The layout of the compiled tables in one SharedArrayBuffer, which is also the body of the snapshot
 * file. All numbers are native little-endian words; sections follow one another, each padded
 * to four bytes:
 *
 *   header       u32[16]   magic, version, flags, then the counts below
 *   root4        u32[65537]  chunk of IPv4 entries for each upper half-word
 *   value4       u32[n4]
 *   root6        u32[65537]  the same for the first word of an IPv6 address
 *   value6       u32[n6]
 *   deepRoot     u32[d + 1]  list of deep entries for each split first word
 *   deepWord1..3 u32[m] x 3  the other three words, sorted within a list
 *   deepValue    u32[m]
 *   countryEnds  u32[c + 1]  ends of the names in nameBytes, name 0 being empty
 *   providerEnds u32[p + 1]
 *   low4         u16[n4]     lower half-word where an entry begins
 *   low6         u16[n6]
 *   nameBytes    u8[b]       UTF-8, countries first
 *   fragmentAts  u32[c + p + s]  number of the word in the arena where a fragment begins
 *   usageIds     u16[p]      number of what the provider's addresses are used for, of s
 *   arena        u32[a]      fragments: length in bytes, then the bytes, padded
 *
 * A fragment is a name as JSON with what stands before it, `,"countryCode":"FR",`, `"isp":"…"` and
 * `,"usageType":"…","domain":"…"`, so that an answer copies words where it would quote names.
 *
 * The entries of upper half-word h are root[h] .. root[h + 1] - 1; the first begins at 0, so a
 * look-up reads two words and halves a short list. A value holds both ids:
 *
 *    31  30        21 20                    0
 *   [ 0 | country id |      provider id      ]
 *   [ 1 |        number of a deep list       ]   only in value6
 */

export const geoMagic = 0x4f45_4750;
/** Goes up with the rules of usage.ts too: what they said is in the tables. */
export const geoVersion = 3;
const headerWords = 16;
export const rootLength = 65_537;
/** The texts for the empty name, which is the first of each table. */
export const unknownCountry = 'ZZ';
export const unknownProvider = 'Unknown';
/** In a value of the first IPv6 level: the first word alone does not decide. */
export const deepFlag = 0x8000_0000;

/** Bits of the header's flags: the alias asks the IPv4 table for that half of the value. */
export const aliasFlags = {
  countrySixToFour: 1,
  countryTeredo: 2,
  providerSixToFour: 4,
  providerTeredo: 8,
} as const;

const providerBits = 21;

export function packValue(countryId: number, providerId: number): number {
  return countryId * 2 ** providerBits + providerId;
}

export function countryOf(value: number): number {
  return value >>> providerBits;
}

export function providerOf(value: number): number {
  return value & (2 ** providerBits - 1);
}

export const countryMask = 0x7fff_ffff & ~(2 ** providerBits - 1);
export const providerMask = 2 ** providerBits - 1;

export interface GeoCounts {
  readonly entries4: number;
  readonly entries6: number;
  readonly deepLists: number;
  readonly deepEntries: number;
  readonly countries: number;
  readonly providers: number;
  readonly usages: number;
  readonly nameBytes: number;
  readonly arenaWords: number;
}

export interface GeoSections {
  readonly header: Uint32Array;
  readonly root4: Uint32Array;
  readonly value4: Uint32Array;
  readonly root6: Uint32Array;
  readonly value6: Uint32Array;
  readonly deepRoot: Uint32Array;
  readonly deepWord1: Uint32Array;
  readonly deepWord2: Uint32Array;
  readonly deepWord3: Uint32Array;
  readonly deepValue: Uint32Array;
  readonly countryEnds: Uint32Array;
  readonly providerEnds: Uint32Array;
  readonly low4: Uint16Array;
  readonly low6: Uint16Array;
  readonly nameBytes: Uint8Array;
  readonly fragmentAts: Uint32Array;
  readonly usageIds: Uint16Array;
  readonly arena: Uint32Array;
}

/** Lengths, in elements, of the sections of 32-bit words in the order of the layout. */
function wordLengths(counts: GeoCounts): number[] {
  const { entries4, entries6, deepLists, deepEntries, countries, providers } = counts;
  const deep = [deepLists + 1, deepEntries, deepEntries, deepEntries, deepEntries];
  const roots = [headerWords, rootLength, entries4, rootLength, entries6];
  return [...roots, ...deep, countries + 1, providers + 1];
}

function evenly(length: number): number {
  return length + (length & 1);
}

export function byteLengthOf(counts: GeoCounts): number {
  const words = wordLengths(counts).reduce((sum, length) => sum + length, 0);
  const halves = evenly(counts.entries4) + evenly(counts.entries6);
  const fragments = counts.countries + counts.providers + counts.usages + counts.arenaWords;
  return (
    words * 4 +
    (halves + evenly(counts.providers)) * 2 +
    Math.ceil(counts.nameBytes / 4) * 4 +
    fragments * 4
  );
}

/** Views of the sections. The buffer must be `byteLengthOf(counts)` long. */
export function sectionsOf(shared: SharedArrayBuffer, counts: GeoCounts): GeoSections {
  let offset = 0;
  const words = wordLengths(counts).map((length) => {
    const view = new Uint32Array(shared, offset, length);
    offset += length * 4;
    return view;
  });
  const low4 = new Uint16Array(shared, offset, counts.entries4);
  offset += evenly(counts.entries4) * 2;
  const low6 = new Uint16Array(shared, offset, counts.entries6);
  offset += evenly(counts.entries6) * 2;
  const nameBytes = new Uint8Array(shared, offset, counts.nameBytes);
  offset += Math.ceil(counts.nameBytes / 4) * 4;
  const { countries, providers, usages } = counts;
  const fragmentAts = new Uint32Array(shared, offset, countries + providers + usages);
  offset += fragmentAts.byteLength;
  const usageIds = new Uint16Array(shared, offset, providers);
  offset += evenly(providers) * 2;
  const arena = new Uint32Array(shared, offset, counts.arenaWords);
  return {
    header: words[0]!,
    root4: words[1]!,
    value4: words[2]!,
    root6: words[3]!,
    value6: words[4]!,
    deepRoot: words[5]!,
    deepWord1: words[6]!,
    deepWord2: words[7]!,
    deepWord3: words[8]!,
    deepValue: words[9]!,
    countryEnds: words[10]!,
    providerEnds: words[11]!,
    low4,
    low6,
    nameBytes,
    fragmentAts,
    usageIds,
    arena,
  };
}

export function writeHeader(header: Uint32Array, flags: number, counts: GeoCounts): void {
  const { entries4, entries6, deepLists, deepEntries, countries, providers, nameBytes } = counts;
  const tail = [entries4, entries6, deepLists, deepEntries, countries, providers, nameBytes];
  header.set([geoMagic, geoVersion, flags, ...tail, counts.arenaWords, counts.usages]);
}

/** The counts in the header, or undefined when the buffer does not hold tables of this version. */
export function readCounts(shared: SharedArrayBuffer): GeoCounts | undefined {
  if (shared.byteLength < headerWords * 4 || shared.byteLength % 4 !== 0) return undefined;
  const header = new Uint32Array(shared, 0, headerWords);
  if (header[0] !== geoMagic || header[1] !== geoVersion) return undefined;
  const counts = {
    entries4: header[3]!,
    entries6: header[4]!,
    deepLists: header[5]!,
    deepEntries: header[6]!,
    countries: header[7]!,
    providers: header[8]!,
    nameBytes: header[9]!,
    arenaWords: header[10]!,
    usages: header[11]!,
  };
  return byteLengthOf(counts) === shared.byteLength ? counts : undefined;
}
