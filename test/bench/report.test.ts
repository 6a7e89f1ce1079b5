/** The page of benchmarks: nothing of it is lost by a run of some, and each miss has its reason. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type BenchResult, document, newestOf, reasonFor } from '../../bench/document.ts';
import { apart, reasons } from '../../bench/reasons.ts';
import { oldestFirst, savedResults } from '../../bench/report.ts';
import { measure } from '../../bench/rounds.ts';
import type { BenchRow } from '../../bench/row.ts';

function result(date: string, ...rows: BenchRow[]): BenchResult {
  return { date, machine: 'two cores', node: 'v20', commit: 'abc1234', rows };
}

const row = (name: string, ok?: boolean): BenchRow => ({
  name,
  unit: 'ns',
  ours: 12,
  ...(ok === undefined ? {} : { goal: '≤ 10', ok }),
});

test('a run of one bench replaces that one and keeps the others', () => {
  const before = {
    a: result('2026-01-01', row('old a')),
    b: result('2026-01-02', row('b')),
  };
  const merged = newestOf(before, { a: result('2026-01-02', row('new a')) });
  assert.deepEqual(Object.keys(merged), ['a', 'b']);
  assert.equal(merged.a!.rows[0]!.name, 'new a');
  assert.equal(merged.b, before.b);
  // Files come in any order; of one day the later run counts.
  assert.equal(newestOf({ a: merged.a! }, before).a, merged.a);
  assert.equal(newestOf(merged, { a: before.a }).a, merged.a);
  const again = result('2026-01-02', row('again'));
  assert.equal(newestOf(merged, { b: again }).b, again);
});

test('each subject runs once in each round, and once before them', async () => {
  let runs = 0;
  await measure({ subject: { operations: 1, run: () => ++runs } }, 5);
  assert.equal(runs, 6);
  await measure({ subject: { operations: 1, run: async () => ++runs } }, 5);
  assert.equal(runs, 12);
});

test('a run of all begins with what never ran, and what ran longest ago', () => {
  const results = { a: result('2026-01-03'), b: result('2026-01-01'), d: result('2026-01-01') };
  assert.deepEqual(oldestFirst(['a', 'b', 'c', 'd'], results), ['c', 'b', 'd', 'a']);
});

test('every goal has its verdict, and every miss its reason', () => {
  const why = { a: { slow: 'Because.' } };
  const rows = [row('slow one', false), row('fast one', true), row('plain')];
  const text = document({ a: result('2026-01-01', ...rows) }, why, ['Apart.']);
  assert.match(text, /\| slow one \| 12 ns \| ≤ 10 \| \*\*missed\*\* \|/);
  assert.match(text, /\| fast one \| 12 ns \| ≤ 10 \| met \|/);
  assert.match(text, /\n- \*\*slow one\*\* \(goal ≤ 10\): 12 ns\.\n {2}Because\.\n/);
  assert.doesNotMatch(text.split('What falls short')[1]!, /fast one|plain/);
  assert.match(text, /\n- Apart\.\n/);
});

test('the page is what the saved results and reasons make, and no miss lacks a reason', () => {
  const results = savedResults();
  assert.equal(readFileSync('docs/BENCHMARKS.md', 'utf8'), document(results, reasons, apart));
  for (const [bench, { rows }] of Object.entries(results)) {
    for (const one of rows.filter(({ ok }) => ok === false)) {
      assert.ok(reasonFor(reasons, bench, one) !== undefined, `${bench}: ${one.name}`);
    }
  }
});
