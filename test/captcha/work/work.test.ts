/** Proof of work: what of a solution is looked at, and that it is good once, over two handles of one store. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { setTimeout as nextTurn } from 'node:timers/promises';
import { verifySolution } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { baseTries } from '../../../src/captcha/work/levels.ts';
import { createWork, solutionCharactersMax, type Work } from '../../../src/captcha/work/work.ts';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { networkAt } from '../../support/captcha/challenges.ts';
import { payloadOf, type Solution, solve } from '../../support/captcha/solution.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('work');
const clock = manualClock(Date.now());
const keys = [seededRandom(1).bytes(32), seededRandom(2).bytes(32)] as const;
const networks = networkAt(1);
const asked = {
  site: 'pcs_a',
  networks,
  origin: 'https://shop.example',
  action: 'login',
  score: 3,
  triesMax: 4,
} as const;
/** The same on another node. */
let beside: Work;

function openWork(store: Pick<Store, 'commit'>, signing = keys): Work {
  const random = systemRandom();
  return createWork({ store, clock, random, keys: signing, lifetimeMs: 120_000 });
}

const log = createLog('silent');
const stores = [1, 2].map(() => openLmdbStore({ path: directory.path, clock, log }));
const work = openWork(stores[0]!);
beside = openWork(stores[1]!);
after(async () => {
  for (const store of stores) await store.close();
  directory.remove();
});

async function solved(more: Partial<typeof asked> = {}): Promise<Solution> {
  const made = await work.make({ ...asked, ...more });
  assert.ok(made.ok);
  return await solve(made.value);
}

it('a solution says what it was made for, on each node, and the library of ALTCHA agrees', async () => {
  const solution = await solved();
  const opened = beside.open(payloadOf(solution), networks);
  assert.ok(opened);
  const { site, origin, action, score } = opened;
  assert.deepEqual({ ...asked, site, origin, action, score }, asked);
  const [hmacSignatureSecret, hmacKeySignatureSecret] = keys.map((key) =>
    Buffer.from(key).toString('hex'),
  );
  const verified = await verifySolution({
    ...solution,
    deriveKey,
    hmacSignatureSecret: hmacSignatureSecret!,
    hmacKeySignatureSecret: hmacKeySignatureSecret!,
  });
  assert.equal(verified.verified, true);
  // Without the signature of the key it derives the key again, and finds the same.
  const derived = await verifySolution({
    ...solution,
    deriveKey,
    hmacSignatureSecret: hmacSignatureSecret!,
  });
  assert.equal(derived.verified, true);
});

it('keys derived ahead are for calm networks, for one challenge each, and as good', async () => {
  const fresh = openWork(createMemoryStore());
  assert.equal(fresh.stock(), 0);
  assert.ok((await fresh.make({ ...asked, triesMax: baseTries })).ok);
  while (fresh.stock() < 3) await nextTurn();
  const before = fresh.stock();
  const made = [
    fresh.make(asked),
    ...[1, 2].map(() => fresh.make({ ...asked, triesMax: baseTries })),
  ];
  assert.equal(fresh.stock(), before - 2, 'harder and easier work has keys of its own');
  const challenges = (await Promise.all(made)).map((one) => (one.ok ? one.value : assert.fail()));
  assert.equal(new Set(challenges.map(({ parameters }) => parameters.nonce)).size, 3);
  assert.equal(new Set(challenges.map(({ parameters }) => parameters.keySignature)).size, 3);
  const opened = fresh.open(payloadOf(await solve(challenges[1])), networks);
  assert.equal(opened?.action, asked.action);
});

it('is good once, whichever node is asked, and until its time is over', async () => {
  const opened = work.open(payloadOf(await solved()), networks)!;
  const race = await Promise.all([work, beside, work, beside].map((node) => node.use(opened)));
  assert.deepEqual(race.map((used) => used.ok && used.value).sort(), [false, false, false, true]);
  const late = work.open(payloadOf(await solved()), networks)!;
  clock.advance(120_000);
  assert.deepEqual(await work.use(late), { ok: true, value: false });
  assert.deepEqual(await beside.use(opened), { ok: true, value: false });
  const year = 365 * 86_400_000;
  clock.advance(year);
  const future = work.open(payloadOf(await solved()), networks)!;
  clock.advance(-year);
  assert.deepEqual(await work.use(future), { ok: true, value: false }, 'a clock that was ahead');
});

it('is not forgotten by a store that was closed and opened again', async () => {
  const opened = work.open(payloadOf(await solved()), networks)!;
  assert.deepEqual(await work.use(opened), { ok: true, value: true });
  await stores[1]!.close();
  stores[1] = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
  beside = openWork(stores[1]!);
  assert.deepEqual(await beside.use(opened), { ok: true, value: false });
});

it('another network, another key, altered parameters and keys that were not found are none', async () => {
  const good = await solved();
  const { parameters } = good.challenge;
  const with_ = (changed: object) =>
    payloadOf({ ...good, challenge: { ...good.challenge, ...changed } });
  const bad: [string, string][] = [
    ['no difficulty', with_({ parameters: { ...parameters, cost: 1 } })],
    ['a shorter prefix', with_({ parameters: { ...parameters, keyPrefix: '00' } })],
    [
      'a longer life',
      with_({ parameters: { ...parameters, expiresAt: parameters.expiresAt! + 1 } }),
    ],
    ['another nonce', with_({ parameters: { ...parameters, nonce: 'ab'.repeat(16) } })],
    [
      'another site',
      with_({ parameters: { ...parameters, data: { ...parameters.data, site: '' } } }),
    ],
    ['no signature', with_({ signature: undefined })],
    ['another signature', with_({ signature: '0'.repeat(64) })],
    ['a long signature', with_({ signature: `${good.challenge.signature}00` })],
    [
      'another key',
      payloadOf({ ...good, solution: { ...good.solution, derivedKey: '0'.repeat(64) } }),
    ],
    ['no key', payloadOf({ challenge: good.challenge, solution: {} })],
    ['no solution', payloadOf({ challenge: good.challenge })],
    ['null', payloadOf({ challenge: null, solution: null })],
    ['a list', Buffer.from('[]').toString('base64')],
    ['deep', Buffer.from(`${'['.repeat(700)}${']'.repeat(700)}`).toString('base64')],
    ['no JSON', Buffer.from('{').toString('base64')],
    ['no base64', '{"challenge":{}}'],
    ['nothing', ''],
    ['too long', payloadOf({ ...good, more: 'x'.repeat(solutionCharactersMax) })],
  ];
  for (const [name, text] of bad) assert.equal(work.open(text, networks), undefined, name);
  const text = payloadOf(good);
  assert.equal(work.open(text, networkAt(2)), undefined, 'of another network');
  assert.equal(openWork(stores[0]!, [keys[1], keys[0]]).open(text, networks), undefined);
  assert.ok(work.open(text, networkAt(1, 7)), 'another address of the network');
  assert.ok(work.open(text.replace(/=+$/, ''), networks), 'without padding');
});

it('what the store cannot keep is not good, and no more challenges are made at a time than is bounded', async () => {
  const memory = createMemoryStore();
  memory.failFrom(0);
  const failing = openWork(memory);
  const opened = failing.open(payloadOf(await solved()), networks)!;
  const used = await failing.use(opened);
  assert.equal(!used.ok && used.error, 'store_unavailable');
  const { limit } = work.table;
  const made = await Promise.all(Array.from({ length: limit + 5 }, () => work.make(asked)));
  assert.equal(made.filter((one) => !one.ok && one.error === 'overloaded').length, 5);
  assert.equal(work.table.used(), 0);
});
