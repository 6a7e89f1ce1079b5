/** The fold bench runs to its end at a tiny size; no time is asserted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/fold.bench.ts';

test('the fold bench yields finite rows', async () => {
  const rows = await run('tiny');
  assert.ok(rows.length >= 3);
  for (const row of rows) assert.ok(Number.isFinite(row.ours) && row.ours > 0, row.name);
});
