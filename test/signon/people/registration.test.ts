/** Registration and verification: who gets the address, what a link does, and what it never does. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { linkLifeMs } from '../../../src/signon/people/links.ts';
import { pendingLifeMs } from '../../../src/signon/people/pending.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { decodeAccessEvent } from '../../support/reputation/events.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

let email = '';
let count = 0;

const bench = openBench('registration');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const register = (side = bench.signon, secret = password) =>
  side.registration.register({ email, password: secret, visitor });

it('an account is not in the journal before its address is verified, and then it is verified', async () => {
  const seq = await bench.store.lastSeq();
  value(await register());
  assert.equal(await bench.store.lastSeq(), seq);
  const verified = value(
    await bench.signon.registration.verify(await bench.tokenTo(email), visitor),
  );
  assert.equal(verified.email, email);
  const [event] = await bench.store.read(seq, 10);
  assert.deepEqual(decodeAccessEvent('account.created', event!.version, event!.body), {
    kind: 'account.created',
    account: verified.accountId,
    verified: true,
    slot: 'first_key',
  });
});

it('a link is made from the configured address and works once', async () => {
  value(await register());
  const token = await bench.tokenTo(email);
  assert.ok(bench.mails.at(-1)!.link!.startsWith('https://id.example.org/verify?token='));
  value(await bench.signon.registration.verify(token, visitor));
  assert.equal(errorOf(await bench.other.registration.verify(token, visitor)), 'invalid_link');
});

it('of 200 uses of a link at once, from two sides, one works', async () => {
  value(await register());
  const token = await bench.tokenTo(email);
  const seq = await bench.store.lastSeq();
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      (i % 2 === 0 ? bench.signon : bench.other).registration.verify(token, visitor),
    ),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  assert.equal(results.filter((r) => errorOf(r) === 'invalid_link').length, 199);
  assert.equal(await bench.store.lastSeq(), seq + 1n);
});

it('of several who register an address at once, from two sides, there is one account', async () => {
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, i) => register(i % 2 === 0 ? bench.signon : bench.other)),
  );
  assert.deepEqual(results.map(errorOf), Array(6).fill('none'));
  const seq = await bench.store.lastSeq();
  value(await bench.signon.registration.verify(await bench.tokenTo(email), visitor));
  assert.equal(await bench.store.lastSeq(), seq + 1n);
});

it('the owner of a registered address gets a mail, the one who asks the same answer', async () => {
  await bench.person(email);
  const before = (await bench.signon.people.byEmail(email))!;
  bench.clock.advance(1);
  assert.deepEqual(await register(bench.signon, 'another-secret-31'), {
    ok: true,
    value: { worksFrom: 0, byMailOnly: false },
  });
  await bench.signon.mailer.idle();
  assert.equal(bench.mails.at(-1)!.subject, 'You already have an account');
  assert.equal(bench.mails.at(-1)!.link, 'https://id.example.org/recover');
  assert.deepEqual(await bench.signon.people.byEmail(email), before);
  const [newest] = await bench.signon.securityLog.list(before.id);
  assert.equal(newest!.event, 'registration_repeated');
});

it('a stranger who registered first gains nothing when the owner verifies', async () => {
  value(await register(bench.signon, 'chosen-by-stranger-1'));
  const stranger = value(
    await bench.signon.signIn.withPassword({ email, password: 'chosen-by-stranger-1', visitor }),
  );
  assert.ok(stranger.kind === 'signed_in' && !stranger.verified);
  const strangersLink = await bench.tokenTo(email);
  value(await register());
  value(await bench.signon.registration.verify(await bench.tokenTo(email), visitor));
  assert.equal(await bench.signon.sessions.find(stranger.token), undefined);
  const again = { email, password: 'chosen-by-stranger-1', visitor };
  assert.equal(errorOf(await bench.signon.signIn.withPassword(again)), 'sign_in_refused');
  assert.ok((await bench.signIn(email)).verified);
  assert.equal(
    errorOf(await bench.signon.registration.verify(strangersLink, visitor)),
    'invalid_link',
  );
});

it('a link ends after 24 hours, another one can be had, and the address is free after a week', async () => {
  value(await register());
  const token = await bench.tokenTo(email);
  bench.clock.advance(linkLifeMs.verify);
  assert.equal(errorOf(await bench.signon.registration.verify(token, visitor)), 'invalid_link');
  const person = (await bench.signon.people.byEmail(email))!;
  value(await bench.signon.registration.resend(person, visitor));
  assert.notEqual(await bench.tokenTo(email), token);
  bench.clock.advance(pendingLifeMs - linkLifeMs.verify);
  assert.equal(await bench.signon.people.byEmail(email), undefined);
  await bench.person(email);
});

it('a verified account lasts, an operator can do nothing lasting to one that is not', async () => {
  const own = { store: bench.store, clock: bench.clock, random: seededRandom(9) };
  const accounts = createAccounts(own);
  const masterKey = masterKeyFromBytes(new Uint8Array(32));
  const apiKeys = createApiKeys({ ...own, masterKey, accounts });
  value(await register());
  assert.equal(errorOf(await apiKeys.create(email)), 'conflict');
  assert.equal(errorOf(await accounts.setQuotas(email, { readPerMinute: 1 })), 'conflict');
  value(await accounts.setDisabled(email, true));
  const token = await bench.tokenTo(email);
  assert.equal(errorOf(await bench.signon.registration.verify(token, visitor)), 'invalid_link');
  value(await accounts.setDisabled(email, false));
  value(await bench.signon.registration.verify(token, visitor));
  bench.clock.advance(10 * pendingLifeMs);
  assert.ok(await bench.signon.people.byEmail(email));
});

it('hostile input is refused by parameter', async () => {
  const ask = (address: string, secret: string) =>
    bench.signon.registration.register({ email: address, password: secret, visitor });
  for (const bad of ['', 'nobody', 'a@b\r\nBcc: c@d', 'x'.repeat(1e6), '\ud800@b']) {
    const result = await ask(bad, password);
    assert.ok(!result.ok && result.parameter === 'email', bad.slice(0, 20));
  }
  for (const bad of ['', '1234567', 'x'.repeat(257), 'y'.repeat(1e6), 'lone-surrogate-\ud800']) {
    const result = await ask(email, bad);
    assert.ok(!result.ok && result.parameter === 'password', bad.slice(0, 20));
  }
  for (const token of ['', 'x', 'x'.repeat(43), 'é'.repeat(43), 'x'.repeat(1e6), '../../etc']) {
    assert.equal(errorOf(await bench.signon.registration.verify(token, visitor)), 'invalid_link');
  }
  assert.equal(await bench.signon.people.byEmail(email), undefined);
});

it('a reset link does not verify, a verification link does not reset', async () => {
  await bench.person(email);
  value(await bench.signon.recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  assert.equal(errorOf(await bench.signon.registration.verify(token, visitor)), 'invalid_link');
  assert.ok(await bench.signon.recovery.isOpen(token));
});

const elsewhere = { ...visitor, browserId: 'another browser' };

it('in another browser a link asks for the password that was chosen, five times', async () => {
  const { registration, people } = bench.signon;
  value(await register());
  const token = await bench.tokenTo(email);
  assert.equal(await registration.asks(token, visitor), 'nothing');
  assert.equal(await registration.asks(token, elsewhere), 'password');
  assert.equal(await registration.asks(token, { ...visitor, browserId: undefined }), 'password');
  for (const wrong of [undefined, '', 'not-the-password-1', 'x'.repeat(1e6)]) {
    const done = await registration.verify(token, elsewhere, { password: wrong });
    assert.equal(errorOf(done), 'sign_in_refused');
  }
  assert.notEqual((await people.byEmail(email))!.account.pendingUntil, 0);
  value(await registration.verify(token, elsewhere, { password }));
  assert.equal((await people.byEmail(email))!.account.pendingUntil, 0);
});

it('guesses of the password are five for a link, at once and from two sides', async () => {
  value(await register());
  const token = await bench.tokenTo(email);
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) => {
      const from = { ...elsewhere, client: `guess ${i}` };
      const side = i % 2 ? bench.signon : bench.other;
      return side.registration.verify(token, from, { password: `wrong-guess-${i}` });
    }),
  );
  assert.ok(results.filter((r) => errorOf(r) === 'sign_in_refused').length <= 5);
  const late = { ...elsewhere, client: 'late' };
  const done = await bench.other.registration.verify(token, late, { password });
  assert.equal(errorOf(done), 'invalid_link');
});

it('verification ends every session but the one in which it is done', async () => {
  const { registration, sessions, signIn } = bench.signon;
  value(await register());
  const open = async () => {
    const done = value(await signIn.withPassword({ email, password, visitor }));
    return done.kind === 'signed_in' ? done.token : '';
  };
  const [own, other] = [await open(), await open()];
  const session = await sessions.find(own);
  const done = value(await registration.verify(await bench.tokenTo(email), visitor, { session }));
  assert.equal(await sessions.find(own), undefined, 'what was known before it may more has ended');
  const now = (await sessions.find(done.token!))!;
  assert.equal(now.verified, true);
  assert.equal(now.id, session!.id);
  assert.equal(now.authenticatedAt, session!.authenticatedAt, 'no proof of identity was given');
  assert.equal(await sessions.find(other), undefined);
});

it('where somebody was going is told to the browser that registered, and to no other', async () => {
  const { registration } = bench.signon;
  const onward = `continue=${'A'.repeat(43)}&return=%2Faccount%2Fkeys`;
  value(await registration.register({ email, password, visitor, onward }));
  assert.ok(!bench.mails.at(-1)!.link!.includes('continue'));
  const own = await registration.verify(await bench.tokenTo(email), visitor);
  assert.equal(value(own).onward, onward);
  email = `other-${email}`;
  value(await registration.register({ email, password, visitor, onward }));
  const token = await bench.tokenTo(email);
  await registration.verify(token, elsewhere, { password: 'a wrong one' });
  const proven = await registration.verify(token, elsewhere, { password });
  assert.equal(value(proven).onward, '');
  email = `third-${email}`;
  value(await registration.register({ email, password, visitor }));
  const person = (await bench.signon.people.byEmail(email))!;
  value(await registration.resend(person, visitor, onward));
  assert.equal(
    value(await registration.verify(await bench.tokenTo(email), visitor)).onward,
    onward,
  );
  const spaced = { email: `x${email}`, password, visitor, onward: 'a b' };
  await assert.rejects(registration.register(spaced), TypeError);
});

it('the browser that registered is known: its first sign-in is no news, that of another is', async () => {
  const { registration, signIn, mailer } = bench.signon;
  const news = () =>
    bench.mails.filter((m) => m.to === email && m.subject.startsWith('New sign-in')).length;
  value(await register());
  const { browser } = value(await registration.verify(await bench.tokenTo(email), visitor));
  assert.ok(browser);
  value(await signIn.withPassword({ email, password, visitor: { ...visitor, browser } }));
  await mailer.idle();
  assert.equal(news(), 0);
  value(await signIn.withPassword({ email, password, visitor }));
  await mailer.idle();
  assert.equal(news(), 1);
});

it('a link that is opened in another browser makes none known', async () => {
  value(await register());
  const elsewhere = { ...visitor, browserId: 'another browser' };
  const token = await bench.tokenTo(email);
  const done = value(await bench.signon.registration.verify(token, elsewhere, { password }));
  assert.equal(done.browser, undefined);
});

it('what was chosen at registration proves who opens its link there, for ten minutes', async () => {
  const own = { ...visitor, browserId: 'the browser that registers' };
  const { registration, signIn, sessions, changes } = bench.signon;
  const openAfter = async (waitMs: number, resends = false) => {
    email = `proven${++count}@example.org`;
    value(await registration.register({ email, password, visitor: own }));
    bench.clock.advance(waitMs);
    if (resends) value(await registration.resend((await bench.signon.people.byEmail(email))!, own));
    const done = value(await registration.verify(await bench.tokenTo(email), own));
    const { token } = (await signIn.afterVerification(done.accountId, own, done.proof))!;
    return async () => (await sessions.find(token))!;
  };
  const soon = await openAfter(4 * 60_000);
  assert.equal((await soon()).proof, 'password');
  assert.ok(await changes.allows(await soon()));
  bench.clock.advance(6 * 60_000);
  assert.equal((await soon()).fresh, false, 'ten minutes from the choice, not from the link');
  for (const late of [await openAfter(11 * 60_000), await openAfter(60_000, true)]) {
    assert.equal((await late()).method, 'link');
    assert.equal(await changes.allows(await late()), false);
  }
});
