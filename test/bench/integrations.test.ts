/** The bench of the integrations runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/integrations.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the bench asks each integration and its peers, and says which program it misses', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  const named = (part: string) => rows.filter(({ name }) => name.includes(part)).length;
  assert.deepEqual(
    ['DNS', 'look-up', 'gate: CPU', 'nginx', 'SPOE', 'poll', 'whole list']
      .map(named)
      .map((n) => n > 0),
    Array(7).fill(true),
  );
  for (const { name, ours, peer, ratio, note = '' } of rows) {
    const isMissing = /not installed|there is no|missing|can't be fetched/.test(note);
    assert.ok(isMissing || ours > 0, name);
    if (peer !== undefined) assert.ok(Number.isFinite(ratio), `${name}: ${peer}`);
  }
});
