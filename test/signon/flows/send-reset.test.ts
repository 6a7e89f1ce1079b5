/** `portcullis account send-reset`: a link for a new password, which goes to the mailbox alone. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mailsIn } from '../../support/browser/web-visitor.ts';
import { runCli, startTestServer } from '../../support/server/server.ts';
import { openPeopleOf } from '../../support/signon/person.ts';

const email = 'owner@example.org';
const subject = /Subject: .*new password/i;

it('beside a server and without one it mails the link, counts it, logs it, and shows it to nobody', async () => {
  await using server = await startTestServer({
    threads: 1,
    demo: false,
    env: { CLIENT_LIMITS: 'off' },
  });
  await using people = openPeopleOf(server);
  const id = await people.register(email);
  const env = { DATA_DIR: server.dataDir, BASE_URL: server.baseUrl };
  const mails = () =>
    mailsIn(server).filter((text) => text.includes(`To: ${email}`) && text.includes('/reset?'));
  for (let sent = 1; sent <= 3; sent++) {
    const done = await runCli(['account', 'send-reset', email], env);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /account owner@example\.org: the mail with a link .* is on its way/);
    assert.doesNotMatch(done.stdout + done.stderr, /reset\?|token/);
    while (mails().length < sent) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const fourth = await runCli(['account', 'send-reset', email], env);
  assert.equal(fourth.code, 1, 'the address had its three of this hour');
  assert.equal(mails().length, 3);
  assert.ok(
    mails().every((text) => subject.test(text)),
    mails()[0],
  );
  const events = (await people.signon.securityLog.list(id)).map(({ event }) => event);
  assert.ok(events.includes('reset_requested'));
  await people.registerOnly('waits@example.org');
  for (const [who, said] of [
    ['nobody@example.org', /there is no account/],
    ['waits@example.org', /disabled or not verified/],
    ['nonsense', /not a mail address/],
  ] as const) {
    const refused = await runCli(['account', 'send-reset', who], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, said);
  }
  const audit = await runCli(['log', 'audit', '--json'], env);
  assert.match(audit.stdout, new RegExp(`account send-reset ${id}`));
  await people[Symbol.asyncDispose]();
  await server.stop();
  const alone = await runCli(['account', 'send-reset', email], env);
  assert.equal(alone.code, 0, alone.stderr);
  assert.equal(mails().length, 4);
  const json = await runCli(['account', 'send-reset', email, '--json'], env);
  assert.deepEqual(JSON.parse(json.stdout), { email, sent: true });
});
