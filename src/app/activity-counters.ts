/**
 * Counts what this server did, by name and time: challenges, sign-ins, consents, refusals,
 * requests. The journal holds none of it, so each node has its own counters; they are kept in a row
 * of the store, written every minute and at the end. After kill -9 the last minute is missing.
 *
 * In addition to the periods of the counts of reports (report-counts.ts), a day of minutes has the
 * number of checks and how long they took. Fixed in size: rings of buckets, each with so many names
 * at most.
 */

import { minuteMs } from '../core/time.ts';
import { type CountPeriod, countPeriods } from '../reputation/counts/report-counts.ts';
import {
  createTopTable,
  type NameCount,
  sumOf,
  type TopTable,
} from '../reputation/counts/top-table.ts';
import { createWriter, decode, type Reader, type Writer } from '../storage/codec.ts';

/** More than there are: all counts are exact. */
const namesMax = 128;
export const minutesKept = 1_440;
const layout = 1;

interface MinuteFigures {
  readonly startMs: number;
  readonly checks: number;
  /** Seconds, of one check in 64; undefined: none was timed. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

interface CounterBucket {
  readonly startMs: number;
  of(name: string): number;
}

interface Bucket {
  number: number;
  readonly table: TopTable;
}

const periods = Object.keys(countPeriods) as readonly CountPeriod[];

function createRings(): Record<CountPeriod, Bucket[]> {
  const ring = (period: CountPeriod) =>
    Array.from({ length: countPeriods[period].buckets }, () => ({
      number: 0,
      table: createTopTable(namesMax),
    }));
  return { quarter: ring('quarter'), hour: ring('hour'), day: ring('day') };
}

function createMinutes() {
  const numbers = new Uint32Array(minutesKept);
  const checks = new Float64Array(minutesKept);
  const p50 = new Float32Array(minutesKept);
  const p99 = new Float32Array(minutesKept);
  return { numbers, checks, p50, p99 };
}

export function createActivityCounters(nowMs: number) {
  let startMs = nowMs;
  let changes = 0;
  let all = createTopTable(namesMax);
  let rings = createRings();
  let day = createMinutes();

  function bucketAt(period: CountPeriod, number: number): Bucket {
    return rings[period][number % countPeriods[period].buckets]!;
  }

  function write(out: Writer): void {
    out.u8(layout).f64(startMs);
    all.encode(out);
    for (const period of periods) {
      const used = rings[period].filter(({ number }) => number > 0);
      out.varint(used.length);
      for (const { number, table } of used) table.encode(out.varint(number));
    }
    const { numbers, checks, p50, p99 } = day;
    const used = [...numbers.keys()].filter((ringIndex) => numbers[ringIndex]! > 0);
    out.varint(used.length);
    for (const ringIndex of used) {
      out
        .varint(numbers[ringIndex]!)
        .varint(checks[ringIndex]!)
        .f32(p50[ringIndex]!)
        .f32(p99[ringIndex]!);
    }
  }

  function read(input: Reader): true {
    if (input.u8() !== layout) input.reject();
    startMs = input.f64();
    all.load(input);
    for (const period of periods) {
      for (let left = input.varint(); left > 0 && !input.failed(); left--) {
        const number = input.varint();
        const bucket = bucketAt(period, number);
        bucket.number = number;
        bucket.table.load(input);
      }
    }
    for (let left = input.varint(); left > 0 && !input.failed(); left--) {
      const number = input.varint();
      const ringIndex = number % minutesKept;
      day.numbers[ringIndex] = number;
      day.checks[ringIndex] = input.varint();
      day.p50[ringIndex] = input.f32();
      day.p99[ringIndex] = input.f32();
    }
    return true;
  }

  return {
    add(name: string, by: number, at: number): void {
      if (by <= 0) return;
      changes++;
      all.add(name, by);
      for (const period of periods) {
        const number = Math.floor(at / countPeriods[period].ms);
        const bucket = bucketAt(period, number);
        if (bucket.number !== number) {
          bucket.number = number;
          bucket.table.clear();
        }
        bucket.table.add(name, by);
      }
    },
    addMinute({ startMs: at, checks, p50, p99 }: MinuteFigures): void {
      const number = Math.floor(at / minuteMs);
      const ringIndex = number % minutesKept;
      if (checks > 0) changes++;
      // A timer that is early or late may end two samples in one minute.
      const isSame = day.numbers[ringIndex] === number;
      day.numbers[ringIndex] = number;
      day.checks[ringIndex] = checks + (isSame ? day.checks[ringIndex]! : 0);
      if (isSame && p50 === undefined) return;
      day.p50[ringIndex] = p50 ?? Number.NaN;
      day.p99[ringIndex] = p99 ?? Number.NaN;
    },
    /** Returns the counts since the counting began, at `startMs`. */
    inAll: (): CounterBucket & { readonly all: readonly NameCount[] } => ({
      ...bucketOf(startMs, all),
      all: sumOf([all]),
    }),
    /** Returns all buckets of a period up to that of `now`, the oldest first. */
    series(period: CountPeriod, now: number): readonly CounterBucket[] {
      const { ms, buckets } = countPeriods[period];
      const last = Math.floor(now / ms);
      return Array.from({ length: buckets }, (_, i) => {
        const number = last - buckets + 1 + i;
        const bucket = bucketAt(period, number);
        return bucketOf(number * ms, bucket.number === number ? bucket.table : undefined);
      });
    },
    /** Returns the counts of a period up to `now`, the largest first. */
    sum(period: CountPeriod, now: number): readonly NameCount[] {
      const { ms, buckets } = countPeriods[period];
      const last = Math.floor(now / ms);
      const isIn = ({ number }: Bucket) => number <= last && number > last - buckets;
      return sumOf(rings[period].filter(isIn).map(({ table }) => table));
    },
    /**
     * Returns the minutes of the day up to the one before that of `now`, the oldest first; those without a
     * sample too.
     */
    minutes(now: number): readonly MinuteFigures[] {
      const last = Math.floor(now / minuteMs) - 1;
      return Array.from({ length: minutesKept }, (_, i) => {
        const number = last - minutesKept + 1 + i;
        const ringIndex = number % minutesKept;
        const isThere = day.numbers[ringIndex] === number;
        const timed = (values: Float32Array) =>
          isThere && !Number.isNaN(values[ringIndex]!) ? values[ringIndex] : undefined;
        const checks = isThere ? day.checks[ringIndex]! : 0;
        return { startMs: number * minuteMs, checks, p50: timed(day.p50), p99: timed(day.p99) };
      });
    },
    /** Returns a number that grows with each change: a writer compares it. */
    changes: (): number => changes,
    encode(): Uint8Array {
      const out = createWriter();
      write(out);
      return out.finish();
    },
    /**
     * Fills empty counters. @returns false for bytes that are not an encoding of counters: then nothing was
     * changed
     */
    load(bytes: Uint8Array): boolean {
      const isRead = decode(bytes, read) === true;
      if (isRead) return true;
      startMs = nowMs;
      all = createTopTable(namesMax);
      rings = createRings();
      day = createMinutes();
      return false;
    },
  };
}

