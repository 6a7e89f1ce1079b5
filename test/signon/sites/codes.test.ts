/** Codes on a real store: one use, five minutes, the right hands. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { codeLifeMs } from '../../../src/signon/sites/codes.ts';
import { blockedSiteKey, consentKey, profileKey } from '../../../src/storage/keys.ts';
import type { Commit } from '../../../src/storage/store.ts';
import { openSignon } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };

async function assertRefused(signon: Signon, code: string, proofs = {}) {
  assert.deepEqual(await signon.exchange(code, proofs), { ok: false, error: 'invalid_grant' });
}

test('a code gives the profile of the granted scopes, once', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor(signon.requestOf(), ['profile', 'phone']);
  assert.match(code, /^[A-Za-z0-9_-]{43}$/);
  const first = await signon.exchange(code);
  assert.ok(first.ok);
  assert.equal(first.value.clientId, 'example.com');
  // `openid` was not among the names of the form, and `phone` was not requested.
  assert.deepEqual(Object.keys(first.value.profile).sort(), [
    'family_name',
    'given_name',
    'picture',
    'service_id',
  ]);
  await assertRefused(signon, code);
});

test('a request without openid is served without service_id', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor(signon.requestOf({ scope: 'phone' }));
  const done = await signon.exchange(code);
  assert.ok(done.ok);
  assert.deepEqual(done.value.profile, {
    phone_number: '+33612345678',
    phone_number_verified: false,
  });
  const nothing = await signon.codeFor(signon.requestOf({ scope: 'email' }), []);
  const empty = await signon.exchange(nothing);
  assert.ok(empty.ok);
  assert.deepEqual(empty.value.profile, {});
});

test('of 200 redemptions at the same time exactly one gets the profile', async () => {
  await using signon = await openSignon();
  for (let round = 0; round < 3; round++) {
    const code = await signon.codeFor();
    const all = await Promise.all(Array.from({ length: 200 }, () => signon.exchange(code)));
    assert.equal(all.filter((result) => result.ok).length, 1);
    assert.ok(all.every((result) => result.ok || result.error === 'invalid_grant'));
  }
});

test('a code ends after 300 seconds by the clock of the store, and so does its tombstone', async () => {
  await using signon = await openSignon();
  const inTime = await signon.codeFor();
  const late = await signon.codeFor();
  signon.clock.advance(codeLifeMs - 1);
  assert.ok((await signon.exchange(inTime)).ok);
  assert.equal(signon.lines.length, 0);
  await assertRefused(signon, inTime);
  await new Promise(setImmediate);
  assert.equal(signon.lines.length, 1, 'the replay is logged');
  signon.clock.advance(1);
  await assertRefused(signon, late);
  await assertRefused(signon, inTime);
  await new Promise(setImmediate);
  assert.equal(signon.lines.length, 1, 'an expired tombstone is like no code at all');
  await signon.store.sweep(100);
});

test('every proof that is sent must match, or the code is burned', async () => {
  await using signon = await openSignon();
  const right = {
    clientId: 'example.com',
    redirectUri: 'https://example.com/cb?x=1',
    codeVerifier: verifier,
  };
  const wrong = [
    { clientId: 'evil.com' },
    { clientId: 'www.example.com' },
    { clientId: 'EXAMPLE.com' },
    { clientId: '' },
    { redirectUri: 'https://example.com/cb' },
    { redirectUri: 'https://example.com/cb?x=1&' },
    { redirectUri: '' },
    { codeVerifier: `${verifier}x` },
    { codeVerifier: challenge },
    { codeVerifier: '' },
    { codeVerifier: undefined as unknown as string },
  ];
  for (const change of wrong) {
    const code = await signon.codeFor(signon.requestOf(pkce));
    await assertRefused(signon, code, { ...right, ...change });
    await assertRefused(signon, code, right);
  }
  const code = await signon.codeFor(signon.requestOf(pkce));
  assert.ok((await signon.exchange(code, right)).ok);
  const bare = await signon.codeFor(signon.requestOf(pkce));
  assert.ok((await signon.exchange(bare, { codeVerifier: verifier })).ok);
});

test('a verifier without a challenge is refused and the code burned', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  await assertRefused(signon, code, { codeVerifier: verifier });
  await assertRefused(signon, code);
});

test('a code of one site is worth nothing to another that says who it is', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  await assertRefused(signon, code, { clientId: 'site-b.example.org' });
  await assertRefused(signon, code, { clientId: 'example.com' });
});

test('revoked consent, ended session, disabled or deleted account: the code is dead', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  const revoked = await signon.codeFor();
  assert.deepEqual(await authorization.disconnect(session.accountId, 'example.com'), {
    ok: true,
    value: 1,
  });
  await assertRefused(signon, revoked);

  const before = await signon.codeFor();
  await authorization.disconnect(session.accountId, 'example.com');
  const after = await signon.codeFor();
  await assertRefused(signon, before);
  assert.ok((await signon.exchange(after)).ok, 'a new consent has codes of its own');

  const ofSession = await signon.codeFor();
  signon.endedSessions.add(session.sessionId);
  await assertRefused(signon, ofSession);
  signon.endedSessions.clear();
  await assertRefused(signon, ofSession);

  const ofDisabled = await signon.codeFor();
  signon.disabledAccounts.add(session.accountId);
  await assertRefused(signon, ofDisabled);
  signon.disabledAccounts.clear();

  const ofDeleted = await signon.codeFor();
  const { accountId } = session;
  const erased = {
    del: [profileKey(accountId), consentKey(accountId, 'example.com', 'https://example.com')],
  };
  assert.ok((await signon.store.commit(erased)).ok);
  await assertRefused(signon, ofDeleted);
  assert.deepEqual(await authorization.connectedSites(session.accountId), []);
});

test('a scope taken back after the code was issued is not given out', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  await signon.codeFor(signon.requestOf({ prompt: 'consent' }), ['openid']);
  const done = await signon.exchange(code);
  assert.ok(done.ok);
  assert.deepEqual(Object.keys(done.value.profile), ['service_id']);
});

test('codes that never were, odd texts among them, are refused alike', async () => {
  await using signon = await openSignon();
  for (const code of ['x', 'A'.repeat(43), '\0', 'é'.repeat(2_000), `${await signon.codeFor()}=`]) {
    await assertRefused(signon, code);
  }
});

test('what is granted later does not enter a code that was issued before', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor(signon.requestOf(), ['openid']);
  await signon.codeFor(signon.requestOf({ prompt: 'consent' }), ['openid', 'email']);
  const done = await signon.exchange(code);
  assert.ok(done.ok);
  assert.deepEqual(Object.keys(done.value.profile), ['service_id']);
});

/** Runs once, right before the next commit that is not its own. */
function beforeNextCommit(signon: Signon, change: () => Promise<unknown>): void {
  const { store } = signon;
  const commit = store.commit.bind(store);
  Object.assign(store, {
    async commit(one: Commit) {
      Object.assign(store, { commit });
      await change();
      return commit(one);
    },
  });
}

