/** Receipts: what they are bound to, that nobody can make one, and that each is redeemed once. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, it } from 'node:test';
import type { LeastLevel } from '../../src/access/keys/site-keys.ts';
import {
  createReceipts,
  type ReceiptSiteKey,
  type Receipts,
  receiptCharactersMax,
  receiptLifeMs,
  type SolvedBy,
} from '../../src/captcha/receipts.ts';
import type { Level } from '../../src/captcha/work/levels.ts';
import { createLog } from '../../src/core/log.ts';
import { dayMs } from '../../src/core/time.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import type { Store } from '../../src/storage/store.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { createMemoryStore } from '../support/server/memory-store.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('receipts');
const startMs = Date.UTC(2026, 10, 21, 9, 30);
const clock = manualClock(startMs);
const signingKey = new Uint8Array(32).fill(3);
const origin = 'https://shop.example';
const by = { siteKey: 'pcs_shop', origin, level: 'easy' } as const;

/** Account by site key. */
const sites = new Map([
  ['pcs_shop', 'owner'],
  ['pcs_second', 'owner'],
  ['pcs_other', 'stranger'],
]);

/** Of those that let clean addresses pass. */
const passing = new Set<string>();
const leasts = new Map<string, LeastLevel>();

function siteOf(id: string): ReceiptSiteKey | undefined {
  const account = sites.get(id);
  return account === undefined
    ? undefined
    : { id, account, passesClean: passing.has(id), least: leasts.get(id) ?? 'puzzle' };
}

function openReceipts(store: Pick<Store, 'commit'>, seed: number, key = signingKey): Receipts {
  return createReceipts({
    store,
    clock,
    random: seededRandom(seed),
    signingKey: key,
    site: async (id) => siteOf(id),
    sitesOf: async (account) =>
      [...sites.keys()].map(siteOf).filter((s) => s?.account === account) as ReceiptSiteKey[],
    allows: (_site, hostname) => hostname !== 'barred.example',
    work: { open: () => undefined },
  });
}

const log = createLog('silent');
const stores = [1, 2].map(() => openLmdbStore({ path: directory.path, clock, log }));
const receipts = openReceipts(stores[0]!, 1);
/** The same as another process would have it. */
const beside = openReceipts(stores[1]!, 2);
after(async () => {
  for (const store of stores) await store.close();
  directory.remove();
});

async function issue(more: Partial<SolvedBy & { level: Level }> = {}): Promise<string> {
  const receipt = await receipts.issue({ ...by, ...more });
  assert.ok(receipt !== undefined);
  return receipt;
}

/** What came of it: the fault, or `redeemed`. */
async function outcome(of: Receipts, receipt: string, account = 'owner', site?: string) {
  const result = await of.redeem(receipt, account, site);
  if (!result.ok) return result.error;
  return typeof result.value === 'string' ? result.value : 'redeemed';
}

it('tells the page and the time of the challenge, once', async () => {
  const receipt = await issue({ origin: 'http://127.0.0.1:8081' });
  assert.match(receipt, /^pcr2\.[\w-]+\.[\w-]{43}$/);
  assert.deepEqual(await receipts.redeem(receipt, 'owner'), {
    ok: true,
    value: {
      siteKey: 'pcs_shop',
      origin: 'http://127.0.0.1:8081',
      hostname: '127.0.0.1',
      solvedAt: clock.now(),
      abuseScore: 0,
      action: '',
      level: 'easy',
    },
  });
  assert.equal(await outcome(receipts, receipt), 'spent');
  assert.equal(await outcome(beside, receipt), 'spent');
});

it('brings the action of the page, and none of another shape', async () => {
  for (const [action, kept] of [
    ['sign-in/2_a', 'sign-in/2_a'],
    ['x'.repeat(100), 'x'.repeat(100)],
    ['x'.repeat(101), ''],
    ['a b', ''],
    ['<b>', ''],
    ['é', ''],
  ] as const) {
    const receipt = await receipts.issue({ ...by, action });
    const redeemed = await receipts.redeem(receipt!, 'owner');
    assert.ok(redeemed.ok && typeof redeemed.value === 'object');
    assert.equal(redeemed.value.action, kept);
  }
});

