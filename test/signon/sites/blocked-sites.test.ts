/** A blocked site on a real store: no code, no profile, no way back to it, and its names with it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockedSiteKey } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { goodParameters, openSignon, parametersOf } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;

async function decided(signon: Signon, changes: Record<string, string> = {}) {
  const parameters = parametersOf({ ...goodParameters, ...changes });
  const { authorization, session } = signon;
  const decision = await authorization.decide(authorization.read(parameters), session);
  return decision.next === 'refuse' ? decision.error : decision.next;
}

test('a blocked site is refused, whatever it asks, until it is unblocked', async () => {
  await using signon = await openSignon();
  const { blocked } = signon.authorization;
  await signon.codeFor();
  assert.equal(await decided(signon), 'issue-code');
  assert.equal(value(await blocked.block(' Example.COM ')).domain, 'example.com');
  for (const changes of [{}, { prompt: 'none' }, { prompt: 'consent' }, { scope: 'nonsense' }]) {
    assert.equal(await decided(signon, changes), 'site_blocked', JSON.stringify(changes));
  }
  assert.equal(errorOf(await blocked.unblock('www.example.com')), 'conflict');
  value(await blocked.unblock('example.com'));
  assert.equal(await decided(signon), 'issue-code', 'what was allowed stays');
});

test('a block holds for the names below a domain, and for no other', async () => {
  await using signon = await openSignon();
  const { blocked } = signon.authorization;
  value(await blocked.block('shop.example.com'));
  assert.deepEqual(await blocked.list(), [
    { domain: 'shop.example.com', blockedAt: signon.clock.now() },
  ]);
  for (const [name, isBlocked] of [
    ['shop.example.com', true],
    ['a.shop.example.com', true],
    [`${'x.'.repeat(90)}shop.example.com`, true],
    ['example.com', false],
    ['myshop.example.com', false],
    ['shop.example.com.example', false],
  ] as const) {
    const site = { clientId: name, origin: `https://${name}` };
    assert.equal(await blocked.isBlocked(site), isBlocked, name);
  }
  for (const name of [
    'com',
    '',
    '127.0.0.1',
    'ada@mail.example',
    'co.uk',
    'a.b.c.d.e.example.com',
  ]) {
    assert.equal(errorOf(await blocked.block(name)), 'invalid_client_id', name);
  }
  const again = value(await blocked.block('shop.example.com'));
  assert.equal(again.blockedAt, signon.clock.now(), 'blocking twice is no fault');
});

test('a parent’s name as client is no way round a block of the host that the answer goes to', async () => {
  await using signon = await openSignon();
  const { blocked } = signon.authorization;
  const redirect = 'https://a.shop.example.com/cb';
  const code = await signon.codeFor(signon.requestOf({ redirect_uri: redirect }));
  value(await blocked.block('shop.example.com'));
  for (const changes of [{}, { prompt: 'none' }, { scope: 'nonsense' }]) {
    const asked = { redirect_uri: redirect, ...changes };
    assert.equal(await decided(signon, asked), 'site_blocked', JSON.stringify(changes));
  }
  assert.equal(await decided(signon), 'consent', 'what is above it goes on');
  assert.equal(errorOf(await signon.exchange(code)), 'invalid_grant');
});

test('a code that was given before is worth nothing any more, and is burned', async () => {
  await using signon = await openSignon();
  const { blocked } = signon.authorization;
  const code = await signon.codeFor();
  value(await blocked.block('example.com'));
  assert.equal(errorOf(await signon.exchange(code)), 'invalid_grant');
  assert.deepEqual(
    signon.lines.map((line) => (line as { flaw?: string }).flaw),
    ['site blocked'],
  );
  value(await blocked.unblock('example.com'));
  assert.equal(errorOf(await signon.exchange(code)), 'invalid_grant');
});

/** Blocks the site right before the next commit, which was decided on without it. */
function blockBeforeCommit({ store }: Signon): void {
  const { commit } = store;
  store.commit = async (change) => {
    store.commit = commit;
    const row = { key: blockedSiteKey('example.com'), value: new Uint8Array(8) };
    assert.ok((await commit({ set: [row] })).ok);
    return commit(change);
  };
}

test('a block that comes between a decision and its commit wins', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  const early = await signon.codeFor();
  blockBeforeCommit(signon);
  assert.equal(errorOf(await signon.exchange(early)), 'invalid_grant');
  value(await authorization.blocked.unblock('example.com'));
  blockBeforeCommit(signon);
  assert.equal(errorOf(await authorization.issue(signon.requestOf(), session)), 'consent_required');
  value(await authorization.blocked.unblock('example.com'));
  const query =
    'client_id=example.com&redirect_uri=https%3A%2F%2Fexample.com%2Fcb&response_type=code';
  const begun = await authorization.transactions.begin(
    { query: `${query}&scope=openid+phone&state=s`, askedAt: signon.clock.now() },
    session.sessionId,
  );
  blockBeforeCommit(signon);
  assert.equal(errorOf(await signon.allow(value(begun), session, ['phone'])), 'conflict');
});
