/** The CAPTCHA benches run at their tiny size, so that they can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../bench/captcha.bench.ts';
import { run as runAttacks } from '../../bench/captcha-attack.bench.ts';
import { run as runBurst } from '../../bench/captcha-burst.bench.ts';

test('the CAPTCHA bench gives a positive number in each row', async () => {
  const rows = await run('tiny');
  assert.equal(rows.length, 15);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
});

test('the attack bench gives counts of words', async () => {
  const rows = await runAttacks('tiny');
  assert.ok(rows.length >= 8);
  for (const row of rows) assert.ok(row.ours >= 0 && row.ours <= 1, row.name);
});

test('the burst bench measures a whole server', async () => {
  const rows = await runBurst('tiny');
  assert.equal(rows.length, 8);
  for (const row of rows) assert.ok(row.ours > 0, row.name);
  assert.equal(rows[3]!.note, '0 refused with 503');
  assert.match(rows[4]!.note!, /^20 of 20 passed or saw a picture; /);
  const [, looked, refused] = /^(\d+) looked at, (\d+) refused with 429$/.exec(rows[5]!.note!)!;
  assert.equal(Number(looked) + Number(refused), 400);
  assert.ok(Number(refused) > 0);
});
