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
  const of = (name: string) => rows.find((row) => row.name.startsWith(name))!;
  assert.equal(of('a flooded address: reports kept').ours, 100);
  // Ten accounts send the flood in turn.
  assert.equal(of('a flooded address: one of the first').note, '10 reports went');
  assert.equal(rows.filter(({ name }) => name.startsWith('a report of an address')).length, 3);
});
