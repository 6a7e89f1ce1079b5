/** Counts of reports against a model that keeps every report and counts anew at each question. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  type CountPeriod,
  countPeriods,
  createReportCounts,
  type ReportBucket,
  type ReportCounts,
  type ReportFacts,
  type ReportTrait,
  reportTraits,
} from '../../../src/reputation/counts/report-counts.ts';
import { seededRandom } from '../../support/seeded.ts';

const startMs = Date.UTC(2026, 0, 1, 0, 7);
const periods = Object.keys(countPeriods) as CountPeriod[];
const firstPage = 10;

interface Kept {
  readonly facts: ReportFacts;
  readonly at: number;
}

function namesOf(facts: ReportFacts, trait: ReportTrait): readonly string[] {
  if (trait === 'category') return facts.categories;
  if (trait === 'list') return facts.lists;
  return [facts[trait]];
}

function tallied(kept: readonly Kept[], trait: ReportTrait) {
  const tally = new Map<string, number>();
  for (const { facts } of kept) {
    for (const name of namesOf(facts, trait)) tally.set(name, (tally.get(name) ?? 0) + 1);
  }
  return [...tally]
    .map(([name, count]) => ({ name, count, error: 0 }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

function plain(bucket: ReportBucket) {
  return {
    startMs: bucket.startMs,
    reports: bucket.reports,
    by: reportTraits.map((trait) => bucket.by(trait)),
  };
}

function modelled(kept: readonly Kept[], from: number) {
  return {
    startMs: from,
    reports: kept.length,
    by: reportTraits.map((trait) => tallied(kept, trait)),
  };
}

function assertSame(counts: ReportCounts, kept: readonly Kept[], now: number, said: string): void {
  for (const period of periods) {
    const { ms, buckets } = countPeriods[period];
    const last = Math.floor(now / ms) * ms;
    const starts = Array.from({ length: buckets }, (_, i) => last - (buckets - 1 - i) * ms);
    const within = (from: number, to: number) => kept.filter(({ at }) => at >= from && at < to);
    assert.deepEqual(
      counts.series(period, now).map(plain),
      starts.map((from) => modelled(within(from, from + ms), from)),
      `${said}: ${period}`,
    );
    const sum = modelled(within(starts[0]!, last + ms), starts[0]!);
    assert.deepEqual(plain(counts.sum(period, now)), sum, `${said}: sum of ${period}`);
  }
  assert.deepEqual(plain(counts.inAll()), modelled(kept, kept[0]!.at), `${said}: in all`);
}

for (const seed of [1, 2, 3]) {
  it(`any run of reports, gaps and restarts gives the counts of the model (seed ${seed})`, () => {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const some = (prefix: string, of: number, max: number) => [
      ...new Set(Array.from({ length: below(max + 1) }, () => `${prefix}${below(of)}`)),
    ];
    const touched = new Set<number>();
    const touch = (page: number) => void touched.add(page);
    let counts = createReportCounts(firstPage, touch);
    const kept: Kept[] = [];
    const gaps = [1_000, 60_000, 900_000, 3_600_000, 86_400_000, 40 * 86_400_000];
    let now = startMs;
    for (let round = 0; round < 30; round++) {
      for (let i = below(40); i >= 0; i--) {
        const facts = {
          categories: some('', 23, 3),
          country: `c${below(200)}`,
          network: `n${below(60)}`,
          lists: some('l', 200, 3),
          band: ['clean', 'low', 'suspect', 'malicious'][below(4)]!,
        };
        kept.push({ facts, at: now });
        counts.add(facts, now);
        now += below(gaps[below(2)]!);
      }
      now += below(gaps[below(gaps.length)]!);
      if (below(3) === 0) {
        counts = reopened(counts, touched, touch);
      }
      if (round % 5 === 4) assertSame(counts, kept, now, `seed ${seed}, round ${round}`);
    }
    assert.equal(counts.inAll().late, 0);
  });
}

/** As a restart does it: the pages that were touched, into an empty table. */
function reopened(
  counts: ReportCounts,
  touched: ReadonlySet<number>,
  touch: (page: number) => void,
): ReportCounts {
  const opened = createReportCounts(firstPage, touch);
  for (const page of touched) {
    assert.ok(page >= firstPage && page < firstPage + counts.section.pages);
    assert.equal(opened.section.load(page, counts.section.encode(page)), true);
  }
  return opened;
}

const facts: ReportFacts = {
  categories: ['22'],
  country: 'FR',
  network: 'Example',
  lists: [],
  band: 'low',
};

it('a report whose bucket has gone counts in all and as late', () => {
  const counts = createReportCounts(firstPage, () => {});
  const dayMs = 86_400_000;
  counts.add(facts, startMs + dayMs);
  counts.add(facts, startMs);
  const all = counts.inAll();
  assert.deepEqual([all.reports, all.late], [2, 1]);
  assert.equal(counts.sum('quarter', startMs + dayMs).reports, 1);
  assert.equal(counts.sum('hour', startMs + dayMs).reports, 2);
});

it('buckets that a clock ahead of time left behind do not keep the present out', () => {
  const counts = createReportCounts(firstPage, () => {});
  const tenYearsMs = 3_650 * 86_400_000;
  counts.add(facts, startMs + tenYearsMs);
  for (let i = 0; i < 96; i++) counts.add(facts, startMs + i * 900_000);
  assert.equal(counts.sum('quarter', startMs + 95 * 900_000).reports, 96);
  assert.equal(counts.inAll().late, 0);
});

it('a page that is not one of counts is refused', () => {
  const counts = createReportCounts(firstPage, () => {});
  counts.add(facts, startMs);
  const page = counts.section.encode(firstPage);
  const load = (bytes: Uint8Array) =>
    createReportCounts(firstPage, () => {}).section.load(firstPage, bytes);
  assert.equal(load(page), true);
  for (let length = 0; length < page.length; length++) {
    assert.equal(load(page.subarray(0, length)), false, `${length} bytes`);
  }
  assert.equal(load(Buffer.concat([page, Uint8Array.of(0)])), false);
  assert.equal(load(Uint8Array.of(9, ...page.subarray(1))), false);
});
