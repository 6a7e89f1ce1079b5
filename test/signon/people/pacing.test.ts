/** What registration asks of a network that registers much: a later link, then the link alone. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import {
  chosenInFormPerDay,
  createPacing,
  delayMinutes,
  promptPerDay,
} from '../../../src/signon/people/pacing.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { manualClock } from '../../support/seeded.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;
const crowd: Visitor = { ...visitor, neighbourhood: '198.51.100/24' };
const elsewhere: Visitor = { ...visitor, neighbourhood: '203.0.113/24' };

/** Each from an address of its own in one network, and in a browser of its own. */
function member(i: number): Visitor {
  return { ...crowd, client: `a${i}`, browserId: `browser ${i}` };
}

async function registerMany(bench: Bench, count: number, from = 0): Promise<void> {
  for (let i = from; i < from + count; i++) {
    const request = { email: `many${i}@example.org`, password, visitor: member(i) };
    value(await bench.signon.registration.register(request));
  }
}

function paced(name: string, t: { after(end: () => Promise<void>): void }): Bench {
  const bench = openBench(name, {}, { clientLimits: true });
  t.after(() => bench.close());
  return bench;
}

it('delays double from a minute to an hour', () => {
  const delays = Array.from({ length: 9 }, (_, i) => delayMinutes(promptPerDay + i));
  assert.deepEqual(delays, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
  assert.equal(delayMinutes(1_000_000), 60);
});

it('counts a network over any 24 hours, others apart, and forgets the quietest at the bound', () => {
  const clock = manualClock(0);
  const pacing = createPacing(clock, 2);
  for (let i = 0; i < chosenInFormPerDay; i++) {
    assert.equal(pacing.take(member(i)).byMailOnly, false);
    clock.advance(minuteMs);
  }
  assert.ok(pacing.isByMailOnly(crowd));
  assert.equal(pacing.isByMailOnly(elsewhere), false);
  assert.deepEqual(pacing.take(elsewhere), { worksFrom: 0, byMailOnly: false });
  assert.ok(pacing.take(crowd).byMailOnly);
  clock.advance(dayMs - chosenInFormPerDay * minuteMs + 2 * minuteMs);
  assert.equal(pacing.isByMailOnly(crowd), false, 'two of them are a day old');
  clock.advance(dayMs);
  assert.deepEqual(pacing.take(crowd), { worksFrom: 0, byMailOnly: false });
  for (let i = 0; i < 9; i++) pacing.take({ ...visitor, client: `other${i}` });
  assert.equal(pacing.stats().networks, 2);
});

it('the link of the 21st works only from the time that its mail and the answer name', async (t) => {
  const bench = paced('pacing-delay', t);
  await registerMany(bench, promptPerDay + 3);
  bench.clock.advance(dayMs + minuteMs);
  await registerMany(bench, promptPerDay, 100);
  const email = 'late@example.org';
  const late = member(500);
  const { registration } = bench.signon;
  const terms = value(await registration.register({ email, password, visitor: late }));
  assert.deepEqual(terms, { worksFrom: bench.clock.now() + minuteMs, byMailOnly: false });
  const token = await bench.tokenTo(email);
  assert.match(bench.mails.at(-1)!.text, /works only\nfrom 2026-01-02 00:02 UTC on/);
  assert.equal(await registration.asks(token, late), 'later');
  const early = await bench.other.registration.verify(token, late);
  assert.ok(!early.ok && early.error === 'too_many_attempts');
  assert.equal(early.retryAfterSeconds, 60);
  bench.clock.advance(minuteMs);
  assert.equal(await registration.asks(token, late), 'nothing');
  value(await bench.other.registration.verify(token, late));
});

it('a try before its time takes none of the five, in any browser', async (t) => {
  const bench = paced('pacing-tries', t);
  await registerMany(bench, promptPerDay);
  const email = 'tries@example.org';
  value(await bench.signon.registration.register({ email, password, visitor: member(501) }));
  const token = await bench.tokenTo(email);
  const other = { ...elsewhere, browserId: 'another' };
  for (let i = 0; i < 9; i++) {
    const done = await bench.signon.registration.verify(token, other, { password: 'wrong-one-7' });
    assert.equal(errorOf(done), 'too_many_attempts');
  }
  bench.clock.advance(minuteMs);
  value(await bench.signon.registration.verify(token, other, { password }));
});

it('an address with an account is answered, and counted, like one without', async (t) => {
  const bench = paced('pacing-secrecy', t);
  const known = 'owner@example.org';
  await bench.person(known);
  await registerMany(bench, promptPerDay);
  const ask = (email: string, i: number) =>
    bench.signon.registration.register({ email, password, visitor: member(i) });
  const first = value(await ask(known, 600));
  const second = value(await ask('nobody@example.org', 601));
  const third = value(await ask(known, 602));
  const waits = [first, second, third].map(({ worksFrom }) => worksFrom - bench.clock.now());
  assert.deepEqual(waits, [minuteMs, 2 * minuteMs, 4 * minuteMs]);
});

it('a link that is sent again counts and is no way around', async (t) => {
  const bench = paced('pacing-resend', t);
  await registerMany(bench, promptPerDay);
  const email = 'again@example.org';
  value(await bench.signon.registration.register({ email, password, visitor: member(700) }));
  const person = (await bench.signon.people.byEmail(email))!;
  const terms = value(await bench.signon.registration.resend(person, member(700)));
  assert.equal(terms.worksFrom, bench.clock.now() + 2 * minuteMs);
  const token = await bench.tokenTo(email);
  assert.equal(await bench.signon.registration.asks(token, member(700)), 'later');
});

it('beyond the second number nothing chosen in the form is taken; the link leads to choosing', async (t) => {
  const bench = paced('pacing-mail', t);
  await registerMany(bench, chosenInFormPerDay);
  const email = 'chooser@example.org';
  const { registration, signIn } = bench.signon;
  assert.ok(registration.isByMailOnly(member(800)));
  const done = value(await registration.register({ email, password, visitor: member(800) }));
  assert.ok(done.byMailOnly);
  const attempt = { email, password, visitor: member(800) };
  assert.equal(errorOf(await signIn.withPassword(attempt)), 'sign_in_refused');
  const token = await bench.tokenTo(email);
  assert.match(bench.mails.at(-1)!.text, /You choose your password when you open it/);
  bench.clock.advance(60 * minuteMs);
  // The mailbox may be read elsewhere.
  const reader = { ...elsewhere, browserId: 'of the mailbox' };
  assert.equal(await registration.asks(token, reader), 'choose');
  assert.equal(errorOf(await registration.verify(token, reader)), 'invalid_parameter');
  assert.equal(
    errorOf(await registration.verify(token, reader, { password: 'x' })),
    'invalid_parameter',
  );
  const chosen = 'of-the-mailbox-55';
  value(await registration.verify(token, reader, { password: chosen }));
  assert.equal(
    errorOf(await registration.verify(token, reader, { password: chosen })),
    'invalid_link',
  );
  assert.equal(errorOf(await signIn.withPassword(attempt)), 'sign_in_refused');
  value(await signIn.withPassword({ ...attempt, password: chosen }));
});

it('whoever chose a password earlier is out when the owner opens such a link', async (t) => {
  const bench = paced('pacing-stranger', t);
  const email = 'victim@example.org';
  const { registration, signIn, sessions } = bench.signon;
  value(await registration.register({ email, password: 'of-a-stranger-31', visitor: elsewhere }));
  const stranger = { email, password: 'of-a-stranger-31', visitor: elsewhere };
  const session = value(await signIn.withPassword(stranger));
  assert.ok(session.kind === 'signed_in');
  await registerMany(bench, chosenInFormPerDay);
  value(await registration.register({ email, visitor: member(900) }));
  const token = await bench.tokenTo(email);
  bench.clock.advance(60 * minuteMs);
  value(await registration.verify(token, member(900), { password: 'of-the-owner-77' }));
  assert.equal(await sessions.find(session.token), undefined);
  assert.equal(errorOf(await signIn.withPassword(stranger)), 'sign_in_refused');
});

it('without pacing nothing is asked', async (t) => {
  const bench = openBench('pacing-off');
  t.after(() => bench.close());
  await registerMany(bench, chosenInFormPerDay + 5);
  const request = { email: 'x@example.org', password, visitor: member(950) };
  const terms = value(await bench.signon.registration.register(request));
  assert.deepEqual(terms, { worksFrom: 0, byMailOnly: false });
});
