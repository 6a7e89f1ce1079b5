/**
 * Chooses the entries of a named feed from the list of the API, the worst first, on the thread that holds what
 * each list says. Lists and categories are those of the entry and of the networks around it, as in a check.
 */

import { entryFlags } from '../../../contracts/reputation.ts';
import { createScheduler, type SliceScheduler } from '../../../core/scheduling.ts';
import type { GeoReader } from '../../../geo/reader.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import { flagsOf, lastReportedAtOf, metaOf, reportsOf } from '../../../index/records.ts';
import { COVERING_MAX } from '../../../index/trie/layout.ts';
import { reportByAddressPrefix } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
import type { Sources } from '../../lists/sources.ts';
import { addressBytes, decodeRow } from '../../reports/store/report-rows.ts';
import { type Contributions, contributionKinds, kindOf, refOf } from '../../state/contributions.ts';
import type { Blacklist, BlacklistSnapshot } from '../blacklist.ts';
import { FEED_ROW, feedRowsInOrder, packInfo, type Rows, rowFlags } from '../builder/rows.ts';
import type { NamedFeed } from './named-feeds.ts';

/** Reports of an address that a choice by category reads, the newest. */
const reportsRead = 100;
/** A choice by category reads the reports of the worst entries, up to this many. */
const readsMax = 100_000;
const readsAtOnce = 32;
/** About the time that the database needs to read an address's reports, in addition to our own time. */
const scanMs = 0.1;
const rowsPerSlice = 256;

export interface SelectSources {
  readonly blacklist: Blacklist;
  readonly index: Pick<IpIndex, 'covering' | 'get' | 'prefixOf' | 'records'>;
  readonly contributions: Pick<Contributions, 'first' | 'next' | 'tag' | 'listed'>;
  readonly sources: Pick<Sources, 'list'>;
  readonly store: Pick<Store, 'scan'>;
  readonly geo: Pick<GeoReader, 'find' | 'country' | 'countryCount'>;
}

/**
 * @returns the chosen rows in address order, the milliseconds that it took from others, and those that its reads may
 * have taken from the database
 */
export async function selectFeed(
  from: SelectSources,
  feed: NamedFeed,
): Promise<{ readonly rows: Rows; readonly workedMs: number; readonly readMs: number }> {
  const { index, contributions, geo } = from;
  const snapshot = await from.blacklist.snapshot();
  const scheduler = createScheduler();
  const { rows, order, generatedAt } = snapshot;
  const oldestMs = feed.maxAgeMs === 0 ? 0 : generatedAt - feed.maxAgeMs;
  const isCountry = countryChoice(feed, geo);
  const listNumbers = new Set(
    from.sources
      .list()
      .filter(({ list, source }) => list === 'seed' && feed.lists.includes(source))
      .map(({ number }) => number),
  );
  const words = new Uint32Array(4);
  const covering = new Int32Array(COVERING_MAX);
  const chosen = new Uint32Array(Math.min(feed.limit, order.length));
  let count = 0;
  let reads = 0;

  function isPlain(row: number): boolean {
    if (feed.family !== 'both' && rows.family(row) !== (feed.family === 'IPv4' ? 4 : 6))
      return false;
    return rows.lastReportedAt[row]! * 1_000 >= oldestMs && isCountry(rows.country[row]!);
  }

  /** Returns the entries that cover all of the row. */
  function entriesOver(row: number): readonly number[] {
    rows.copyAddress(row, words);
    const found = index.covering(rows.family(row), words, covering);
    const length = rows.length[row]!;
    return [...covering.subarray(0, found)].filter((entry) => {
      return index.prefixOf(entry)!.length <= length;
    });
  }

  function isListed(entry: number): boolean {
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      const tag = contributions.tag[node]!;
      if (kindOf(tag) === contributionKinds.seed && listNumbers.has(refOf(tag))) return true;
    }
    return false;
  }

  function isOwn(entry: number): boolean {
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) !== contributionKinds.manual) continue;
      if ((feed.categories & (1 << (contributions.listed[node]! >>> 8))) !== 0) return true;
    }
    return false;
  }

  /** Says whether the row is chosen; a promise where reports must be read. */
  function isChosen(row: number): boolean | Promise<boolean> {
    if (!isPlain(row)) return false;
    if (feed.lists.length === 0 && feed.categories === 0) return true;
    const entries = entriesOver(row);
    if (feed.lists.length > 0 && !entries.some(isListed)) return false;
    if (feed.categories === 0 || entries.some(isOwn)) return true;
    const reported = entries.filter((entry) => reportsOf(index.records, entry) > 0);
    if (reported.length === 0 || ++reads > readsMax) return false;
    const under = reported.flatMap((entry) => reportsUnder(index.prefixOf(entry)!) ?? []);
    return hasCategory(from.store, under, feed.categories, oldestMs);
  }

  for (let i = 0; i < order.length && count < chosen.length; ) {
    const batch: { row: number; is: boolean | Promise<boolean> }[] = [];
    const readsBefore = reads;
    for (; i < order.length && batch.length < rowsPerSlice; i++) {
      const row = order[i]!;
      // Sorted by score: nothing behind this passes.
      if (rows.score[row]! < feed.minimumScore) {
        i = order.length;
        break;
      }
      batch.push({ row, is: isChosen(row) });
      if (reads - readsBefore >= readsAtOnce) {
        i++;
        break;
      }
    }
    if (reads > readsBefore) await Promise.all(batch.map(({ is }) => is));
    for (const { row, is } of batch) {
      if (count < chosen.length && (is === true || (is !== false && (await is))))
        chosen[count++] = row;
    }
    if (scheduler.shouldYield()) await scheduler.yield();
  }
  const packed = await packedRows(from, snapshot, chosen.subarray(0, count).sort(), scheduler);
  return { rows: feedRowsInOrder(packed), workedMs: scheduler.workedMs(), readMs: scanMs * reads };
}

