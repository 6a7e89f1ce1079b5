/** Accounts and keys as an operator or an owner changes them, also from several sides at once. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { perMinuteMax } from '../../../src/access/accounts/accounts-table.ts';
import { type ApiKeys, createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { hashKey, parseKey } from '../../../src/access/keys/key-format.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createLog } from '../../../src/core/log.ts';
import { readKnownAddress, readMailAddress } from '../../../src/core/mail-address.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import {
  type AccessEvent,
  decodeAccessEvent,
  isAccessEvent,
} from '../../support/reputation/events.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const hourMs = 3_600_000;
const directory = makeTempDir('accounts');
const clock = manualClock(Date.UTC(2026, 0, 1));
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
let mails = 0;
let mail = '';

const log = createLog('silent');
const store = openLmdbStore({ path: directory.path, clock, log });
/** Another process's view: its own environment on the same files. */
const otherStore = openLmdbStore({ path: directory.path, clock, log });
const own = { store, clock, random: seededRandom(1) };
const accounts = createAccounts(own);
const keys = createApiKeys({ ...own, masterKey, accounts });
const others = { store: otherStore, clock, random: seededRandom(2) };
const other = createAccounts(others);
const otherKeys = createApiKeys({ ...others, masterKey, accounts: other });

beforeEach(() => {
  mail = `person${++mails}@example.org`;
});

after(async () => {
  await store.close();
  await otherStore.close();
  directory.remove();
});

/** The text of the account's newest key. */
async function revealed(of: ApiKeys = keys) {
  const { id } = value(await accounts.find(mail));
  return of.reveal(id, (await of.list(id)).at(-1)?.id ?? '');
}

async function lastEvents(count: number): Promise<AccessEvent[]> {
  const page = await store.read((await store.lastSeq()) - BigInt(count), count);
  return page.map(({ kind, version, body }) => {
    assert.ok(isAccessEvent(kind));
    return decodeAccessEvent(kind, version, body)!;
  });
}

it('one mailbox has one account, however it is typed', async () => {
  const made = value(await accounts.create(mail));
  assert.equal(errorOf(await accounts.create(` ${mail.toUpperCase()}\r\n`)), 'conflict');
  assert.equal(value(await accounts.find(mail.toUpperCase())).id, made.id);
  assert.deepEqual(await lastEvents(1), [
    { kind: 'account.created', account: made.id, verified: true, slot: 'first_key' },
  ]);
  value(await accounts.create(`m@caf\u00e9-${mail.split('@')[1]}`));
  for (const domain of ['cafe\u0301', 'CAF\u00c9', 'xn--caf--epa'])
    assert.notEqual(errorOf(await accounts.create(`m@${domain}-${mail.split('@')[1]}`)), undefined);
  assert.equal(errorOf(await accounts.create(`caf\u00e9-${mail}`)), 'invalid_parameter');
});

it('of many who create the same account at once, from two sides, one wins', async () => {
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? accounts : other).create(mail)),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  assert.equal(results.filter((r) => errorOf(r) === 'conflict').length, 19);
});

it('hostile mail addresses are refused without an echo of what could do harm', async () => {
  const bad = [
    '',
    ' ',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b\r\nBcc: all@example.org',
    'a\0@b',
    'a\u200b@b',
    'a@b\u202e',
    '<a@b>',
    '"a"@b',
    'a@b,c@d',
    '\ud800@b',
    `${'a'.repeat(250)}@b.org`,
    `${'é'.repeat(125)}@b.org`,
    'a'.repeat(10_000_000),
  ];
  for (const text of bad) {
    const result = await accounts.create(text);
    assert.equal(errorOf(result), 'invalid_parameter', JSON.stringify(text.slice(0, 40)));
    const detail = result.ok ? '' : (result.detail ?? '');
    assert.ok(detail.length < 200 && !/\p{C}/u.test(detail), detail);
    assert.equal(readKnownAddress(text), undefined);
  }
  for (const text of ['a@b', "o'brien+tag@example.org", 'a@xn--fsqu00a.org']) {
    assert.equal(readMailAddress(text), text);
  }
});

it('a key is shown once, sealed for later, and the journal has its hash alone', async () => {
  const account = value(await accounts.create(mail));
  const made = value(await keys.create(mail));
  assert.ok(parseKey(made.text).ok);
  assert.equal(made.replaces, undefined);
  const [event] = await lastEvents(1);
  assert.ok(event?.kind === 'key.created');
  assert.deepEqual(Buffer.from(event.hash), Buffer.from(hashKey(made.text)));
  assert.equal(event.account, account.id);
  assert.equal(value(await revealed(otherKeys)), made.text);
  const listed = (await keys.all()).find((key) => key.id === made.id)!;
  assert.equal(listed.state, 'active');
  assert.equal(listed.email, mail);
  assert.ok(!JSON.stringify(listed).includes(made.text));
});

