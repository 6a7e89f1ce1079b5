/** The consent bench runs at its tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { run } from '../../bench/consent.bench.ts';

it('the consent bench runs and gives rows', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 1);
  assert.ok(rows.every((row) => row.ours > 0));
});
