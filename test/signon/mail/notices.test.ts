/** Mails about changes as rows: with the change, gone when the mail is out, taken up after a stop. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ok } from '../../../src/core/result.ts';
import type { Mail } from '../../../src/signon/mail/mail-format.ts';
import type { MailTransport } from '../../../src/signon/mail/mailer.ts';
import { noticeRow, readNotice } from '../../../src/signon/mail/notices.ts';
import { changeEvents } from '../../../src/signon/sessions/security-log.ts';
import { noticePrefix } from '../../../src/storage/keys.ts';
import type { Store } from '../../../src/storage/store.ts';
import { value } from '../../support/house/result.ts';
import { within } from '../../support/server/server.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const email = 'owner@example.org';
const next = 'cobalt-meadow-118';

const rowsOf = async (store: Store) =>
  (await store.scan(noticePrefix(), { limit: 1_000 })).map(({ value }) => readNotice(value)!);

/** Takes mails, but what tells of a change only when told to. */
function gated() {
  const mails: Mail[] = [];
  let take = false;
  const transport: MailTransport = {
    async send(mail) {
      if (!take && mail.subject.includes('was changed')) throw new Error('away');
      mails.push(mail);
    },
    async close() {},
  };
  return { mails, transport, open: () => (take = true) };
}

async function changeBy(side: Bench['signon']) {
  const request = { email, password, visitor };
  const entered = value(await side.signIn.withPassword(request));
  assert.ok(entered.kind === 'signed_in');
  const session = (await side.sessions.find(entered.token))!;
  value(await side.recovery.changePassword(session, next, visitor));
}

/** With a mailbox that the test sees; the fixture's own is not used. */
async function verified(bench: Bench, mails: readonly Mail[]): Promise<string> {
  value(await bench.signon.registration.register({ email, password, visitor }));
  await bench.signon.mailer.idle();
  const token = new URL(mails.at(-1)!.link!).searchParams.get('token')!;
  return value(await bench.signon.registration.verify(token, visitor)).accountId;
}

it('a row says what it was given, for every change', () => {
  for (const what of changeEvents) {
    const notice = {
      ...({ to: email, language: 'fr', what, former: true } as const),
      agent: 'Firefox, Linux',
      country: 'FR',
      at: 1_700_000_000_000,
    };
    const row = noticeRow('account', new Uint8Array(8), notice);
    assert.deepEqual(readNotice(row.value), notice);
    assert.equal(row.expiresAt, notice.at + 24 * 3_600_000);
    assert.equal(readNotice(row.value.subarray(0, -3)), undefined);
  }
});

it('a sent mail leaves no row', async () => {
  const bench = openBench('notice-sent');
  await bench.person(email);
  await changeBy(bench.signon);
  await bench.signon.notices.idle();
  assert.equal(bench.mails.at(-1)!.subject, 'Your password was changed');
  assert.deepEqual(await rowsOf(bench.store), []);
  await bench.close();
});

it('a mail that a stop cut off is sent by the next start, and once', async () => {
  const box = gated();
  const bench = openBench('notice-stop', { mailTransport: box.transport });
  await verified(bench, box.mails);
  await changeBy(bench.signon);
  await bench.signon.close();
  const rows = await rowsOf(bench.store);
  assert.deepEqual(
    rows.map(({ to, what, former }) => ({ to, what, former })),
    [{ to: email, what: 'password_changed', former: false }],
  );
  box.open();
  bench.other.notices.resume();
  await bench.other.notices.idle();
  assert.equal(box.mails.at(-1)!.subject, 'Your password was changed');
  assert.match(box.mails.at(-1)!.text, /Firefox, Linux/);
  const count = box.mails.length;
  assert.deepEqual(await rowsOf(bench.store), []);
  bench.other.notices.resume();
  await bench.other.notices.idle();
  assert.equal(box.mails.length, count);
  await bench.close();
});

it('a change that is not made leaves no row, and a row that nobody could send ends after a day', async () => {
  const box = gated();
  const bench = openBench('notice-none', { mailTransport: box.transport });
  await verified(bench, box.mails);
  const store = bench.store as { commit: Store['commit'] };
  const { commit } = store;
  store.commit = async (asked) => {
    const seq = 0n;
    const isChange = asked.set?.some(({ key }) => key[0] === noticePrefix()[0]) ?? false;
    return isChange
      ? { ok: false, error: 'store_unavailable', seq, detail: 'full' }
      : commit.call(bench.store, asked);
  };
  const entered = value(await bench.signon.signIn.withPassword({ email, password, visitor }));
  assert.ok(entered.kind === 'signed_in');
  const session = (await bench.signon.sessions.find(entered.token))!;
  const refused = await bench.signon.recovery.changePassword(session, next, visitor);
  assert.equal(refused.ok, false);
  store.commit = commit;
  assert.deepEqual(await rowsOf(bench.store), []);
  value(await bench.signon.recovery.changePassword(session, next, visitor));
  assert.equal((await rowsOf(bench.store)).length, 1);
  bench.clock.advance(24 * 3_600_000);
  assert.deepEqual(await rowsOf(bench.store), []);
  await bench.close();
});

it('a full queue of mails keeps the row, and the mail goes out when there is room', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const mails: Mail[] = [];
  let holds = false;
  const bench = openBench('notice-full', {
    mailTransport: {
      async send(mail) {
        if (holds) await held;
        mails.push(mail);
      },
      async close() {},
    },
    strength: { check: async () => ok(undefined), async close() {} },
  });
  await verified(bench, mails);
  holds = true;
  const { mailer } = bench.signon;
  const values = { link: 'https://id.example.org/', former: false, agent: '', country: 'FR' };
  for (let i = 0; i < 2_000; i++) {
    mailer.post(`p${i}@example.org`, 'en', 'changed', { ...values, what: 'totp_enabled' });
  }
  await changeBy(bench.signon);
  await bench.signon.notices.idle();
  assert.equal((await rowsOf(bench.store)).length, 1);
  release();
  await mailer.idle();
  bench.signon.notices.resume();
  await within(async () => (await rowsOf(bench.store)).length === 0, 'the row is sent');
  assert.equal(mails.at(-1)!.to, email);
  await bench.close();
});

it('a deletion takes the rows of the account along, and no other', async () => {
  const box = gated();
  const bench = openBench('notice-erased', { mailTransport: box.transport });
  const id = await verified(bench, box.mails);
  await changeBy(bench.signon);
  const notice = {
    ...({ to: 'b@example.org', language: 'en', what: 'email_changed', former: false } as const),
    agent: '',
    country: 'FR',
    at: bench.clock.now(),
  };
  assert.ok(
    (await bench.store.commit({ set: [noticeRow(`${id}x`, new Uint8Array(8), notice)] })).ok,
  );
  assert.equal((await rowsOf(bench.store)).length, 2);
  value(await bench.signon.erasures.begin(id));
  await bench.signon.erasures.idle();
  assert.deepEqual(
    (await rowsOf(bench.store)).map(({ to }) => to),
    ['b@example.org'],
  );
  await bench.close();
});
