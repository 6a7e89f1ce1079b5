/** Activity counters and minutes against a model that keeps every single thing; errors and quantiles beside. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createActivityCounters,
  createHourOfErrors,
  minutesKept,
} from '../../src/app/activity-counters.ts';
import { histogramDifference, quantileOf } from '../../src/app/figures.ts';
import { createTimings, timingBounds } from '../../src/core/timings.ts';
import { type CountPeriod, countPeriods } from '../../src/reputation/counts/report-counts.ts';
import { seededRandom } from '../support/seeded.ts';

const startMs = Date.UTC(2026, 0, 1, 0, 7);
const minuteMs = 60_000;
const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
const periods = Object.keys(countPeriods) as CountPeriod[];

interface Done {
  readonly name: string;
  readonly by: number;
  readonly at: number;
}

function summed(done: readonly Done[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { name, by } of done) sums.set(name, (sums.get(name) ?? 0) + by);
  return sums;
}

const told = (rows: readonly { name: string; count: number; error: number }[]) => {
  for (const { error } of rows) assert.equal(error, 0);
  return new Map(rows.map(({ name, count }) => [name, count]));
};

for (const seed of [1, 2]) {
  it(`any run with gaps and restarts gives what the model gives (seed ${seed})`, () => {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    let activity = createActivityCounters(startMs);
    const done: Done[] = [];
    const minutes = new Map<number, { checks: number; p50: number | undefined }>();
    let now = startMs;
    for (let round = 0; round < 400; round++) {
      for (let i = below(5); i > 0; i--) {
        const one = { name: names[below(names.length)]!, by: 1 + below(1_000), at: now };
        done.push(one);
        activity.add(one.name, one.by, now);
      }
      const checks = below(3) * below(100);
      const p50 = checks > 50 ? Math.fround(random.next()) : undefined;
      const before = minutes.get(Math.floor(now / minuteMs));
      minutes.set(Math.floor(now / minuteMs), {
        checks: checks + (before?.checks ?? 0),
        p50: p50 ?? before?.p50,
      });
      activity.addMinute({ startMs: now, checks, p50, p99: p50 });
      now += below(20) === 0 ? below(20 * 86_400_000) : below(200_000);
      if (below(10) === 0) {
        const bytes = activity.encode();
        activity = createActivityCounters(now);
        assert.equal(activity.load(bytes), true);
      }
      if (round % 40 !== 39) continue;
      for (const period of periods) {
        const { ms, buckets } = countPeriods[period];
        const from = (Math.floor(now / ms) - buckets + 1) * ms;
        const within = done.filter(({ at }) => at >= from);
        assert.deepEqual(told(activity.sum(period, now)), orderless(summed(within)), period);
        for (const bucket of activity.series(period, now)) {
          const own = done.filter(({ at }) => Math.floor(at / ms) * ms === bucket.startMs);
          for (const [name, count] of summed(own)) assert.equal(bucket.of(name), count);
        }
      }
      assert.equal(activity.inAll().startMs, startMs);
      assert.deepEqual(told(activity.inAll().all), orderless(summed(done)));
      const last = Math.floor(now / minuteMs) - 1;
      const shown = activity.minutes(now);
      assert.equal(shown.length, minutesKept);
      for (const [i, minute] of shown.entries()) {
        const number = last - minutesKept + 1 + i;
        const kept = minutes.get(number);
        assert.equal(minute.startMs, number * minuteMs);
        assert.deepEqual([minute.checks, minute.p50], [kept?.checks ?? 0, kept?.p50]);
      }
    }
  });
}

/** A Map is compared by its order too. */
function orderless(map: Map<string, number>): Map<string, number> {
  const byCount = (a: [string, number], b: [string, number]) =>
    b[1] - a[1] || (a[0] < b[0] ? -1 : 1);
  return new Map([...map].sort(byCount));
}

it('bytes that are none leave the activity empty', () => {
  const activity = createActivityCounters(startMs);
  activity.add('a', 3, startMs);
  const bytes = activity.encode();
  for (let length = 0; length < bytes.length; length++) {
    const read = createActivityCounters(startMs + 1);
    assert.equal(read.load(bytes.subarray(0, length)), false, `${length} bytes`);
    assert.deepEqual(read.inAll().all, []);
    assert.equal(read.inAll().startMs, startMs + 1);
  }
});

it('errors are those of the last hour', () => {
  const errors = createHourOfErrors();
  errors.add('old', 5, startMs);
  errors.add('new', 2, startMs + 59 * minuteMs);
  const names = (at: number) => errors.read(at).map(({ name, count }) => [name, count]);
  assert.deepEqual(names(startMs + 59 * minuteMs), [
    ['old', 5],
    ['new', 2],
  ]);
  assert.deepEqual(names(startMs + 60 * minuteMs), [['new', 2]]);
  assert.deepEqual(names(startMs + 200 * minuteMs), []);
});

it('a quantile lies between the bounds around the sorted values', () => {
  const random = seededRandom(7);
  const timings = createTimings(2);
  const before = timings.read('check');
  const seconds = Array.from({ length: 500 }, () => 10 ** (-6 + 5 * random.next()));
  for (const [i, value] of seconds.entries()) timings.recorder(i % 2)('check', value * 1_000);
  const histogram = histogramDifference(timings.read('check'), before);
  const sorted = seconds.toSorted((a, b) => a - b);
  for (const share of [0.5, 0.9, 0.99]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
    const found = quantileOf(histogram, share)!;
    const upper = timingBounds.find((bound) => bound >= exact)!;
    const lower = timingBounds.findLast((bound) => bound < exact) ?? 0;
    assert.ok(found > lower && found <= upper, `${share}: ${found}, ${exact}`);
  }
  const now = timings.read('check');
  assert.equal(quantileOf(histogramDifference(now, now), 0.5), undefined);
});
