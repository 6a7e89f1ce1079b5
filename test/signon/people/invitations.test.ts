/** Invitations: a link for one address, which asks for a password or a passkey and signs nobody in. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { listInvitations, withdrawInvitation } from '../../../src/signon/people/invitations.ts';
import { linkLifeMs } from '../../../src/signon/people/links.ts';
import { pendingLifeMs } from '../../../src/signon/people/pending.ts';
import { createAuthenticator } from '../../support/browser/authenticator.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

let email = '';
let count = 0;
const elsewhere = { ...visitor, browserId: 'another browser' };
const key = () => createAuthenticator(seededRandom(100 + ++count), 'https://id.example.org');

// Registration is for others alone: invitations go round that.
const bench = openBench('invitations', {}, { registrationDomains: ['example.com'] });
beforeEach(() => {
  email = `guest${++count}@example.org`;
});
after(() => bench.close());

const invite = (side = bench.signon) => side.invitations.invite(email, 'fr');
const withdraw = (address = email) => withdrawInvitation(bench.store, bench.signon.people, address);
const invited = async () => (await listInvitations(bench.store)).map((one) => one.email);

it('an invited address chooses a password by its link in any browser, and signs in with it', async () => {
  const seq = await bench.store.lastSeq();
  const { id, until } = value(await invite());
  assert.equal(until, bench.clock.now() + pendingLifeMs);
  assert.equal(await bench.store.lastSeq(), seq, 'nothing is in the journal yet');
  assert.deepEqual(await invited(), [email]);
  const token = await bench.tokenTo(email);
  const mail = bench.mails.at(-1)!;
  assert.equal(mail.subject, 'Vous êtes invité à créer un compte');
  assert.match(mail.text, /L’opérateur du service id\.example\.org/);
  const { registration, people } = bench.signon;
  assert.equal(await registration.asks(token, elsewhere), 'invited');
  assert.equal(errorOf(await registration.verify(token, elsewhere)), 'invalid_parameter');
  const done = value(await registration.verify(token, elsewhere, { password }));
  assert.deepEqual([done.accountId, done.email, done.token], [id, email, undefined]);
  assert.equal((await people.byId(id))!.account.pendingUntil, 0);
  assert.ok((await bench.signIn(email)).verified);
  assert.equal(errorOf(await registration.verify(token, visitor, { password })), 'invalid_link');
  assert.deepEqual(await invited(), []);
  assert.equal(errorOf(await invite()), 'conflict');
  assert.equal(errorOf(await withdraw()), 'unknown_account');
});

it('or it makes a passkey, for this address alone', async () => {
  value(await invite());
  const { registration, passkeys } = bench.signon;
  const token = await bench.tokenTo(email);
  const foreign = value(await registration.passkeyOptions('other@example.com'));
  const passkey = key().create(foreign);
  assert.equal(errorOf(await registration.verify(token, visitor, { passkey })), 'invalid_passkey');
  for (const bad of [null, {}, 'x', [], 7]) {
    const given = { passkey: bad };
    assert.equal(errorOf(await registration.verify(token, visitor, given)), 'invalid_passkey');
  }
  const own = key();
  const { options, email: shown } = value(await registration.choiceOptions(token));
  assert.equal(shown, email);
  const made = own.create(options);
  value(await registration.verify(token, visitor, { passkey: made }));
  const inside = value(
    await passkeys.signIn(own.get(value(await passkeys.signInOptions())), visitor),
  );
  assert.ok(inside.verified);
  assert.equal(errorOf(await registration.choiceOptions(token)), 'invalid_link');
});

it('the link of a registration that brings its password offers no passkey', async () => {
  email = `person${count}@example.com`;
  value(await bench.signon.registration.register({ email, password, visitor }));
  const token = await bench.tokenTo(email);
  assert.equal(errorOf(await bench.signon.registration.choiceOptions(token)), 'invalid_link');
  assert.deepEqual(await invited(), []);
  assert.equal(errorOf(await withdraw()), 'unknown_account');
});

it('an address that somebody registered before is its reader’s once invited', async () => {
  email = `person${count}@example.com`;
  const strangers = 'chosen-by-stranger-1';
  const { registration, signIn, sessions } = bench.signon;
  value(await registration.register({ email, password: strangers, visitor }));
  const before = value(await signIn.withPassword({ email, password: strangers, visitor }));
  assert.ok(before.kind === 'signed_in' && !before.verified);
  const strangersLink = await bench.tokenTo(email);
  value(await invite());
  value(await registration.verify(await bench.tokenTo(email), elsewhere, { password }));
  assert.equal(await sessions.find(before.token), undefined);
  assert.equal(errorOf(await registration.verify(strangersLink, visitor)), 'invalid_link');
  const again = { email, password: strangers, visitor };
  assert.equal(errorOf(await signIn.withPassword(again)), 'sign_in_refused');
});

it('a withdrawn invitation opens nothing, and one that nobody answers ends in a week', async () => {
  value(await invite());
  const token = await bench.tokenTo(email);
  assert.deepEqual(value(await withdraw(email.toUpperCase())), { email });
  const { registration, people } = bench.signon;
  assert.equal(errorOf(await registration.verify(token, visitor, { password })), 'invalid_link');
  assert.equal(await people.byEmail(email), undefined);
  assert.equal(errorOf(await withdraw()), 'unknown_account');
  value(await invite());
  const newest = await bench.tokenTo(email);
  assert.ok(await registration.isOpen(newest));
  assert.equal(linkLifeMs.invite, pendingLifeMs);
  bench.clock.advance(linkLifeMs.invite);
  assert.equal(errorOf(await registration.verify(newest, visitor, { password })), 'invalid_link');
  assert.deepEqual(await invited(), []);
});

it('the end that is shown is the end of its link, also when the address registers meanwhile', async () => {
  email = `guest${count}@example.com`;
  const { until } = value(await invite());
  bench.clock.advance(60_000);
  value(await bench.signon.registration.register({ email, password, visitor }));
  const [shown] = (await listInvitations(bench.store)).filter((one) => one.email === email);
  assert.equal(shown!.until, until);
  value(await withdraw());
});

it('of many uses at once, and of a use and a withdrawal, one works', async () => {
  value(await invite());
  const token = await bench.tokenTo(email);
  const uses = Array.from({ length: 20 }, (_, i) =>
    (i % 2 === 0 ? bench.signon : bench.other).registration.verify(token, visitor, { password }),
  );
  const results = await Promise.all([...uses, withdraw()]);
  assert.equal(results.filter((one) => one.ok).length, 1);
  const isWithdrawn = results.at(-1)!.ok;
  assert.equal((await bench.signon.people.byEmail(email)) === undefined, isWithdrawn);
});

it('of invitations at once, from two sides, there is one account', async () => {
  const sides = [bench.signon, bench.other, bench.signon];
  const done = await Promise.all(sides.map((side) => invite(side)));
  const ids = new Set(done.map((one) => value(one).id));
  assert.equal(ids.size, 1);
  assert.deepEqual(await invited(), [email]);
});

it('what is no address is refused, and so is one that had its mails of the hour', async () => {
  for (const bad of ['', 'nobody', 'a@b\r\nBcc: c@d', 'a@127.0.0.1', 'x'.repeat(100_000)]) {
    const result = await bench.signon.invitations.invite(bad, 'en');
    assert.equal(errorOf(result), 'invalid_parameter', bad.slice(0, 20));
  }
  for (let sent = 0; sent < 3; sent++) value(await invite());
  assert.equal(errorOf(await invite()), 'client_limit_exceeded');
  bench.clock.advance(2 * 3_600_000);
  value(await invite());
});

it('registration by mail domain takes these domains exactly, whatever accounts exist', async () => {
  const { registration } = bench.signon;
  value(await invite());
  value(await registration.verify(await bench.tokenTo(email), visitor, { password }));
  const asked = async (address: string) =>
    errorOf(await registration.register({ email: address, password, visitor }));
  const closed = [
    email,
    'a@example.org',
    'a@sub.example.com',
    'a@example.com.org',
    'a@xexample.com',
  ];
  for (const address of closed) {
    assert.equal(registration.takesDomain(address), false, address);
    assert.equal(await asked(address), 'registration_closed', address);
    const options = value(await registration.passkeyOptions(address));
    const response = key().create(options);
    const passkey = await registration.registerPasskey({ response, visitor });
    assert.equal(errorOf(passkey), 'registration_closed');
  }
  for (const address of ['Person@EXAMPLE.com', ' b@example.com ']) {
    assert.equal(registration.takesDomain(address), true, address);
    assert.equal(await asked(address), 'none');
  }
});