test('a consent that is revoked in between gives nothing, and its code is dead', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  const code = await signon.codeFor();
  beforeNextCommit(signon, () => authorization.disconnect(session.accountId, 'example.com'));
  assert.deepEqual(await signon.exchange(code), { ok: false, error: 'invalid_grant' });
  assert.deepEqual(await signon.exchange(code), { ok: false, error: 'invalid_grant' });
});

test('a scope that is taken back in between is not given out', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  beforeNextCommit(signon, () =>
    signon.codeFor(signon.requestOf({ prompt: 'consent' }), ['openid']),
  );
  const done = await signon.exchange(code);
  assert.ok(done.ok);
  assert.deepEqual(Object.keys(done.value.profile), ['service_id']);
});

test('a site that is blocked in between gets nothing, whichever name is blocked', async () => {
  for (const domain of ['example.com']) {
    await using signon = await openSignon();
    const code = await signon.codeFor();
    const value = Buffer.alloc(16, 1);
    beforeNextCommit(signon, () =>
      signon.store.commit({ set: [{ key: blockedSiteKey(domain), value }] }),
    );
    assert.deepEqual(await signon.exchange(code), { ok: false, error: 'invalid_grant' });
  }
});

test('a code that another one redeems in between is given once', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  let other: unknown;
  beforeNextCommit(signon, async () => {
    other = await signon.exchange(code);
  });
  assert.deepEqual(await signon.exchange(code), { ok: false, error: 'invalid_grant' });
  assert.ok((other as { ok: boolean }).ok);
});

test('a code that does not match burns once, and a burned one is burned for the right caller too', async () => {
  await using signon = await openSignon();
  const code = await signon.codeFor();
  let right: unknown;
  // The right caller comes in between: one of both has it, and nobody both.
  beforeNextCommit(signon, async () => {
    right = await signon.exchange(code);
  });
  assert.deepEqual(await signon.exchange(code, { clientId: 'evil.com' }), {
    ok: false,
    error: 'invalid_grant',
  });
  assert.ok((right as { ok: boolean }).ok);
  const key = consentKey(signon.session.accountId, 'example.com', 'https://example.com');
  assert.ok(await signon.store.get(key), 'the consent stays');
});
