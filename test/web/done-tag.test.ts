/** The mark of what was done: who it is good for, what it says, and how long. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { doneIn, doneTag } from '../../src/web/page-tools.ts';

const now = 1_800_000_000_000;
const mark = doneTag('token', 'key_revoked', now);

it('is good for who made it, for a minute', () => {
  for (const at of [now, now + 59_999, now - 59_999]) {
    assert.equal(doneIn('token', at, mark), 'key_revoked', `${at}`);
  }
  for (const at of [now + 60_000, now - 60_000]) {
    assert.equal(doneIn('token', at, mark), undefined, `${at}`);
  }
  assert.equal(doneIn('other', now, mark), undefined);
});

it('is not made by hand', () => {
  const [, , mac] = mark.split('.');
  const odd = [
    undefined,
    '',
    '1',
    '.',
    'NaN',
    'key_revoked',
    `key_revoked.${now}`,
    `${mark} `,
    'é',
  ];
  const forged = [
    `key_revoked.${now + 1}.${mac}`,
    `saved.${now}.${mac}`,
    `key_revoked.1.8e12.${mac}`,
    `key_revoked.0${now}.${mac}`,
    `${now}.${mac}`,
    `.${now}.${mac}`,
  ];
  for (const made of [...odd, ...forged]) assert.equal(doneIn('token', now, made), undefined, made);
});
