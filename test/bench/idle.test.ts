/** The bench of a server that nobody asks runs to its end at a tiny size; nothing is held to a goal. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/idle.bench.ts';

test('the bench of start and memory yields finite rows', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 4);
  for (const row of rows) assert.ok(Number.isFinite(row.ours), row.name);
  assert.ok(rows[0]!.ours > 0 && rows[1]!.ours > 0);
});
