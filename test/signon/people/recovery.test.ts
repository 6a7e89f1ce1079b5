/** Recovery: same answer for all, one use, all sessions over. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { linkLifeMs } from '../../../src/signon/people/links.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

let email = '';
let count = 0;

const bench = openBench('recovery');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const ask = (address = email) => bench.signon.recovery.request({ email: address, visitor });
const reset = (token: string, secret = 'another-secret-31', side = bench.signon) =>
  side.recovery.reset({ token, password: secret, visitor });

it('the answer and the writing are the same for a known, an unknown and an unverified address', async () => {
  await bench.person(email);
  value(await bench.signon.registration.register({ email: `new-${email}`, password, visitor }));
  await bench.signon.mailer.idle();
  const mails = bench.mails.length;
  const answers = [await ask(), await ask(`nobody-${email}`), await ask(`new-${email}`)];
  for (const answer of answers) assert.deepEqual(answer, { ok: true, value: undefined });
  await bench.signon.mailer.idle();
  assert.deepEqual(
    bench.mails.slice(mails).map((m) => m.to),
    [email],
  );
  assert.equal(errorOf(await ask('no address')), 'invalid_parameter');
});

it('a reset ends all sessions, and the link comes from the configured address', async () => {
  await bench.person(email);
  const [a, b] = [await bench.signIn(email), await bench.signIn(email)];
  value(await ask());
  const token = await bench.tokenTo(email);
  assert.ok(bench.mails.at(-1)!.link!.startsWith('https://id.example.org/reset?token='));
  value(await reset(token));
  for (const { token: cookie } of [a, b]) {
    assert.equal(await bench.other.sessions.find(cookie), undefined);
  }
  const signIn = (secret: string) =>
    bench.signon.signIn.withPassword({ email, password: secret, visitor });
  assert.equal(errorOf(await signIn(password)), 'sign_in_refused');
  value(await signIn('another-secret-31'));
});

it('of 60 resets at once, from two sides, one works', async () => {
  await bench.person(email);
  value(await ask());
  const token = await bench.tokenTo(email);
  const results = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      reset(token, `another-secret-${i}`, i % 2 === 0 ? bench.signon : bench.other),
    ),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  const others = results.filter((r) => !r.ok).map(errorOf);
  assert.deepEqual(new Set(others), new Set(['invalid_link', 'overloaded']));
});

it('a link ends after an hour, and with the password it was asked for', async () => {
  await bench.person(email);
  value(await ask());
  const [first] = [await bench.tokenTo(email)];
  bench.clock.advance(linkLifeMs.reset);
  assert.equal(errorOf(await reset(first)), 'invalid_link');
  value(await ask());
  const older = await bench.tokenTo(email);
  value(await ask());
  value(await reset(await bench.tokenTo(email)));
  assert.equal(await bench.signon.recovery.isOpen(older), false);
  assert.equal(errorOf(await reset(older)), 'invalid_link');
});

it('a refused password leaves the link good', async () => {
  await bench.person(email);
  value(await ask());
  const token = await bench.tokenTo(email);
  assert.equal(errorOf(await reset(token, 'short')), 'invalid_parameter');
  assert.ok(await bench.signon.recovery.isOpen(token));
  value(await reset(token));
  for (const bad of ['', 'x'.repeat(43), 'x'.repeat(1e6)]) {
    assert.equal(errorOf(await reset(bad)), 'invalid_link');
  }
});

it('where the person was going comes back to the browser that asked, and to no other', async () => {
  await bench.person(email);
  const onward = 'return=%2Faccount%2Fkeys';
  const request = { email, visitor, onward };
  const browsers = [
    [visitor.browserId, onward],
    ['another', ''],
    ['', ''],
  ] as const;
  for (const [browserId, expected] of browsers) {
    bench.clock.advance(2 * linkLifeMs.reset);
    value(await bench.signon.recovery.request(request));
    const token = await bench.tokenTo(email);
    const given = { token, password: 'another-secret-31', visitor: { ...visitor, browserId } };
    assert.equal(value(await bench.signon.recovery.reset(given)).onward, expected);
  }
});

it('a sign-in under way when the password changes opens no session', async () => {
  const id = await bench.person(email);
  const proven = (await bench.signon.people.byId(id))!;
  value(await ask());
  value(await reset(await bench.tokenTo(email)));
  const late = await bench.signon.signIn.proven(proven, 'password', visitor);
  assert.equal(errorOf(late), 'sign_in_refused');
});