it('a second key replaces the first, which ends after 24 hours; a third is refused till then', async () => {
  value(await accounts.create(mail));
  const first = value(await keys.create(mail));
  const second = value(await keys.create(mail));
  assert.equal(second.replaces, first.id);
  assert.equal(errorOf(await keys.create(mail)), 'conflict');
  assert.equal(value(await revealed()), second.text);
  clock.advance(24 * hourMs - 1);
  assert.equal(await keys.retire(), 0);
  clock.advance(1);
  assert.equal(await keys.retire(), 1);
  assert.deepEqual((await lastEvents(1))[0]?.kind, 'key.revoked');
  assert.equal(await keys.retire(), 0);
  const states = (await keys.all()).filter((key) => key.email === mail);
  assert.deepEqual(states.map((key) => key.state).sort(), ['active', 'revoked']);
});

it('a replaced key whose time is over does not count, retired or not', async () => {
  value(await accounts.create(mail));
  const first = value(await keys.create(mail));
  const second = value(await keys.create(mail));
  clock.advance(24 * hourMs);
  const third = value(await keys.create(mail));
  assert.equal(third.replaces, second.id);
  const listed = await keys.all();
  assert.equal(listed.find((key) => key.id === first.id)?.state, 'revoked');
});

it('a replaced key keeps its end when its successor is revoked and replaced', async () => {
  value(await accounts.create(mail));
  const first = value(await keys.create(mail));
  const second = value(await keys.create(mail));
  const endOf = async () => (await keys.all()).find((k) => k.id === first.id)!.endsAt;
  const end = await endOf();
  clock.advance(hourMs);
  value(await keys.revoke(second.id));
  value(await keys.create(mail));
  assert.equal(await endOf(), end);
});

it('keys made from two sides at once: never more than two live', async () => {
  value(await accounts.create(mail));
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, i) => (i % 2 === 0 ? keys : otherKeys).create(mail)),
  );
  assert.ok(results.filter((r) => r.ok).length <= 2);
  const live = (await keys.all()).filter((k) => k.email === mail && k.revokedAt === 0);
  assert.equal(live.length, results.filter((r) => r.ok).length);
});

it('revoking twice is no error, revoking what is unknown is', async () => {
  value(await accounts.create(mail));
  const { id } = value(await keys.create(mail));
  assert.equal(value(await keys.revoke(id)).state, 'revoked');
  const seq = await store.lastSeq();
  assert.equal(value(await otherKeys.revoke(id)).state, 'revoked');
  assert.equal(await store.lastSeq(), seq);
  assert.equal(errorOf(await revealed()), 'unknown_key');
  for (const stranger of ['nope', 'x'.repeat(5_000), 'a\r\nb', '']) {
    assert.equal(errorOf(await keys.revoke(stranger)), 'unknown_key');
  }
});

it('a disabled account gets no key until it is enabled', async () => {
  const { id } = value(await accounts.create(mail));
  assert.equal(value(await accounts.setDisabled(mail, true)).disabled, true);
  assert.deepEqual(await lastEvents(1), [
    { kind: 'account.disabled', account: id, disabled: true },
  ]);
  assert.equal(errorOf(await keys.create(mail)), 'conflict');
  value(await accounts.setDisabled(mail, false));
  value(await keys.create(mail));
});

it('quotas by hand are kept apart and bounded', async () => {
  const { id: account } = value(await accounts.create(mail));
  value(await accounts.setQuotas(mail, { readPerMinute: 5 }));
  const [event] = await lastEvents(1);
  assert.deepEqual(event, {
    kind: 'account.quotas',
    account,
    readPerMinute: 5,
    writePerMinute: 0xffff_ffff,
  });
  for (const quota of [-1, 1.5, Number.NaN, perMinuteMax + 1]) {
    const result = await accounts.setQuotas(mail, { writePerMinute: quota });
    assert.equal(errorOf(result), 'invalid_parameter');
  }
});

it('what is asked of an account that does not exist fails by name', async () => {
  for (const result of [
    await accounts.find(mail),
    await accounts.setDisabled(mail, true),
    await accounts.setQuotas(mail, {}),
    await keys.create(mail),
  ]) {
    assert.equal(errorOf(result), 'unknown_account');
  }
});
