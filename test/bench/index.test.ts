/** The index bench runs at a tiny size, so that it can't rot; timings are not looked at. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/index.bench.ts';

test('the index bench gives a row for every goal', async () => {
  const rows = await run('tiny');
  assert.ok(rows.length >= 20);
  for (const row of rows) {
    assert.ok(row.name.length > 0 && row.unit.length > 0);
    assert.ok(Number.isFinite(row.ours), row.name);
  }
  assert.equal(new Set(rows.map(({ name, peer }) => `${name}/${peer}`)).size, rows.length);
});
