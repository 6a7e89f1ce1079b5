/** Keys with a name: beside the account's own, each for what it is for, over replays and at their bounds. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { createAccessReducer } from '../../../src/access/accounts/reducer.ts';
import {
  createApiKeys,
  namedKeyBounds,
  noteKeyUse,
  readKeyUse,
} from '../../../src/access/keys/api-keys.ts';
import { keyScopes } from '../../../src/access/keys/key-format.ts';
import {
  createKeyCache,
  createKeyTable,
  openKeyTableReader,
  openLabelReader,
  wrongScope,
} from '../../../src/access/keys/key-table.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createLog } from '../../../src/core/log.ts';
import { apiKeyKey, apiKeyUseKey } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { applyEvent, decodeAccessEvent, isAccessEvent } from '../../support/reputation/events.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('named-keys');
const clock = manualClock(Date.UTC(2026, 0, 1));
const random = seededRandom(11);
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
const email = 'owner@example.org';
const bouncer = { scopes: ['bouncer'] } as const;

const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
const accounts = createAccounts({ store, clock, random });
const keys = createApiKeys({ store, clock, random, masterKey, accounts, slotsMax: 100 });
value(await accounts.create(email));

after(async () => {
  await store.close();
  directory.remove();
});

/** The tables after a replay of the whole journal. */
async function replayed() {
  const table = createKeyTable(256);
  const accountsTable = createAccountsTable(100);
  const fold = createAccessReducer({
    tables: {
      addKey: (hash, slot, scopes) => table.add(hash, slot, scopes).ok,
      revokeKey: (hash) => table.revoke(hash),
      setAccount: (slot, state) => accountsTable.set(slot, state),
      clearAccount: accountsTable.clear,
    },
    accountsMax: 100,
    firstPage: 0,
    touchPage: () => {},
    touchHeader: () => {},
    heldBy: () => 0,
  });
  for (const { kind, version, body, at } of await store.read(0n, 1_000)) {
    assert.ok(isAccessEvent(kind));
    applyEvent(fold, decodeAccessEvent(kind, version, body)!, at);
  }
  const reader = openKeyTableReader(table.handle);
  return { table, fold, cache: createKeyCache(reader), labels: openLabelReader(reader) };
}

it('a named key works for what it is for alone, and a plain key as before', async () => {
  const plain = value(await keys.create(email));
  const fw = value(await keys.create(email, { name: 'fw-1', ...bouncer }));
  const reporter = value(await keys.create(email, { name: 'sensor', scopes: ['report'] }));
  const { cache } = await replayed();
  const may = (text: string) =>
    Object.values(keyScopes).filter((scope) => cache.authenticate(text, scope) >= 0);
  // Twice: by the table, and by what the cache remembers.
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(may(plain.text), [keyScopes.check, keyScopes.report]);
    assert.deepEqual(may(fw.text), [keyScopes.bouncer]);
    assert.deepEqual(may(reporter.text), [keyScopes.report]);
  }
});

it('a key with a name outlives replacements of the plain one, and is no second key', async () => {
  const fw = value(await keys.create(email, { name: 'lasting', ...bouncer }));
  clock.advance(48 * 3_600_000);
  await keys.retire();
  value(await keys.create(email));
  clock.advance(48 * 3_600_000);
  await keys.retire();
  const second = value(await keys.create(email));
  const { cache } = await replayed();
  assert.ok(cache.authenticate(fw.text, keyScopes.bouncer) >= 0);
  const { id } = value(await accounts.find(email));
  assert.equal(value(await keys.reveal(id, second.id)), second.text);
  assert.equal(errorOf(await keys.reveal(id, fw.id)), 'unknown_key', 'its text is shown once');
});

it('a DNS label works until its key is removed, and is no key', async () => {
  const { id, text, label } = value(
    await keys.create(email, { name: 'mx', ...bouncer, label: true }),
  );
  assert.match(label!, /^[a-z2-7]{26}$/);
  const made = await replayed();
  assert.ok(made.labels.accountOf(label!) >= 0);
  assert.equal(made.cache.authenticate(label!, keyScopes.bouncer), -1);
  assert.equal(made.labels.accountOf(text), made.cache.authenticate(text, keyScopes.bouncer));
  value(await keys.revoke(id));
  const gone = await replayed();
  assert.equal(gone.labels.accountOf(label!), -1);
  assert.equal(gone.cache.authenticate(text, keyScopes.bouncer), -1);
});

it('of two keys of one name made at once there is one; a removed name is free again', async () => {
  const both = await Promise.all([
    keys.create(email, { name: 'twin', ...bouncer }),
    keys.create(email, { name: 'twin', ...bouncer }),
  ]);
  assert.deepEqual(both.map(errorOf).sort(), ['conflict', 'none']);
  const { id } = value(await accounts.find(email));
  const twin = (await keys.list(id)).find(({ name }) => name === 'twin')!;
  value(await keys.revokeOwn(id, twin.id));
  assert.equal(errorOf(await keys.revokeOwn(id, twin.id)), 'unknown_key');
  value(await keys.create(email, { name: 'twin', ...bouncer }));
  for (const name of ['', 'two words', '-x', 'a/b', 'x'.repeat(65)]) {
    assert.equal(
      errorOf(await keys.create(email, { name, ...bouncer })),
      'invalid_parameter',
      name,
    );
  }
});

it('an account has so many named keys, and no more', async () => {
  const { id } = value(await accounts.create('full@example.org'));
  for (let i = 0; i < namedKeyBounds.perAccountMax; i++) {
    value(await keys.create(id, { name: `b${i}`, ...bouncer }));
  }
  assert.equal(errorOf(await keys.create(id, { name: 'more', ...bouncer })), 'capacity_exceeded');
  value(await keys.revokeOwn(id, (await keys.list(id))[0]!.id));
  value(await keys.create(id, { name: 'more', ...bouncer }));
});

it('the use of a key is seen in the table once, and its counts add up from both sides', async () => {
  const { id, text } = value(await keys.create(email, { name: 'used', ...bouncer }));
  const { table, cache, fold } = await replayed();
  assert.deepEqual(table.takeUsed(), []);
  assert.equal(cache.authenticate(text, keyScopes.check), wrongScope);
  assert.deepEqual(table.takeUsed(), [], 'a refusal is no use');
  cache.authenticate(text, keyScopes.bouncer);
  const used = table.takeUsed();
  assert.deepEqual(
    used.map(({ accountSlot, hash }) => fold.keyIdOf(accountSlot, hash)),
    [id],
  );
  assert.deepEqual(table.takeUsed(), []);
  const lastUsedAt = clock.now();
  const notes = [1, 2, 3].map((dropped) =>
    noteKeyUse(store, new Map([[id, { lastUsedAt, agent: 'fw/1', dropped }]])),
  );
  assert.deepEqual((await Promise.all(notes)).flat(), []);
  await noteKeyUse(store, new Map([[id, { lastUsedAt: lastUsedAt - 5 }]]));
  const expected = { lastUsedAt, agent: 'fw/1', address: '', processed: 0, dropped: 6 };
  assert.deepEqual(await readKeyUse(store, id), expected);
  const owner = value(await accounts.find(email)).id;
  const listed = (await keys.list(owner)).find((key) => key.name === 'used');
  assert.deepEqual(listed?.use, expected);
  // An account that is deleted while a use waits to be written leaves nothing behind.
  await store.commit({ del: [apiKeyKey(id), apiKeyUseKey(id)] });
  assert.deepEqual(await noteKeyUse(store, new Map([[id, { lastUsedAt }]])), []);
  assert.equal(await readKeyUse(store, id), undefined);
});
