/**
 * Country and provider of an address as ready JSON, so that a check quotes no name: fragments of the
 * arena (layout.ts), copied as bytes.
 */

import type { IpFamily } from '../ip/address.ts';
import { unknownCountry, unknownProvider } from './layout.ts';
import { countryOf, type GeoReader, providerOf } from './reader.ts';

export interface GeoFragments {
  /**
   * `,"countryCode":"FR","isp":"…"` as UTF-8, to stand behind other members of an object. Whole words are written: up to three bytes behind
   * it are overwritten.
   * @returns the offset behind it
   */
  write(view: DataView, at: number, family: IpFamily, words: Uint32Array): number;
}

export function createGeoFragments(geo: GeoReader): GeoFragments {
  const { arena, fragmentAts, countryCount } = geo;

  function copy(view: DataView, at: number, id: number): number {
    const from = fragmentAts[id]!;
    const length = arena[from]!;
    const words = (length + 3) >>> 2;
    for (let i = 0; i < words; i++) view.setInt32(at + 4 * i, arena[from + 1 + i]!, true);
    return at + length;
  }

  return {
    write(view, at, family, words) {
      const ids = geo.find(family, words);
      return copy(view, copy(view, at, countryOf(ids)), countryCount + providerOf(ids));
    },
  };
}

/** The arena of all names, and where in it each begins, countries first. */
export function writeFragments(
  countries: readonly string[],
  providers: readonly string[],
): { readonly ats: Uint32Array; readonly arena: Uint32Array } {
  const texts = [
    ...countries.map((name) => `,"countryCode":${quoted(name || unknownCountry)},`),
    ...providers.map((name) => `"isp":${quoted(name || unknownProvider)}`),
  ];
  const parts = texts.map((text) => Buffer.from(text));
  const ats = new Uint32Array(parts.length);
  let words = 0;
  for (const [id, part] of parts.entries()) {
    ats[id] = words;
    words += 1 + Math.ceil(part.length / 4);
  }
  const arena = new Uint32Array(words);
  const bytes = Buffer.from(arena.buffer);
  for (const [id, part] of parts.entries()) {
    arena[ats[id]!] = part.length;
    bytes.set(part, (ats[id]! + 1) * 4);
  }
  return { ats, arena };
}

/** As the reader reads it: half of a character at the cut end of a long name becomes another one. */
function quoted(name: string): string {
  return JSON.stringify(Buffer.from(name).toString());
}