function countryChoice(
  { countries, isExcept }: NamedFeed,
  geo: SelectSources['geo'],
): (id: number) => boolean {
  if (countries.length === 0) return () => true;
  const named = Uint8Array.from({ length: geo.countryCount }, (_, id) =>
    countries.includes(geo.country(id)) === isExcept ? 0 : 1,
  );
  return (id) => named[id] === 1;
}

/** Returns the beginning of the keys of an entry's reports; undefined where it is not of whole bytes. */
function reportsUnder({ family, words, length }: NonNullable<ReturnType<IpIndex['prefixOf']>>) {
  if (length % 8 !== 0) return undefined;
  const four = new Uint32Array(4);
  four.set(words);
  const bytes = addressBytes(family, four);
  return bytes.subarray(0, 1 + (family === 4 ? 12 : 0) + length / 8);
}

async function hasCategory(
  store: Pick<Store, 'scan'>,
  under: readonly Uint8Array[],
  categories: number,
  oldestMs: number,
): Promise<boolean> {
  for (const address of under) {
    const page = await store.scan(reportByAddressPrefix(address), { limit: reportsRead });
    for (const { key, value } of page) {
      const report = decodeRow(key, value);
      if (report === undefined || report.reportedAt < oldestMs) continue;
      if ((report.categories & categories) !== 0) return true;
    }
  }
  return false;
}

async function packedRows(
  { index, geo }: SelectSources,
  { rows }: BlacklistSnapshot,
  chosen: Uint32Array,
  scheduler: SliceScheduler,
): Promise<Rows> {
  const { records } = index;
  const packed = new Uint32Array(chosen.length * FEED_ROW);
  const words = new Uint32Array(4);
  const covering = new Int32Array(COVERING_MAX);
  for (const [i, row] of chosen.entries()) {
    if (i % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    const at = i * FEED_ROW;
    const family = rows.family(row);
    const length = rows.length[row]!;
    rows.copyAddress(row, words);
    packed.set(words, at);
    const found = index.covering(family, words, covering);
    let flags = family === 6 ? rowFlags.six : 0;
    for (const entry of covering.subarray(0, found)) {
      const own = index.prefixOf(entry)!.length;
      const isExit = (flagsOf(metaOf(records, entry)) & entryFlags.anonymousExit) !== 0;
      if (own <= length && isExit) flags |= rowFlags.anon;
      if (own !== length) continue;
      packed[at + 5] = reportsOf(records, entry);
      packed[at + 6] = lastReportedAtOf(records, entry);
    }
    packed[at + 4] = packInfo(length, rows.score[row]!, flags);
    packed[at + 7] = geo.find(family, words);
  }
  return packed;
}
