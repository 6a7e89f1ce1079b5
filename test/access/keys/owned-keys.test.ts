/** The index of API keys by account: complete whatever happened, also in stores of before, and all that is read. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import {
  createApiKeys,
  createKeyRecords,
  type StoredKey,
} from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { createDeletion } from '../../../src/signon/people/deletion.ts';
import {
  apiKeyPrefix,
  encodeKey,
  type Key,
  namespaces,
  ownedApiKeyPrefix,
} from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import { pagesUnder, type Store } from '../../../src/storage/store.ts';
import { value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const log = createLog('silent');
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));
const everyKey = encodeKey(namespaces.ownedApiKey);

function partsOn(store: Store, seed: number) {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const options = { store, clock, random: seededRandom(seed), masterKey, slotsMax: 1_000 };
  const accounts = createAccounts(options);
  return {
    clock,
    accounts,
    keys: createApiKeys({ ...options, accounts }),
    records: createKeyRecords(options),
    deletion: createDeletion({ ...options, data: [] }),
  };
}

async function listed(keys: AsyncGenerator<StoredKey>): Promise<StoredKey[]> {
  const found: StoredKey[] = [];
  for await (const key of keys) found.push(key);
  return found;
}

async function rowsUnder(store: Store, prefix: Key): Promise<number> {
  let rows = 0;
  for await (const page of pagesUnder(store, prefix)) rows += page.length;
  return rows;
}

it('holds what a walk over all keys finds, after anything that was done', async () => {
  const directory = makeTempDir('owned-keys');
  const store = openLmdbStore({ path: directory.path, clock: systemClock(), log });
  const { clock, accounts, keys, records, deletion } = partsOn(store, 5);
  const random = seededRandom(17);
  const pick = <T>(of: readonly T[]) => of[Math.floor(random.next() * of.length)];
  /** By account: each key, and whether it was revoked. */
  const model = new Map<string, Map<string, boolean>>();
  const emails = new Map<string, string>();
  const done = { revoked: 0, named: 0, deleted: 0 };
  for (let step = 0; step < 400; step++) {
    const id = pick([...model.keys()]);
    const own = model.get(id ?? '');
    const keyId = pick([...(own?.keys() ?? [])]);
    const what = random.next();
    if (id === undefined || own === undefined || what < 0.1) {
      const email = `person${step}@example.org`;
      const made = value(await accounts.create(email));
      model.set(made.id, new Map());
      emails.set(made.id, email);
    } else if (what < 0.4) {
      const made = await keys.create(id);
      if (made.ok) own.set(made.value.id, false);
    } else if (what < 0.6) {
      const wanted = { name: `key-${step}`, scopes: ['bouncer'] } as const;
      own.set(value(await keys.create(emails.get(id)!, wanted)).id, false);
      done.named += 1;
    } else if (what < 0.75 && keyId !== undefined) {
      value(await records.revoke(keyId));
      own.set(keyId, true);
      done.revoked += 1;
    } else if (what < 0.85 && keyId !== undefined) {
      await keys.rename(id, keyId, `renamed-${step}`);
    } else if (what < 0.96) {
      clock.advance(20 * 3_600_000);
      await records.retire();
      for (const { id: over, record } of await listed(records.all())) {
        if (record.revokedAt !== 0) model.get(record.account)!.set(over, true);
      }
    } else {
      value(await deletion.delete(id));
      model.delete(id);
      done.deleted += 1;
      assert.equal(await rowsUnder(store, ownedApiKeyPrefix(id)), 0);
    }
    for (const [account, known] of model) {
      const found = (await listed(records.ofAccount(account))).map(
        ({ id, record }) => [id, record.revokedAt !== 0] as const,
      );
      const wanted = [...known].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      assert.deepEqual(found, wanted, `seed 17, step ${step}`);
    }
    assert.equal(await rowsUnder(store, everyKey), await rowsUnder(store, apiKeyPrefix()));
  }
  assert.ok(Math.min(done.revoked, done.named, done.deleted) > 5, JSON.stringify(done));
  await store.close();
  directory.remove();
});

/** Which API keys are read, by their ids. */
function watch(store: Store): { watched: Store; seen: Set<string> } {
  const seen = new Set<string>();
  function note(key: Uint8Array): void {
    if (key[0] === namespaces.apiKey) seen.add(Buffer.from(key.subarray(1, -1)).toString());
  }
  const watched: Store = {
    ...store,
    get(key) {
      note(key);
      return store.get(key);
    },
    async scan(prefix, options) {
      const page = await store.scan(prefix, options);
      for (const { key } of page) note(key);
      return page;
    },
  };
  return { watched, seen };
}

it('the export, the deletion and the lists of an account read no key of others', async () => {
  const directory = makeTempDir('owned-keys-read');
  const store = openLmdbStore({ path: directory.path, clock: systemClock(), log });
  const { accounts, keys, records } = partsOn(store, 6);
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) {
    const { id, email } = value(await accounts.create(`n${n}@example.org`));
    ids.push(id);
    value(await keys.create(email));
    value(await keys.create(email, { name: 'fw', scopes: ['bouncer'] }));
  }
  const own = await listed(records.ofAccount(ids[11]!));
  value(await records.revoke(own[0]!.id));
  const { watched, seen } = watch(store);
  const watching = partsOn(watched, 7);
  const { deletion } = watching;
  const wanted = own.map(({ id }) => id).sort();
  const exported = value(await deletion.exportOf(ids[11]!)).apiKeys as { id: string }[];
  assert.deepEqual(exported.map(({ id }) => id).sort(), wanted);
  assert.deepEqual([...seen].sort(), wanted);
  seen.clear();
  assert.equal((await watching.keys.list(ids[11]!)).length, 1);
  assert.ok(
    seen.size > 0 && [...seen].every((id) => wanted.includes(id)),
    'what the console shows',
  );
  seen.clear();
  value(await deletion.delete(ids[11]!));
  assert.deepEqual([...seen].sort(), wanted);
  assert.equal(await rowsUnder(store, apiKeyPrefix()), 58);
  await store.close();
  directory.remove();
});
