/** Consents and consent forms on a real store, and what stays secret. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { linkLifeMs } from '../../../src/signon/people/links.ts';
import { transactionLifeMs } from '../../../src/signon/sites/carried-requests.ts';
import { siteNoticePrefix } from '../../../src/storage/keys.ts';
import { filesOf } from '../../support/server/data-files.ts';
import { goodParameters, openSignon, parametersOf, queryOf, startMs } from '../fixture.ts';

type Signon = Awaited<ReturnType<typeof openSignon>>;
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };

async function next(
  signon: Signon,
  changes: Record<string, string> = {},
  session = signon.session,
) {
  const parameters = parametersOf({ ...goodParameters, ...changes });
  const decision = await signon.authorization.decide(
    signon.authorization.read(parameters),
    session,
  );
  return decision.next;
}

const asked = { query: queryOf(goodParameters), askedAt: startMs };

async function beginForm(signon: Signon, holder = signon.session.sessionId): Promise<string> {
  const id = await signon.authorization.transactions.begin(asked, holder);
  assert.ok(id.ok);
  return id.value;
}

/** A request that waits for a mailed link. */
async function beginWait(
  signon: Signon,
  browser: string,
  until: 'verify' | 'reset' = 'verify',
  request = asked,
): Promise<string> {
  const id = await signon.authorization.transactions.wait(request, browser, 'network', until);
  assert.ok(id !== undefined);
  return id;
}

test('a consent is asked once, and again for a new scope, origin or client', async () => {
  await using signon = await openSignon();
  assert.equal(await next(signon), 'consent');
  await signon.codeFor(signon.requestOf(), ['openid', 'profile']);
  assert.equal(await next(signon), 'issue-code', 'also for the scope that was refused');
  assert.equal(await next(signon, { scope: 'email' }), 'issue-code', 'fewer scopes');
  assert.equal(await next(signon, { redirect_uri: 'https://example.com/other' }), 'issue-code');
  assert.equal(await next(signon, { prompt: 'consent' }), 'consent');
  assert.equal(await next(signon, { scope: 'openid phone' }), 'consent');
  assert.equal(await next(signon, { redirect_uri: 'https://www.example.com/cb' }), 'consent');
  const client = { client_id: 'www.example.com', redirect_uri: 'https://www.example.com/cb' };
  assert.equal(await next(signon, client), 'consent');
  assert.equal(await next(signon, {}, { ...signon.session, accountId: 'account-2' }), 'consent');
});

test('without asking, the scopes that were granted before are given, not those refused', async () => {
  await using signon = await openSignon();
  await signon.codeFor(signon.requestOf(), ['openid', 'profile']);
  const address = await signon.authorization.issue(signon.requestOf(), signon.session);
  assert.ok(address.ok);
  const url = new URL(address.value);
  assert.equal(url.searchParams.get('state'), goodParameters.state);
  const done = await signon.exchange(url.searchParams.get('code')!);
  assert.ok(done.ok);
  assert.equal('email' in done.value.profile, false);
  assert.equal(done.value.profile.given_name, 'Ada');
  const more = await signon.authorization.issue(signon.requestOf({ scope: 'age' }), signon.session);
  assert.deepEqual(more, { ok: false, error: 'consent_required' });
});

test('the consent page has one switch a scope, its values, and how it was decided before', async () => {
  await using signon = await openSignon();
  const asked = () => signon.authorization.asked(signon.requestOf(), signon.session, 'form');
  const brief = async () =>
    (await asked()).scopes.map(({ scope, isFixed, isOn }) => [scope, isFixed, isOn]);
  assert.deepEqual(await brief(), [
    ['openid', true, true],
    ['profile', false, true],
    ['email', false, true],
  ]);
  assert.deepEqual((await asked()).scopes[2]!.values, {
    email: 'account-1@mail.example',
    email_verified: true,
  });
  await signon.codeFor(signon.requestOf(), ['email']);
  assert.deepEqual(await brief(), [
    ['openid', true, true],
    ['profile', false, false],
    ['email', false, true],
  ]);
});

