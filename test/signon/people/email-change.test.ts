/** A new mail address: one owner at a time, and only for who holds the mailbox. */

import assert from 'node:assert/strict';
import { after, beforeEach, it } from 'node:test';
import { accountRow } from '../../../src/access/accounts/accounts.ts';
import type { Session } from '../../../src/signon/sessions/sessions.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

let email = '';
let count = 0;

const bench = openBench('email-change');
beforeEach(() => {
  email = `person${++count}@example.org`;
});
after(() => bench.close());

const session = () => bench.sessionOf(email);

it('the address changes when its link is opened, once, and the old one is free', async () => {
  const id = await bench.person(email);
  const own = await session();
  value(await bench.signon.emailChange.request(own, `New-${email}`, visitor));
  assert.equal((await bench.signon.people.byEmail(email))!.id, id);
  const token = await bench.tokenTo(`new-${email}`);
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? bench.signon : bench.other).emailChange.confirm(own, token, visitor),
    ),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
  assert.equal((await bench.signon.people.byEmail(`new-${email}`))!.id, id);
  assert.equal(await bench.signon.people.byEmail(email), undefined);
  await bench.signon.mailer.idle();
  await bench.other.mailer.idle();
  assert.equal(bench.mails.at(-1)!.to, email);
  await bench.person(email);
});

it('an address with an account is not taken, and who asks does not learn of it', async () => {
  await bench.person(email);
  await bench.person(`taken-${email}`);
  const own = await session();
  value(await bench.signon.emailChange.request(own, `taken-${email}`, visitor));
  await bench.signon.mailer.idle();
  assert.equal(bench.mails.at(-1)!.subject, 'You already have an account');
  value(await bench.signon.emailChange.request(own, `late-${email}`, visitor));
  const token = await bench.tokenTo(`late-${email}`);
  await bench.person(`late-${email}`);
  assert.equal(
    errorOf(await bench.signon.emailChange.confirm(own, token, visitor)),
    'invalid_link',
  );
});

it('of two accounts that want the same address at once, one gets it', async () => {
  const wanted = `wanted-${email}`;
  const tokens: string[] = [];
  const owners: Session[] = [];
  for (const name of ['a', 'b']) {
    email = `${name}-${wanted}`;
    await bench.person(email);
    value(await bench.signon.emailChange.request(await session(), wanted, visitor));
    owners.push(await session());
    tokens.push(await bench.tokenTo(wanted));
  }
  const results = await Promise.all([
    bench.signon.emailChange.confirm(owners[0]!, tokens[0]!, visitor),
    bench.other.emailChange.confirm(owners[1]!, tokens[1]!, visitor),
  ]);
  assert.deepEqual(results.map(errorOf).sort(), ['invalid_link', 'none']);
});

it('a stale session, no address, the same address and other links are refused', async () => {
  await bench.person(email);
  const own = await session();
  const { emailChange, recovery } = bench.signon;
  const ask = async (address: string, fresh = true) =>
    errorOf(await emailChange.request({ ...own, fresh }, address, visitor));
  assert.equal(await ask(`new-${email}`, false), 'reauthentication_required');
  for (const bad of ['', 'x', email, email.toUpperCase(), 'a@b\r\nBcc: c@d', 'x'.repeat(1e6)]) {
    assert.equal(await ask(bad), 'invalid_parameter');
  }
  value(await recovery.request({ email, visitor }));
  const token = await bench.tokenTo(email);
  assert.equal(errorOf(await emailChange.confirm(own, token, visitor)), 'invalid_link');
});

it('a change ends every older link and all sessions but the one that confirmed it', async () => {
  const { emailChange, recovery, sessions } = bench.signon;
  await bench.person(email);
  const { token: cookie } = await bench.signIn(email);
  const own = (await sessions.find(cookie))!;
  const { token: elsewhere } = await bench.signIn(email);
  value(await recovery.request({ email, visitor }));
  const resetLink = await bench.tokenTo(email);
  value(await emailChange.request(own, `other-${email}`, visitor));
  const otherLink = await bench.tokenTo(`other-${email}`);
  value(await emailChange.request(own, `new-${email}`, visitor));
  const link = await bench.tokenTo(`new-${email}`);
  assert.equal(await recovery.isOpen(resetLink), true);
  const { token: renewed } = value(await emailChange.confirm(own, link, visitor));
  assert.equal(await sessions.find(cookie), undefined, 'nor a copy of its cookie');
  const now = (await sessions.find(renewed))!;
  assert.equal(now.email, `new-${email}`);
  assert.equal(await sessions.find(elsewhere), undefined);
  assert.equal(await recovery.isOpen(resetLink), false);
  assert.equal(errorOf(await emailChange.confirm(now, otherLink, visitor)), 'invalid_link');
});

