/** The bench of the doors runs at a tiny size, so that it can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/doors.bench.ts';
import { isInstalled } from '../support/house/tools.ts';

test('the bench asks our name server, bare sockets and rbldnsd, and over HTTP all doors and nginx', async () => {
  const all = await run('tiny');
  const [overHttp, rows] = [all.slice(-3), all.slice(0, -3)];
  for (const { name, ours, ratio } of overHttp.slice(0, isInstalled('/usr/sbin/nginx') ? 3 : 2)) {
    assert.ok(ours > 0 && Number.isFinite(ratio), name);
  }
  if (!isInstalled('/usr/bin/dnsperf')) {
    assert.match(rows[0]!.note!, /not installed/);
    return;
  }
  assert.equal(rows.length, 2);
  for (const row of rows) {
    assert.ok(row.ours > 0, row.name);
    if (isInstalled('/usr/sbin/rbldnsd')) assert.ok(Number.isFinite(row.ratio), row.peer);
  }
});
