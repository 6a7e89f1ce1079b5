/** When the fold gives a slot back, and what an older version's checkpoint becomes. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccountsTable } from '../../src/access/accounts/accounts-table.ts';
import { createAccessReducer } from '../../src/access/accounts/reducer.ts';
import { applyEvent } from '../support/reputation/events.ts';
import { seededRandom } from '../support/seeded.ts';

const hash = (seed: number) => seededRandom(seed).bytes(32);

function openFold(held: (slot: number) => number = () => 0) {
  const accounts = createAccountsTable(100);
  const fold = createAccessReducer({
    tables: {
      addKey: () => true,
      revokeKey: () => {},
      setAccount: accounts.set,
      clearAccount: accounts.clear,
    },
    accountsMax: 100,
    firstPage: 7,
    touchPage: () => {},
    touchHeader: () => {},
    heldBy: held,
  });
  return { fold, accounts };
}

function keyCreated(account: string, key: string, n: number) {
  return { kind: 'key.created', account, key, hash: hash(n), facts: new Uint8Array() } as const;
}

it('an account takes a slot with its first key, not before', () => {
  const { fold } = openFold();
  applyEvent(fold, { kind: 'account.created', account: 'a', verified: true, slot: 'first_key' }, 0);
  assert.equal(fold.used(), 0);
  applyEvent(fold, keyCreated('a', 'k', 1), 0);
  assert.equal(fold.account('a')?.slot, 0);
});

it('a release is ignored while a key or a contribution is left', () => {
  const held = [0];
  const { fold, accounts } = openFold((slot) => held[slot] ?? 0);
  applyEvent(fold, keyCreated('a', 'k', 1), 0);
  applyEvent(fold, { kind: 'account.released', account: 'a' }, 0);
  assert.equal(fold.used(), 1, 'a key');
  applyEvent(fold, { kind: 'key.revoked', account: 'a', key: 'k' }, 0);
  held[0] = 1;
  applyEvent(fold, { kind: 'account.released', account: 'a' }, 0);
  assert.equal(fold.used(), 1, 'a contribution');
  held[0] = 0;
  applyEvent(fold, { kind: 'account.released', account: 'a' }, 0);
  assert.equal(fold.used(), 0);
  assert.equal(accounts.isDisabled(0), true);
  applyEvent(fold, keyCreated('b', 'l', 2), 0);
  assert.equal(fold.account('b')?.slot, 0);
  assert.equal(fold.account('b')?.generation, 1);
});
