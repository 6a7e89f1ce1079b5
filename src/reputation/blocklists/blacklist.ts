/**
 * The addresses and networks with a high score, as lists for whoever has a key. One snapshot
 * serves all who ask: it is made again when somebody asks and it has become too old for what it
 * cost, or when the allowlist has changed since. At most one is being made at a time.
 *
 * The walk that makes a snapshot visits every entry of the index, in slices, in address order. It
 * meets a network before what lies in it, so the entries above the present one are a stack, and what
 * a check would find over all covering entries is at hand without a look-up: the highest score wins,
 * and an allowlist rule above leaves the entry out. A listed network with allowed ranges inside is
 * listed without them, in pieces; so is one that was reported, with known-good ranges inside. The
 * index may change between slices: each row was right at some moment of the walk.
 */

import { entryFlags } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { createScheduler, type SliceScheduler } from '../../core/scheduling.ts';
import { minuteMs } from '../../core/time.ts';
import { countryOf, type GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import {
  ceilingOf,
  flagsOf,
  lastReportedAtOf,
  listScoreOf,
  listSourceOf,
  metaOf,
  strengthOf,
} from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { formatIp, type IpFamily, type IpWords } from '../../ip/address.ts';
import { contains, type Prefix, widthOf, withoutHoles } from '../../ip/prefix.ts';
import { entryScore, halfLivesAt } from '../check/score.ts';

interface NewRow extends IpWords {
  readonly length: number;
  readonly score: number;
  readonly lastReportedAt: number;
  readonly country: number;
}

type BlacklistRows = ReturnType<typeof createBlacklistRows>;

/**
 * Rows in typed arrays: a million of them as objects would cost 100 bytes each and long pauses of
 * garbage collection. All IPv4 rows stand before all IPv6 rows.
 * @param capacity rows at most; those not used cost address space only
 */
function createBlacklistRows(capacity: number) {
  const firstWord = new Uint32Array(capacity);
  /** Three words a row, from the first IPv6 row on. */
  const restWords = new Uint32Array(3 * capacity);
  const length = new Uint8Array(capacity);
  /** 0..100. */
  const score = new Uint8Array(capacity);
  /** Seconds since 1970 of the last report, 0 for none. */
  const lastReportedAt = new Uint32Array(capacity);
  /** Country id of the geo table. */
  const country = new Uint16Array(capacity);
  const words = new Uint32Array(4);
  let count = 0;
  let firstOf6 = capacity;

  const family = (row: number): IpFamily => (row < firstOf6 ? 4 : 6);

  /** Copies the row. IPv4 must come first. @returns its number, or -1 when there is no room */
  function add(row: NewRow): number {
    if (count === capacity) return -1;
    if (row.family === 6) {
      firstOf6 = Math.min(firstOf6, count);
      const at = 3 * (count - firstOf6);
      for (let word = 1; word < 4; word++) restWords[at + word - 1] = row.words[word]!;
    } else if (firstOf6 < capacity) throw new RangeError('IPv4 behind IPv6');
    firstWord[count] = row.words[0]!;
    length[count] = row.length;
    score[count] = row.score;
    lastReportedAt[count] = row.lastReportedAt;
    country[count] = row.country;
    return count++;
  }

  /** Copies the address into four words; those that IPv4 doesn't use become 0. */
  function copyAddress(row: number, to: Uint32Array): void {
    to[0] = firstWord[row]!;
    const at = 3 * (row - firstOf6);
    for (let word = 1; word < 4; word++) to[word] = row < firstOf6 ? 0 : restWords[at + word - 1]!;
  }

  /** Returns the canonical address, or CIDR text when it is a network. */
  function text(row: number): string {
    copyAddress(row, words);
    const rowFamily = family(row);
    const address = formatIp(rowFamily, words);
    return length[row] === (rowFamily === 4 ? 32 : 128) ? address : `${address}/${length[row]}`;
  }

  return {
    length,
    score,
    lastReportedAt,
    country,
    count: () => count,
    family,
    add,
    copyAddress,
    text,
  };
}

/** Rows of a pass of the sort between two reads of the clock. */
const rowsPerSortSlice = 8_192;
const digits = 65_536;

/**
 * Row numbers by score, then last report, both descending; equal rows stay in address order.
 * A radix sort (least significant digit first): its passes can stop anywhere to let others run.
 */
async function orderRows(rows: BlacklistRows, scheduler: SliceScheduler): Promise<Uint32Array> {
  const count = rows.count();
  const { score, lastReportedAt } = rows;
  let order = new Uint32Array(count);
  let spare = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    order[i] = i;
    if (i % rowsPerSortSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
  }
  const passes: ((row: number) => number)[] = [
    (row) => lastReportedAt[row]! & 0xffff,
    (row) => lastReportedAt[row]! >>> 16,
    (row) => score[row]!,
  ];
  for (const digitOf of passes) {
    await sortByDigit(order, spare, digitOf, scheduler);
    [order, spare] = [spare, order];
  }
  return order;
}

/** Sorts stably, larger digits first. */
async function sortByDigit(
  from: Uint32Array,
  to: Uint32Array,
  digitOf: (row: number) => number,
  scheduler: SliceScheduler,
): Promise<void> {
  const offsets = new Uint32Array(digits);
  for (let i = 0; i < from.length; i++) {
    offsets[digitOf(from[i]!)]! += 1;
    if (i % rowsPerSortSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
  }
  let offset = 0;
  for (let digit = digits - 1; digit >= 0; digit--) {
    const here = offsets[digit]!;
    offsets[digit] = offset;
    offset += here;
  }
  for (let i = 0; i < from.length; i++) {
    const row = from[i]!;
    const digit = digitOf(row);
    to[offsets[digit]!] = row;
    offsets[digit]! += 1;
    if (i % rowsPerSortSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
  }
}

/** The lowest score that can be asked for. */
export const confidenceMin = 25;
/** Entries of one call of the walk: about 0.2 ms. */
const entriesPerSlice = 500;
/** Pieces between two reads of the clock. */
const piecesPerSlice = 64;

interface BlacklistBounds {
  /** A network with more allowed ranges inside is left out whole: its pieces would fill the list. */
  readonly holesMax: number;
  /** Rows that entries and pieces may be more than the entries at the start. */
  readonly spareRows: number;
}

export const buildBounds: BlacklistBounds = { holesMax: 65_536, spareRows: 1 << 20 };

interface BlacklistSources {
  readonly index: IpIndex;
  readonly geo: GeoReader;
  readonly bounds?: BlacklistBounds;
}

interface BuiltBlacklist {
  readonly rows: BlacklistRows;
  /** Row numbers: score, then last report, descending. */
  readonly order: Uint32Array;
  /** Entries, networks and pieces of networks that are not listed because of a bound. */
  readonly leftOut: number;
}

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
  /** The highest score by all evidence, and by lists alone, down to this network. */
  readonly any: number;
  readonly listed: number;
  /** The score that counts: `any`, or `listed` in a known-good range, where reports have no effect. */
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
async function buildBlacklist(
  sources: BlacklistSources,
  nowMs: number,
  scheduler: SliceScheduler,
): Promise<BuiltBlacklist> {
  const { index, bounds = buildBounds } = sources;
  const rows = createBlacklistRows(index.size() + bounds.spareRows);
  const draft: Draft = { rows, bounds, leftOut: 0 };
  for (const family of everything) {
    const holed: Above[] = [];
    await walkInSlices(index, family, scheduler, createVisit(sources, draft, holed, nowMs));
    for (const network of holed) {
      await split(sources, draft, network, scheduler);
    }
  }
  return { rows, order: await orderRows(rows, scheduler), leftOut: draft.leftOut };
}

async function walkInSlices(
  index: IpIndex,
  within: Prefix,
  scheduler: SliceScheduler,
  visit: (entry: number) => void,
): Promise<void> {
  let after: Prefix | undefined;
  do {
    after = index.walk(within, visit, { after, limit: entriesPerSlice });
    if (scheduler.shouldYield()) await scheduler.yield();
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

  /** Notes a hole in the listed networks above it whose score is higher than `said`. */
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
    const listScore = listScoreOf(meta);
    const own = entryScore(listScore, ceilingOf(meta), strengthOf(records, entry), nowHalfLives);
    const any = Math.max(own, above?.any ?? 0);
    const listed = Math.max(listScore, above?.listed ?? 0);
    const flags = flagsOf(meta);
    const isKnownGood = (flags & entryFlags.knownGood) !== 0 || above?.isKnownGood === true;
    const score = isKnownGood ? listed : any;
    const isRule = (flags & entryFlags.allowlisted) !== 0;
    const isAllowed = isRule || above?.isAllowed === true;
    if (isRule && above?.isAllowed !== true) markHole(prefix, 0);
    // Its own row says what lists say of it.
    else if (isKnownGood && !isAllowed && any > listed) markHole(prefix, listed);
    const isListed = !isAllowed && score >= confidenceMin;
    const listedAt = listTimes[listSourceOf(records, entry)]!;
    const last = Math.max(lastReportedAtOf(records, entry), listedAt, above?.last ?? 0);
    const row = isListed ? addRow(prefix, score, last) : -1;
    const isNetwork = prefix.length < widthOf(prefix.family);
    if (isNetwork)
      stack.push({ prefix, last, any, listed, score, isKnownGood, isAllowed, row, holes: [] });
  };
}

/** Adds a row. @returns its number, or -1 when the list is full */
function add(draft: Draft, row: NewRow): number {
  const number = draft.rows.add(row);
  if (number < 0) draft.leftOut++;
  return number;
}

/** Puts pieces in place of a listed network's row, or nothing when it has too many holes. */
async function split(
  { index, geo }: BlacklistSources,
  draft: Draft,
  network: Above,
  scheduler: SliceScheduler,
): Promise<void> {
  const { prefix, score, row, holes } = network;
  const lastReportedAt = draft.rows.lastReportedAt[row]!;
  // Nobody can ask for a score of 0.
  draft.rows.score[row] = 0;
  if (holes.length > draft.bounds.holesMax) {
    draft.leftOut++;
    return;
  }
  let entry = index.get(prefix);
  const covering = new Int32Array(COVERING_MAX);
  let pieces = 0;
  for (const { family, words, length } of withoutHoles(prefix, holes)) {
    if (++pieces % piecesPerSlice === 0 && scheduler.shouldYield()) {
      await scheduler.yield();
      // The index may have given its number to another entry meanwhile.
      entry = index.get(prefix);
    }
    // A more specific entry that covers the piece has a row of its own, with a score no lower.
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

export interface BlacklistSnapshot extends BuiltBlacklist {
  /** Milliseconds since 1970 at which making it began. */
  readonly generatedAt: number;
}

export interface BlacklistFilter {
  /** 25..100 */
  readonly confidenceMinimum: number;
  /** Rows at most. */
  readonly limit: number;
  readonly ipVersion: IpFamily | undefined;
  /** 1 for each wanted country, by its id in the geo table; undefined: all are wanted. */
  readonly countries: Uint8Array | undefined;
}

export type Blacklist = ReturnType<typeof createBlacklist>;

/** A snapshot is never used longer than this, */
const ageMsMax = minuteMs;
/** nor longer than this many times the work of making it: a twentieth of a core at most. */
const ageForCost = 20;
/** A snapshot that took no longer than this is made for each request. */
const cheapMs = 5;

interface KeptSnapshot {
  readonly snapshot: BlacklistSnapshot;
  readonly startedAtMs: number;
  readonly workedMs: number;
  /** Changes of the allowlist at the time when making it began. */
  readonly allowlistVersion: number;
}

export function createBlacklist(
  options: BlacklistSources & { clock: Clock; allowlistVersion: () => number },
) {
  const { clock } = options;
  let kept: KeptSnapshot | undefined;
  let making: Promise<void> | undefined;
  let lastLeftOut = 0;
  let forgetting: NodeJS.Timeout | undefined;

  async function make(): Promise<void> {
    const startedAtMs = clock.monotonicMs();
    const allowlistVersion = options.allowlistVersion();
    const generatedAt = clock.now();
    const scheduler = createScheduler(clock.monotonicMs);
    const built = await buildBlacklist(options, generatedAt, scheduler);
    const workedMs = scheduler.workedMs();
    kept = { snapshot: { ...built, generatedAt }, startedAtMs, workedMs, allowlistVersion };
    lastLeftOut = built.leftOut;
    // The memory is freed after a while, since nobody may ask again. There is one timer in all: a timer each would
    // hold the list that it is to free.
    clearTimeout(forgetting);
    forgetting = setTimeout(() => {
      kept = undefined;
    }, ageMsMax);
    forgetting.unref();
  }

  /** Returns a snapshot that is fresh enough, and waits while one is made. */
  async function snapshot(): Promise<BlacklistSnapshot> {
    const askedAtMs = clock.monotonicMs();
    const allowlistVersion = options.allowlistVersion();
    // One that is begun after this moment is always good enough: two rounds at most.
    for (;;) {
      if (kept !== undefined && isFresh(kept, askedAtMs, allowlistVersion)) return kept.snapshot;
      making ??= make().finally(() => {
        making = undefined;
      });
      await making;
    }
  }

  /** Returns the rows left out of the last snapshot, 0 before the first. */
  function leftOut(): number {
    return lastLeftOut;
  }

  return { snapshot, leftOut };
}

function isFresh(kept: KeptSnapshot, askedAtMs: number, allowlistVersion: number): boolean {
  if (kept.allowlistVersion < allowlistVersion) return false;
  const lifeMs = kept.workedMs <= cheapMs ? 0 : Math.min(ageMsMax, ageForCost * kept.workedMs);
  return askedAtMs - kept.startedAtMs <= lifeMs;
}

/** Rows that are filtered between two reads of the clock. */
const rowsPerSlice = 4_096;

/** Returns the numbers of the rows that pass, in the order of the list. */
export async function selectRows(
  { rows, order }: BlacklistSnapshot,
  filter: BlacklistFilter,
): Promise<Uint32Array> {
  const { confidenceMinimum, ipVersion, countries } = filter;
  const scheduler = createScheduler();
  const selected = new Uint32Array(Math.min(filter.limit, order.length));
  let count = 0;
  for (let i = 0; i < order.length && count < selected.length; i++) {
    if (i % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    const row = order[i]!;
    // Sorted by score: nothing behind this passes.
    if (rows.score[row]! < confidenceMinimum) break;
    if (ipVersion !== undefined && rows.family(row) !== ipVersion) continue;
    if (countries !== undefined && countries[rows.country[row]!] !== 1) continue;
    selected[count++] = row;
  }
  return selected.subarray(0, count);
}

/** Returns the addresses and networks that score from `from` on and less than `below`: the worst, at most so many. */
export async function selectBetween(
  { rows, order }: BlacklistSnapshot,
  asked: { readonly from: number; readonly below: number; readonly max: number },
): Promise<string[]> {
  const scheduler = createScheduler();
  const selected: string[] = [];
  for (let i = 0; i < order.length && selected.length < asked.max; i++) {
    if (i % rowsPerSortSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    const row = order[i]!;
    if (rows.score[row]! < asked.from) break;
    if (rows.score[row]! >= asked.below) continue;
    if (selected.push(rows.text(row)) % piecesPerSlice === 0 && scheduler.shouldYield())
      await scheduler.yield();
  }
  return selected;
}

export const blacklistBounds = {
  /** A larger limit counts as this one. */
  limitMax: 500_000,
} as const;
