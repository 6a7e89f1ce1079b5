/**
 * How much of a site's request is stored, for whom and how long: nothing before a sign-in, eight
 * rows for a session, one for a browser that waits for a mail, a bound for all of them together.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { linkLifeMs } from '../../src/signon/people/links.ts';
import { requestQuery } from '../../src/signon/sites/authorize.ts';
import {
  createRequestSeals,
  requestsPerSession,
  sealLifeMs,
  waitingMax,
  waitingPerNetworkMax,
} from '../../src/signon/sites/carried-requests.ts';
import { consentTransactionPrefix, usedSealKey } from '../../src/storage/keys.ts';
import { seededRandom } from '../support/seeded.ts';
import { goodParameters, openSignon, queryOf, startMs } from './fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;
const query = queryOf(goodParameters);
const asked = { query, askedAt: startMs };
const queryFor = (state: string) => queryOf({ ...goodParameters, state });

async function rowsOf({ store }: Signon): Promise<number> {
  return (await store.scan(consentTransactionPrefix(), { limit: 1_000 })).length;
}

test('a seal gives the request back to its own browser, for an hour', async () => {
  await using signon = await openSignon();
  const { seals } = signon.authorization;
  const seal = seals.seal(query, 'b1');
  const opened = seals.open(seal, 'b1')!;
  assert.deepEqual([opened.query, opened.askedAt], [query, startMs]);
  assert.equal(seals.open(seal, 'b2'), undefined, 'another browser');
  assert.notEqual(seals.seal(query, 'b1'), seal, 'no two are alike');
  signon.clock.advance(sealLifeMs - 1);
  assert.ok(seals.open(seal, 'b1'));
  signon.clock.advance(1);
  assert.equal(seals.open(seal, 'b1'), undefined, 'over');
  assert.equal(await rowsOf(signon), 0);
});

test('a seal that was altered anywhere opens nothing', async () => {
  await using signon = await openSignon();
  const { seals } = signon.authorization;
  const seal = seals.seal(query, 'b1');
  const bytes = Buffer.from(seal, 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    for (const flip of [1, 0x80]) {
      const altered = Buffer.from(bytes);
      altered[at]! ^= flip;
      assert.equal(seals.open(altered.toString('base64url'), 'b1'), undefined, `byte ${at}`);
    }
  }
  for (let length = 0; length < bytes.length; length += 7) {
    assert.equal(seals.open(bytes.subarray(0, length).toString('base64url'), 'b1'), undefined);
  }
  for (const bad of [
    ...['', 'x', `${seal}A`, `${seal}=`, ` ${seal}`, seal.slice(1), `${seal}\0`, '{}'],
    ...['A'.repeat(70), 'A'.repeat(16_512), 'A'.repeat(1_000_000), 'é'.repeat(100)],
  ]) {
    assert.equal(seals.open(bad, 'b1'), undefined, bad.slice(0, 20));
  }
});

test('a seal survives a restart under the same master key, and opens under no other', () => {
  const options = { clock: { now: () => startMs, monotonicMs: () => 0 }, random: seededRandom(3) };
  const of = (fill: number) =>
    createRequestSeals({
      ...options,
      masterKey: masterKeyFromBytes(new Uint8Array(32).fill(fill)),
    });
  const seal = of(1).seal(query, 'b1');
  assert.equal(of(1).open(seal, 'b1')?.query, query);
  assert.equal(of(2).open(seal, 'b1'), undefined);
});

test('the longest request fits into a seal', async () => {
  await using signon = await openSignon();
  const { seals } = signon.authorization;
  const long = `state=${'%26'.repeat(2_048)}&redirect_uri=${'%2F'.repeat(2_000)}`;
  const longest = `${long}&x=${'y'.repeat(12_288 - long.length - 3)}`;
  assert.equal(longest.length, 12_288);
  assert.equal(seals.open(seals.seal(longest, 'b1'), 'b1')?.query, longest);
});

test('of a query what a request may say goes on, as it was written', () => {
  const good = 'state=a%20b&client_id=example.com&scope=openid+email';
  assert.equal(requestQuery(`x=1&${good}&&y&=z&utm_source=a`, 'with hint'), good);
  assert.equal(
    requestQuery(`login_hint=a%40b.c&${good}`, 'with hint'),
    `login_hint=a%40b.c&${good}`,
  );
  assert.equal(requestQuery(`login_hint=a%40b.c&${good}`, 'without hint'), good);
  assert.equal(requestQuery(`login%5Fhint=a%40b.c&${good}`, 'without hint'), good);
  assert.equal(requestQuery('state=é\r\n', 'with hint'), 'state=%C3%A9%0D%0A');
  assert.equal(requestQuery('%zz=1', 'with hint'), '');
});

test('a session has eight requests at most, also when they race, and the oldest gives way', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  const ids: string[] = [];
  for (let i = 0; i < requestsPerSession; i++) {
    const begun = await transactions.begin({ ...asked, query: queryFor(`s${i}`) }, 's1');
    assert.ok(begun.ok);
    ids.push(begun.value);
    const found = await transactions.find(begun.value, 's1');
    assert.equal(found?.request.state, `s${i}`);
  }
  assert.equal(await rowsOf(signon), requestsPerSession);
  const ninth = await transactions.begin(asked, 's1');
  assert.ok(ninth.ok);
  assert.equal(await transactions.find(ids[0]!, 's1'), undefined, 'the oldest');
  for (const id of ids.slice(1)) assert.ok(await transactions.find(id, 's1'));
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 10 }, () => transactions.begin(asked, 's1')));
  }
  assert.equal(await rowsOf(signon), requestsPerSession);
  const other = await transactions.begin(asked, 's2');
  assert.ok(other.ok);
  assert.equal(await rowsOf(signon), requestsPerSession + 1);
});

test('a seal is used up by the first sign-in, whoever races', async () => {
  await using signon = await openSignon();
  const { seals, transactions } = signon.authorization;
  const opened = seals.open(seals.seal(query, 'b1'), 'b1')!;
  const all = await Promise.all(
    Array.from({ length: 6 }, (_, i) => transactions.begin(opened, `s${i}`, opened)),
  );
  assert.equal(all.filter(({ ok }) => ok).length, 1);
  const again = await transactions.begin(opened, 's9', opened);
  assert.deepEqual(again, { ok: false, error: 'unknown_transaction' });
  assert.ok(await signon.store.get(usedSealKey(opened.id)));
  signon.clock.advance(sealLifeMs);
  assert.equal(await signon.store.get(usedSealKey(opened.id)), undefined, 'kept no longer');
});

test('a code without asking uses the kept request up too', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  await signon.codeFor();
  const begun = await authorization.transactions.begin(asked, session.sessionId);
  assert.ok(begun.ok);
  const kept = { id: begun.value, holder: session.sessionId };
  const all = await Promise.all(
    Array.from({ length: 5 }, () => authorization.issue(signon.requestOf(), session, kept)),
  );
  assert.equal(all.filter(({ ok }) => ok).length, 1);
  assert.equal(await rowsOf(signon), 0);
});

test('who waits for a mail keeps one row, whatever is asked for and how often', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  const first = await transactions.wait(asked, 'b1', 'n', 'reset');
  for (let i = 0; i < 50; i++) {
    assert.equal(await transactions.wait(asked, 'b1', 'n', 'verify'), first);
  }
  assert.equal(await rowsOf(signon), 1);
  const other = await transactions.wait({ ...asked, query: queryFor('s2') }, 'b1', 'n', 'reset');
  assert.notEqual(other, first);
  assert.equal(await rowsOf(signon), 1);
  assert.equal(await transactions.find(first!, 'b1'), undefined, 'the newest has the place');
  assert.equal((await transactions.find(other!, 'b1'))?.request.state, 's2');
  assert.deepEqual(transactions.waiting(), {
    kind: 'waiting_request',
    rows: 1,
    max: waitingMax,
    refused: 0,
  });
});

test('all that waits has a bound, and a network a share of it', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  const wait = (i: number, network: string) => transactions.wait(asked, `b${i}`, network, 'reset');
  for (let i = 0; i < waitingPerNetworkMax; i++) assert.ok(await wait(i, 'greedy'));
  assert.equal(await wait(1_000_000, 'greedy'), undefined);
  assert.ok(await wait(1_000_001, 'modest'), 'another network');
  assert.ok(await wait(0, 'greedy'), 'one that waits already');
  await Promise.all(Array.from({ length: waitingMax }, (_, i) => wait(i + 1_000, `n${i >> 5}`)));
  const { rows, refused } = transactions.waiting();
  assert.deepEqual([rows, refused], [waitingMax, 1 + waitingPerNetworkMax + 1]);
  assert.equal(await wait(2_000_000, 'fresh'), undefined);
  signon.clock.advance(linkLifeMs.reset);
  assert.ok(await wait(2_000_000, 'fresh'), 'what is over makes room');
  assert.equal(transactions.waiting().rows, 1);
});

test('what waited before a restart is counted after it', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  for (let i = 0; i < 300; i++) await transactions.wait(asked, `b${i}`, `n${i}`, 'verify');
  await transactions.begin(asked, 's1');
  await using again = await openSignon({ path: signon.path });
  assert.equal(again.authorization.transactions.waiting().rows, 0);
  await again.authorization.transactions.restore();
  assert.equal(again.authorization.transactions.waiting().rows, 300);
});
