/** The sign-on bench runs at its tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/signon.bench.ts';

test('the sign-on bench gives a positive number in each row', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 6);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
});
