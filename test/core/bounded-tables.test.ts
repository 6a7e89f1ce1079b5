/** The line at four fifths of a bounded table, and what /metrics says of it. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createBoundedTables } from '../../src/core/bounded-tables.ts';
import { createMetrics } from '../../src/core/metrics.ts';

it('one line at four fifths, and another one only after it was below three quarters', async () => {
  const lines: unknown[] = [];
  const tables = createBoundedTables({ warn: (line: unknown) => void lines.push(line) } as never);
  let used = 79;
  tables.add({ name: 'places', used: () => used, limit: 100 });
  for (const [now, expected] of [
    [79, 0],
    [80, 1],
    [100, 1],
    [78, 1],
    [81, 1],
    [74, 1],
    [80, 2],
  ] as const) {
    used = now;
    tables.poll();
    assert.equal(lines.length, expected, `${now} used`);
  }
  assert.deepEqual(lines[0], { table: 'places', used: 80, limit: 100 });
  const metrics = createMetrics();
  tables.register(metrics);
  const page = await metrics.render();
  assert.match(page, /portcullis_table_used\{table="places"\} 80/);
  assert.match(page, /portcullis_table_limit\{table="places"\} 100/);
});
