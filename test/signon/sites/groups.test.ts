/** Sites that are open to groups alone, on a real store: who gets in, who reads why not, and races. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeAccount } from '../../../src/access/accounts/records.ts';
import {
  addToGroup,
  createSiteAccess,
  groupsOf,
  groupsPerAccountMax,
  groupsPerSiteMax,
  listGroupRules,
  listGroups,
  removeFromGroup,
} from '../../../src/signon/sites/groups.ts';
import { accountKey, siteAccessKey } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { goodParameters, openSignon, parametersOf } from '../fixture.ts';

/** A signed-in person whose account is stored, and the rules of sites. */
async function open() {
  const signon = await openSignon();
  const { store, authorization, session } = signon;
  const { accountId } = session;
  async function account(id: string, pendingUntil = 0): Promise<void> {
    const record = { email: `${id}@mail.example`, createdAt: 1, disabled: false, pendingUntil };
    const value = encodeAccount({ ...record, keys: [] });
    assert.ok((await store.commit({ set: [{ key: accountKey(id), value }] })).ok);
  }
  await account(accountId);
  const access = createSiteAccess(store, authorization.blocked.namesOver);
  const decided = async (changes: Record<string, string> = {}) => {
    const parameters = parametersOf({ ...goodParameters, ...changes });
    const decision = await authorization.decide(authorization.read(parameters), session);
    const error = 'error' in decision ? ` ${decision.error}` : '';
    return decision.next + error;
  };
  return {
    ...signon,
    account,
    accountId,
    access,
    decided,
    join: (group: string, id = accountId) => addToGroup(store, id, group),
    leave: (group: string, id = accountId) => removeFromGroup(store, id, group),
    [Symbol.asyncDispose]: () => signon[Symbol.asyncDispose](),
  };
}

test('a site is open to all, then to a group alone, whatever was allowed before', async () => {
  await using bench = await open();
  const { access, decided, join, leave } = bench;
  await bench.codeFor();
  assert.equal(await decided(), 'issue-code');
  await bench.account('other');
  value(await join('staff', 'other'));
  value(await access.restrict('example.com', ['staff']));
  assert.equal(await decided(), 'refuse site_not_open');
  assert.equal(await decided({ prompt: 'consent' }), 'refuse site_not_open');
  // No page may be shown, so the site hears that it is refused, and nothing else.
  assert.equal(await decided({ prompt: 'none' }), 'redirect-error access_denied');
  assert.deepEqual(value(await join('staff')), ['staff']);
  assert.equal(await decided(), 'issue-code', 'what was allowed stays');
  value(await leave('staff'));
  assert.equal(await decided(), 'refuse site_not_open', 'from the next authorisation on');
  value(await access.restrict('example.com', []));
  assert.equal(await decided(), 'issue-code');
  assert.deepEqual(await listGroupRules(bench.store), []);
});

test('nobody who is not signed in learns whether a site is open', async () => {
  await using bench = await open();
  value(await bench.join('staff'));
  value(await bench.access.restrict('example.com', ['staff']));
  value(await bench.leave('staff'));
  const { authorization, session } = bench;
  const reading = authorization.read(parametersOf(goodParameters));
  assert.equal((await authorization.decide(reading, undefined)).next, 'sign-in');
  const unverified = { ...session, verified: false };
  assert.equal((await authorization.decide(reading, unverified)).next, 'verify');
});

test('a rule holds for the names below its domain, unless one has its own', async () => {
  await using bench = await open();
  const { access, accountId, join } = bench;
  await bench.account('other');
  value(await join('staff', 'other'));
  value(await join('crew'));
  const admits = async (name: string) => {
    const site = { clientId: name, origin: `https://${name}` };
    return (await access.admits(site, accountId)).isAllowed;
  };
  value(await access.restrict('example.com', ['staff']));
  for (const name of ['example.com', 'shop.example.com', `${'x.'.repeat(90)}example.com`]) {
    assert.equal(await admits(name), false, name);
  }
  for (const name of ['myexample.com', 'example.com.example', 'example.net']) {
    assert.equal(await admits(name), true, name);
  }
  value(await access.restrict('shop.example.com', []));
  value(await access.restrict('crew.example.com', ['crew', 'staff', 'crew']));
  assert.equal(await admits('a.shop.example.com'), true);
  assert.equal(await admits('crew.example.com'), true);
  assert.equal(await admits('other.example.com'), false);
  assert.deepEqual(
    (await listGroupRules(bench.store)).map(({ domain, groups }) => [domain, groups.join()]),
    [
      ['crew.example.com', 'crew,staff'],
      ['example.com', 'staff'],
      ['shop.example.com', ''],
    ],
  );
  const key = siteAccessKey('example.com');
  const damaged = { key, value: Uint8Array.of(9, 9, 9) };
  assert.ok((await bench.store.commit({ set: [damaged] })).ok);
  value(await join('staff'));
  assert.equal(await admits('example.com'), false, 'a damaged rule lets nobody in');
});

