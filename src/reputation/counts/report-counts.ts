/**
 * Counts reports when their events are applied: per quarter of an hour for a day, per hour for a week, per day (UTC)
 * for 90 days, and in all. The size is fixed: each period is a ring of buckets that are reused.
 *
 * A report belongs to the bucket of its event's time, so the journal gives the same counts after a restart and on
 * every node. If that bucket is reused already, the report counts in all and as late. After a clock that was ahead,
 * buckets of the future stay until the present is a full round away from them.
 *
 * Counts never shrink: a retracted report was still a report of its day. The facts of a report are read right after
 * it was applied: from the event, the index and the lists, which are the same on every node, and from this server's
 * tables of countries and networks, in which nodes may differ.
 */

import { scoreBand } from '../../contracts/reputation.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import type { IpFamily } from '../../ip/address.ts';
import { createReader, createWriter, type Reader, type Writer } from '../../storage/codec.ts';
import type { PageSection } from '../../storage/journal/projection.ts';
import { openCheck } from '../check/check.ts';
import type { Sources } from '../lists/sources.ts';
import { categoriesOf } from '../reports/categories.ts';
import { type Contributions, contributionKinds, kindOf, refOf } from '../state/contributions.ts';
import type { AddedReport } from '../state/events.ts';
import { createTopTable, type NameCount, sumOf, type TopTable } from './top-table.ts';

/**
 * Names that a bucket keeps of each kind. Categories, countries and bands never fill theirs, and no more
 * lists than that are known at a time: their counts are exact. Networks are many.
 */
const sizes = { category: 24, country: 256, network: 64, list: 256, band: 4 } as const;

export type ReportTrait = keyof typeof sizes;
export const reportTraits = Object.keys(sizes) as readonly ReportTrait[];

export interface ReportFacts {
  readonly categories: readonly string[];
  readonly country: string;
  readonly network: string;
  readonly lists: readonly string[];
  readonly band: string;
}

interface Bucket {
  /** Lengths of its period since 1970; 0 when it was never used. */
  number: number;
  reports: number;
  readonly tables: Readonly<Record<ReportTrait, TopTable>>;
}

const pageVersion = 1;

/** @param networks how many of them are kept by name */
function createBucket(networks: number = sizes.network): Bucket {
  const table = (trait: ReportTrait) => createTopTable(sizes[trait]);
  return {
    number: 0,
    reports: 0,
    tables: {
      category: table('category'),
      country: table('country'),
      network: createTopTable(networks),
      list: table('list'),
      band: table('band'),
    },
  };
}

function beginBucket(bucket: Bucket, number: number): void {
  bucket.number = number;
  bucket.reports = 0;
  for (const trait of reportTraits) bucket.tables[trait].clear();
}

function countInto(bucket: Bucket, facts: ReportFacts): void {
  const { category, country, network, list, band } = bucket.tables;
  bucket.reports++;
  for (const name of facts.categories) category.add(name);
  country.add(facts.country);
  network.add(facts.network);
  for (const name of facts.lists) list.add(name);
  band.add(facts.band);
}

function encodeBucket(out: Writer, bucket: Bucket): void {
  out.u8(pageVersion).varint(bucket.number).varint(bucket.reports);
  for (const trait of reportTraits) bucket.tables[trait].encode(out);
}

function loadBucket(input: Reader, bucket: Bucket): void {
  if (input.u8() !== pageVersion) input.reject();
  bucket.number = input.varint();
  bucket.reports = input.varint();
  for (const trait of reportTraits) bucket.tables[trait].load(input);
}

export const countPeriods = {
  quarter: { ms: 15 * minuteMs, buckets: 96 },
  hour: { ms: hourMs, buckets: 168 },
  day: { ms: dayMs, buckets: 90 },
} as const;
export type CountPeriod = keyof typeof countPeriods;
const periods = Object.keys(countPeriods) as readonly CountPeriod[];

/** Networks that are kept by name in the count of all reports ever. */
const networksInAll = 256;

export interface ReportBucket {
  /** Its beginning, ms since 1970. */
  readonly startMs: number;
  readonly reports: number;
  /** The highest first; equal ones by name. Which counts are exact: see `sizes`. */
  by(trait: ReportTrait): readonly NameCount[];
}

export type ReportCounts = ReturnType<typeof createReportCounts>;

