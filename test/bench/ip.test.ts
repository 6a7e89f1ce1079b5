/** The address bench runs to its end at a tiny size; no time is asserted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/ip.bench.ts';

test('the address bench yields finite rows', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 6);
  for (const row of rows) assert.ok(Number.isFinite(row.ours), row.name);
});
