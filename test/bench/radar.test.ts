/** The bench of the radar runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/radar.bench.ts';

test('the bench of the radar draws a map', async () => {
  const [row] = await run('tiny');
  assert.ok(row!.ours > 0);
});
