/** The access bench runs at a tiny size, so that it can't rot. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/access.bench.ts';

test('the access bench gives a positive number in each row', async () => {
  const rows = await run('tiny');
  assert.ok(rows.length >= 6);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
});
