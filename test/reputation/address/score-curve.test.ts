/**
 * The curve ends at today's score, falls by half lives between reports, begins with the first, has lists from
 * when they are known to name it, and says on which days it does not know all.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListEvidence, ReportEvidence } from '../../../src/reputation/address/evidence.ts';
import { scoreCurve } from '../../../src/reputation/address/score-curve.ts';
import {
  communityScore,
  halfLivesAt,
  strengthOfEvidence,
} from '../../../src/reputation/check/score.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 5, 30, 12);
const ago = (days: number) => nowMs - days * dayMs;
const address = '192.0.2.1';

const said = (evidence: number, ceiling = 100): ReportEvidence => ({
  entry: address,
  score: 0,
  ceiling,
  reports: 1,
  reporters: 1,
  parts: [],
  strength: strengthOfEvidence(evidence, halfLivesAt(nowMs)),
  firstReportedAt: ago(60),
  lastReportedAt: ago(1),
});
const list = (confidence: number | undefined, days: number): ListEvidence => ({
  name: 'a',
  kind: confidence === undefined ? 'anon' : 'bad',
  service: undefined,
  category: undefined,
  confidence,
  entry: '192.0.2.0/24',
  since: ago(days),
  loadedAt: nowMs,
  endsAt: nowMs,
});

function whole(
  lists: ListEvidence[],
  reports: ReportEvidence[],
  own: [string, number][] = [],
  rest: { isCut?: boolean; hasReports?: boolean } = {},
) {
  return scoreCurve({
    evidence: { lists, reports },
    reports: own.map(([account, days]) => ({ account, reportedAt: ago(days) })),
    address,
    isCut: false,
    hasReports: true,
    nowMs,
    days: 90,
    ...rest,
  });
}

const curve = (reports: [string, number][], evidence: number, ceiling = 100) =>
  whole([], [said(evidence, ceiling)], reports)!.map(({ score }) => score);

test('one report: nothing before it, the most on its day, less by half after 14 days', () => {
  const found = curve([['a', 28]], 0.25);
  assert.equal(found.length, 90);
  assert.deepEqual(found.slice(0, 61), new Array(61).fill(0));
  assert.equal(found.at(-1), Math.round(communityScore(0.25, 100)));
  // Days end half a day behind the report; the last one is now.
  assert.equal(found[61], Math.round(communityScore(2 ** -(0.5 / 14), 100)));
  assert.equal(found[75], Math.round(communityScore(0.5 * 2 ** -(0.5 / 14), 100)));
  for (let day = 62; day < 90; day++) assert.ok(found[day]! <= found[day - 1]!, String(day));
});

test('many reports of one account fill a cap, others add; the ceiling of today holds', () => {
  const one = curve([...Array.from({ length: 40 }, () => ['a', 10] as [string, number])], 1);
  const two = curve(
    [
      ['a', 10],
      ['b', 10],
      ['c', 1],
    ],
    1,
  );
  assert.equal(one.at(-1), two.at(-1), 'both end at today’s score');
  assert.ok(two.at(-3)! < two.at(-1)!, 'the last report raises it');
  assert.ok(one.at(-3)! >= one.at(-1)!);
  const newestFirst: [string, number][] = [
    ['a', 1],
    ['b', 60],
  ];
  const capped = curve(newestFirst, 50, 49);
  assert.ok(Math.max(...capped) <= 49);
  assert.ok(capped[40]! > 0, 'the older one counts from its day on');
});

test('without reports, or without evidence, there is no curve', () => {
  assert.equal(whole([], []), undefined);
  assert.equal(whole([], [said(0)], [['a', 3]]), undefined);
  assert.equal(whole([list(undefined, 3)], []), undefined, 'exits have no score');
});

test('a list counts from when it is known to say so, and the days before are known in part', () => {
  const found = whole([list(80, 10)], [said(0.25)], [['a', 28]])!;
  assert.deepEqual(found.at(-1), { score: 80, isPart: false });
  assert.deepEqual(found[79], { score: 80, isPart: false });
  assert.deepEqual(found[78], { score: curve([['a', 28]], 0.25)[78], isPart: true });
  assert.deepEqual(found[0], { score: 0, isPart: true });
  const two = whole([list(80, 10), list(40, 50)], [])!;
  assert.deepEqual(
    [two[30], two[60], two[89]],
    [
      { score: 0, isPart: true },
      { score: 40, isPart: true },
      { score: 80, isPart: false },
    ],
  );
  const old = whole([list(80, 400)], [])!;
  assert.ok(old.every(({ score, isPart }) => score === 80 && !isPart));
});

test('reports of a network around it are known since the last one, and before the first', () => {
  const around = { ...said(0.25), entry: '192.0.2.0/24', lastReportedAt: ago(14) };
  const found = whole([], [around])!;
  assert.deepEqual(found.at(-1), { score: Math.round(communityScore(0.25, 100)), isPart: false });
  assert.equal(found[75]!.score, Math.round(communityScore(0.5 * 2 ** -(0.5 / 14), 100)));
  assert.deepEqual(found[74], { score: 0, isPart: true });
  assert.deepEqual(found[28], { score: 0, isPart: false }, 'before its first report');
  // Of the address itself where none of its reports is at hand.
  assert.deepEqual(whole([], [{ ...around, entry: address }]), found);
});

test('before the oldest report that was looked at nothing is known when there are more', () => {
  const found = whole([], [said(1)], [['a', 28]], { isCut: true })!;
  assert.deepEqual(found[60], { score: 0, isPart: true });
  assert.equal(found[61]!.isPart, false);
});

test('reports of a known-good address have no effect', () => {
  const found = whole([list(30, 200)], [said(5)], [['a', 28]], { hasReports: false })!;
  assert.ok(found.every(({ score }) => score === 30));
});
