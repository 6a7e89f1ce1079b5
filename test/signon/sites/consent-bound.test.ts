/** How many sites an account may have allowed: a clear refusal, which costs nothing of what is there. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { consentsPerAccountMax, createConsents } from '../../../src/signon/sites/consents.ts';
import { seededRandom } from '../../support/seeded.ts';
import { goodParameters, openSignon, queryOf, startMs } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;

function request(site: string) {
  const named = { client_id: site, redirect_uri: `https://${site}/cb` };
  return { query: queryOf({ ...goodParameters, ...named }), askedAt: startMs };
}

async function allow(signon: Signon, site: string) {
  const { authorization, session } = signon;
  const id = await authorization.transactions.begin(request(site), session.sessionId);
  assert.ok(id.ok);
  return { id: id.value, done: await signon.allow(id.value, session, ['email']) };
}

/** Sites that the account allowed before. */
async function fill({ store, clock }: Signon, accountId: string, count: number): Promise<void> {
  const consents = createConsents({ store, clock, random: seededRandom(5) });
  const set = Array.from({ length: count }, (_, i) => {
    const clientId = `site${i}.example.com`;
    const parties = { accountId, clientId, origin: `https://${clientId}` };
    return consents.afterDecision(undefined, parties, ['openid'], ['openid']).row;
  });
  assert.ok((await store.commit({ set })).ok);
}

it('the last places go to as many sites as there are, however many ask at once', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  await fill(signon, session.accountId, consentsPerAccountMax - 2);
  const asked = await Promise.all(
    Array.from({ length: 6 }, (_, i) => allow(signon, `new${i}.example.com`)),
  );
  assert.equal(asked.filter(({ done }) => done.ok).length, 2);
  for (const { done } of asked) if (!done.ok) assert.equal(done.error, 'too_many_sites');
  const sites = await authorization.connectedSites(session.accountId);
  assert.equal(sites.length, consentsPerAccountMax);
});

it('a place that another node takes while one is counted is not given twice', async () => {
  await using signon = await openSignon();
  const { store, clock, session } = signon;
  const { accountId } = session;
  await fill(signon, accountId, consentsPerAccountMax - 1);
  const consents = createConsents({ store, clock, random: seededRandom(6) });
  const at = (clientId: string) => ({ accountId, clientId, origin: `https://${clientId}` });
  const row = (clientId: string) =>
    consents.afterDecision(undefined, at(clientId), ['openid'], ['openid']).row;
  const [first, second] = [
    await consents.reserveOne(at('a.example.com')),
    await consents.reserveOne(at('zz.example.com')),
  ];
  assert.ok(first && second);
  const take = (room: typeof first, clientId: string) =>
    store.commit({ check: room.check, set: [row(clientId), ...room.set] });
  // Before all others in the order of keys: in a page that the second one has read.
  assert.ok((await take(first, 'a.example.com')).ok);
  assert.ok(!(await take(second, 'zz.example.com')).ok);
  assert.equal(await consents.reserveOne(at('b.example.com')), undefined);
});

it('at the bound nothing is passed on, the form stays, and known sites and others go on', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  await fill(signon, session.accountId, consentsPerAccountMax);
  const { id, done } = await allow(signon, 'new.example.com');
  assert.deepEqual(done, { ok: false, error: 'too_many_sites' });
  assert.ok((await allow(signon, 'site7.example.com')).done.ok, 'one that was allowed before');
  const other = { ...session, accountId: 'account-2', sessionId: 'session-2' };
  const theirs = await authorization.transactions.begin(request('new.example.com'), 'session-2');
  assert.ok(theirs.ok);
  assert.ok((await signon.allow(theirs.value, other, [])).ok, 'another account');
  assert.deepEqual(await authorization.disconnect(session.accountId, 'site3.example.com'), {
    ok: true,
    value: 1,
  });
  assert.ok((await signon.allow(id, session, ['email'])).ok, 'the same form');
});
