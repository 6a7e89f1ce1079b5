/** The bench of the combined load runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/combined.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the combined bench measures checks beside all other work', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  assert.equal(rows.length, 3);
  for (const row of rows) assert.ok(row.ours > 0 && row.peerValue! > 0, row.name);
  const [, pictures, reports] = /(\d+) pictures and (\d+) reports a second/.exec(rows[0]!.note!)!;
  assert.ok(Number(pictures) > 0 && Number(reports) > 0, rows[0]!.note);
});
