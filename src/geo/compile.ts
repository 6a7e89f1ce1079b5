/**
 * Country and provider partitions into one shared buffer: the two are merged, so that one
 * search answers both. layout.ts draws the result.
 */

import {
  aliasFlags,
  byteLengthOf,
  deepFlag,
  type GeoCounts,
  type GeoSections,
  packValue,
  rootLength,
  sectionsOf,
  unknownCountry,
  unknownProvider,
  writeHeader,
} from './layout.ts';
import { compareAt, type Partition } from './partition.ts';
import { usageOf } from './usage.ts';

/** One kind of answer (countries or providers) for the whole of both address spaces. */
export interface GeoTable {
  readonly v4: Partition;
  readonly v6: Partition;
  /** By id; entry 0 is empty and means unknown. */
  readonly names: readonly string[];
  /** The source takes 2002::/16 to the IPv4 address inside. */
  readonly sixToFour: boolean;
  /** The source takes 2001::/32 to the IPv4 address inside. */
  readonly teredo: boolean;
}

export function compileGeo(country: GeoTable, provider: GeoTable): SharedArrayBuffer {
  const v4 = mergePartitions(country.v4, provider.v4);
  const v6 = mergePartitions(country.v6, provider.v6);
  const level4 = indexWords(v4.columns[0]!, v4.values);
  const deep = splitFirstWord(v6);
  const level6 = indexWords(deep.starts, deep.values);
  const countryNames = country.names.map((name) => Buffer.from(name));
  const providerNames = provider.names.map((name) => Buffer.from(name));
  const usages = usagesOf(provider.names);
  const fragments = writeFragments(country.names, provider.names, usages.texts);
  const counts: GeoCounts = {
    entries4: level4.lows.length,
    entries6: level6.lows.length,
    deepLists: deep.roots.length - 1,
    deepEntries: deep.entries.length,
    countries: country.names.length,
    providers: provider.names.length,
    usages: usages.texts.length,
    nameBytes: byteLengthOfAll(countryNames) + byteLengthOfAll(providerNames),
    arenaWords: fragments.arena.length,
  };
  const shared = new SharedArrayBuffer(byteLengthOf(counts));
  const sections = sectionsOf(shared, counts);
  writeHeader(sections.header, flagsOf(country, provider), counts);
  sections.root4.set(level4.roots);
  sections.value4.set(level4.values);
  sections.low4.set(level4.lows);
  sections.root6.set(level6.roots);
  sections.value6.set(level6.values);
  sections.low6.set(level6.lows);
  sections.deepRoot.set(deep.roots);
  deep.entries.forEach((from, to) => {
    sections.deepWord1[to] = v6.columns[1]![from]!;
    sections.deepWord2[to] = v6.columns[2]![from]!;
    sections.deepWord3[to] = v6.columns[3]![from]!;
    sections.deepValue[to] = v6.values[from]!;
  });
  zeroCarriedStarts(sections, deep.carried);
  sections.fragmentAts.set(fragments.ats);
  sections.usageIds.set(usages.ids);
  sections.arena.set(fragments.arena);
  const { nameBytes, countryEnds, providerEnds } = sections;
  const countriesEnd = writeNames(nameBytes, countryEnds, 0, countryNames);
  writeNames(nameBytes, providerEnds, countriesEnd, providerNames);
  return shared;
}

