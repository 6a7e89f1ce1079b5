/** The shared table of accounts: what is set is read through the handle, and bounds hold. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createAccountsTable,
  openAccountsTable,
  perMinuteMax,
} from '../../../src/access/accounts/accounts-table.ts';

test('what the writer sets, a reader of the handle sees', () => {
  const writer = createAccountsTable(3);
  const reader = openAccountsTable(writer.handle);
  writer.set(0, { readPerMinute: 1, writePerMinute: 2, trust: 0.5, disabled: false });
  writer.set(2, { readPerMinute: perMinuteMax, writePerMinute: 9, trust: 99, disabled: true });
  assert.deepEqual([...reader.readPerMinute], [1, 0, perMinuteMax]);
  assert.deepEqual([...reader.writePerMinute], [2, 0, 9]);
  assert.deepEqual([...reader.trust], [0.5, 0, 99]);
  assert.deepEqual([0, 1, 2].map(reader.isDisabled), [false, false, true]);
});

test('slots and quotas out of bounds are bugs', () => {
  const writer = createAccountsTable(2);
  const state = { readPerMinute: 1, writePerMinute: 1, trust: 0, disabled: false };
  for (const slot of [-1, 2, 0.5]) assert.throws(() => writer.set(slot, state), RangeError);
  for (const readPerMinute of [-1, 0.5, perMinuteMax + 1, Number.NaN]) {
    assert.throws(() => writer.set(0, { ...state, readPerMinute }), RangeError);
  }
});
