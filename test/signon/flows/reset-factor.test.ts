/** `portcullis account reset-factor`: for an owner whom somebody else's second factor keeps out. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hiddenOf, mailsIn, webVisitor } from '../../support/browser/web-visitor.ts';
import { runCli, startTestServer, within } from '../../support/server/server.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const origin = 'http://localhost:4548';

it('it is off beside a running server, logged, mailed, and leads to the review', async () => {
  await using server = await startTestServer({
    threads: 1,
    env: { CLIENT_LIMITS: 'off', BASE_URL: origin },
  });
  await using people = openPeopleOf(server);
  const email = 'owner@example.org';
  const id = await people.register(email);
  const thief = await people.signIn(email);
  await addPasskey(thief, origin);
  await totpOn(thief);
  const env = { DATA_DIR: server.dataDir, BASE_URL: origin };
  const done = await runCli(['account', 'reset-factor', email], env);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /second factor is off, all sessions ended; a mail tells the owner/);
  assert.equal(await people.signon.secondFactors.isEnabled(id), false);
  assert.equal((await thief.get('/account')).status, 303, 'its session ended');
  // The server may send mails about earlier changes still.
  const told = /Subject: The operator turned off your second factor/;
  const isTold = (text: string) => text.includes(`To: ${email}`) && told.test(text);
  await within(() => mailsIn(server).some(isTold), 'the mail to the owner');
  const owner = webVisitor(server);
  const form = hiddenOf(await owner.get('/signin'), '/signin');
  const fields = new URLSearchParams({ ...form, email, password: personPassword }).toString();
  const entered = await owner.post('/signin', fields, { Origin: origin });
  assert.equal(entered.headers.location, '/account', 'no code is asked for');
  const review = (await owner.get('/account')).headers.location;
  assert.equal(review, '/account/review?return=%2Faccount');
  const [entry] = (await people.signon.securityLog.list(id)).filter(
    ({ event }) => event === 'factor_reset',
  );
  assert.ok(entry);
  for (const [who, said] of [
    [email, /has no second factor/],
    ['nobody@example.org', /there is no account/],
    ['nonsense', /not a mail address/],
  ] as const) {
    const refused = await runCli(['account', 'reset-factor', who], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, said);
  }
  const help = await runCli(['account', '--help'], env);
  assert.match(help.stdout, /reset-factor/);
});
