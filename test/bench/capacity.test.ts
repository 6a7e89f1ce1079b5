/** The bench of a full server runs at a tiny size. What it counts is looked at, no time is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/capacity.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the capacity bench loads its entries and measures each size', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  for (const { name, ours } of rows) assert.ok(Number.isFinite(ours), name);
  // Those of the list, and those of the services that are known good.
  assert.equal(rows.filter(({ name }) => /^[5-9]\d\d entries: /.test(name)).length, 9);
});