export type ActivityCounters = ReturnType<typeof createActivityCounters>;

function bucketOf(startMs: number, table: TopTable | undefined): CounterBucket {
  return {
    startMs,
    of(name) {
      for (const row of table?.rows() ?? []) if (row.name === name) return row.count;
      return 0;
    },
  };
}

/** Returns counts of acts by name, of the last day and of all times, without checks and requests. */
export function activitiesOf(activity: Pick<ActivityCounters, 'inAll' | 'sum'>, nowMs: number) {
  const day = new Map(activity.sum('quarter', nowMs).map(({ name, count }) => [name, count]));
  return activity
    .inAll()
    .all.filter(({ name }) => name !== 'checks' && !name.startsWith('requests:'))
    .map(({ name, count }) => ({ name, day: day.get(name) ?? 0, ever: count }));
}

// Counts errors of the last hour by name: a ring of 60 minutes, each with 64 names at most.

const minutes = 60;
const errorNamesMax = 64;

export function createHourOfErrors() {
  const ring = Array.from({ length: minutes }, () => ({
    number: 0,
    table: createTopTable(errorNamesMax),
  }));
  return {
    add(name: string, by: number, nowMs: number): void {
      if (by <= 0) return;
      const number = Math.floor(nowMs / minuteMs);
      const bucket = ring[number % minutes]!;
      if (bucket.number !== number) {
        bucket.number = number;
        bucket.table.clear();
      }
      bucket.table.add(name, by);
    },
    read(nowMs: number): readonly NameCount[] {
      const last = Math.floor(nowMs / minuteMs);
      const isIn = ({ number }: { number: number }) => number <= last && number > last - minutes;
      return sumOf(ring.filter(isIn).map(({ table }) => table));
    },
  };
}

export type HourOfErrors = ReturnType<typeof createHourOfErrors>;
