/**
 * Reports counted as their events are applied: per quarter of an hour for a day, per hour for a week,
 * per day (UTC) for 90 days, and in all. Fixed in size: each period is a ring of buckets, and a bucket
 * that comes round again begins anew.
 *
 * A report belongs to the bucket of its event's own time, so that the journal gives the same counts
 * after a restart and on every node. One whose bucket has gone already counts in all and as late. A
 * clock that was ahead leaves buckets of the future behind: the ring takes them back once its own time
 * is a round or more away from them.
 *
 * What is counted stays: a report that is taken back later was a report of its day.
 */

import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import { createReader, createWriter } from '../../storage/codec.ts';
import type { PageSection } from '../../storage/projection.ts';
import {
  type Bucket,
  beginBucket,
  countInto,
  createBucket,
  encodeBucket,
  loadBucket,
  type ReportFacts,
  type ReportTrait,
} from './bucket.ts';
import { type Counted, sumOf } from './top-table.ts';

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
  /** The highest first; equal ones by name. Which counts are exact: bucket.ts. */
  by(trait: ReportTrait): readonly Counted[];
}

export interface ReportCounts {
  /** `at`: the event's own time, ms. */
  add(facts: ReportFacts, at: number): void;
  /** Returns all buckets of a period up to that of `nowMs`, the oldest first; empty ones too. */
  series(period: CountPeriod, nowMs: number): readonly ReportBucket[];
  /** Adds up the buckets of `series`. */
  sum(period: CountPeriod, nowMs: number): ReportBucket;
  /**
   * Returns all that was ever counted; `startMs` is the time of the first report, 0 when there is
   * none.
   */
  inAll(): ReportBucket & { readonly late: number };
  readonly section: PageSection;
}

/** @param touch called with the page before anything of it changes, for the checkpoint */
export function createReportCounts(firstPage: number, touch: (page: number) => void): ReportCounts {
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
    const place = number % buckets;
    const bucket = ring.buckets[place]!;
    if (bucket.number - number === buckets) return false;
    touch(ring.firstPage + place);
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

  function series(period: CountPeriod, nowMs: number): ReportBucket[] {
    const { ms, buckets } = countPeriods[period];
    const last = Math.floor(nowMs / ms);
    return Array.from({ length: buckets }, (_, i) => {
      const number = last - buckets + 1 + i;
      const bucket = rings[period].buckets[number % buckets]!;
      const tables = bucket.number === number ? [bucket] : [];
      return shown(number * ms, tables);
    });
  }

  return {
    add(facts, at) {
      touch(firstPage);
      if (all.reports === 0) sinceMs = at;
      countInto(all, facts);
      let isLate = false;
      for (const period of periods) if (!addTo(period, facts, at)) isLate = true;
      if (isLate) late++;
    },
    series,
    sum(period, nowMs) {
      const { ms, buckets } = countPeriods[period];
      const last = Math.floor(nowMs / ms);
      const isIn = ({ number }: Bucket) => number <= last && number > last - buckets;
      return shown((last - buckets + 1) * ms, rings[period].buckets.filter(isIn));
    },
    inAll: () => ({ ...shown(sinceMs, [all]), late }),
    section: {
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
    },
  };
}

interface Ring {
  readonly firstPage: number;
  readonly buckets: readonly Bucket[];
}

function ringsFrom(firstPage: number): Readonly<Record<CountPeriod, Ring>> {
  let page = firstPage;
  const ring = (period: CountPeriod): Ring => {
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
