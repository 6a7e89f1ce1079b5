/** The bench of peers runs to its end at a tiny size, and all rows of the peer come. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/peers.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('a first load, the same rows again, the journal, a head and checks beside a first load are measured', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  assert.equal(rows.length, 9);
  for (const { name, ours } of rows) assert.ok(Number.isFinite(ours), name);
});
