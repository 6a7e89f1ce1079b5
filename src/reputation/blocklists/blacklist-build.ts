/**
 * The walk that makes the blacklist: every entry of the index, in slices, in address order.
 *
 * A walk meets a network before what lies in it, so the entries above the present one are a
 * stack, and what a check would find over all covering entries is at hand without a look-up:
 * the highest score wins, and an allowlist rule above leaves the entry out. A listed network
 * with allowed ranges inside is listed without them, in pieces; so is one that was reported, with
 * known-good ranges inside.
 *
 * The index may change between slices: each row was right at some moment of the walk.
 */

import type { Turns } from '../../core/work/turns.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { countryOf } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { COVERING_MAX } from '../../index/layout.ts';
import {
  ceilingOf,
  flagsOf,
  lastReportedAtOf,
  listSourceOf,
  metaOf,
  seedScoreOf,
  strengthOf,
} from '../../index/records.ts';
import { contains, type Prefix } from '../../ip/prefix.ts';
import { withoutHoles } from '../../ip/prefix-pieces.ts';
import { entryScore, halfLivesAt } from '../check/score.ts';
import { entryFlags } from '../state/entry-flags.ts';
import {
  type BlacklistRows,
  createBlacklistRows,
  type NewRow,
  orderRows,
} from './blacklist-rows.ts';

/** Nothing below this can be asked for. */
export const confidenceMin = 25;
/** Entries of one call of the walk: about 0.2 ms. */
const entriesPerLook = 500;
/** Pieces between two looks at the clock. */
const piecesPerLook = 64;

export interface BlacklistBounds {
  /** A network with more allowed ranges inside is left out whole: its pieces would fill the list. */
  readonly holesMax: number;
  /** Rows that entries and pieces may be more than the entries at the start. */
  readonly spareRows: number;
}

export const blacklistBounds: BlacklistBounds = { holesMax: 65_536, spareRows: 1 << 20 };

export interface BlacklistSources {
  readonly index: IpIndex;
  readonly geo: GeoReader;
  readonly bounds?: BlacklistBounds;
}

export interface BuiltBlacklist {
  readonly rows: BlacklistRows;
  /** Row numbers: score, then last report, descending. */
  readonly order: Uint32Array;
  /** Entries, networks and pieces of networks that are not listed because of a bound. */
  readonly leftOut: number;
}

/** The list while it is made. */
interface Draft {
  readonly rows: BlacklistRows;
  readonly bounds: BlacklistBounds;
  leftOut: number;
}

/** A network that covers the present entry, with what it and those above it say. */
interface Above {
  readonly prefix: Prefix;
  /** Seconds since 1970: the newest report or load of a list that names it or what is around it. */
  readonly last: number;
  /** By all that is said, and by lists alone. */
  readonly any: number;
  readonly listed: number;
  /** That of `listed` in a known-good range, where reports have no effect. */
  readonly score: number;
  readonly isKnownGood: boolean;
  readonly isAllowed: boolean;
  /** Its row, -1 if it is not listed. */
  readonly row: number;
  /** Prefixes met inside it for which its score doesn't hold, in address order. */
  readonly holes: Prefix[];
}

const everything: readonly Prefix[] = [
  { family: 4, words: new Uint32Array(4), length: 0 },
  { family: 6, words: new Uint32Array(4), length: 0 },
];

/** @param nowMs wall clock: community evidence decays */
export async function buildBlacklist(
  sources: BlacklistSources,
  nowMs: number,
  turns: Turns,
): Promise<BuiltBlacklist> {
  const { index, bounds = blacklistBounds } = sources;
  const rows = createBlacklistRows(index.size() + bounds.spareRows);
  const draft: Draft = { rows, bounds, leftOut: 0 };
  for (const family of everything) {
    const holed: Above[] = [];
    await walkInSlices(index, family, turns, createVisit(sources, draft, holed, nowMs));
    for (const network of holed) {
      await split(sources, draft, network, turns);
    }
  }
  return { rows, order: await orderRows(rows, turns), leftOut: draft.leftOut };
}

async function walkInSlices(
  index: IpIndex,
  within: Prefix,
  turns: Turns,
  visit: (entry: number) => void,
): Promise<void> {
  let after: Prefix | undefined;
  do {
    after = index.walk(within, visit, { after, limit: entriesPerLook });
    if (turns.isOver()) await turns.next();
  } while (after !== undefined);
}

