/** The update to format 2: whose address becomes what, that nobody is merged, and that a kill does no harm. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findAccountId, unconfirmedAccounts } from '../../src/access/account-names.ts';
import { decodeAccount } from '../../src/access/accounts/records.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { decodeProfile } from '../../src/signon/people/profile/profile.ts';
import {
  accountByEmailKey,
  accountBySpellingPrefix,
  accountKey,
  accountPrefix,
  addressClaimPrefix,
  profileKey,
} from '../../src/storage/keys.ts';
import { openLmdbStore } from '../../src/storage/lmdb.ts';
import { openStore } from '../../src/storage/migrate.ts';
import type { Store } from '../../src/storage/store.ts';
import { startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { format1Accounts, unpackFormat1 } from './format-1.ts';

const child = new URL('./format-child.js', import.meta.url);
const label = 'xn--exmple-cua.test';

async function withUpdated(
  use: (store: Store) => Promise<void>,
  before: (dataDir: string) => Promise<void> = async () => {},
): Promise<void> {
  const directory = makeTempDir('format-1');
  const dataDir = directory.path;
  try {
    unpackFormat1(dataDir);
    await before(dataDir);
    const clock = systemClock();
    const log = createLog('silent');
    const options = { clock, log, dataDir, random: systemRandom(), pid: process.pid };
    const store = await openStore({ path: `${dataDir}/store`, ...options });
    await use(store);
    await store.close();
  } finally {
    directory.remove();
  }
}

async function accountOf(store: Store, id: string) {
  const { email, formerEmail, keys } = decodeAccount((await store.get(accountKey(id)))!.value)!;
  const profile = await store.get(profileKey(id));
  const { emailVerified, email: shown } = (profile && decodeProfile(profile.value)) ?? {};
  return { email, formerEmail, keys: keys.length, emailVerified, shown };
}

const holderOf = async (store: Store, email: string) => {
  const row = await store.get(accountByEmailKey(email));
  return row && Buffer.from(row.value).toString('utf8');
};

async function assertUpdated(store: Store): Promise<void> {
  const { victimLetters, victimLabel, alone, accented, plain, wide, narrow, dot, held, odd } =
    format1Accounts;
  const contested = (email: string, was: string, keys = 0) => ({
    email,
    formerEmail: was,
    keys,
    emailVerified: false,
    shown: email,
  });
  const kept = (email: string, keys = 0) => ({
    email,
    formerEmail: '',
    keys,
    emailVerified: true,
    shown: email,
  });
  const victim = `victim@${label}`;
  const expected: [string, ReturnType<typeof contested>][] = [
    [victimLetters.id, contested(victim, victimLetters.was, 1)],
    [victimLabel.id, contested(victim, victimLabel.was)],
    [alone.id, kept('alone@xn--bcher-kva.test', 1)],
    [accented.id, kept(accented.was)],
    [plain.id, kept(plain.was)],
    [wide.id, contested(narrow.was, wide.was)],
    [narrow.id, contested(narrow.was, narrow.was)],
    [dot.id, contested('dot@example.test', dot.was)],
    [held.id, kept(held.was)],
    [odd.id, contested('odd@address.invalid', odd.was)],
  ];
  for (const [id, facts] of expected) assert.deepEqual(await accountOf(store, id), facts, id);
  assert.equal(await holderOf(store, victim), undefined, 'of two that claim it neither has it');
  assert.equal(await holderOf(store, narrow.was), undefined);
  assert.equal(await holderOf(store, 'dot@example.test'), undefined);
  assert.equal(await holderOf(store, 'alone@xn--bcher-kva.test'), alone.id);
  assert.equal(await holderOf(store, alone.was), undefined);
  assert.equal(await holderOf(store, held.was), held.id, 'a stranger who waits takes nothing away');
  assert.equal(await holderOf(store, `later@${label}`), 'pendingpending03');
  // Everybody is found by the id and by what they used to type.
  for (const { id, was } of Object.values(format1Accounts)) {
    assert.equal(await findAccountId(store, id), id);
    assert.equal(await findAccountId(store, was), id, was);
  }
  assert.equal(await findAccountId(store, 'pendingpending02'), 'pendingpending02');
  assert.equal((await unconfirmedAccounts(store)).length, 8);
  assert.equal((await store.scan(addressClaimPrefix(), { limit: 10 })).length, 0);
  assert.equal((await store.scan(accountPrefix(), { limit: 100 })).length, 13);
}

it('domains become A-labels; where two claim one address neither is merged nor confirmed', async () => {
  await withUpdated(assertUpdated);
});

it('rows that expire go on expiring', async () => {
  let path = '';
  const remember = async (dataDir: string) => {
    path = `${dataDir}/store`;
  };
  await withUpdated(async () => {
    const clock = { ...systemClock(), now: () => 4_000_000_000_001 };
    const later = openLmdbStore({ path, clock, log: createLog('silent') });
    assert.equal(await later.get(accountKey('pendingpending02')), undefined);
    assert.equal((await later.scan(accountBySpellingPrefix(), { limit: 100 })).length, 6);
    assert.equal(await holderOf(later, `later@${label}`), undefined);
    await later.close();
  }, remember);
});

it('killed after any batch of the update it goes on, with the same end', async () => {
  for (let batches = 1; batches <= 16; batches += 3) {
    await withUpdated(assertUpdated, async (dataDir) => {
      const first = startChild(child, [dataDir, 'real']);
      for (let n = 1; n < batches; n++) {
        await first.line(() => first.lines.length >= n);
        first.process.stdin!.write('on\n');
      }
      await first.line(() => first.lines.length >= batches);
      first.process.kill('SIGKILL');
      await first.ended;
    });
  }
});