it('is given to no one but a web page that the site key allows', async () => {
  const refused: [string | undefined, string | undefined][] = [
    [undefined, origin],
    ['', origin],
    ['pcs_gone', origin],
    ['x'.repeat(10_000), origin],
    ['pcs_shop', undefined],
    ['pcs_shop', 'null'],
    ['pcs_shop', ''],
    ['pcs_shop', 'https://barred.example'],
    ['pcs_shop', 'https://shop.example/'],
    ['pcs_shop', 'https://SHOP.example'],
    ['pcs_shop', 'https://a:b@shop.example'],
    ['pcs_shop', 'https://shop.example:443'],
    ['pcs_shop', 'file:///etc/passwd'],
    ['pcs_shop', 'chrome-extension://abcdef'],
    ['pcs_shop', 'https://a.example, https://b.example'],
    ['pcs_shop', `https://${'a.'.repeat(200)}example`],
  ];
  for (const [siteKey, from] of refused) {
    assert.equal(
      await receipts.issue({ ...by, siteKey, origin: from }),
      undefined,
      `${siteKey} ${from}`,
    );
  }
});

it('200 at once, from two processes: exactly one success', async () => {
  for (let round = 0; round < 5; round++) {
    const receipt = await issue();
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, i) => outcome(i % 2 ? receipts : beside, receipt)),
    );
    assert.equal(outcomes.filter((o) => o === 'redeemed').length, 1);
    assert.equal(outcomes.filter((o) => o === 'spent').length, 199);
  }
});

it('ends after five minutes and is remembered beyond that', async () => {
  const [early, late] = [await issue(), await issue()];
  clock.advance(receiptLifeMs - 1);
  assert.equal(await outcome(receipts, early), 'redeemed');
  clock.advance(1);
  assert.equal(await outcome(receipts, late), 'spent');
  // The clock is set back: what was used stays used.
  clock.advance(-2);
  assert.equal(await outcome(receipts, early), 'spent');
  assert.equal(await outcome(receipts, late), 'redeemed');
});

it('of a clock that was ahead by a year is good no more when that is set back; by a day it is', async () => {
  for (const [days, expected] of [
    [365, 'spent'],
    [1, 'redeemed'],
  ] as const) {
    clock.advance(days * dayMs);
    const receipt = await issue();
    clock.advance(-days * dayMs);
    assert.equal(await outcome(receipts, receipt), expected);
  }
});

it('one that ends between the look at the clock and the commit is not redeemed twice', async () => {
  const receipt = await issue();
  clock.advance(receiptLifeMs - 1);
  const slow = openReceipts(
    {
      commit(commit) {
        clock.advance(1);
        return stores[0]!.commit(commit);
      },
    },
    3,
  );
  assert.equal(await outcome(slow, receipt), 'redeemed');
  clock.advance(-1);
  assert.equal(await outcome(slow, receipt), 'spent');
});

it("another account's, another site's and a revoked one's use nothing up", async () => {
  const receipt = await issue();
  assert.equal(await outcome(receipts, receipt, 'stranger'), 'invalid');
  assert.equal(await outcome(receipts, receipt, ''), 'invalid');
  assert.equal(await outcome(receipts, receipt, 'owner', 'pcs_second'), 'wrong_site');
  sites.delete('pcs_shop');
  assert.equal(await outcome(receipts, receipt), 'invalid');
  sites.set('pcs_shop', 'owner');
  assert.equal(await outcome(receipts, receipt, 'owner', 'pcs_shop'), 'redeemed');
});

it('every change of a character makes it invalid, and so does another key', async () => {
  const receipt = await issue();
  for (let at = 0; at < receipt.length; at++) {
    const swapped = receipt[at] === 'A' ? 'B' : 'A';
    const forged = receipt.slice(0, at) + swapped + receipt.slice(at + 1);
    assert.equal(await outcome(receipts, forged), 'invalid', `character ${at}`);
  }
  const elsewhere = openReceipts(stores[0]!, 4, new Uint8Array(32).fill(4));
  assert.equal(await outcome(elsewhere, receipt), 'invalid');
  assert.equal(await outcome(receipts, receipt), 'redeemed');
});

