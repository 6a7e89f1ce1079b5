/** Sessions and sign-in: when a cookie opens, when it no longer does, and what a stranger learns. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { sessionLife, sessionsPerAccountMax } from '../../../src/signon/sessions/sessions.ts';
import { sessionByAccountPrefix } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

let email = '';
let count = 0;

const bench = openBench('sessions');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const attempt = (secret: string, from: Partial<typeof visitor> & { browser?: string } = {}) =>
  bench.signon.signIn.withPassword({ email, password: secret, visitor: { ...visitor, ...from } });

it('a cookie opens its session and no other text does', async () => {
  const id = await bench.person(email);
  const { token, sessionId } = await bench.signIn(email);
  const session = (await bench.other.sessions.find(token))!;
  assert.equal(session.accountId, id);
  assert.equal(session.id, sessionId);
  assert.ok(session.verified && session.fresh);
  const [first, secret] = token.split('.');
  const flipped = `${first}.${secret!.startsWith('A') ? 'B' : 'A'}${secret!.slice(1)}`;
  for (const bad of ['', '.', first!, `${token}x`, ` ${token}`, flipped, 'x'.repeat(1e6)]) {
    assert.equal(await bench.signon.sessions.find(bad), undefined, bad.slice(0, 80));
  }
  assert.equal(await bench.signon.sessions.alive('x'.repeat(1e5)), false);
});

it('unknown address, wrong password, disabled account: one answer', async () => {
  const refused = { ok: false, error: 'sign_in_refused' };
  assert.deepEqual(await attempt(password), refused);
  await bench.person(email);
  assert.deepEqual(await attempt('wrong-password-1'), refused);
  for (const bad of ['', 'x', '\ud800'.repeat(8), 'x'.repeat(1e6)]) {
    assert.deepEqual(await attempt(bad, { client: `n${count}-${bad.length}` }), refused);
  }
  const { token } = await bench.signIn(email);
  const accounts = createAccounts({
    store: bench.store,
    clock: bench.clock,
    random: seededRandom(9),
  });
  value(await accounts.setDisabled(email, true));
  assert.deepEqual(await attempt(password), refused);
  assert.equal(await bench.signon.sessions.find(token), undefined);
  value(await accounts.setDisabled(email, false));
  assert.ok(await bench.signon.sessions.find(token));
});

it('an account that the operator made has no password until one is set by mail', async () => {
  const accounts = createAccounts({
    store: bench.store,
    clock: bench.clock,
    random: seededRandom(8),
  });
  value(await accounts.create(email));
  assert.equal(errorOf(await attempt('')), 'sign_in_refused');
  assert.equal(errorOf(await attempt(password)), 'sign_in_refused');
  value(await bench.signon.recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  value(await bench.signon.recovery.reset({ token, password, visitor }));
  assert.ok((await bench.signIn(email)).verified);
});

it('the same password in another spelling of Unicode opens', async () => {
  await bench.person(email);
  value(await bench.signon.recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  value(await bench.signon.recovery.reset({ token, password: 'caf\u00e9-ﬁn-2026', visitor }));
  value(await attempt('cafe\u0301-fin-2026'));
});

it('a session ends after 14 idle days, and after 90 days however busy', async () => {
  await bench.person(email);
  const { token, sessionId } = await bench.signIn(email);
  bench.clock.advance(sessionLife.idleMs - 1);
  assert.ok(await bench.signon.sessions.find(token));
  bench.clock.advance(sessionLife.idleMs);
  assert.equal(await bench.signon.sessions.find(token), undefined);
  assert.equal(await bench.signon.sessions.alive(sessionId), false);
  const busy = await bench.signIn(email);
  const dayMs = 24 * 3_600_000;
  for (let day = 1; day < 90; day++) {
    bench.clock.advance(dayMs);
    assert.ok(await bench.signon.sessions.find(busy.token), `day ${day}`);
  }
  bench.clock.advance(dayMs);
  assert.equal(await bench.signon.sessions.find(busy.token), undefined);
});

it('last seen is written at most once an hour', async () => {
  await bench.person(email);
  const { token } = await bench.signIn(email);
  const seen = async () =>
    (await bench.signon.sessions.list((await find())!.accountId))[0]!.lastSeenAt;
  const find = () => bench.signon.sessions.find(token);
  const first = await seen();
  bench.clock.advance(sessionLife.seenMs - 1);
  await find();
  assert.equal(await seen(), first);
  bench.clock.advance(1);
  await find();
  assert.equal(await seen(), first + sessionLife.seenMs);
});

it('ending one, all others, or all counts at the next request, also from another process', async () => {
  const id = await bench.person(email);
  const [a, b, c] = [
    await bench.signIn(email),
    await bench.signIn(email),
    await bench.signIn(email),
  ];
  const { sessions } = bench.signon;
  const alive = async () =>
    Promise.all([a, b, c].map(async (s) => !!(await sessions.find(s.token))));
  value(await bench.other.sessions.end('somebody else', a.sessionId));
  assert.deepEqual(await alive(), [true, true, true]);
  value(await bench.other.sessions.end(id, a.sessionId));
  assert.deepEqual(await alive(), [false, true, true]);
  const here = (await sessions.find(b.token))!;
  const { token } = value(await bench.other.sessions.endOthers(here, visitor));
  assert.deepEqual(await alive(), [false, false, false], 'a copy of the cookie is dead too');
  assert.ok(await sessions.find(token));
  assert.equal(errorOf(await sessions.endOthers(here, visitor)), 'form_expired');
  assert.deepEqual(
    (await sessions.list(id, b.sessionId)).map((s) => [s.id, s.current, s.agent, s.country]),
    [[b.sessionId, true, 'Firefox, Linux', 'FR']],
  );
  value(await bench.other.sessions.endAll(id));
  assert.equal(await sessions.find(token), undefined);
  value(await sessions.end(id, 'not an id'));
});

it('a proof of identity gives a new cookie and a new form token; the old ones are dead', async () => {
  await bench.person(email);
  const { token } = await bench.signIn(email);
  bench.clock.advance(sessionLife.freshMs);
  const stale = (await bench.signon.sessions.find(token))!;
  assert.equal(stale.fresh, false);
  const { signIn, sessions, recovery } = bench.signon;
  assert.equal(
    errorOf(await recovery.changePassword(stale, 'another-secret-31', visitor)),
    'reauthentication_required',
  );
  assert.equal(
    errorOf(await signIn.reauthenticate(stale, { password: 'wrong-one', code: '' }, visitor)),
    'sign_in_refused',
  );
  const renewed = value(await signIn.reauthenticate(stale, { password, code: '' }, visitor));
  assert.equal(await sessions.find(token), undefined);
  const fresh = (await sessions.find(renewed.token))!;
  assert.equal(fresh.id, stale.id);
  assert.ok(fresh.fresh);
  assert.notEqual(fresh.csrf, stale.csrf);
});

it('a proof of identity of a clock that was ahead is none when that is set back', async () => {
  await bench.person(email);
  bench.clock.advance(sessionLife.freshMs);
  const { token } = await bench.signIn(email);
  bench.clock.advance(-sessionLife.freshMs);
  assert.equal((await bench.signon.sessions.find(token))!.fresh, false);
});

it('a changed password ends all sessions but the one it was changed in', async () => {
  await bench.person(email);
  const [here, there] = [await bench.signIn(email), await bench.signIn(email)];
  const session = (await bench.signon.sessions.find(here.token))!;
  const changed = bench.signon.recovery.changePassword(session, 'another-secret-31', visitor);
  const { token } = value(await changed);
  assert.ok(await bench.signon.sessions.find(token));
  assert.equal(await bench.other.sessions.find(here.token), undefined, 'nor a copy of it');
  assert.equal(await bench.other.sessions.find(there.token), undefined);
  assert.equal(errorOf(await attempt(password)), 'sign_in_refused');
  value(await attempt('another-secret-31'));
});

it('a browser seen before gets no mail, an unseen one does', async () => {
  await bench.person(email);
  const first = await bench.signIn(email);
  await bench.signon.mailer.idle();
  const news = () =>
    bench.mails.filter((m) => m.to === email && m.subject.startsWith('New sign-in'));
  assert.equal(news().length, 1);
  const again = await bench.signIn(email, { browser: first.browser });
  assert.equal(again.browser, first.browser);
  await bench.signIn(email, { browser: 'forged' });
  await bench.signon.mailer.idle();
  assert.equal(news().length, 2);
  assert.ok(news()[0]!.text.includes('Firefox, Linux'));
});

it('the oldest session goes when there are too many', async () => {
  const id = await bench.person(email);
  const first = await bench.signIn(email);
  bench.clock.advance(1);
  for (let i = 0; i < sessionsPerAccountMax; i++) await bench.signIn(email, first);
  assert.equal(await bench.signon.sessions.find(first.token), undefined);
  assert.equal((await bench.signon.sessions.list(id)).length, sessionsPerAccountMax);
});

it('of 120 sign-ins at once through two processes all succeed, and so many sessions are left', async () => {
  const id = await bench.person(email);
  const person = (await bench.signon.people.byId(id))!;
  const opened = await Promise.all(
    Array.from({ length: 120 }, (_, n) =>
      [bench.signon, bench.other][n % 2]!.signIn.proven(person, 'passkey', visitor),
    ),
  );
  assert.deepEqual(new Set(opened.map(errorOf)), new Set(['none']));
  const left = await bench.store.scan(sessionByAccountPrefix(id), { limit: 500 });
  assert.equal(left.length, sessionsPerAccountMax);
});

it('a password hashed with other parameters is hashed anew at the next sign-in', async () => {
  await bench.person(email);
  const stronger = openBench('rehash', {
    store: bench.store,
    clock: bench.clock,
    argon2: { memoryKiB: 128, passes: 1, lanes: 1 },
  });
  value(await stronger.signon.signIn.withPassword({ email, password, visitor }));
  const { passwordHash } = (await bench.signon.people.byEmail(email))!.credentials;
  assert.ok(passwordHash.startsWith('$argon2id$v=19$m=128,t=1,p=1$'));
  value(await stronger.signon.signIn.withPassword({ email, password, visitor }));
  await stronger.close();
});
