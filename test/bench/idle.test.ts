/** The bench of a server that nobody asks runs to its end at a tiny size; nothing is held to a goal. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/idle.bench.ts';

test('the bench of start and memory yields finite rows', async () => {
  const rows = await run('tiny');
  for (const { name, ours, ratio = 0 } of rows) {
    assert.ok(Number.isFinite(ours) && Number.isFinite(ratio), name);
  }
  // Redis and CrowdSec have rows of their own where they are installed.
  const own = rows.filter(({ peer }) => peer === undefined);
  const units = own.map(({ unit }) => unit);
  assert.deepEqual(units, ['ms', 'ms', 'MiB', 'MiB', 'MiB', 'MiB']);
  assert.ok(own.slice(0, 4).every(({ ours }) => ours > 0));
  assert.match(own[5]!.note!, /^[89]\d\d entries/);
});
