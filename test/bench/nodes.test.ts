/** The bench of whole nodes runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/nodes.bench.ts';
import { hasTool } from '../support/house/tools.ts';
import { postgresProgram } from '../support/server/postgres.ts';

test('the bench of nodes measures all of its rows', async (context) => {
  if (!hasTool(context, postgresProgram) || !hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  assert.equal(rows.length, 4);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
});