/** @param touch called with the page before anything of it changes, for the checkpoint */
export function createReportCounts(firstPage: number, touch: (page: number) => void) {
  const all = createBucket(networksInAll);
  let sinceMs = 0;
  let late = 0;
  const rings = ringsFrom(firstPage + 1);
  const pages = 1 + periods.reduce((sum, period) => sum + countPeriods[period].buckets, 0);

  /** False when its bucket was that of a later time already. */
  function addTo(period: CountPeriod, facts: ReportFacts, at: number): boolean {
    const { ms, buckets } = countPeriods[period];
    const ring = rings[period];
    const number = Math.floor(at / ms);
    const ringIndex = number % buckets;
    const bucket = ring.buckets[ringIndex]!;
    if (bucket.number - number === buckets) return false;
    touch(ring.firstPage + ringIndex);
    if (bucket.number !== number) beginBucket(bucket, number);
    countInto(bucket, facts);
    return true;
  }

  function bucketAt(page: number): Bucket {
    for (const period of periods) {
      const { firstPage: first, buckets } = rings[period];
      if (page >= first && page < first + buckets.length) return buckets[page - first]!;
    }
    return all;
  }

  /** Returns all buckets of a period up to that of `nowMs`, the oldest first; empty ones too. */
  function series(period: CountPeriod, nowMs: number): ReportBucket[] {
    const { ms, buckets } = countPeriods[period];
    const last = Math.floor(nowMs / ms);
    return Array.from({ length: buckets }, (_, i) => {
      const number = last - buckets + 1 + i;
      const bucket = rings[period].buckets[number % buckets]!;
      return shown(number * ms, bucket.number === number ? [bucket] : []);
    });
  }

  /** @param at the event's own time, ms */
  function add(facts: ReportFacts, at: number): void {
    touch(firstPage);
    if (all.reports === 0) sinceMs = at;
    countInto(all, facts);
    let isLate = false;
    for (const period of periods) if (!addTo(period, facts, at)) isLate = true;
    if (isLate) late++;
  }

  /** Adds up the buckets of `series`. */
  function sum(period: CountPeriod, nowMs: number): ReportBucket {
    const { ms, buckets } = countPeriods[period];
    const last = Math.floor(nowMs / ms);
    const isIn = ({ number }: Bucket) => number <= last && number > last - buckets;
    return shown((last - buckets + 1) * ms, rings[period].buckets.filter(isIn));
  }

  /** Returns all that was ever counted; `startMs` is the time of the first report, 0 when there is none. */
  function inAll(): ReportBucket & { readonly late: number } {
    return { ...shown(sinceMs, [all]), late };
  }

  const section: PageSection = {
    firstPage,
    pages,
    encode(page) {
      const out = createWriter();
      encodeBucket(out, bucketAt(page));
      if (page === firstPage) out.varint(sinceMs).varint(late);
      return out.finish();
    },
    load(page, bytes) {
      const input = createReader(bytes);
      loadBucket(input, bucketAt(page));
      if (page === firstPage) {
        sinceMs = input.varint();
        late = input.varint();
      }
      return !input.failed() && input.remaining() === 0;
    },
  };
  return { add, series, sum, inAll, section };
}

function ringsFrom(firstPage: number) {
  let page = firstPage;
  const ring = (period: CountPeriod) => {
    const buckets = Array.from({ length: countPeriods[period].buckets }, () => createBucket());
    page += buckets.length;
    return { firstPage: page - buckets.length, buckets };
  };
  return { quarter: ring('quarter'), hour: ring('hour'), day: ring('day') };
}

function shown(startMs: number, buckets: readonly Bucket[]): ReportBucket {
  return {
    startMs,
    reports: buckets.reduce((sum, { reports }) => sum + reports, 0),
    by: (trait) => sumOf(buckets.map(({ tables }) => tables[trait])),
  };
}

/** Looks up country and network of an address in the compiled tables. */
export type Geolocate = (
  family: IpFamily,
  words: Uint32Array,
) => { readonly country: string; readonly network: string };

/** Longest name of a network that is kept, UTF-16 units. */
const networkNameMax = 100;

/** @returns the reader of facts; what it gives is good for one report */
export function createReportFacts(options: {
  index: Pick<IndexView, 'covering' | 'records' | 'listTimes'>;
  contributions: Pick<Contributions, 'first' | 'next' | 'tag'>;
  sources: Pick<Sources, 'nameOf'>;
  geolocate: Geolocate;
}): (event: AddedReport, at: number) => ReportFacts {
  const { index, contributions, sources, geolocate } = options;
  const geo = {
    write: (_view: DataView, at: number) => at,
    writeUsage: (_view: DataView, at: number) => at,
  };
  const { judge } = openCheck({ index, geo });
  const covering = new Int32Array(COVERING_MAX);

  /** Returns the names of the lists of bad addresses and of anonymous exits, each once. */
  function listsOf(family: IpFamily, words: Uint32Array): string[] {
    const names = new Set<string>();
    const count = index.covering(family, words, covering);
    for (let i = 0; i < count; i++) {
      for (let node = contributions.first(covering[i]!); node !== 0; ) {
        const tag = contributions.tag[node]!;
        const kind = kindOf(tag);
        if (kind === contributionKinds.seed || kind === contributionKinds.anon) {
          const name = sources.nameOf(refOf(tag));
          if (name !== undefined) names.add(name);
        }
        node = contributions.next[node]!;
      }
    }
    return [...names];
  }

  return (event, at) => {
    const { family, words, categories } = event;
    const { country, network } = geolocate(family, words);
    return {
      categories: categoriesOf(categories).map(String),
      country,
      network: network.slice(0, networkNameMax),
      lists: listsOf(family, words),
      band: scoreBand(judge(family, words, at).score),
    };
  };
}
