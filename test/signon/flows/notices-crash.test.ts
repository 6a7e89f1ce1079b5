/** Mails about changes, when the server is killed between the change and the mail. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestServer, within } from '../../support/server/server.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf } from '../../support/signon/person.ts';
import { type SmtpStub, startSmtp } from '../../support/signon/smtp-stub.ts';

const email = 'owner@example.org';
const origin = 'http://localhost:4549';
const refuseAll = 1_000_000;

const subjects = ({ said }: SmtpStub) =>
  said.filter((line) => line.startsWith('Subject: ')).map((line) => line.slice(9));

it('the mails about all changes outlive a kill', async () => {
  await using away = await startSmtp(refuseAll);
  const env = { CLIENT_LIMITS: 'off', BASE_URL: origin };
  await using server = await startTestServer({ threads: 1, env: { ...env, SMTP_URL: away.url } });
  {
    await using people = openPeopleOf(server);
    await people.register(email);
    const own = await people.signIn(email);
    const made = await own.post('/account/keys/create');
    assert.equal(made.status, 200, made.body);
    const id = /name="id" value="([^"]+)"/.exec(made.body)![1]!;
    assert.equal((await own.post('/account/keys/revoke', { id, sure: 'yes' })).status, 303);
    await addPasskey(own, origin);
    await totpOn(own);
    const password = 'cobalt-meadow-118-rain';
    const done = await own.post('/account/security/password', { password });
    assert.equal(done.status, 303, done.body);
    await server.kill();
  }
  assert.deepEqual(subjects(away), []);
  await using smtp = await startSmtp();
  const { dataDir } = server;
  await using again = await startTestServer({
    threads: 1,
    env: { ...env, SMTP_URL: smtp.url },
    dataDir,
  });
  await within(() => subjects(smtp).length >= 5, `all mails: ${subjects(smtp)}`);
  assert.deepEqual(subjects(smtp).sort(), [
    'A passkey was added to your account',
    'An API key of your account was revoked',
    'An API key was made for your account',
    'The second factor of your account was switched on',
    'Your password was changed',
  ]);
  await again.stop();
});
