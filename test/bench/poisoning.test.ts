/** The poisoning bench runs to its end at a tiny size, and each attack stays under its bound. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/poisoning.bench.ts';

test('each simulated attack stays under its bound, and own sensors still block', async () => {
  const rows = await run('tiny');
  assert.ok(rows.length >= 10);
  for (const row of rows) {
    assert.ok(Number.isFinite(row.ours), row.name);
    assert.ok(row.ok, `${row.name}: ${row.ours} ${row.unit}, goal ${row.goal}`);
  }
});
