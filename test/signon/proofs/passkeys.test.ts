/** Passkeys with a software authenticator and the real library: nothing is mocked. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { ceremonyLifeMs } from '../../../src/signon/proofs/passkey-ceremonies.ts';
import { passkeysMax } from '../../../src/signon/proofs/passkeys.ts';
import {
  type Authenticator,
  createAuthenticator,
  type Faults,
} from '../../support/browser/authenticator.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openBench, visitor } from '../account-fixture.ts';

const origin = 'https://id.example.org';
const random = seededRandom(11);
let email = '';
let count = 0;

const bench = openBench('passkeys');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const session = () => bench.sessionOf(email);

async function sessionBy(key: Authenticator) {
  const { token } = value(await signIn(key));
  return (await bench.signon.sessions.find(token))!;
}

async function enrolled(): Promise<{ id: string; key: Authenticator }> {
  const id = await bench.person(email);
  const key = createAuthenticator(random, origin);
  const own = await session();
  const asked = value(await bench.signon.passkeys.registrationOptions(own));
  value(await bench.other.passkeys.register(own, key.create(asked), ' my\u0000 phone ', visitor));
  return { id, key };
}

const yearMs = 365 * 86_400_000;

const signIn = async (key: Authenticator, faults?: Faults) =>
  bench.signon.passkeys.signIn(
    key.get(value(await bench.signon.passkeys.signInOptions()), faults),
    visitor,
  );

it('a passkey without a name has that of what made it, where it tells one', async () => {
  const first = email;
  const windowsHello = '08987058cadc4b81b6e130de50dcbe96';
  for (const [aaguid, name, expected] of [
    [windowsHello, '', 'Windows Hello'],
    [windowsHello, ' \u0000 ', 'Windows Hello'],
    [windowsHello, 'my laptop', 'my laptop'],
    ['0'.repeat(32), '', ''],
    ['f'.repeat(32), '', ''],
  ] as const) {
    email = `${aaguid}-${name.trim().length}-${first}`;
    const id = await bench.person(email);
    const own = await session();
    const key = createAuthenticator(random, origin, aaguid);
    const asked = value(await bench.signon.passkeys.registrationOptions(own));
    value(await bench.signon.passkeys.register(own, key.create(asked), name, visitor));
    const shown = (await bench.signon.passkeys.list(id)).find((one) => one.id === key.id);
    assert.equal(shown!.name, expected, `${aaguid} ${name}`);
  }
});

it('a passkey is registered, shown, and signs its owner in without a name', async () => {
  const { id, key } = await enrolled();
  const [shown] = await bench.signon.passkeys.list(id);
  assert.equal(shown!.name, 'my phone');
  assert.equal(shown!.id, key.id);
  const signedIn = value(await signIn(key));
  const opened = (await bench.signon.sessions.find(signedIn.token))!;
  assert.equal(opened.accountId, id);
  assert.equal(opened.method, 'passkey');
});

it('an answer counts once, within five minutes, for the ceremony it was asked in', async () => {
  const { key } = await enrolled();
  const { passkeys } = bench.signon;
  const answer = key.get(value(await passkeys.signInOptions()));
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? bench.signon : bench.other).passkeys.signIn(answer, visitor),
    ),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  const late = key.get(value(await passkeys.signInOptions()));
  bench.clock.advance(ceremonyLifeMs);
  assert.equal(errorOf(await passkeys.signIn(late, visitor)), 'passkey_refused');
  const own = await session();
  const other = key.get(value(await passkeys.reauthenticationOptions(own)));
  assert.equal(errorOf(await passkeys.signIn(other, visitor)), 'passkey_refused');
  bench.clock.advance(yearMs);
  const future = key.get(value(await passkeys.signInOptions()));
  bench.clock.advance(-yearMs);
  assert.equal(errorOf(await passkeys.signIn(future, visitor)), 'passkey_refused');
});

it('an answer to the challenge of another browser signs nobody in', async () => {
  const { key } = await enrolled();
  const { passkeys } = bench.signon;
  const answer = async () => key.get(value(await passkeys.signInOptions('one')));
  const by = (browserId?: string) => ({ ...visitor, browserId });
  for (const other of [by('two'), by('')]) {
    assert.equal(errorOf(await passkeys.signIn(await answer(), other)), 'passkey_refused');
  }
  value(await passkeys.signIn(await answer(), by('one')));
});

it('a wrong origin, site, challenge, type, signature, owner or an unverified user is refused', async () => {
  const { key } = await enrolled();
  const faults: Faults[] = [
    { origin: 'https://evil.example' },
    { origin: 'http://id.example.org' },
    { origin: 'https://id.example.org:8443' },
    { rpId: 'example.org' },
    { challenge: 'A'.repeat(43) },
    { type: 'webauthn.create' },
    { unverified: true },
    { badSignature: true },
    { userHandle: Buffer.from('somebody else').toString('base64url') },
  ];
  for (const fault of faults) {
    assert.equal(errorOf(await signIn(key, fault)), 'passkey_refused', JSON.stringify(fault));
  }
  assert.equal(errorOf(await signIn(createAuthenticator(random, origin))), 'passkey_refused');
  value(await signIn(key));
});

it('a copy whose counter is behind is refused', async () => {
  const { key } = await enrolled();
  value(await signIn(key));
  value(await signIn(key));
  key.counter = 0;
  assert.equal(errorOf(await signIn(key)), 'passkey_refused');
});

it('a session is fresh again after its own passkey, and not after another person’s', async () => {
  const { key } = await enrolled();
  const own = await session();
  const { passkeys, sessions } = bench.signon;
  const renewed = value(
    await passkeys.reauthenticate(
      own,
      key.get(value(await passkeys.reauthenticationOptions(own))),
      visitor,
    ),
  );
  assert.ok((await sessions.find(renewed.token))!.fresh);
  email = `other-${email}`;
  await enrolled();
  const others = await session();
  const answer = key.get(value(await passkeys.reauthenticationOptions(others)));
  const refused = await passkeys.reauthenticate(others, answer, visitor);
  assert.equal(errorOf(refused), 'passkey_refused');
});

it('a registration needs a fresh session of the one who asked, and a new key', async () => {
  const { id, key } = await enrolled();
  const byPassword = await bench.signon.passkeys.registrationOptions(await session());
  assert.equal(errorOf(byPassword), 'reauthentication_required', 'there is a passkey');
  const own = await sessionBy(key);
  const { passkeys } = bench.signon;
  const stale = await passkeys.registrationOptions({ ...own, fresh: false });
  assert.equal(errorOf(stale), 'reauthentication_required');
  const again = value(await passkeys.registrationOptions(own));
  assert.deepEqual(
    again.excludeCredentials!.map((c) => c.id),
    [key.id],
  );
  assert.equal(errorOf(await passkeys.register(own, key.create(again), '', visitor)), 'conflict');
  const wrong = async (fault: Faults) => {
    const asked = value(await passkeys.registrationOptions(own));
    const answer = createAuthenticator(random, origin).create(asked, fault);
    return errorOf(await passkeys.register(own, answer, '', visitor));
  };
  assert.equal(await wrong({ origin: 'https://evil.example' }), 'invalid_passkey');
  assert.equal(await wrong({ unverified: true }), 'invalid_passkey');
  assert.equal(await wrong({ rpId: 'evil.example' }), 'invalid_passkey');
  const asked = value(await passkeys.registrationOptions(own));
  const stranger = { ...own, accountId: 'somebody else' };
  const answer = createAuthenticator(random, origin).create(asked);
  assert.equal(errorOf(await passkeys.register(stranger, answer, '', visitor)), 'invalid_passkey');
  assert.equal((await passkeys.list(id)).length, 1);
});

it('hostile answers are refused whatever they are', async () => {
  const { key } = await enrolled();
  const own = await session();
  const good = key.get(value(await bench.signon.passkeys.signInOptions())) as Record<
    string,
    object
  >;
  const data = (json: string) => Buffer.from(json).toString('base64url');
  const answers: unknown[] = [
    undefined,
    null,
    '',
    [],
    {},
    7,
    { ...good, id: 'x'.repeat(1e6) },
    { ...good, id: 5 },
    { ...good, type: 'password' },
    { ...good, response: null },
    { ...good, response: { ...good.response, signature: [] } },
    { ...good, response: { ...good.response, authenticatorData: 'A' } },
    { ...good, response: { ...good.response, clientDataJSON: data('null') } },
    { ...good, response: { ...good.response, clientDataJSON: data('{"challenge":{}}') } },
    { ...good, response: { ...good.response, clientDataJSON: data('[') } },
  ];
  for (const [i, answer] of answers.entries()) {
    const { passkeys } = bench.signon;
    assert.equal(errorOf(await passkeys.signIn(answer, visitor)), 'passkey_refused', `answer ${i}`);
    assert.equal(errorOf(await passkeys.register(own, answer, '', visitor)), 'invalid_passkey');
  }
});

it('a removed passkey opens nothing; there is a most; a disabled account stays out', async () => {
  const { id, key } = await enrolled();
  let own = await sessionBy(key);
  const { passkeys, sessions } = bench.signon;
  for (let i = 1; i < passkeysMax; i++) {
    const asked = value(await passkeys.registrationOptions(own));
    const answer = createAuthenticator(random, origin).create(asked);
    const { token } = value(await passkeys.register(own, answer, `key ${i}`, visitor));
    own = (await sessions.find(token))!;
  }
  assert.equal(errorOf(await passkeys.registrationOptions(own)), 'conflict');
  const stale = await passkeys.remove({ ...own, fresh: false }, key.id, visitor);
  assert.equal(errorOf(stale), 'reauthentication_required');
  const foreign = await passkeys.remove({ ...own, accountId: 'somebody else' }, key.id, visitor);
  assert.equal(errorOf(foreign), 'forbidden');
  value(await signIn(key));
  for (const text of ['', 'not there', 'x'.repeat(1e6)])
    assert.equal(errorOf(await passkeys.remove(own, text, visitor)), 'unknown_key');
  value(await passkeys.remove(own, key.id, visitor));
  assert.equal(errorOf(await signIn(key)), 'passkey_refused');
  assert.equal((await passkeys.list(id)).length, passkeysMax - 1);
});

it('the last places go to as many passkeys as there are, from however many sessions at once', async () => {
  const { id, key } = await enrolled();
  let own = await sessionBy(key);
  const { passkeys, sessions } = bench.signon;
  const free = 2;
  const made = async () => createAuthenticator(random, origin);
  for (let i = 1; i < passkeysMax - free; i++) {
    const answer = (await made()).create(value(await passkeys.registrationOptions(own)));
    const { token } = value(await passkeys.register(own, answer, `key ${i}`, visitor));
    own = (await sessions.find(token))!;
  }
  const asked = [];
  for (let i = 0; i < 6; i++) {
    const one = await sessionBy(key);
    const answer = (await made()).create(value(await passkeys.registrationOptions(one)));
    asked.push({ one, answer, by: i % 2 === 0 ? passkeys : bench.other.passkeys });
  }
  const done = await Promise.all(
    asked.map(({ one, answer, by }) => by.register(one, answer, 'raced', visitor)),
  );
  assert.deepEqual(done.map(errorOf).sort(), [
    ...Array<string>(4).fill('conflict'),
    ...['none', 'none'],
  ]);
  assert.equal((await passkeys.list(id)).length, passkeysMax);
});