function byteLengthOfAll(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

function flagsOf(country: GeoTable, provider: GeoTable): number {
  return (
    (country.sixToFour ? aliasFlags.countrySixToFour : 0) |
    (country.teredo ? aliasFlags.countryTeredo : 0) |
    (provider.sixToFour ? aliasFlags.providerSixToFour : 0) |
    (provider.teredo ? aliasFlags.providerTeredo : 0)
  );
}

interface MergedColumns {
  readonly columns: readonly Uint32Array[];
  readonly values: Uint32Array;
}

/** The common refinement of both: a start wherever one of them has one, equal values merged. */
function mergePartitions(country: Partition, provider: Partition): MergedColumns {
  const words = country.columns.length;
  const capacity = country.length + provider.length;
  const columns = country.columns.map(() => new Uint32Array(capacity));
  const values = new Uint32Array(capacity);
  const start = new Uint32Array(words);
  let length = 0;
  let c = 0;
  let p = 0;
  while (c < country.length || p < provider.length) {
    const fromCountry = p === provider.length || (c < country.length && startsFirst());
    const source = fromCountry ? country : provider;
    const index = fromCountry ? c : p;
    for (let w = 0; w < words; w++) start[w] = source.columns[w]![index]!;
    if (c < country.length && compareAt(country.columns, c, start, words) === 0) c++;
    if (p < provider.length && compareAt(provider.columns, p, start, words) === 0) p++;
    // Both begin at address 0, so one entry of each has been passed by now.
    const value = packValue(country.ids[c - 1]!, provider.ids[p - 1]!);
    if (length > 0 && values[length - 1] === value) continue;
    for (let w = 0; w < words; w++) columns[w]![length] = start[w]!;
    values[length++] = value;
  }
  return {
    columns: columns.map((column) => column.subarray(0, length)),
    values: values.subarray(0, length),
  };

  function startsFirst(): boolean {
    for (let w = 0; w < words; w++) {
      const difference = country.columns[w]![c]! - provider.columns[w]![p]!;
      if (difference !== 0) return difference < 0;
    }
    return true;
  }
}

interface Level {
  readonly roots: Uint32Array;
  readonly lows: Uint16Array;
  readonly values: Uint32Array;
}

/** Cuts sorted 32-bit starts (the first is 0) into chunks by their upper half-word. */
function indexWords(starts: Uint32Array, values: Uint32Array): Level {
  const roots = new Uint32Array(rootLength);
  const lows = new Uint16Array(starts.length + rootLength - 1);
  const chunkValues = new Uint32Array(lows.length);
  let length = 0;
  let next = 0;
  let value = 0;
  for (let high = 0; high < rootLength - 1; high++) {
    roots[high] = length;
    // The value at the beginning of the chunk, unless an entry begins right there.
    if (next === starts.length || starts[next] !== high * 65_536) {
      lows[length] = 0;
      chunkValues[length++] = value;
    }
    while (next < starts.length && starts[next]! >>> 16 === high) {
      value = values[next]!;
      lows[length] = starts[next++]! & 0xffff;
      chunkValues[length++] = value;
    }
  }
  roots[rootLength - 1] = length;
  return { roots, lows: lows.subarray(0, length), values: chunkValues.subarray(0, length) };
}

interface Split {
  /** Starts of the first level: first words, each at most once. */
  readonly starts: Uint32Array;
  /** Values of the first level, or `deepFlag` with the number of a list. */
  readonly values: Uint32Array;
  /** The start of each list in `entries`, and the end of the last. */
  readonly roots: readonly number[];
  /** Numbers of entries of the partition, list by list. */
  readonly entries: readonly number[];
  /** Places in `entries` whose list begins with what held before its first word. */
  readonly carried: readonly number[];
}

/** First words that have starts inside get a list of their own; between them the first word alone decides. */
function splitFirstWord({ columns, values }: MergedColumns): Split {
  const [word0, word1, word2, word3] = columns as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const starts = new Uint32Array(2 * word0.length);
  const firstValues = new Uint32Array(2 * word0.length);
  const roots: number[] = [0];
  const entries: number[] = [];
  const carried: number[] = [];
  let length = 0;
  const inner = (i: number) => word1[i] !== 0 || word2[i] !== 0 || word3[i] !== 0;
  for (let i = 0; i < word0.length; ) {
    let end = i + 1;
    while (end < word0.length && word0[end] === word0[i]) end++;
    starts[length] = word0[i]!;
    if (end === i + 1 && !inner(i)) {
      firstValues[length++] = values[i]!;
    } else {
      firstValues[length++] = deepFlag + roots.length - 1;
      if (inner(i)) {
        carried.push(entries.length);
        entries.push(i - 1);
      }
      for (let entry = i; entry < end; entry++) entries.push(entry);
      roots.push(entries.length);
      // Behind the split word, its last value goes on.
      const after = word0[i]! + 1;
      if (after <= 0xffffffff && (end === word0.length || word0[end] !== after)) {
        starts[length] = after;
        firstValues[length++] = values[end - 1]!;
      }
    }
    i = end;
  }
  return {
    starts: starts.subarray(0, length),
    values: firstValues.subarray(0, length),
    roots,
    entries,
    carried,
  };
}

/** A carried entry began before its list: inside the list it begins at 0. */
function zeroCarriedStarts(sections: GeoSections, carried: readonly number[]): void {
  for (const at of carried) {
    sections.deepWord1[at] = 0;
    sections.deepWord2[at] = 0;
    sections.deepWord3[at] = 0;
  }
}

/** Writes the names behind one another; name `id` lies between `ends[id]` and `ends[id + 1]`. */
function writeNames(bytes: Uint8Array, ends: Uint32Array, start: number, names: Buffer[]): number {
  let end = start;
  ends[0] = start;
  names.forEach((name, id) => {
    bytes.set(name, end);
    end += name.length;
    ends[id + 1] = end;
  });
  return end;
}

/**
 * Returns the arena of all names and uses, each as ready JSON so that a check quotes none, and where in it each
 * begins: countries, providers, uses.
 */
function writeFragments(
  countries: readonly string[],
  providers: readonly string[],
  usages: readonly string[],
): { readonly ats: Uint32Array; readonly arena: Uint32Array } {
  const texts = [
    ...countries.map((name) => `,"countryCode":${quoted(name || unknownCountry)},`),
    ...providers.map((name) => `"isp":${quoted(name || unknownProvider)}`),
    ...usages,
  ];
  const parts = texts.map((text) => Buffer.from(text));
  const ats = new Uint32Array(parts.length);
  let words = 0;
  for (const [id, part] of parts.entries()) {
    ats[id] = words;
    words += 1 + Math.ceil(part.length / 4);
  }
  // Readers take eight words at a time.
  const arena = new Uint32Array(words + 8);
  const bytes = Buffer.from(arena.buffer);
  for (const [id, part] of parts.entries()) {
    arena[ats[id]!] = part.length;
    bytes.set(part, (ats[id]! + 1) * 4);
  }
  return { ats, arena };
}

/** Returns the uses that there are as ready JSON, and the number of each provider's. */
function usagesOf(providers: readonly string[]): { texts: string[]; ids: number[] } {
  const numbers = new Map<string, number>();
  const ids = providers.map((name) => {
    const { usageType, domain } = usageOf(name);
    const text = `,"usageType":${JSON.stringify(usageType)},"domain":${JSON.stringify(domain)}`;
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  });
  return { texts: [...numbers.keys()], ids };
}

/** As the reader reads it: half of a character at the cut end of a long name becomes another one. */
function quoted(name: string): string {
  return JSON.stringify(Buffer.from(name).toString());
}
