/** Trusted browsers: where the password is enough for a while, and what ends that. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { roleRow } from '../../../src/access/accounts/records.ts';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import { dateTextOrNull } from '../../../src/core/dates.ts';
import { credentialsRow } from '../../../src/signon/people.ts';
import { trustedBrowsersMax, trustLifeMs } from '../../../src/signon/proofs/trusted-browsers.ts';
import type { SignedIn } from '../../../src/signon/sessions/sign-in.ts';
import { type Key, trustedBrowserPrefix } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const stepMs = 30_000;
let email = '';
let id = '';
let secret = '';
let count = 0;

const bench = openBench('trusted', {}, { trustedBrowsers: true, requireSecondFactor: 'operators' });
const off = openBench('untrusted');
after(async () => {
  await bench.close();
  await off.close();
});

async function withFactor(side: Bench) {
  email = `person${++count}@example.org`;
  side.clock.advance(10 * stepMs);
  id = await side.person(email);
  const own = (await side.signon.sessions.find((await side.signIn(email)).token))!;
  ({ secret } = value(await side.signon.secondFactors.begin(own)));
  value(await side.signon.secondFactors.enable(own, codeNow(side), visitor));
  side.clock.advance(2 * stepMs);
}
beforeEach(() => withFactor(bench));

function codeNow(side = bench): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: side.clock.now() });
}

const withPassword = async (from: Partial<Visitor> = {}, side = bench.signon) =>
  value(await side.signIn.withPassword({ email, password, visitor: { ...visitor, ...from } }));

/** Signs in with the code, and asks that the browser be trusted. */
async function trusting(
  from: Partial<Visitor> = {},
  side = bench,
  trusts = true,
): Promise<SignedIn> {
  const first = value(
    await side.signon.signIn.withPassword({ email, password, visitor: { ...visitor, ...from } }),
  );
  assert.ok(first.kind === 'second_factor', first.kind);
  side.clock.advance(stepMs);
  const given = { ticket: first.ticket, code: codeNow(side), visitor: { ...visitor, ...from } };
  return value(await side.signon.signIn.withSecondFactor({ ...given, trusts }));
}

const cookiesOf = ({ browser, trusted }: SignedIn): Partial<Visitor> => ({ browser, trusted });

async function isTrusted(from: Partial<Visitor>): Promise<boolean> {
  return (await withPassword(from)).kind === 'signed_in';
}

it('the password is enough in a trusted browser alone, and counts as no code', async () => {
  const first = await trusting();
  assert.match(first.trusted!, /^[\w-]{22}\.[\w-]{43}$/);
  assert.equal(await isTrusted({ browser: first.browser }), false);
  assert.equal(await isTrusted({ trusted: first.trusted }), false, 'of another browser');
  const second = await withPassword(cookiesOf(first));
  assert.ok(second.kind === 'signed_in');
  const session = (await bench.signon.sessions.find(second.token))!;
  assert.deepEqual([session.proof, session.fresh], ['password+browser', false]);
  assert.equal(await bench.signon.changes.allows(session), false);
  const wrong = {
    email,
    password: 'not the password',
    visitor: { ...visitor, ...cookiesOf(second) },
  };
  assert.equal(errorOf(await bench.signon.signIn.withPassword(wrong)), 'sign_in_refused');
  const rows = await bench.store.scan(trustedBrowserPrefix(id), { limit: 10 });
  const stored = Buffer.concat(rows.map((row) => row.value)).toString('latin1');
  for (const part of second.trusted!.split('.')) assert.equal(stored.includes(part), false);
});

it('each sign-in renews the cookie, and an old copy ends the trust', async () => {
  const first = await trusting();
  const second = await withPassword(cookiesOf(first));
  assert.ok(second.kind === 'signed_in' && second.trusted !== first.trusted);
  assert.equal(await isTrusted(cookiesOf(first)), false, 'the copy');
  assert.equal(await isTrusted(cookiesOf(second)), false, 'and the browser itself');
  const third = await trusting();
  const fourth = await withPassword(cookiesOf(third));
  assert.ok(fourth.kind === 'signed_in');
  assert.equal(await isTrusted({ trusted: third.trusted }), false, 'the copy in a bare browser');
  assert.equal(await isTrusted(cookiesOf(fourth)), false, 'it ends the trust, too');
});

it('of two sign-ins at once with one cookie one is asked for the code', async () => {
  const first = await trusting();
  const both = await Promise.all([
    withPassword(cookiesOf(first)),
    withPassword(cookiesOf(first), bench.other),
  ]);
  const kinds = both.map(({ kind }) => kind).sort();
  assert.deepEqual(kinds, ['second_factor', 'signed_in']);
});

it('it is over after 30 days, however often it is used', async () => {
  let now = cookiesOf(await trusting());
  for (let day = 0; day < 2; day++) {
    bench.clock.advance(trustLifeMs / 2 - 1);
    const done = await withPassword(now);
    assert.ok(done.kind === 'signed_in');
    now = cookiesOf(done);
  }
  bench.clock.advance(2);
  assert.equal(await isTrusted(now), false);
});

