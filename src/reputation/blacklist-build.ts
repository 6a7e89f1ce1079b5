/**
 * The walk that makes the blacklist: every entry of the index, in slices, in address order.
 *
 * A walk meets a network before what lies in it, so the entries above the present one are a
 * stack, and what a check would find over all covering entries is at hand without a look-up:
 * the highest score wins, and an allowlist rule above leaves the entry out. A listed network
 * with allowed ranges inside is listed without them, in pieces.
 *
 * The index may change between slices: each row was right at some moment of the walk.
 */

import { createTimeSlice, type TimeSlice } from '../core/time-slice.ts';
import type { GeoReader } from '../geo/reader.ts';
import { countryOf } from '../geo/reader.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { flagsOf, lastReportedAtOf, metaOf, seedScoreOf, strengthOf } from '../index/records.ts';
import { compare, contains, type Prefix } from '../ip/prefix.ts';
import { type BlacklistRows, createBlacklistRows, orderRows } from './blacklist-rows.ts';
import { entryFlags } from './entry-flags.ts';
import { entryScore } from './score.ts';
import { withoutHoles } from './split-prefix.ts';

/** Nothing below this can be asked for. */
export const confidenceMin = 25;
/** Entries of one call of the walk: about 0.2 ms. */
const entriesPerLook = 1_000;
/** A network with more allowed ranges inside is left out whole. */
const holesMax = 256;
/** Rows that entries and pieces may be more than the entries at the start. */
const spareRows = 65_536;

export interface BlacklistSources {
  readonly index: IpIndex;
  readonly geo: GeoReader;
}

export interface BuiltBlacklist {
  readonly rows: BlacklistRows;
  /** Row numbers: score, then last report, descending. */
  readonly order: Uint32Array;
}

/** An entry that covers the present one, with what it and those above it say. */
interface Above {
  readonly prefix: Prefix;
  readonly score: number;
  readonly isAllowed: boolean;
}

const everything: readonly Prefix[] = [
  { family: 4, words: new Uint32Array(4), length: 0 },
  { family: 6, words: new Uint32Array(4), length: 0 },
];

/** @param nowMs wall clock: community evidence decays */
export async function buildBlacklist(
  sources: BlacklistSources,
  nowMs: number,
): Promise<BuiltBlacklist> {
  const { index } = sources;
  const slice = createTimeSlice();
  const allowed = await allowedPrefixes(index, slice);
  const rows = createBlacklistRows(index.size() + spareRows);
  for (const family of everything) {
    const visit = createVisit(sources, rows, allowed, nowMs);
    await walkInSlices(index, family, slice, visit);
  }
  return { rows, order: await orderRows(rows, slice) };
}

async function walkInSlices(
  index: IpIndex,
  within: Prefix,
  slice: TimeSlice,
  visit: (entry: number) => void,
): Promise<void> {
  let after: Prefix | undefined;
  do {
    after = index.walk(within, visit, { after, limit: entriesPerLook });
    if (slice.isOver()) await slice.next();
  } while (after !== undefined);
}

/** In the order of `compare`. */
async function allowedPrefixes(index: IpIndex, slice: TimeSlice): Promise<Prefix[]> {
  const found: Prefix[] = [];
  for (const family of everything) {
    await walkInSlices(index, family, slice, (entry) => {
      if ((flagsOf(metaOf(index.records, entry)) & entryFlags.allowlisted) === 0) return;
      found.push(fourWords(index.prefixOf(entry)!));
    });
  }
  return found;
}

function createVisit(
  { index, geo }: BlacklistSources,
  rows: BlacklistRows,
  allowed: readonly Prefix[],
  nowMs: number,
): (entry: number) => void {
  const { records } = index;
  const stack: Above[] = [];

  function addRow(prefix: Prefix, score: number, lastReportedAt: number): void {
    const { family, words, length } = prefix;
    const country = countryOf(geo.find(family, words));
    rows.add({ family, words, length, score, lastReportedAt, country });
  }

  return (entry) => {
    const prefix = fourWords(index.prefixOf(entry)!);
    while (stack.length > 0 && !contains(stack.at(-1)!.prefix, prefix.family, prefix.words)) {
      stack.pop();
    }
    const above = stack.at(-1);
    const meta = metaOf(records, entry);
    const own = entryScore(seedScoreOf(meta), strengthOf(records, entry), nowMs);
    const score = Math.max(own, above?.score ?? 0);
    const isAllowed = above?.isAllowed === true || (flagsOf(meta) & entryFlags.allowlisted) !== 0;
    const isNetwork = prefix.length < (prefix.family === 4 ? 32 : 128);
    if (isNetwork) stack.push({ prefix, score, isAllowed });
    if (isAllowed || score < confidenceMin) return;
    const last = lastReportedAtOf(records, entry);
    const holes = isNetwork ? holesIn(prefix, allowed) : [];
    if (holes.length > holesMax) return;
    if (holes.length === 0) addRow(prefix, score, last);
    else for (const piece of withoutHoles(prefix, holes)) addRow(piece, score, last);
  };
}

/** The allowed prefixes inside a network: they follow it in order. At most one over the limit. */
function holesIn(network: Prefix, allowed: readonly Prefix[]): Prefix[] {
  let from = 0;
  let to = allowed.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compare(allowed[middle]!, network) < 0) from = middle + 1;
    else to = middle;
  }
  const holes: Prefix[] = [];
  for (let i = from; i < allowed.length && holes.length <= holesMax; i++) {
    const { family, words } = allowed[i]!;
    if (!contains(network, family, words)) break;
    holes.push(allowed[i]!);
  }
  return holes;
}

/** The index leaves out the words that IPv4 doesn't use. */
function fourWords({ family, words, length }: Prefix): Prefix {
  if (words.length === 4) return { family, words, length };
  const four = new Uint32Array(4);
  four.set(words);
  return { family, words: four, length };
}