test('both the client and the host that the answer goes to must be open to the person', async () => {
  await using bench = await open();
  const { access, decided, join } = bench;
  await bench.account('other');
  value(await join('staff', 'other'));
  const below = { redirect_uri: 'https://blog.example.com/cb' };
  const code = await bench.codeFor(bench.requestOf(below));
  value(await access.restrict('blog.example.com', ['staff']));
  assert.equal(await decided(below), 'refuse site_not_open');
  assert.equal(await decided(), 'consent', 'what is above it is open');
  assert.equal(errorOf(await bench.exchange(code)), 'invalid_grant');
  value(await access.restrict('example.com', ['staff']));
  value(await access.restrict('blog.example.com', []));
  assert.equal(await decided(below), 'refuse site_not_open', 'its client is not');
  assert.equal(await decided({ client_id: 'blog.example.com', ...below }), 'consent');
});

test('a change that comes between a decision and its commit wins', async () => {
  await using bench = await open();
  const { store, authorization, session, access, join, leave } = bench;
  await bench.codeFor();
  value(await join('staff'));
  value(await access.restrict('example.com', ['staff']));
  /** Runs right before the next commit, which was decided on without it. */
  function beforeCommit(change: () => Promise<unknown>): void {
    const { commit } = store;
    store.commit = async (given) => {
      store.commit = commit;
      await change();
      return commit(given);
    };
  }
  beforeCommit(() => leave('staff'));
  assert.equal(errorOf(await authorization.issue(bench.requestOf(), session)), 'consent_required');
  value(await join('staff'));
  const query =
    'client_id=example.com&redirect_uri=https%3A%2F%2Fexample.com%2Fcb&response_type=code';
  const asked = { query: `${query}&scope=openid+phone&state=s`, askedAt: bench.clock.now() };
  const begun = await authorization.transactions.begin(asked, session.sessionId);
  beforeCommit(() => leave('staff'));
  assert.equal(errorOf(await bench.allow(value(begun), session, ['phone'])), 'conflict');
  value(await join('staff'));
  value(await access.restrict('example.com', []));
  // A rule that is new, on a name above.
  beforeCommit(() => access.restrict('example.com', ['staff']).then(() => leave('staff')));
  assert.equal(errorOf(await authorization.issue(bench.requestOf(), session)), 'consent_required');
});

test('a code that is on its way gives nothing once the site is closed to its person', async () => {
  await using bench = await open();
  const { access, join, leave, codeFor, exchange, store } = bench;
  value(await join('staff'));
  value(await access.restrict('example.com', ['staff']));
  const code = await codeFor();
  value(await leave('staff'));
  assert.equal(errorOf(await exchange(code)), 'invalid_grant');
  value(await join('staff'));
  assert.equal(errorOf(await exchange(code)), 'invalid_grant', 'it was used up');
  const late = await codeFor();
  const { commit } = store;
  store.commit = async (given) => {
    store.commit = commit;
    await leave('staff');
    return commit(given);
  };
  assert.equal(
    errorOf(await exchange(late)),
    'invalid_grant',
    'also between the look and the commit',
  );
  value(await join('staff'));
  value(await exchange(await codeFor()));
});

test('a site that is open to all stays so when a name above it gets a rule later', async () => {
  await using bench = await open();
  const { access, join, accountId } = bench;
  await bench.account('other');
  value(await join('staff', 'other'));
  value(await access.restrict('shop.example.com', []));
  value(await access.restrict('example.com', ['staff']));
  const isAllowed = async (clientId: string) =>
    (await access.admits({ clientId, origin: `https://${clientId}` }, accountId)).isAllowed;
  assert.deepEqual(
    [await isAllowed('shop.example.com'), await isAllowed('example.com')],
    [true, false],
  );
});

test('names, members and numbers of groups have bounds', async () => {
  await using bench = await open();
  const { access, join, leave, store, accountId } = bench;
  for (const bad of [
    '',
    'all',
    'A',
    'a b',
    '-a',
    'a-',
    'a_b',
    'x'.repeat(33),
    'é',
    '../a',
    'a\0',
  ]) {
    assert.equal(errorOf(await join(bad)), 'invalid_parameter', bad);
    assert.equal(errorOf(await access.restrict('example.com', [bad])), 'invalid_parameter', bad);
  }
  assert.equal(errorOf(await access.restrict('example.com', ['none'])), 'conflict');
  assert.equal(errorOf(await join('staff', 'nobody')), 'unknown_account');
  await bench.account('waits', bench.clock.now() + 1_000);
  assert.equal(errorOf(await join('staff', 'waits')), 'conflict');
  assert.equal(errorOf(await leave('staff')), 'conflict');
  const names = Array.from({ length: groupsPerAccountMax }, (_, i) => `g${i}`);
  await Promise.all(names.slice(0, 3).map((name) => join(name)));
  for (const name of names) value(await join(name));
  assert.deepEqual([...(await groupsOf(store, accountId))].sort(), [...names].sort());
  assert.equal(errorOf(await join('one-more')), 'capacity_exceeded');
  assert.deepEqual(value(await join('g0')).length, groupsPerAccountMax, 'twice is no fault');
  assert.ok(names.length >= groupsPerSiteMax);
  await bench.account('other');
  value(await join('h0', 'other'));
  const tooMany = await access.restrict('example.com', [...names, 'h0']);
  assert.equal(errorOf(tooMany), 'invalid_parameter');
  for (const name of names) value(await leave(name));
  assert.deepEqual([...(await listGroups(store)).keys()], ['h0']);
});