it('what changes the account, and signing out everywhere, ends all trust', async () => {
  const { signon } = bench;
  const acts: ((
    own: NonNullable<Awaited<ReturnType<typeof signon.sessions.find>>>,
  ) => Promise<unknown>)[] = [
    (own) => signon.recovery.changePassword(own, 'cobalt-meadow-118-rain', visitor),
    (own) => signon.secondFactors.renewBackupCodes(own, visitor),
    (own) => signon.sessions.endOthers(own, visitor),
    () => signon.sessions.endAll(id),
  ];
  for (const [i, act] of acts.entries()) {
    await withFactor(bench);
    const signedIn = await trusting();
    const own = (await signon.sessions.find(signedIn.token))!;
    value((await act(own)) as never);
    const pass = i === 0 ? 'cobalt-meadow-118-rain' : password;
    const given = { email, password: pass, visitor: { ...visitor, ...cookiesOf(signedIn) } };
    const again = value(await signon.signIn.withPassword(given));
    assert.equal(again.kind, 'second_factor', `act ${i}`);
    const person = (await signon.people.byId(id))!;
    assert.deepEqual(await signon.trustedBrowsers.list(person), []);
  }
});

it('its owner sees and ends it, and nobody else can', async () => {
  const first = await trusting();
  const person = (await bench.signon.people.byId(id))!;
  const [own, ...more] = await bench.signon.trustedBrowsers.list(person);
  assert.deepEqual(more, []);
  assert.deepEqual([own!.agent, own!.country], ['Firefox, Linux', 'FR']);
  assert.equal(errorOf(await bench.signon.trustedBrowsers.end('other', own!.id)), 'not_found');
  value(await bench.signon.trustedBrowsers.end(id, own!.id));
  assert.equal(await isTrusted(cookiesOf(first)), false);
});

it('an account has ten, the oldest gives way, and a browser is there once', async () => {
  const first = await trusting();
  for (let i = 0; i < trustedBrowsersMax; i++) await trusting();
  const person = (await bench.signon.people.byId(id))!;
  assert.equal((await bench.signon.trustedBrowsers.list(person)).length, trustedBrowsersMax);
  assert.equal(await isTrusted(cookiesOf(first)), false);
  const last = await trusting();
  const again = await trusting({ browser: last.browser });
  assert.equal(await isTrusted(cookiesOf(last)), false, 'a cookie of before');
  assert.equal(
    (await bench.store.scan(trustedBrowserPrefix(id), { limit: 100 })).length,
    trustedBrowsersMax,
  );
  void again;
});

it('the security log and a copy of the data say that a browser is trusted', async () => {
  const { trusted } = await trusting();
  const logged = (await bench.signon.securityLog.list(id)).map(({ event }) => event);
  assert.equal(logged.filter((event) => event === 'browser_trusted').length, 1);
  const { trustedBrowsers } = value(await bench.signon.deletion.exportOf(id));
  assert.deepEqual(trustedBrowsers, [
    {
      since: dateTextOrNull(bench.clock.now()),
      endsAt: dateTextOrNull(bench.clock.now() + trustLifeMs),
      agent: 'Firefox, Linux',
      country: 'FR',
    },
  ]);
  assert.equal(JSON.stringify(trustedBrowsers).includes(trusted!.slice(0, 22)), false);
});

it('who becomes an operator in a trusted browser owes the code', async () => {
  const signedIn = await withPassword(cookiesOf(await trusting()));
  assert.ok(signedIn.kind === 'signed_in');
  const due = async () => (await bench.signon.sessions.find(signedIn.token))!.factorDue;
  assert.equal(await due(), undefined);
  assert.ok((await bench.store.commit(roleRow(id, 'operator'))).ok);
  assert.equal(await due(), 'weak');
});

it('a factor that changes once the trust is found makes the sign-in ask for the code', async (t) => {
  const first = await trusting();
  const { store, signon } = bench;
  const prefix = Buffer.from(trustedBrowserPrefix(id));
  const get = store.get.bind(store);
  t.mock.method(store, 'get', async (key: Key) => {
    const row = await get(key);
    if (!Buffer.from(key).subarray(0, prefix.length).equals(prefix)) return row;
    const person = (await signon.people.byId(id))!;
    const { credentials } = person;
    const changed = { ...credentials, factors: credentials.factors + 1 };
    assert.ok((await store.commit({ set: [credentialsRow(person, changed)] })).ok);
    return row;
  });
  assert.equal(await isTrusted(cookiesOf(first)), false);
});

it('operators are always asked, and so is everybody where the setting is off', async () => {
  const before = await trusting();
  const done = await bench.store.commit(roleRow(id, 'operator'));
  assert.ok(done.ok);
  assert.equal(await isTrusted(cookiesOf(before)), false);
  const none = await trusting(cookiesOf(before));
  assert.equal(none.trusted, undefined);
  assert.equal((await trusting({}, bench, false)).trusted, undefined, 'nobody asked for it');
  await withFactor(off);
  assert.equal((await trusting({}, off)).trusted, undefined);
});

it('cookies of another account or of another form are none', async () => {
  const mine = await trusting();
  const { trusted, browser } = mine;
  for (const bad of ['', 'x', `${trusted}x`, `${'A'.repeat(22)}.${'B'.repeat(43)}`]) {
    assert.equal(await isTrusted({ trusted: bad, browser }), false, bad);
  }
  await withFactor(bench);
  assert.equal(await isTrusted({ trusted, browser }), false);
});