/** @param holed gets the listed networks that have allowed ranges inside */
function createVisit(
  { index, geo }: BlacklistSources,
  draft: Draft,
  holed: Above[],
  nowMs: number,
): (entry: number) => void {
  const { records, listTimes } = index;
  const nowHalfLives = halfLivesAt(nowMs);
  const stack: Above[] = [];

  /** In the rows around it that say more than `said`. */
  function markHole(hole: Prefix, said: number): void {
    for (const above of stack) {
      if (above.row < 0 || above.score <= said) continue;
      if (above.holes.length === 0) holed.push(above);
      if (above.holes.length <= draft.bounds.holesMax) above.holes.push(hole);
    }
  }

  function addRow(
    { family, words, length }: Prefix,
    score: number,
    lastReportedAt: number,
  ): number {
    const country = countryOf(geo.find(family, words));
    return add(draft, { family, words, length, score, lastReportedAt, country });
  }

  return (entry) => {
    const prefix = fourWords(index.prefixOf(entry)!);
    while (stack.length > 0 && !contains(stack.at(-1)!.prefix, prefix.family, prefix.words)) {
      stack.pop();
    }
    const above = stack.at(-1);
    const meta = metaOf(records, entry);
    const seed = seedScoreOf(meta);
    const own = entryScore(seed, ceilingOf(meta), strengthOf(records, entry), nowHalfLives);
    const any = Math.max(own, above?.any ?? 0);
    const listed = Math.max(seed, above?.listed ?? 0);
    const flags = flagsOf(meta);
    const isKnownGood = (flags & entryFlags.knownGood) !== 0 || above?.isKnownGood === true;
    const score = isKnownGood ? listed : any;
    const isRule = (flags & entryFlags.allowlisted) !== 0;
    const isAllowed = isRule || above?.isAllowed === true;
    if (isRule && above?.isAllowed !== true) markHole(prefix, 0);
    // Its own row tells what lists say of it.
    else if (isKnownGood && !isAllowed && any > listed) markHole(prefix, listed);
    const isListed = !isAllowed && score >= confidenceMin;
    const listedAt = listTimes[listSourceOf(records, entry)]!;
    const last = Math.max(lastReportedAtOf(records, entry), listedAt, above?.last ?? 0);
    const row = isListed ? addRow(prefix, score, last) : -1;
    const isNetwork = prefix.length < (prefix.family === 4 ? 32 : 128);
    if (isNetwork)
      stack.push({ prefix, last, any, listed, score, isKnownGood, isAllowed, row, holes: [] });
  };
}

/** Its number, or -1 when the list is full. */
function add(draft: Draft, row: NewRow): number {
  const number = draft.rows.add(row);
  if (number < 0) draft.leftOut++;
  return number;
}

/** Puts pieces in place of a listed network's row. Too many holes: nothing. */
async function split(
  { index, geo }: BlacklistSources,
  draft: Draft,
  network: Above,
  turns: Turns,
): Promise<void> {
  const { prefix, score, row, holes } = network;
  const lastReportedAt = draft.rows.lastReportedAt[row]!;
  // A score that nobody can ask for.
  draft.rows.score[row] = 0;
  if (holes.length > draft.bounds.holesMax) {
    draft.leftOut++;
    return;
  }
  let entry = index.get(prefix);
  const covering = new Int32Array(COVERING_MAX);
  let pieces = 0;
  for (const { family, words, length } of withoutHoles(prefix, holes)) {
    if (++pieces % piecesPerLook === 0 && turns.isOver()) {
      await turns.next();
      // Its number may be another's by now.
      entry = index.get(prefix);
    }
    // What a more specific entry covers or equals is told of there, with a score no lower.
    const count = index.covering(family, words, covering);
    const over = covering
      .subarray(0, count)
      .find((number) => index.prefixOf(number)!.length <= length);
    if (over !== undefined && over !== entry) continue;
    const country = countryOf(geo.find(family, words));
    add(draft, { family, words, length, score, lastReportedAt, country });
  }
}

/** The index leaves out the words that IPv4 doesn't use. */
function fourWords({ family, words, length }: Prefix): Prefix {
  if (words.length === 4) return { family, words, length };
  const four = new Uint32Array(4);
  four.set(words);
  return { family, words: four, length };
}
