/** Registration with a passkey: bound to its link as a password is, and good for nothing before. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { ceremonyLifeMs } from '../../../src/signon/proofs/passkey-ceremonies.ts';
import { createAuthenticator, type Faults } from '../../support/browser/authenticator.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

const origin = 'https://id.example.org';
const random = seededRandom(23);
const elsewhere = { ...visitor, browserId: 'another browser' };
let email = '';
let count = 0;

const bench = openBench('passkey-registration');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const newKey = () => createAuthenticator(random, origin);
type Key = ReturnType<typeof newKey>;

const optionsFor = async (address = email) =>
  value(await bench.signon.registration.passkeyOptions(address));

async function register(from = visitor, key = newKey()) {
  const response = key.create(await optionsFor());
  value(await bench.signon.registration.registerPasskey({ response, visitor: from }));
  return key;
}

async function enter(key: Key, faults?: Faults) {
  const { passkeys } = bench.signon;
  return passkeys.signIn(key.get(value(await passkeys.signInOptions()), faults), visitor);
}

async function proof(token: string, key: Key, faults?: Faults) {
  return key.get(value(await bench.signon.registration.proofOptions(token)), faults);
}

const enterByPassword = (secret: string) =>
  bench.signon.signIn.withPassword({ email, password: secret, visitor });

it('a passkey opens nothing before its link is used, and then it does; the journal likewise', async () => {
  const { passkeys, people, registration } = bench.signon;
  const seq = await bench.store.lastSeq();
  const key = await register();
  assert.equal(await bench.store.lastSeq(), seq);
  const pending = (await people.byEmail(email))!;
  assert.notEqual(pending.account.pendingUntil, 0);
  assert.equal(errorOf(await enter(key)), 'passkey_refused');
  assert.deepEqual(await passkeys.list(pending.id), []);
  assert.equal(errorOf(await enterByPassword('')), 'sign_in_refused');
  assert.equal(errorOf(await enterByPassword(password)), 'sign_in_refused');

  const { accountId } = value(await registration.verify(await bench.tokenTo(email), visitor));
  assert.equal(accountId, pending.id);
  assert.equal(await bench.store.lastSeq(), seq + 1n);
  const [shown, ...more] = await passkeys.list(accountId);
  assert.deepEqual([shown!.id, shown!.name, more.length], [key.id, 'Firefox, Linux', 0]);
  const { credentials } = (await people.byId(accountId))!;
  assert.deepEqual([credentials.passwordHash, credentials.passwordChangedAt], ['', 0]);
  assert.equal(errorOf(await enterByPassword(password)), 'sign_in_refused');
  const inside = value(await enter(key));
  assert.deepEqual([inside.accountId, inside.verified], [accountId, true]);
});

it('an account with a passkey alone sets a password, and recovers by mail', async () => {
  const { passkeys, recovery, registration, sessions } = bench.signon;
  const key = await register();
  value(await registration.verify(await bench.tokenTo(email), visitor));
  const session = (await sessions.find(value(await enter(key)).token))!;
  value(await recovery.changePassword(session, password, visitor));
  assert.ok((await enterByPassword(password)).ok);
  value(await recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  value(await recovery.reset({ token, password: 'copper-meadow-19', visitor }));
  assert.ok((await enterByPassword('copper-meadow-19')).ok);
  // It stays, and is for the review to judge first.
  assert.equal((await passkeys.list(session.accountId)).length, 1);
  assert.equal(errorOf(await enter(key)), 'review_required');
});

it('the options are alike for every address, and the handle is another each time', async () => {
  await bench.person(email);
  const known = [await optionsFor(), await optionsFor()];
  const unknown = await optionsFor(`nobody-${email}`);
  const shape = ({ user, challenge, ...rest }: (typeof known)[0]) => ({
    ...rest,
    user: { ...user, id: user.id.length, name: '', displayName: '' },
    challenge: challenge.length,
  });
  assert.deepEqual(shape(known[0]!), shape(unknown));
  assert.notEqual(known[0]!.user.id, known[1]!.user.id);
  assert.deepEqual(known[0]!.excludeCredentials, []);
  const { id } = (await bench.signon.people.byEmail(email))!;
  assert.notEqual(Buffer.from(known[0]!.user.id, 'base64url').toString(), id);
  for (const bad of ['', 'nobody', 'a@b\r\nBcc: c@d', 'x'.repeat(1e6)]) {
    const result = await bench.signon.registration.passkeyOptions(bad);
    assert.ok(!result.ok && result.parameter === 'email', bad.slice(0, 20));
  }
});

it('the owner of a registered address gets a mail, the one who asks the same answer', async () => {
  const id = await bench.person(email);
  const before = (await bench.signon.people.byEmail(email))!;
  const key = await register();
  await bench.signon.mailer.idle();
  assert.equal(bench.mails.at(-1)!.subject, 'You already have an account');
  assert.deepEqual(await bench.signon.people.byEmail(email), before);
  assert.deepEqual(await bench.signon.passkeys.list(id), []);
  assert.equal(errorOf(await enter(key)), 'passkey_refused');
});

it('a challenge takes one answer, from one side, within five minutes', async () => {
  const { registration } = bench.signon;
  const response = newKey().create(await optionsFor());
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? bench.signon : bench.other).registration.registerPasskey({ response, visitor }),
    ),
  );
  assert.deepEqual(
    results.map(errorOf).sort(),
    [...Array(39).fill('invalid_passkey'), 'none'].sort(),
  );
  const late = newKey().create(await optionsFor());
  bench.clock.advance(ceremonyLifeMs);
  const refused = await registration.registerPasskey({ response: late, visitor });
  assert.equal(errorOf(refused), 'invalid_passkey');
});

it('another origin, site, ceremony, an unverified user and what is no answer are refused', async () => {
  const { passkeys, people, registration } = bench.signon;
  const tryWith = async (fault: Faults) => {
    const response = newKey().create(await optionsFor(), fault);
    return errorOf(await registration.registerPasskey({ response, visitor }));
  };
  const faults: Faults[] = [
    { origin: 'https://evil.example' },
    { origin: 'http://id.example.org' },
    { origin: 'https://id.example.org:8443' },
    { rpId: 'example.org' },
    { challenge: 'A'.repeat(43) },
    { type: 'webauthn.get' },
    { unverified: true },
  ];
  for (const fault of faults) {
    assert.equal(await tryWith(fault), 'invalid_passkey', JSON.stringify(fault));
  }
  const good = newKey().create(await optionsFor()) as Record<string, object>;
  const answers: unknown[] = [undefined, null, '', [], {}, 7, { ...good, id: 'x'.repeat(1e6) }];
  answers.push({ ...good, response: { ...good.response, attestationObject: 'A' } });
  answers.push({ ...good, type: 'password' });
  for (const [i, response] of answers.entries()) {
    const done = await registration.registerPasskey({ response, visitor });
    assert.equal(errorOf(done), 'invalid_passkey', `answer ${i}`);
  }
  assert.equal(await people.byEmail(email), undefined);

  // A ceremony of an account's own is not one of registration, nor the other way round.
  const key = await register();
  value(await registration.verify(await bench.tokenTo(email), visitor));
  const session = (await bench.signon.sessions.find(value(await enter(key)).token))!;
  const asked = value(await passkeys.registrationOptions(session));
  const own = { response: newKey().create(asked), visitor };
  assert.equal(errorOf(await registration.registerPasskey(own)), 'invalid_passkey');
  const mine = newKey().create(await optionsFor());
  assert.equal(errorOf(await passkeys.register(session, mine, '', visitor)), 'invalid_passkey');
  // Nor is a passkey of one account made another's.
  email = `other-${email}`;
  const copied = { response: key.create(await optionsFor()), visitor };
  assert.equal(errorOf(await registration.registerPasskey(copied)), 'conflict');
});

it('a passkey that became an account’s meanwhile is not moved by a link', async () => {
  const { registration, passkeys } = bench.signon;
  const key = newKey();
  await register(visitor, key);
  const first = await bench.tokenTo(email);
  const firstEmail = email;
  email = `other-${email}`;
  await register(visitor, key);
  const second = await bench.tokenTo(email);
  const { accountId } = value(await registration.verify(second, visitor));
  assert.equal(errorOf(await registration.verify(first, visitor)), 'conflict');
  assert.notEqual((await bench.signon.people.byEmail(firstEmail))!.account.pendingUntil, 0);
  assert.equal((await passkeys.list(accountId)).length, 1);
});

it('in another browser a link asks for the passkey that was made, and takes no other', async () => {
  const { registration, people } = bench.signon;
  const key = await register();
  const token = await bench.tokenTo(email);
  assert.equal(await registration.asks(token, visitor), 'nothing');
  assert.equal(await registration.asks(token, elsewhere), 'passkey');
  assert.equal(await registration.asks(token, { ...visitor, browserId: undefined }), 'passkey');
  assert.equal(errorOf(await registration.proofOptions('A'.repeat(43))), 'invalid_link');
  const use = async (passkey: unknown) =>
    errorOf(await registration.verify(token, elsewhere, { passkey, password }));
  for (const bad of [undefined, null, '', {}, []]) assert.equal(await use(bad), 'sign_in_refused');
  assert.equal(await use(await proof(token, newKey())), 'sign_in_refused');
  const faults: Faults[] = [
    { origin: 'https://evil.example' },
    { rpId: 'example.org' },
    { badSignature: true },
    { unverified: true },
    { userHandle: Buffer.from('somebody else').toString('base64url') },
  ];
  for (const fault of faults) {
    assert.equal(await use(await proof(token, key, fault)), 'sign_in_refused');
  }
  // The challenge of a sign-in, and of another registration's link.
  const signIn = key.get(value(await bench.signon.passkeys.signInOptions()));
  assert.equal(await use(signIn), 'sign_in_refused');
  const mine = email;
  email = `other-${email}`;
  await register();
  const others = await proof(await bench.tokenTo(email), key);
  assert.equal(await use(others), 'sign_in_refused');
  assert.notEqual((await people.byEmail(mine))!.account.pendingUntil, 0);

  const right = await proof(token, key);
  assert.equal(await use(right), 'none');
  assert.equal(await use(right), 'invalid_link', 'once');
  assert.equal((await people.byEmail(mine))!.account.pendingUntil, 0);
});

it('a stranger who registered a passkey first gains nothing when the owner verifies', async () => {
  const { registration, people } = bench.signon;
  const stranger = await register(elsewhere);
  const strangersLink = await bench.tokenTo(email);
  // The owner's careless press on the stranger's link, with whatever the owner has.
  const pressed = await registration.verify(strangersLink, visitor, { password });
  assert.equal(errorOf(pressed), 'sign_in_refused');
  const own = await register();
  const { accountId } = value(await registration.verify(await bench.tokenTo(email), visitor));
  assert.equal(errorOf(await enter(stranger)), 'passkey_refused');
  assert.equal(errorOf(await registration.verify(strangersLink, elsewhere)), 'invalid_link');
  assert.equal(errorOf(await registration.proofOptions(strangersLink)), 'invalid_link');
  assert.equal((await bench.signon.passkeys.list(accountId)).length, 1);
  assert.equal(value(await enter(own)).accountId, accountId);
  assert.ok((await people.byEmail(email))!.credentials.epoch > 0);
});

it('repeated with the other kind, the link that is opened decides', async () => {
  const { registration, passkeys, sessions } = bench.signon;
  // Passkey first, then a password.
  const first = await register();
  value(await registration.register({ email, password, visitor }));
  const { accountId } = value(await registration.verify(await bench.tokenTo(email), visitor));
  assert.ok((await enterByPassword(password)).ok);
  assert.equal(errorOf(await enter(first)), 'passkey_refused');
  assert.deepEqual(await passkeys.list(accountId), []);

  // A stranger's password and session first, then the owner's passkey.
  email = `other-${email}`;
  value(await registration.register({ email, password: 'of-a-stranger-31', visitor: elsewhere }));
  const inside = value(await enterByPassword('of-a-stranger-31'));
  assert.ok(inside.kind === 'signed_in');
  const session = (await sessions.find(inside.token))!;
  const key = await register();
  const token = await bench.tokenTo(email);
  value(await registration.verify(token, visitor, { session }));
  assert.equal(await sessions.find(inside.token), undefined);
  assert.equal(errorOf(await enterByPassword('of-a-stranger-31')), 'sign_in_refused');
  assert.ok((await enter(key)).ok);
});

it('of 40 uses of a link at once, from two sides, one works and there is one passkey', async () => {
  await register();
  const token = await bench.tokenTo(email);
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? bench.signon : bench.other).registration.verify(token, visitor),
    ),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  assert.equal(results.filter((r) => errorOf(r) === 'invalid_link').length, 39);
  const { id } = (await bench.signon.people.byEmail(email))!;
  assert.equal((await bench.signon.passkeys.list(id)).length, 1);
});

it('where somebody was going is kept with a passkey too', async () => {
  const { registration } = bench.signon;
  const onward = `continue=${'B'.repeat(43)}`;
  const response = newKey().create(await optionsFor());
  value(await registration.registerPasskey({ response, visitor, onward }));
  const done = value(await registration.verify(await bench.tokenTo(email), visitor));
  assert.equal(done.onward, onward);
});
