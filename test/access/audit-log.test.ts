/** The audit log: what a row tells, in pages, with rows of before, and as a file for a spreadsheet. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { auditCsvLine, auditKeptMs, createAuditLog } from '../../src/access/audit-log.ts';
import { createLog } from '../../src/core/log.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { value } from '../support/house/result.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

it('every change stands on one page, newest first, until two years are over', async () => {
  const place = makeTempDir('audit-log');
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const store = openLmdbStore({ path: place.path, clock, log: createLog('silent') });
  const audit = createAuditLog({ store, clock, random: seededRandom(4) });
  value(await audit.begin({ user: 'root (0)', command: 'compact' }));
  for (let i = 0; i < 23; i++) {
    // Several of one moment, and long pauses between others.
    if (i % 3 === 0) clock.advance(i * 3_600_000 + 1);
    const change = { user: 'account x', command: `change ${i}`, before: 'a', address: '::1' };
    const begun = value(await audit.begin(change));
    if (i !== 7) value(await audit.end(begun, { ok: i !== 5, after: 'b' }));
  }
  const seen: string[] = [];
  for (let before: number | undefined; ; ) {
    const page = await audit.page({ before, limit: 4 });
    const times = page.entries.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
    seen.push(...page.entries.map(({ command, result }) => `${command} ${result}`));
    before = page.next;
    if (before === undefined) break;
  }
  const results = (i: number) => (i === 5 ? 'failed' : i === 7 ? 'unfinished' : 'done');
  const wanted = Array.from({ length: 23 }, (_, i) => `change ${i} ${results(i)}`);
  assert.deepEqual(seen.toSorted(), [...wanted, 'compact unfinished'].toSorted());
  const [, first] = await audit.list(0);
  const { command, before, after, address } = first!;
  assert.deepEqual(
    { command: command.slice(0, 6), before, after, address },
    {
      command: 'change',
      before: 'a',
      after: 'b',
      address: '::1',
    },
  );
  clock.advance(auditKeptMs);
  assert.deepEqual(await audit.list(0), []);
  await store.close();
  place.remove();
});

it('a cell of the export is never a formula', () => {
  const entry = { at: 0, user: '=cmd()', command: 'a,"b"', before: '', after: '', address: '' };
  const csv = auditCsvLine({ ...entry, result: 'done' });
  assert.equal(csv.split('\r\n')[0], `1970-01-01T00:00:00.000Z,done,'=cmd(),,"a,""b""",,`);
  for (const text of ['+1', '-1', '@x', '\t=1', ' =1', '＝1', '|calc']) {
    const row = auditCsvLine({ ...entry, user: text, command: 'x;=1', result: 'done' });
    assert.match(row, /,"?'/, text);
    assert.ok(row.endsWith(',"x;=1",,\r\n'), 'a semicolon ends no cell');
  }
});
