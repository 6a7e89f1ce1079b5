/** The mark of a change: who it is good for, and how long. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { doneMark, isDoneMark } from '../../src/console/done-mark.ts';

const now = 1_800_000_000_000;
const mark = doneMark('token', now);

it('is good in its session, for a minute', () => {
  for (const at of [now, now + 59_999, now - 59_999])
    assert.ok(isDoneMark('token', at, mark), `${at}`);
  for (const at of [now + 60_000, now - 60_000]) assert.ok(!isDoneMark('token', at, mark), `${at}`);
  assert.ok(!isDoneMark('other', now, mark));
});

it('is not made by hand', () => {
  const mac = mark.split('.')[1];
  const odd = [undefined, '', '1', '.', 'NaN', `${now}`, `${now}.`, `0${mark}`, `${mark} `, 'é'];
  for (const made of [...odd, `${now + 1}.${mac}`, `1.8e12.${mac}`]) {
    assert.ok(!isDoneMark('token', now, made), made);
  }
});
