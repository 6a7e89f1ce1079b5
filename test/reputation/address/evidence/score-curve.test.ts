/** The curve ends at today's score, falls by half lives between reports, and begins with the first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scoreCurve } from '../../../../src/reputation/address/evidence/score-curve.ts';
import { communityScore, halfLivesAt, strengthOf } from '../../../../src/reputation/check/score.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 5, 30, 12);
const ago = (days: number) => nowMs - days * dayMs;
const curve = (reports: [string, number][], evidence: number, ceiling = 100) =>
  scoreCurve({
    reports: reports.map(([account, days]) => ({ account, reportedAt: ago(days) })),
    ...{ strength: strengthOf(evidence, halfLivesAt(nowMs)), ceiling, nowMs, days: 90 },
  });

test('one report: nothing before it, the most on its day, less by half after 14 days', () => {
  const found = curve([['a', 28]], 0.25)!;
  assert.equal(found.length, 90);
  assert.deepEqual(found.slice(0, 61), new Array(61).fill(0));
  assert.equal(found.at(-1), Math.round(communityScore(0.25, 100)));
  // Days end half a day behind the report; the last one is now.
  assert.equal(found[61], Math.round(communityScore(2 ** -(0.5 / 14), 100)));
  assert.equal(found[75], Math.round(communityScore(0.5 * 2 ** -(0.5 / 14), 100)));
  for (let day = 62; day < 90; day++) assert.ok(found[day]! <= found[day - 1]!, String(day));
});

test('many reports of one account fill a cap, others add; the ceiling of today holds', () => {
  const one = curve([...Array.from({ length: 40 }, () => ['a', 10] as [string, number])], 1)!;
  const two = curve(
    [
      ['a', 10],
      ['b', 10],
      ['c', 1],
    ],
    1,
  )!;
  assert.equal(one.at(-1), two.at(-1), 'both end at today’s score');
  assert.ok(two.at(-3)! < two.at(-1)!, 'the last report raises it');
  assert.ok(one.at(-3)! >= one.at(-1)!);
  assert.ok(
    Math.max(
      ...curve(
        [
          ['a', 1],
          ['b', 60],
        ],
        50,
        49,
      )!,
    ) <= 49,
  );
  const newestFirst: [string, number][] = [
    ['a', 1],
    ['b', 60],
  ];
  assert.ok(curve(newestFirst, 50, 49)![40]! > 0, 'the older one counts from its day on');
});

test('without reports, or without evidence, there is no curve', () => {
  assert.equal(curve([], 1), undefined);
  assert.equal(curve([['a', 3]], 0), undefined);
  assert.equal(curve([['a', -3]], 1), undefined, 'a report dated ahead');
});
