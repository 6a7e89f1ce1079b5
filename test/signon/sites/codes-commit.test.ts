/** What changes between the look at a code and the commit that redeems it is noticed by the commit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockedSiteKey, consentKey } from '../../../src/storage/keys.ts';
import type { Commit } from '../../../src/storage/store.ts';
import { openSignon } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;

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
