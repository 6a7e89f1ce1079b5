/** The operator's list of sites: counted over all consents, kept for a while, with what is blocked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheduler } from '../../../src/core/scheduling.ts';
import { createConsents } from '../../../src/signon/sites/consents.ts';
import { createSiteList } from '../../../src/signon/sites/site-list.ts';
import { value } from '../../support/house/result.ts';
import { openSignon } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;
const hourMs = 3_600_000;
const all = { part: '', skip: 0, limit: 50 };

const signIns = async () => new Map([['shop.example', { today: 2, week: 5, month: 9 }]]);

function listOf(signon: Signon, max?: number) {
  const { blocked } = signon.authorization;
  const scheduler = () => createScheduler();
  return createSiteList({
    ...signon,
    blocked,
    scheduler,
    signIns,
    ...(max === undefined ? {} : { max }),
  });
}

/** A consent, used so many hours ago where a number is given. */
async function visit(signon: Signon, accountId: string, clientId: string, hoursAgo?: number) {
  const consents = createConsents(signon);
  const parties = { accountId, clientId, origin: `https://${clientId}` };
  const { row } = consents.afterDecision(undefined, parties, ['openid'], ['openid']);
  await signon.store.commit({ set: [row] });
  if (hoursAgo === undefined) return;
  const clock = { ...signon.clock, now: () => signon.clock.now() - hoursAgo * hourMs };
  const use = await createConsents({ ...signon, clock }).useRow(parties);
  await signon.store.commit({ set: [use!] });
}

test('visitors, those of lately and the last sign-in are counted by site', async () => {
  await using signon = await openSignon();
  await visit(signon, 'a', 'shop.example', 1);
  await visit(signon, 'b', 'shop.example', 30);
  await visit(signon, 'c', 'shop.example', 24 * 8);
  await visit(signon, 'd', 'shop.example');
  await visit(signon, 'a', 'forum.example', 2);
  await visit(signon, 'b', 'never.example');
  // Another address of the same site is no other visitor.
  const parties = { accountId: 'a', clientId: 'shop.example', origin: 'https://www.shop.example' };
  const consents = createConsents(signon);
  const { row } = consents.afterDecision(undefined, parties, ['openid'], ['openid']);
  await signon.store.commit({ set: [row, (await consents.useRow(parties))!] });
  const page = await listOf(signon).page(all);
  const now = signon.clock.now();
  const of = (domain: string, visitors: number, day: number, week: number, lastUsedAt?: number) => {
    const own = domain === 'shop.example' ? { today: 2, week: 5, month: 9 } : undefined;
    const none = { today: 0, week: 0, month: 0 };
    return {
      domain,
      visitors,
      day,
      week,
      lastUsedAt,
      signIns: own ?? none,
      blockedBy: undefined,
      groups: [],
    };
  };
  assert.deepEqual(page, {
    sites: [
      of('shop.example', 4, 1, 2, now),
      of('forum.example', 1, 1, 1, now - 2 * hourMs),
      of('never.example', 1, 0, 0, undefined),
    ],
    found: 3,
    countedAt: now,
    isCut: false,
  });
});

test('it is searched and read in pages, and shows what is blocked without a visitor', async () => {
  await using signon = await openSignon();
  const { blocked } = signon.authorization;
  for (let i = 0; i < 5; i++) await visit(signon, 'a', `s${i}.shop.example.com`);
  value(await blocked.block('shop.example.com'));
  value(await blocked.block('bad.example.org'));
  const list = listOf(signon);
  const first = await list.page({ part: 'shop', skip: 0, limit: 4 });
  assert.deepEqual(
    first.sites.map(({ domain }) => domain),
    ['shop.example.com', 's0.shop.example.com', 's1.shop.example.com', 's2.shop.example.com'],
  );
  assert.ok(first.sites.every(({ blockedBy }) => blockedBy === 'shop.example.com'));
  const second = await list.page({ part: 'shop', skip: 4, limit: 4 });
  assert.deepEqual(
    second.sites.map(({ domain }) => domain),
    ['s3.shop.example.com', 's4.shop.example.com'],
  );
  assert.deepEqual([first.found, second.found], [6, 6]);
  value(await blocked.unblock('shop.example.com'));
  const { sites } = await list.page(all);
  assert.deepEqual(
    sites.filter(({ blockedBy }) => blockedBy !== undefined).map(({ domain }) => domain),
    ['bad.example.org'],
    'a block and its end show at once',
  );
});

test('a count is kept and shared, and made anew behind the one that is shown', async () => {
  await using signon = await openSignon();
  let scans = 0;
  const store = { ...signon.store };
  store.scan = (prefix, options) => {
    if (prefix[0] === 0x61) scans++;
    return signon.store.scan(prefix, options);
  };
  const list = listOf({ ...signon, store });
  await visit(signon, 'a', 'one.example');
  const both = await Promise.all([list.page(all), list.page(all)]);
  assert.deepEqual(
    both.map(({ found }) => found),
    [1, 1],
  );
  const once = scans;
  await visit(signon, 'a', 'two.example');
  assert.equal((await list.page(all)).found, 1);
  assert.equal(scans, once, 'nothing was counted for it');
  signon.clock.advance(60_000);
  assert.equal((await list.page(all)).found, 1, 'the old one while the new one is made');
  while ((await list.page(all)).found < 2) await new Promise(setImmediate);
});

test('beyond the bound no more sites are counted, and the list says so', async () => {
  await using signon = await openSignon();
  for (let i = 0; i < 4; i++) await visit(signon, `a${i}`, `s${i}.example`, 1);
  await visit(signon, 'a5', 's0.example', 1);
  const page = await listOf(signon, 3).page(all);
  assert.deepEqual([page.found, page.isCut, page.sites[0]!.visitors], [3, true, 2]);
});