test('connected sites tell what each may read and when it last did; revoking ends it', async () => {
  await using signon = await openSignon();
  const { authorization, clock, session } = signon;
  await signon.exchange(await signon.codeFor(signon.requestOf(), ['openid', 'email']));
  clock.advance(5_000);
  const www = { redirect_uri: 'https://www.example.com/cb', scope: 'age' };
  await signon.codeFor(signon.requestOf(www));
  const other = { client_id: 'b.example.org', redirect_uri: 'https://b.example.org/' };
  await signon.codeFor(signon.requestOf(other));
  const sites = await authorization.connectedSites(session.accountId);
  const site = { clientId: 'example.com', changedAt: startMs + 5_000, grantedAt: startMs + 5_000 };
  assert.deepEqual(sites.slice(1), [
    {
      ...site,
      origin: 'https://example.com',
      granted: ['openid', 'email'],
      grantedAt: startMs,
      changedAt: startMs,
      lastUsedAt: startMs,
    },
    { ...site, origin: 'https://www.example.com', granted: ['age'], lastUsedAt: undefined },
  ]);
  assert.equal(sites[0]!.clientId, 'b.example.org');
  clock.advance(60_000);
  await signon.exchange(await signon.codeFor());
  const again = (await authorization.connectedSites(session.accountId))[1]!;
  assert.equal(again.lastUsedAt, startMs + 65_000);
  assert.deepEqual(await authorization.disconnect('account-2', 'example.com'), {
    ok: true,
    value: 0,
  });
  assert.deepEqual(await authorization.disconnect(session.accountId, 'example.com'), {
    ok: true,
    value: 2,
  });
  assert.equal((await authorization.connectedSites(session.accountId)).length, 1);
  assert.equal(await next(signon), 'consent');
});

test('who agrees again takes back the notice that the consent was withdrawn', async () => {
  await using signon = await openSignon();
  const { authorization, session, store } = signon;
  const notices = async () => (await store.scan(siteNoticePrefix(), { limit: 10 })).length;
  await signon.exchange(await signon.codeFor());
  assert.ok((await authorization.disconnect(session.accountId, 'example.com')).ok);
  assert.equal(await notices(), 1);
  await signon.codeFor();
  assert.equal(await notices(), 0);
});

test('a form is answered once, by who saw it, within ten minutes', async () => {
  await using signon = await openSignon();
  const { authorization, session, clock } = signon;
  const gone = { ok: false, error: 'unknown_transaction' } as const;
  const stranger = { ...session, sessionId: 'session-2' };
  const id = await beginForm(signon);
  assert.deepEqual(await signon.allow(id, stranger, []), gone);
  assert.deepEqual(await authorization.deny(id, stranger), gone);
  assert.deepEqual(await signon.allow(id, { ...session, verified: false }, []), gone);
  for (const bad of ['', 'x', `${id}x`, id.toUpperCase(), '../etc']) {
    assert.deepEqual(await signon.allow(bad, session, []), gone);
  }
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0 ? signon.allow(id, session, []) : authorization.deny(id, session),
    ),
  );
  assert.equal(all.filter((result) => result.ok).length, 1, 'one answer');

  const denied = await beginForm(signon);
  const address = await authorization.deny(denied, session);
  assert.ok(address.ok);
  const url = new URL(address.value);
  assert.equal(url.searchParams.get('error'), 'access_denied');
  assert.equal(url.searchParams.get('state'), goodParameters.state);
  assert.equal(url.searchParams.has('code'), false);
  assert.deepEqual(await signon.allow(denied, session, []), gone);

  const late = await beginForm(signon);
  clock.advance(transactionLifeMs);
  assert.deepEqual(await signon.allow(late, session, []), gone);
});

test('a form that was allowed gives no second code, at once or later', async () => {
  await using signon = await openSignon();
  const { authorization, session } = signon;
  const id = await beginForm(signon);
  const all = await Promise.all(
    Array.from({ length: 20 }, () => signon.allow(id, session, ['email'])),
  );
  assert.equal(all.filter((result) => result.ok).length, 1);
  const again = await signon.allow(id, session, ['email']);
  assert.deepEqual(again, { ok: false, error: 'unknown_transaction' });
  assert.deepEqual(await authorization.deny(id, session), again);
});

test('a form goes on after a sign-in, under a new id, and knows when it was first asked', async () => {
  await using signon = await openSignon();
  const { authorization, session, clock } = signon;
  const reading = authorization.read(parametersOf({ ...goodParameters, prompt: 'login' }));
  assert.equal((await authorization.decide(reading, session)).next, 'sign-in');
  assert.ok(reading.kind === 'request');
  const request = { query: queryOf({ ...goodParameters, prompt: 'login' }), askedAt: startMs };
  const id = await beginWait(signon, 'browser-1', 'reset', request);
  clock.advance(30_000);
  const renewed = { ...session, sessionId: 'session-2', signedInAt: clock.now() };
  const stolen = await authorization.transactions.rebind(id, 'browser-2', 'session-2');
  assert.equal(stolen.ok, false);
  const moved = await authorization.transactions.rebind(id, 'browser-1', 'session-2');
  assert.ok(moved.ok);
  assert.equal(await authorization.transactions.find(id, 'browser-1'), undefined);
  const found = await authorization.transactions.find(moved.value, 'session-2');
  assert.ok(found);
  assert.equal(found.askedAt, startMs);
  assert.deepEqual(found.request, reading.request);
  const resumed = { kind: 'request', request: found.request } as const;
  assert.equal((await authorization.decide(resumed, renewed, found.askedAt)).next, 'consent');
  assert.equal((await authorization.decide(resumed, renewed)).next, 'consent');
});