it('hostile texts are invalid', async () => {
  const receipt = await issue();
  const [version, body, mac] = receipt.split('.') as [string, string, string];
  const sign = (signed: string) =>
    `${signed}.${createHmac('sha256', signingKey).update(signed).digest('base64url')}`;
  const texts = [
    '',
    '.',
    '..',
    'pcr2..',
    receipt.slice(0, -1),
    `${receipt}=`,
    `${receipt}.`,
    ` ${receipt}`,
    `${receipt}\n`,
    `pcr1.${body}.${mac}`,
    `${version}.${body}.${Buffer.from(mac, 'base64url').toString('base64')}`,
    `${version}.${'A'.repeat(receiptCharactersMax)}.${mac}`,
    'x'.repeat(1_000_000),
    // Signed by us, but no body of ours: the layout is checked as well.
    sign('pcr2.AA'),
    sign(`pcr2.${body}AA`),
    sign(`pcr2.${body.slice(0, -4)}`),
  ];
  for (const text of texts)
    assert.equal(await outcome(receipts, text), 'invalid', text.slice(0, 60));
  assert.equal(
    await outcome(receipts, sign(`pcr2.${body}`)),
    'redeemed',
    'the test signs as we do',
  );
});

it('says so when the store cannot write', async () => {
  const memory = createMemoryStore();
  memory.failFrom(0);
  const failing = openReceipts(memory, 5);
  assert.equal(await outcome(failing, await issue()), 'store_unavailable');
});

it('without a puzzle: only where the site key lets clean addresses pass, still, and for no other', async () => {
  const pass = (siteKey: string) => receipts.pass({ ...by, siteKey });
  assert.equal(await pass('pcs_shop'), undefined);
  assert.equal(await pass('pcs_nobody'), undefined);
  passing.add('pcs_shop');
  assert.equal(await receipts.pass({ ...by, origin: 'https://barred.example' }), undefined);
  const receipt = (await pass('pcs_shop'))!;
  // Another site key of the account asks for a puzzle: the server has to name its own.
  assert.equal(await outcome(receipts, receipt), 'invalid');
  assert.equal(await outcome(receipts, receipt, 'owner', 'pcs_second'), 'wrong_site');
  // As one with a puzzle it is forged.
  assert.equal(
    await outcome(receipts, receipt.replace('pcp2', 'pcr2'), 'owner', 'pcs_shop'),
    'invalid',
  );
  passing.delete('pcs_shop');
  assert.equal(await outcome(receipts, receipt, 'owner', 'pcs_shop'), 'invalid');
  passing.add('pcs_shop');
  const redeemed = await receipts.redeem(receipt, 'owner', undefined, 'pcs_shop');
  assert.equal(redeemed.ok && typeof redeemed.value === 'object' && redeemed.value.level, 'none');
  assert.equal(await outcome(beside, receipt, 'owner', 'pcs_shop'), 'spent');
  passing.add('pcs_second');
  assert.equal(await outcome(receipts, (await pass('pcs_shop'))!), 'redeemed');
  const solved = await receipts.redeem(await issue(), 'owner');
  assert.equal(solved.ok && typeof solved.value === 'object' && solved.value.level, 'easy');
  passing.clear();
});

it('a site key takes no lower level than it asks for, when a receipt is given and when it is redeemed', async () => {
  const levels = ['silent', 'easy', 'hard'] as const;
  const given = async () => {
    const all = await Promise.all(levels.map((level) => receipts.issue({ ...by, level })));
    return all.map((receipt) => receipt?.slice(0, 4));
  };
  assert.deepEqual(
    await given(),
    [undefined, 'pcr2', 'pch2'],
    'a puzzle: as before there were levels',
  );
  leasts.set('pcs_shop', 'hard');
  assert.deepEqual(await given(), [undefined, undefined, 'pch2']);
  leasts.set('pcs_shop', 'easy');
  assert.deepEqual(await given(), [undefined, 'pcr2', 'pch2']);
  leasts.set('pcs_shop', 'silent');
  assert.deepEqual(await given(), ['pcs2', 'pcr2', 'pch2']);
  const silent = await issue({ level: 'silent' });
  // The prefix is signed with the rest.
  assert.equal(await outcome(receipts, silent.replace('pcs2', 'pch2')), 'invalid');
  // The other site key of the account wants a picture: the server has to name its own.
  assert.equal(await outcome(receipts, silent), 'invalid');
  leasts.set('pcs_shop', 'easy');
  assert.equal(await outcome(receipts, silent, 'owner', 'pcs_shop'), 'invalid');
  leasts.set('pcs_shop', 'silent');
  const redeemed = await receipts.redeem(silent, 'owner', 'pcs_shop');
  assert.equal(redeemed.ok && typeof redeemed.value === 'object' && redeemed.value.level, 'silent');
  leasts.set('pcs_second', 'silent');
  assert.equal(await outcome(receipts, await issue({ level: 'silent' })), 'redeemed');
  leasts.clear();
});