it('a link counts in a session of its own account alone', async () => {
  const { emailChange } = bench.signon;
  await bench.person(email);
  const own = await session();
  value(await emailChange.request(own, `new-${email}`, visitor));
  const link = await bench.tokenTo(`new-${email}`);
  email = `stranger-${email}`;
  await bench.person(email);
  const stranger = await session();
  assert.equal(errorOf(await emailChange.offered(stranger, link)), 'invalid_link');
  assert.equal(errorOf(await emailChange.confirm(stranger, link, visitor)), 'invalid_link');
  assert.deepEqual(value(await emailChange.offered(own, link)), { email: `new-${own.email}` });
  value(await emailChange.confirm(own, link, visitor));
});

it('an account asks five times an hour, whatever the addresses', async () => {
  const { emailChange } = bench.signon;
  await bench.person(email);
  const own = await session();
  for (let i = 0; i < 5; i++) value(await emailChange.request(own, `n${i}-${email}`, visitor));
  const refused = await emailChange.request(own, `n5-${email}`, visitor);
  assert.equal(errorOf(refused), 'client_limit_exceeded');
  assert.ok(!refused.ok && refused.retryAfterSeconds! > 0);
});

it('a registration that nobody verified gives way, and nothing of it is left', async () => {
  const { emailChange, people, registration, securityLog, sessions, signIn } = bench.signon;
  const id = await bench.person(email);
  const own = await session();
  const wanted = `wanted-${email}`;
  value(await registration.register({ email: wanted, password: 'of-a-stranger-31', visitor }));
  const strangersLink = await bench.tokenTo(wanted);
  const stranger = (await people.byEmail(wanted))!;
  const inside = value(
    await signIn.withPassword({ email: wanted, password: 'of-a-stranger-31', visitor }),
  );
  assert.ok(inside.kind === 'signed_in');
  value(await emailChange.request(own, wanted, visitor));
  const link = await bench.tokenTo(wanted);
  assert.notEqual(link, strangersLink);
  assert.equal((await people.byEmail(wanted))!.id, stranger.id, 'asking takes nothing');
  assert.ok(await sessions.find(inside.token));

  value(await emailChange.confirm(own, link, visitor));
  assert.equal((await people.byEmail(wanted))!.id, id);
  assert.equal(await people.byId(stranger.id), undefined);
  assert.equal(await sessions.find(inside.token), undefined);
  assert.deepEqual(await sessions.list(stranger.id), []);
  assert.deepEqual(await securityLog.list(stranger.id), []);
  assert.equal(errorOf(await registration.verify(strangersLink, visitor)), 'invalid_link');
  assert.equal(errorOf(await registration.resend(stranger, visitor)), 'none');
  const late = await bench.tokenTo(wanted);
  assert.equal(errorOf(await registration.verify(late, visitor)), 'invalid_link');
  const again = { email: wanted, password: 'of-a-stranger-31', visitor };
  assert.equal(errorOf(await signIn.withPassword(again)), 'sign_in_refused');
});

it('a registration that the operator disabled does not give way', async () => {
  const { emailChange, people, registration } = bench.signon;
  await bench.person(email);
  const own = await session();
  const wanted = `wanted-${email}`;
  value(await emailChange.request(own, wanted, visitor));
  const link = await bench.tokenTo(wanted);
  value(await registration.register({ email: wanted, password, visitor }));
  const { id, account } = (await people.byEmail(wanted))!;
  await bench.store.commit({ set: [accountRow(id, { ...account, disabled: true })] });
  assert.equal(errorOf(await emailChange.confirm(own, link, visitor)), 'invalid_link');
  assert.equal((await people.byEmail(wanted))!.id, id);
});

it('of a verification and a change to the same address at once, one works', async () => {
  const { people, registration } = bench.signon;
  for (let round = 0; round < 20; round++) {
    email = `r${round}-${++count}@example.org`;
    const id = await bench.person(email);
    const own = await session();
    const wanted = `wanted-${email}`;
    value(await bench.signon.emailChange.request(own, wanted, visitor));
    const change = await bench.tokenTo(wanted);
    value(await registration.register({ email: wanted, password, visitor }));
    const verify = await bench.tokenTo(wanted);
    const pending = (await people.byEmail(wanted))!.id;
    const [changed, verified] = await Promise.all([
      bench.other.emailChange.confirm(own, change, visitor),
      registration.verify(verify, visitor),
    ]);
    assert.deepEqual([changed, verified].map(errorOf).sort(), ['invalid_link', 'none']);
    assert.equal((await people.byEmail(wanted))!.id, changed.ok ? id : pending);
    assert.equal((await people.byEmail(email))?.id, changed.ok ? undefined : id);
  }
});
