/** The bench of pages and open consoles runs at a tiny size. What it counts is looked at, no time is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/console.bench.ts';
import { hasTool } from '../support/house/tools.ts';

test('the console bench opens every page, and consoles that are told of reports', async (context) => {
  if (!hasTool(context, 'wrk')) return;
  const rows = await run('tiny');
  for (const row of rows) assert.ok(Number.isFinite(row.ours) && row.ours > 0, row.name);
  const names = new Set(rows.map(({ name }) => name.replace('main thread: ', '')));
  for (const path of ['/admin', '/admin/audit', '/radar', '/', '/account/reports']) {
    assert.ok(names.has(path), path);
  }
  const note = rows.at(-1)!.note!;
  const [, opened, told] = /(\d+) pages opened, (\d+) reports told/.exec(note)!;
  assert.ok(Number(opened) > 2 && Number(told) > 0, note);
});