test('edits of a profile at the same time lose nothing', async () => {
  await using signon = await openSignon();
  const { profiles, session } = signon;
  const edits = [{ given_name: 'Augusta' }, { nickname: 'ada' }, { locality: 'London' }];
  const done = await Promise.all(edits.map((edit) => profiles.edit(session.accountId, edit)));
  assert.ok(done.every((result) => result.ok));
  const profile = await profiles.load(session.accountId);
  assert.deepEqual(
    [profile!.givenName, profile!.nickname, profile!.address.locality],
    ['Augusta', 'ada', 'London'],
  );
  assert.equal((await profiles.edit('nobody', {})).ok, false);
});

test('log and store hold no code, form id or verifier; the journal holds no person', async () => {
  await using signon = await openSignon();
  const secrets = [verifier];
  const form = await beginForm(signon);
  const used = await signon.codeFor(signon.requestOf(pkce));
  const burned = await signon.codeFor(signon.requestOf(pkce));
  const waiting = await signon.codeFor(signon.requestOf(pkce));
  secrets.push(form, used, burned, waiting);
  await signon.exchange(used, { codeVerifier: verifier });
  await signon.exchange(used, { codeVerifier: verifier });
  await signon.exchange(burned, { clientId: 'evil.com', codeVerifier: verifier });
  await new Promise(setImmediate);
  const logged = JSON.stringify(signon.lines);
  assert.match(logged, /sent again/);
  assert.match(logged, /burned/);
  const events = await signon.store.read(0n, 10);
  assert.deepEqual(
    events.map(({ kind, body }) => [kind, Buffer.from(body).toString('latin1').slice(1)]),
    [['site.signed_in', 'example.com']],
  );
  const files = filesOf(signon.path).map(([, bytes]) => bytes);
  assert.ok(
    files.some((bytes) => bytes.includes('Lovelace')),
    'the search looks at the right files',
  );
  for (const secret of secrets) {
    assert.equal(logged.includes(secret), false);
    assert.equal(
      files.some((bytes) => bytes.includes(secret)),
      false,
      'a secret is on disk',
    );
  }
});

test('a request waits for a new password as long as its link', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  const id = await beginWait(signon, 'b1', 'reset');
  signon.clock.advance(linkLifeMs.reset - 1);
  assert.ok(await transactions.find(id, 'b1'));
  signon.clock.advance(1);
  assert.equal(await transactions.find(id, 'b1'), undefined);
});

test('a request waits for a registration as long as its newest link, for its own browser alone', async () => {
  await using signon = await openSignon();
  const { transactions } = signon.authorization;
  const [held, other] = [await beginWait(signon, 'b1'), await beginWait(signon, 'b2')];
  assert.notEqual(held, other);
  assert.equal(await beginWait(signon, 'b1'), held, 'the same request in the same browser');
  signon.clock.advance(60_000);
  assert.ok((await transactions.prolong(held, 'b1', 'n', 'verify')).ok);
  assert.ok((await transactions.prolong(other, 'somebody else', 'n', 'verify')).ok, 'says nothing');
  for (const id of ['', 'x', 'A'.repeat(43)])
    assert.ok((await transactions.prolong(id, 'b1', 'n', 'verify')).ok);
  signon.clock.advance(linkLifeMs.verify - 60_000);
  assert.equal(await transactions.find(other, 'b2'), undefined);
  assert.equal(await transactions.find(held, 'b2'), undefined);
  signon.clock.advance(59_999);
  const found = (await transactions.find(held, 'b1'))!;
  assert.equal(found.askedAt, startMs);
  const moved = await transactions.rebind(held, 'b1', 'session');
  assert.ok(moved.ok);
  signon.clock.advance(transactionLifeMs);
  assert.equal(await transactions.find(moved.value, 'session'), undefined, 'ten minutes again');
  assert.ok((await transactions.prolong(held, 'b1', 'n', 'verify')).ok, 'what is over stays over');
  assert.equal(await transactions.find(held, 'b1'), undefined);
});
