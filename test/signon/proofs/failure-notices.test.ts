/** The mail that tells an owner of many failed sign-ins: once a day, and nothing of it in the answers. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { failuresNotified } from '../../../src/signon/sessions/sign-in.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

const subject = 'Many failed sign-ins to your account';
const dayMs = 24 * 3_600_000;
let email = '';
let count = 0;

const bench = openBench('failure-notices');
beforeEach(() => {
  email = `owner${++count}@mail.example`;
  bench.clock.advance(dayMs);
});
after(() => bench.close());

/** Each try from a network of its own, with all the time that it wants. */
async function fail(times: number, to = email, secret = 'wrong-harbour-13'): Promise<void> {
  for (let i = 0; i < times; i++) {
    bench.clock.advance(200_000);
    const from = { ...visitor, client: `net ${count} ${i} ${Math.random()}`, browserId: `b${i}` };
    const done = await bench.signon.signIn.withPassword({
      email: to,
      password: secret,
      visitor: from,
      challenged: true,
    });
    assert.equal(errorOf(done), 'sign_in_refused');
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  await bench.signon.mailer.idle();
}
const told = (to = email) =>
  bench.mails.filter((mail) => mail.to === to && mail.subject === subject).length;

it('the tenth wrong password of a day is told once, however many follow, and the next day again', async () => {
  await bench.person(email);
  await fail(failuresNotified - 1);
  assert.equal(told(), 0);
  await fail(1);
  assert.equal(told(), 1);
  const mail = bench.mails.findLast(({ to }) => to === email)!;
  assert.match(mail.text, /Browser: Firefox, Linux/);
  assert.match(mail.text, /https:\/\/id\.example\.org\/account\/security/);
  assert.ok(!mail.text.includes('wrong-harbour-13'));
  await fail(40);
  assert.equal(told(), 1);
  bench.clock.advance(2 * dayMs);
  await fail(failuresNotified);
  assert.equal(told(), 2);
});

it('nobody is told of an address without an account, a waiting or a disabled one; the answer is one', async () => {
  await fail(failuresNotified + 5, 'nobody@mail.example');
  assert.equal(told('nobody@mail.example'), 0);
  value(await bench.signon.registration.register({ email, password, visitor }));
  await fail(failuresNotified + 5);
  assert.equal(told(), 0, 'nobody confirmed that it is theirs');
});

it('right passwords in between change nothing, and are no failures', async () => {
  await bench.person(email);
  for (let i = 0; i < failuresNotified + 5; i++) await bench.signIn(email);
  await bench.signon.mailer.idle();
  assert.equal(told(), 0);
});

it('one who owns the password and guesses at the code is told of, too', async () => {
  const { Secret, TOTP } = await import('otpauth');
  await bench.person(email);
  const { token } = await bench.signIn(email);
  const session = (await bench.signon.sessions.find(token))!;
  const { secret } = value(await bench.signon.secondFactors.begin(session));
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = totp.generate({ timestamp: bench.clock.now() });
  value(await bench.signon.secondFactors.enable(session, code, visitor));
  for (let i = 0; i < failuresNotified; i++) {
    bench.clock.advance(900_000);
    const asked = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
    assert.ok(asked.kind === 'second_factor');
    const given = { ticket: asked.ticket, code: '000000', visitor };
    assert.equal(errorOf(await bench.signon.signIn.withSecondFactor(given)), 'invalid_code');
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  await bench.signon.mailer.idle();
  assert.equal(told(), 1);
});
