/** The proof of identity inside a session: the second factor counts here too. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { sessionLife } from '../../../src/signon/sessions/sessions.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { within } from '../../support/server/server.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

const stepMs = 30_000;
let email = '';
let count = 0;

const bench = openBench('reauthentication');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

/** A session too old for changes, of an account with a second factor. */
async function staleWithFactor() {
  const { signon, clock } = bench;
  const id = await bench.person(email);
  const { token } = await bench.signIn(email);
  const own = (await signon.sessions.find(token))!;
  const { secret } = value(await signon.secondFactors.begin(own));
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const codeNow = () => totp.generate({ timestamp: clock.now() });
  const on = value(await signon.secondFactors.enable(own, codeNow(), visitor));
  clock.advance(sessionLife.freshMs);
  const session = (await signon.sessions.find(on.token))!;
  return { id, token: on.token, session, codeNow, backup: on.codes };
}

const confirm = (session: Awaited<ReturnType<typeof staleWithFactor>>['session']) => {
  const { signIn } = bench.signon;
  return (code: string, typed = password, from = visitor) =>
    signIn.reauthenticate(session, { password: typed, code }, from);
};

/** Written after the answer: waits until there are as many as wanted. */
async function newEvents(id: string, seen: number, wanted: number): Promise<string[]> {
  let log: Awaited<ReturnType<typeof bench.signon.securityLog.list>> = [];
  async function areThere(): Promise<boolean> {
    log = await bench.signon.securityLog.list(id);
    return log.length >= seen + wanted;
  }
  await within(areThere, `${wanted} events`);
  return log.slice(0, log.length - seen).map(({ event }) => event);
}

it('password and code together make the session fresh, and the code is used up', async () => {
  const { id, token, session, codeNow } = await staleWithFactor();
  const seen = (await bench.signon.securityLog.list(id)).length;
  const code = codeNow();
  const renewed = value(await confirm(session)(code));
  assert.equal(await bench.signon.sessions.find(token), undefined);
  const fresh = (await bench.signon.sessions.find(renewed.token))!;
  assert.ok(fresh.fresh);
  assert.deepEqual(await newEvents(id, seen, 1), ['reauthenticated']);
  assert.equal(errorOf(await confirm(fresh)(code)), 'sign_in_refused', 'twice in its step');
  assert.equal(errorOf(await bench.other.secondFactors.use(id, code)), 'invalid_code');
  bench.clock.advance(stepMs);
  value(await confirm(fresh)(codeNow()));
});

it('a wrong password, a wrong code, both and no code are refused and logged alike', async () => {
  const { id, session, codeNow } = await staleWithFactor();
  const seen = (await bench.signon.securityLog.list(id)).length;
  const code = codeNow();
  const refused = [
    await confirm(session)(code, 'wrong-password'),
    await confirm(session)('000000'),
    await confirm(session)(''),
    await confirm(session)('7'.repeat(10_000), 'wrong-password'),
  ];
  for (const answer of refused) assert.deepEqual(answer, { ok: false, error: 'sign_in_refused' });
  assert.deepEqual(
    await newEvents(id, seen, refused.length),
    refused.map(() => 'reauthentication_failed'),
  );
  value(await confirm(session)(code));
});

it('a wrong password leaves the code unused', async () => {
  const { id, session, codeNow, backup } = await staleWithFactor();
  for (const code of [codeNow(), backup[0]!]) {
    assert.equal(errorOf(await confirm(session)(code, 'wrong-password')), 'sign_in_refused');
    assert.equal(await bench.signon.secondFactors.matches(id, code), true);
  }
  assert.equal((await bench.signon.secondFactors.state(id)).backupCodesLeft, 10);
});

it('a backup code does, once', async () => {
  const { id, session, backup } = await staleWithFactor();
  const seen = (await bench.signon.securityLog.list(id)).length;
  const { token } = value(await confirm(session)(backup[4]!));
  assert.deepEqual((await newEvents(id, seen, 2)).sort(), ['backup_code_used', 'reauthenticated']);
  const fresh = (await bench.signon.sessions.find(token))!;
  assert.equal(errorOf(await confirm(fresh)(backup[4]!)), 'sign_in_refused');
});

it('of many who present one code at once, one is let through', async () => {
  const { session, codeNow, id } = await staleWithFactor();
  const { browser } = await signInWithCode(codeNow);
  bench.clock.advance(stepMs);
  // Each a network of its own; the account's bound for the second factor lets five be judged.
  const answers = await Promise.all(
    Array.from({ length: 5 }, (_, i) =>
      confirm(session)(codeNow(), password, { ...visitor, client: `many ${i}` }),
    ),
  );
  assert.equal(answers.filter((answer) => answer.ok).length, 1, `${id} ${browser}`);
});

async function signInWithCode(codeNow: () => string) {
  const first = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
  assert.equal(first.kind, 'second_factor');
  const ticket = first.kind === 'second_factor' ? first.ticket : '';
  return value(await bench.signon.signIn.withSecondFactor({ ticket, code: codeNow(), visitor }));
}

it('it shares its lock-out with the sign-in, whichever of the two was wrong', async () => {
  for (const wrong of [
    (session: Awaited<ReturnType<typeof staleWithFactor>>) =>
      confirm(session.session)(session.codeNow(), 'wrong-password'),
    (session: Awaited<ReturnType<typeof staleWithFactor>>) => confirm(session.session)('000000'),
  ]) {
    email = `person${++count}@example.org`;
    const own = await staleWithFactor();
    const signedIn = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
    for (let i = 0; i < 5; i++) assert.equal(errorOf(await wrong(own)), 'sign_in_refused');
    const late = await confirm(own.session)(own.codeNow());
    assert.equal(errorOf(late), 'too_many_attempts');
    assert.equal((late as { retryAfterSeconds?: number }).retryAfterSeconds, 1);
    // Password and second factor at the sign-in wait as well.
    const again = await bench.signon.signIn.withPassword({ email, password, visitor });
    assert.equal(errorOf(again), 'too_many_attempts');
    const ticket = signedIn.kind === 'second_factor' ? signedIn.ticket : '';
    const code = own.codeNow();
    const second = await bench.signon.signIn.withSecondFactor({ ticket, code, visitor });
    assert.equal(errorOf(second), 'too_many_attempts');
    bench.clock.advance(1_000);
    value(await confirm(own.session)(code));
    // The success took all of them back.
    for (let i = 0; i < 4; i++) assert.equal(errorOf(await wrong(own)), 'sign_in_refused');
  }
});

it('without a second factor the password does, and a code is not looked at', async () => {
  await bench.person(email);
  const { token } = await bench.signIn(email);
  const session = (await bench.signon.sessions.find(token))!;
  value(await confirm(session)('whatever'));
});
