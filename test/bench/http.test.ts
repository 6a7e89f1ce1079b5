/** The bench at its smallest, so that it can't rot. Says nothing about speed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/http.bench.ts';

test('the HTTP bench runs and reports each peer', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 8);
  for (const row of rows) assert.ok(row.ours > 0 && row.peerValue! > 0, row.peer);
});
