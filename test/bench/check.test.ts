/** The bench of the check runs at a tiny size; it asserts nothing about speed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/check.bench.ts';

test('the check bench measures all of its rows', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 4);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
});
