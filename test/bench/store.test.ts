/** The store's bench runs at its tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from '../../bench/store.bench.ts';

it('the store bench runs and gives rows', async () => {
  const rows = await run('tiny');
  assert.ok(rows.length >= 4);
  assert.ok(rows.every((row) => row.ours > 0));
});
