/**
 * Many addresses judged in one go: they are read in blocks, and what is said of the IPv4 addresses of a block is
 * looked up together, since a look-up among a million entries is mostly waiting for memory. Those that more than
 * one entry may cover, and IPv6 addresses, are looked up one by one.
 */

import type { Verdict } from '../../contracts/reputation.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IndexView } from '../../index/reader.ts';
import { LOOKUPS_MAX } from '../../index/trie/lookup.ts';
import type { IpFamily } from '../../ip/address.ts';
import type { Check } from './check.ts';

/** Addresses of a block. */
export const blockAddresses = LOOKUPS_MAX;

export type ManyChecks = ReturnType<typeof openManyChecks>;

export function openManyChecks(options: {
  check: Check;
  index: Pick<IndexView, 'sole4'>;
  geo: Pick<GeoReader, 'findMany'>;
}) {
  const { check, index, geo } = options;
  const families = new Uint8Array(blockAddresses);
  /** The first word of each address, and all four of it. */
  const firsts = new Uint32Array(blockAddresses);
  const words = Array.from({ length: blockAddresses }, () => new Uint32Array(4));
  const soles = new Int32Array(blockAddresses);
  const places = new Uint32Array(blockAddresses);

  /**
   * Reads a block, which the next one overwrites.
   * @param read parses the nth address as `parseIp` does
   */
  function readBlock(count: number, read: (n: number, words: Uint32Array) => 0 | IpFamily): void {
    for (let n = 0; n < count; n++) {
      families[n] = read(n, words[n]!);
      firsts[n] = words[n]![0]!;
    }
    index.sole4(firsts, count, soles);
  }

  /** Judges the nth address of the block, which is one. */
  function judge(n: number, nowMs: number): Verdict {
    const sole = soles[n]!;
    if (families[n] === 4 && sole >= 0) return check.judgeSole(sole, nowMs);
    return check.judge(families[n] as IpFamily, words[n]!, nowMs);
  }

  /** Looks up the places of the block, which `writeSummary` needs. */
  function readPlaces(count: number): void {
    geo.findMany(firsts, count, places);
  }

  /** Does what `Check.writeSummary` does, for the nth address of the block. */
  function writeSummary(view: DataView, at: number, n: number, nowMs: number): number {
    const family = families[n] as IpFamily;
    const place = family === 4 ? places[n] : undefined;
    return check.writeJudged(view, at, family, words[n]!, judge(n, nowMs), place);
  }

  return { families, readBlock, readPlaces, judge, writeSummary };
}
