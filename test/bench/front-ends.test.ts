/** The bench of front ends runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/front-ends.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the bench of front ends gives its row', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const [row, ...more] = await run('tiny');
  assert.deepEqual(more, []);
  assert.ok(row!.ours > 0 && row!.peerValue! > 0, row!.name);
});
