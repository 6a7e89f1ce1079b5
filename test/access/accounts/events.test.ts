/** Account and key events come back as written; bad bytes are refused, never applied. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newAccount, writeFacts } from '../../../src/access/accounts/account-row.ts';
import { createAccountsTable, perMinuteMax } from '../../../src/access/accounts/accounts-table.ts';
import { keepQuota } from '../../../src/access/accounts/events.ts';
import {
  decodeAccount,
  decodeKey,
  encodeAccount,
  encodeKeyRecord,
  plainKey,
} from '../../../src/access/accounts/records.ts';
import { createAccessReducer } from '../../../src/access/accounts/reducer.ts';
import { keyScopes, plainScopes } from '../../../src/access/keys/key-format.ts';
import { createKeyTable, openKeyTableReader } from '../../../src/access/keys/key-table.ts';
import { canRead } from '../../../src/app/journal-events.ts';
import { corrupted } from '../../support/reputation/corrupted.ts';
import {
  type AccessEvent,
  applyEvent,
  decodeAccessEvent,
  encodeEvent,
  isAccessEvent,
} from '../../support/reputation/events.ts';
import { seededRandom } from '../../support/seeded.ts';

const hash = seededRandom(5).bytes(32);
const events: readonly AccessEvent[] = [
  { kind: 'account.created', account: 'abc', verified: true, slot: 'now' },
  { kind: 'account.disabled', account: 'abc', disabled: true },
  { kind: 'account.disabled', account: 'abc', disabled: false },
  { kind: 'account.quotas', account: 'abc', readPerMinute: 10, writePerMinute: keepQuota },
  { kind: 'account.quotas', account: 'abc', readPerMinute: perMinuteMax, writePerMinute: 0 },
  { kind: 'key.created', account: 'abc', key: 'k1', hash, facts: new Uint8Array() },
  { kind: 'key.revoked', account: 'abc', key: 'k1' },
  { kind: 'account.created', account: 'abc', verified: true, slot: 'first_key' },
  {
    kind: 'key.created',
    account: 'abc',
    key: 'k1',
    hash,
    facts: Uint8Array.from(writeFacts(newAccount('x', 5, true))),
  },
  { kind: 'account.released', account: 'abc' },
  {
    kind: 'key.created',
    account: 'abc',
    key: 'k2',
    hash,
    facts: new Uint8Array(),
    scopes: keyScopes.bouncer,
  },
  {
    kind: 'key.created',
    account: 'abc',
    key: 'k3',
    hash,
    facts: new Uint8Array(),
    scopes: keyScopes.mail | keyScopes.check,
  },
];

function openFold(accountsMax = 100) {
  const keys = createKeyTable(100);
  const accounts = createAccountsTable(accountsMax);
  const fold = createAccessReducer({
    tables: {
      addKey: (bytes, slot, scopes) => keys.add(bytes, slot, scopes).ok,
      revokeKey: (bytes) => keys.revoke(bytes),
      setAccount: (slot, state) => accounts.set(slot, state),
      clearAccount: accounts.clear,
    },
    accountsMax,
    firstPage: 7,
    touchPage: () => {},
    touchHeader: () => {},
    heldBy: () => 0,
  });
  return { fold, keys, accounts, reader: openKeyTableReader(keys.handle) };
}

it('every event comes back as it was written', () => {
  for (const event of events) {
    const { kind, version, body } = encodeEvent('id', event);
    assert.ok(canRead({ kind, version }), `nodes know nothing of ${kind} ${version}`);
    assert.ok(isAccessEvent(kind));
    const decoded = decodeAccessEvent(kind, version, body)!;
    assert.deepEqual(
      decoded,
      event.kind === 'key.created' ? { scopes: undefined, ...event } : event,
    );
    assert.equal(decodeAccessEvent(kind, version + 1, body), undefined);
  }
});

it('damaged bytes are refused or are another valid event, which the fold takes', () => {
  const random = seededRandom(6);
  for (const event of events) {
    const { version, body } = encodeEvent('id', event);
    for (const bytes of corrupted(body, random, 300)) {
      const decoded = decodeAccessEvent(event.kind, version, bytes);
      if (decoded === undefined) continue;
      const { fold } = openFold();
      if (event.kind !== 'account.created') applyEvent(fold, events[0]!, 0);
      if (event.kind !== 'key.created') applyEvent(fold, event, 0);
      applyEvent(fold, decoded, 0);
    }
  }
});

it('a quota or a hash that the tables have no room for is refused', () => {
  const quota = { kind: 'account.quotas', account: 'a', writePerMinute: 0 } as const;
  const over = encodeEvent('id', { ...quota, readPerMinute: perMinuteMax + 1 });
  assert.equal(decodeAccessEvent('account.quotas', over.version, over.body), undefined);
  const made = { kind: 'key.created', account: 'a', key: 'k', facts: new Uint8Array() } as const;
  const short = { ...made, hash: hash.subarray(1) };
  const { version, body } = encodeEvent('id', short);
  assert.equal(decodeAccessEvent('key.created', version, body), undefined);
});

it('records come back as written; damaged ones are refused or read as another record', () => {
  const random = seededRandom(7);
  const account = {
    email: 'a@example.org',
    createdAt: 1e12,
    disabled: true,
    pendingUntil: 2e12,
    keys: ['a', 'b'],
  };
  const plain = { account: 'abc', createdAt: 1, endsAt: 2, revokedAt: 3, sealed: hash };
  const key = { ...plain, name: 'fw', scopes: 4, entriesMax: 9, hasLabel: true };
  assert.deepEqual(decodeAccount(encodeAccount(account)), account);
  const row = '030d61406578616d706c652e6f7267426d1a94a200000001427d1a94a2000000020161016200';
  assert.equal(Buffer.from(encodeAccount(account)).toString('hex'), row);
  const read = decodeKey(encodeKeyRecord(key))!;
  assert.deepEqual({ ...read, sealed: Uint8Array.from(read.sealed) }, key);
  for (const bytes of corrupted(encodeAccount(account), random, 500)) decodeAccount(bytes);
  const before = { ...plain, ...plainKey };
  const readBefore = decodeKey(encodeKeyRecord(before))!;
  assert.deepEqual({ ...readBefore, sealed: hash }, before);
  for (const bytes of corrupted(encodeKeyRecord(key), random, 500)) decodeKey(bytes);
});

it('events about an account that the journal does not know change nothing', () => {
  const { fold, reader } = openFold();
  for (const event of events.slice(1)) {
    if (event.kind !== 'key.created') applyEvent(fold, event, 0);
  }
  assert.equal(fold.account('abc'), undefined);
  assert.equal(reader.find(hash), false);
});

it('the shared tables follow the events', () => {
  const { fold, accounts, reader } = openFold();
  for (const event of events.slice(0, 6)) applyEvent(fold, event, 0);
  assert.ok(reader.find(hash));
  assert.equal(reader.accountSlot, 0);
  assert.equal(accounts.readPerMinute[0], perMinuteMax);
  assert.equal(accounts.writePerMinute[0], 50, 'what trust earns');
  applyEvent(fold, { kind: 'account.disabled', account: 'abc', disabled: true }, 0);
  assert.equal(accounts.isDisabled(0), true);
  applyEvent(fold, events[6]!, 0);
  assert.equal(reader.find(hash), false);
  applyEvent(fold, events[6]!, 0);
});

it('an account beyond the most is refused and counted', () => {
  const { fold } = openFold(1);
  applyEvent(fold, { kind: 'account.created', account: 'one', verified: true, slot: 'now' }, 0);
  applyEvent(fold, { kind: 'account.created', account: 'two', verified: true, slot: 'now' }, 0);
  assert.equal(fold.account('two'), undefined);
  assert.equal(fold.refused(), 1);
});

it('a page of accounts comes back as it was written', () => {
  const written = openFold();
  for (let i = 0; i < 70; i++) {
    applyEvent(
      written.fold,
      { kind: 'account.created', account: `a${i}`, verified: true, slot: 'now' },
      0,
    );
    const key = seededRandom(i).bytes(32);
    const scopes = i % 3 === 0 ? keyScopes.bouncer : undefined;
    const made = { account: `a${i}`, key: `k${i}`, hash: key, facts: new Uint8Array(), scopes };
    applyEvent(written.fold, { kind: 'key.created', ...made }, 0);
  }
  applyEvent(written.fold, { kind: 'account.disabled', account: 'a3', disabled: true }, 0);
  const { reporters } = written.fold;
  const year = 365 * 86_400_000;
  reporters.rememberWithdrawn(5, 2 ** 48 - 1, 1_000);
  reporters.rememberWithdrawn(5, 7, 2_000);
  const read = openFold();
  for (const page of [7, 8]) {
    assert.ok(read.fold.section.load(page, written.fold.section.encode(page)));
  }
  for (let i = 0; i < 70; i++) {
    assert.deepEqual(read.fold.account(`a${i}`), written.fold.account(`a${i}`));
    assert.ok(read.reader.find(seededRandom(i).bytes(32)));
    assert.equal(read.reader.scopes, i % 3 === 0 ? keyScopes.bouncer : plainScopes);
  }
  assert.equal(read.accounts.isDisabled(3), true);
  const remembers = (mark: number, at: number) =>
    read.fold.reporters.hasWithdrawn(5, () => mark, at);
  assert.deepEqual(
    [remembers(7, year), remembers(8, year), remembers(7, year + 2_000)],
    [true, false, false],
  );
  assert.equal(openFold().fold.section.load(8, written.fold.section.encode(7)), false);
});
