/** The bench of slow bodies runs at its tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/slow-bodies.bench.ts';

test('the slow-bodies bench signs in while slow bodies arrive, from each kind of attacker', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 3);
  for (const row of rows) {
    assert.ok(Number.isFinite(row.p99) && row.p99! > 0, `${row.name}: a sign-in was refused`);
  }
});
