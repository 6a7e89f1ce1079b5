/** The bench at its smallest, so that it can't rot. Says nothing about speed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/feeds.bench.ts';

test('the feeds bench builds, downloads and stalls', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 5);
  for (const row of rows) assert.ok(Number.isFinite(row.ours), row.name);
  assert.ok(rows[0]!.ours > 0 && rows[3]!.peerValue! > 0);
});
