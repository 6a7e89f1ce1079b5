/** Two instances of sign-on over one store: an address and a link belong to one of them. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Signon } from '../../src/signon/open-signon.ts';
import { createAuthenticator } from '../support/browser/authenticator.ts';
import { value } from '../support/house/result.ts';
import { seededRandom } from '../support/seeded.ts';
import { openBench, password, visitor } from './account-fixture.ts';

const emails = Array.from({ length: 40 }, (_, i) => `person${i}@example.org`);

/** @returns the tokens of those links that verified an address */
async function verifyAll(signon: Signon, tokens: readonly string[]): Promise<string[]> {
  const verified = tokens.map(async (token) =>
    (await signon.registration.verify(token, visitor)).ok ? [token] : [],
  );
  return (await Promise.all(verified)).flat();
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await nextTurn();
}

it('an address registered with two instances at once is one account, a link verifies once', async () => {
  const bench = openBench('signon-instances');
  const { signon, other, store } = bench;
  const registered = await Promise.all(
    [signon, other].flatMap(({ registration }) =>
      emails.map((email) =>
        // Each from a network of its own: one may have few hashes wait.
        registration.register({ email, password, visitor: { ...visitor, client: email } }),
      ),
    ),
  );
  assert.deepEqual(
    registered.filter(({ ok }) => !ok),
    [],
  );
  await Promise.all([signon.mailer.idle(), other.mailer.idle()]);
  const tokens = bench.mails.flatMap(({ link }) => {
    const token = link && new URL(link).searchParams.get('token');
    return token ? [token] : [];
  });
  assert.equal(tokens.length, 2 * emails.length, 'each had its own link');
  const verified = await Promise.all([
    verifyAll(signon, tokens),
    verifyAll(other, tokens.toReversed()),
  ]);
  assert.equal(new Set(verified.flat()).size, verified.flat().length, 'no link twice');
  assert.equal(verified.flat().length, emails.length, 'each address once');
  for (const email of emails) {
    assert.equal((await signon.people.byEmail(email))!.account.pendingUntil, 0);
  }
  assert.equal(await store.lastSeq(), BigInt(emails.length));
  await bench.close();
});

it('a verification with one instance and a change to its address with another: one of them wins', async () => {
  const bench = openBench('signon-change-race');
  const { signon, other } = bench;
  const winners = new Set<boolean>();
  for (const [i, email] of emails.entries()) {
    const wanted = `wanted${i}@example.org`;
    await bench.person(email);
    const { token: cookie } = await bench.signIn(email);
    const session = (await signon.sessions.find(cookie))!;
    value(await signon.emailChange.request(session, wanted, visitor));
    const change = await bench.tokenTo(wanted);
    value(await signon.registration.register({ email: wanted, password, visitor }));
    const verify = await bench.tokenTo(wanted);
    const results = await Promise.all([
      signon.emailChange.confirm(session, change, visitor),
      // Later each time, so that each wins some.
      turns(i).then(() => other.registration.verify(verify, visitor)),
    ]);
    assert.equal(results.filter(({ ok }) => ok).length, 1, wanted);
    const owner = (await signon.people.byEmail(wanted))!;
    assert.equal(owner.account.pendingUntil, 0);
    // The change gave the session another cookie.
    const changed = (await signon.sessions.find(cookie)) === undefined;
    assert.equal(changed, results[0].ok, wanted);
    winners.add(changed);
  }
  assert.deepEqual([...winners].sort(), [false, true], 'each wins some');
  await bench.close();
});

it('a link with a passkey, used with two instances at once, makes one account with one passkey', async () => {
  const bench = openBench('signon-passkey-race');
  const random = seededRandom(31);
  const { registration, people, passkeys } = bench.signon;
  const tokens: string[] = [];
  for (const email of emails) {
    const key = createAuthenticator(random, 'https://id.example.org');
    const response = key.create(value(await registration.passkeyOptions(email)));
    value(await registration.registerPasskey({ response, visitor }));
    tokens.push(await bench.tokenTo(email));
  }
  const won = await Promise.all([
    verifyAll(bench.signon, tokens),
    verifyAll(bench.other, tokens.toReversed()),
  ]);
  assert.deepEqual(won.flat().sort(), tokens.toSorted());
  assert.equal(await bench.store.lastSeq(), BigInt(emails.length));
  for (const email of emails) {
    const { id } = (await people.byEmail(email))!;
    assert.equal((await passkeys.list(id)).length, 1);
  }
  await bench.close();
});
