/** The benches of a full server run at a tiny size. What they count is looked at, no time is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run as runCapacity } from '../../bench/capacity.bench.ts';
import { run as runFlood } from '../../bench/flood.bench.ts';
import type { BenchRow } from '../../bench/row.ts';

function assertFinite(rows: readonly BenchRow[]): void {
  for (const row of rows) assert.ok(Number.isFinite(row.ours) && row.ours > 0, row.name);
}

test('the capacity bench makes accounts that sign in, and entries', async () => {
  const rows = await runCapacity('tiny');
  assertFinite(rows);
  const names = rows.map(({ name }) => name);
  assert.equal(names.filter((name) => name.startsWith('400 accounts, 10 with keys: ')).length, 5);
  // The list's, and those of the services that are known good.
  assert.equal(names.filter((name) => /^and [5-9]\d\d entries: /.test(name)).length, 4);
});

test('the flood bench makes reports that can be taken back', async () => {
  const rows = await runFlood('tiny');
  assertFinite(rows);
  const [counted, cleared] = rows.slice(-2);
  assert.equal(counted!.ours, 50);
  // Ten accounts report in turn, each round begun by the next one; each fourth report is of the flooded address.
  const of = (n: number) => (n + Math.floor(n / 10)) % 10;
  const own = Array.from({ length: 50 }, (_, i) => 4 * i).filter((n) => of(n) === 0).length;
  const [, removed] = /^(\d+) reports went; 0 reports had no effect/.exec(cleared!.note!)!;
  assert.equal(Number(removed), own);
});
