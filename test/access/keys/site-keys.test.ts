/** Site keys as an operator changes them, beside another process that looks them up. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import {
  allowsHost,
  createSiteKeys,
  hostsMax,
  normaliseHost,
  siteKeysPerAccountMax,
} from '../../../src/access/keys/site-keys.ts';
import { createLog } from '../../../src/core/log.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('site-keys');
const clock = manualClock(Date.UTC(2026, 0, 1));

const log = createLog('silent');
const stores = [1, 2].map(() => openLmdbStore({ path: directory.path, clock, log }));
const [store, otherStore] = stores as [Store, Store];
const accounts = createAccounts({ store, clock, random: seededRandom(1) });
const siteKeys = createSiteKeys({ store, clock, random: seededRandom(2) });
/** Another process's view. */
const other = createSiteKeys({ store: otherStore, clock, random: seededRandom(3) });

after(async () => {
  for (const store of stores) await store.close();
  directory.remove();
});

const accountOf = async (email: string) => value(await accounts.create(email)).id;

it('a site key is seen by another process at once, and gone once it is revoked', async () => {
  const account = await accountOf('one@example.org');
  const made = value(
    await siteKeys.create(account, ['Shop.Example.', 'shop.example', 'bücher.de']),
  );
  assert.match(made.id, /^pcs_[\w-]{22}$/);
  assert.deepEqual(made.hosts, ['shop.example', 'xn--bcher-kva.de']);
  assert.deepEqual(await other.find(made.id), made);
  assert.deepEqual(await other.ofAccount(account), [made]);
  assert.deepEqual(await other.list(), [{ ...made, email: 'one@example.org' }]);
  assert.deepEqual(value(await siteKeys.revoke(made.id)), made);
  assert.equal(await other.find(made.id), undefined);
  assert.deepEqual(await other.ofAccount(account), []);
  assert.equal(errorOf(await other.revoke(made.id)), 'unknown_key');
});

it('keys of one account are not those of another', async () => {
  const [a, b] = [await accountOf('a@example.org'), await accountOf('b@example.org')];
  const made = value(await siteKeys.create(a, []));
  assert.deepEqual(await siteKeys.ofAccount(b), []);
  assert.deepEqual(await siteKeys.ofAccount(a), [made]);
});

it('an unknown or disabled account gets none, and nobody more than the bound', async () => {
  assert.equal(errorOf(await siteKeys.create('nobody', [])), 'unknown_account');
  const account = await accountOf('many@example.org');
  value(await accounts.setDisabled('many@example.org', true));
  assert.equal(errorOf(await siteKeys.create(account, [])), 'conflict');
  value(await accounts.setDisabled('many@example.org', false));
  for (let i = 0; i < siteKeysPerAccountMax; i++) value(await siteKeys.create(account, []));
  assert.equal(errorOf(await siteKeys.create(account, [])), 'conflict');
  value(await siteKeys.revoke((await siteKeys.ofAccount(account))[0]!.id));
  value(await siteKeys.create(account, []));
});

it('ids that nobody made are unknown, however they look', async () => {
  for (const id of ['', 'pcs_', `pcs_${'a'.repeat(22)}`, '\0', 'x'.repeat(5_000), '../../etc']) {
    assert.equal(await siteKeys.find(id), undefined);
    assert.equal(errorOf(await siteKeys.revoke(id)), 'unknown_key');
  }
});

it('host names are taken as browsers write them, and nothing else is', async () => {
  const good: Record<string, string> = {
    'shop.example': 'shop.example',
    ' SHOP.example. ': 'shop.example',
    localhost: 'localhost',
    'bücher.example': 'xn--bcher-kva.example',
    '192.0.2.7': '192.0.2.7',
    '[2001:DB8::0:1]': '[2001:db8::1]',
  };
  for (const [text, host] of Object.entries(good)) assert.equal(normaliseHost(text), host, text);
  const bad = ['', '.', 'https://a.example', 'a.example:80', 'a.example/x', '*.a.example', 'a b'];
  bad.push(
    '127.1',
    '0x7f000001',
    '[::1',
    '[x]',
    'a..b',
    '-a.example',
    'a@b',
    `${'a'.repeat(64)}.b`,
  );
  bad.push('a.example,b.example', 'a\0b', `${'a.'.repeat(200)}b`, '2130706433');
  for (const text of bad) assert.equal(normaliseHost(text), undefined, text);
  const account = await accountOf('hosts@example.org');
  assert.equal(errorOf(await siteKeys.create(account, ['ok.example', '*'])), 'invalid_parameter');
  const names = Array.from({ length: hostsMax + 1 }, (_, i) => `h${i}.example`);
  assert.equal(errorOf(await siteKeys.create(account, names)), 'invalid_parameter');
  assert.deepEqual(value(await siteKeys.create(account, names.slice(1))).hosts, names.slice(1));
});

it('a host name stands for itself and its sub-domains', () => {
  const hosts = ['shop.example', '192.0.2.7'];
  for (const name of ['shop.example', 'www.shop.example', '192.0.2.7']) {
    assert.ok(allowsHost({ hosts }, name), name);
  }
  for (const name of ['example', 'xshop.example', 'shop.example.evil.test', '192.0.2.70', '']) {
    assert.ok(!allowsHost({ hosts }, name), name);
  }
  assert.ok(allowsHost({ hosts: [] }, 'anything.test'));
});
