/** The bench of reports runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/reports.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the reports bench gives rates, starts and checks beside reports', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  assert.equal(rows.length, 7);
  for (const row of rows) assert.ok(Number.isFinite(row.ours) && row.ours > 0, row.name);
});
