/** The bench beside rbldnsd runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/rbldnsd.bench.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';

test('the bench measures both kinds of check, beside rbldnsd where it is installed', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  assert.equal(rows.length, 4);
  const hasPeer = isInstalled('/usr/sbin/rbldnsd') && isInstalled('/usr/bin/dnsperf');
  for (const row of rows) assert.ok(row.ours > 0, row.name);
  for (const row of rows.slice(0, 2)) {
    if (hasPeer) assert.ok(Number.isFinite(row.ratio) && row.peer === 'rbldnsd, ip4set');
    else assert.match(row.note!, /not installed/);
  }
});
