/** The list of accounts, and the role of each as it is given, read and taken. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createAccounts, createDirectory } from '../../../src/access/accounts/accounts.ts';
import { activeOperators, roleOf } from '../../../src/access/accounts/records.ts';
import { createLog } from '../../../src/core/log.ts';
import { erasureKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const place = makeTempDir('directory');
const clock = manualClock(Date.UTC(2026, 0, 1));

const store = openLmdbStore({ path: place.path, clock, log: createLog('silent') });
const accounts = createAccounts({ store, clock, random: seededRandom(1) });
const directory = createDirectory({ store, clock, accounts });
after(async () => {
  await store.close();
  place.remove();
});

it('an account without a role is a member; one gets the role and loses it', async () => {
  const { id } = value(await accounts.create('ada@example.org'));
  assert.equal(await roleOf(store, id), 'member');
  assert.equal(value(await directory.setRole('ada@example.org', 'operator')).role, 'operator');
  assert.equal(await roleOf(store, id), 'operator');
  assert.deepEqual(await activeOperators(store), [id]);
  value(await directory.setRole(id, 'member'));
  assert.equal(await roleOf(store, id), 'member');
  assert.equal(errorOf(await directory.setRole('none@example.org', 'operator')), 'unknown_account');
});

it('the last operator who can come in stays one where that is asked for', async () => {
  const first = value(await accounts.create('first@example.org')).id;
  await accounts.create('second@example.org');
  value(await directory.setRole('first@example.org', 'operator'));
  value(await directory.setRole('second@example.org', 'operator'));
  // A disabled one does not count.
  value(await accounts.setDisabled('second@example.org', true));
  const kept = await directory.setRole(first, 'member', { keepsOne: true });
  assert.equal(errorOf(kept), 'conflict');
  assert.equal(await roleOf(store, first), 'operator');
  value(await accounts.setDisabled('second@example.org', false));
  value(await directory.setRole(first, 'member', { keepsOne: true }));
});

it('two operators who take the role from each other at once do not both succeed', async () => {
  for (const id of await activeOperators(store)) value(await directory.setRole(id, 'member'));
  const ids: string[] = [];
  for (const email of ['one@rivals.example', 'two@rivals.example']) {
    ids.push(value(await accounts.create(email)).id);
    value(await directory.setRole(email, 'operator'));
  }
  const taken = ids.map((id) => directory.setRole(id, 'member', { keepsOne: true }));
  const results = await Promise.all(taken);
  assert.equal(results.filter(({ ok }) => ok).length, 1);
  assert.equal((await activeOperators(store)).length, 1);
});

it('an account that is being deleted gets no role', async () => {
  const { id } = value(await accounts.create('leaving@example.org'));
  assert.ok((await store.commit({ set: [{ key: erasureKey(id), value: Uint8Array.of(0) }] })).ok);
  assert.equal(errorOf(await directory.setRole(id, 'operator')), 'conflict');
  assert.equal(await roleOf(store, id), 'member');
});

it('accounts are listed in pages and found by a part of the address', async () => {
  for (let i = 0; i < 7; i++) value(await accounts.create(`page${i}@lists.example`));
  const emails: string[] = [];
  let pages = 0;
  for (let after: string | undefined; ; pages++) {
    const page = await directory.list({ part: 'LISTS.example', after, limit: 3 });
    emails.push(...page.accounts.map(({ email }) => email));
    after = page.next;
    if (after === undefined) break;
  }
  assert.equal(pages, 2);
  const wanted = Array.from({ length: 7 }, (_, i) => `page${i}@lists.example`);
  assert.deepEqual(emails.sort(), wanted);
  value(await accounts.setDisabled('page3@lists.example', true));
  const [one] = (await directory.list({ part: 'page3', limit: 3 })).accounts;
  assert.equal(one?.state, 'disabled');
});

it('an account is found however its domain is typed, whole or in part', async () => {
  const { id } = value(await accounts.create('grace@exämple.test'));
  value(await accounts.create('grace@example.test'));
  const foundBy = async (part: string) =>
    (await directory.list({ part, limit: 9 })).accounts.map((one) => one.id);
  for (const part of [
    ...[
      'grace@exämple.test',
      'GRACE@EXÄMPLE.TEST',
      'grace@exa\u0308mple.test',
      ' grace@exämple.test ',
    ],
    ...[
      'exämple',
      '@EXÄM',
      'ämple.test',
      'grace@xn--exmple-cua.test',
      'XN--EXMPLE',
      'xn--exmple-cua',
    ],
  ]) {
    assert.deepEqual(await foundBy(part), [id], part);
    if (part.includes('@') && part.includes('grace')) {
      assert.equal(value(await accounts.find(part)).id, id, 'as at the sign-in');
    }
  }
  assert.deepEqual(await foundBy('exömple'), []);
});
