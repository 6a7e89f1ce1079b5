/** Mails and notices to sites about changes, when the server is killed between the change and what tells of it. */

import assert from 'node:assert/strict';
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { siteEvents } from '../../../src/signon/sites/notify-sites.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import { type OwnBrowser, openPeopleOf } from '../../support/signon/person.ts';
import { type SmtpStub, startSmtp } from '../../support/signon/smtp-stub.ts';
import { consentFormIn } from '../../support/signon/visitor.ts';

const email = 'owner@example.org';
const origin = 'http://localhost:4549';
const refuseAll = 1_000_000;

const subjects = ({ said }: SmtpStub) =>
  said.filter((line) => line.startsWith('Subject: ')).map((line) => line.slice(9));

/** A site that takes no notices before it is told to. */
async function startSite() {
  const taken: string[] = [];
  let isAway = true;
  const site = createServer((request, response) => {
    if (request.url === '/.well-known/portcullis.json') {
      response.end('{"notices":"/notices"}');
      return;
    }
    request.setEncoding('utf8').on('data', (body: string) => {
      if (!isAway) taken.push(body);
      response.writeHead(isAway ? 503 : 202).end();
    });
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(site.address() as AddressInfo).port}`,
    taken,
    comeBack() {
      isAway = false;
    },
    [Symbol.asyncDispose]: () => new Promise<void>((done) => void site.close(() => done())),
  };
}

async function signInAt(site: string, server: TestServer, own: OwnBrowser): Promise<string> {
  const redirect = `${site}/cb`;
  const asked = { client_id: '127.0.0.1', redirect_uri: redirect, response_type: 'code' };
  const query = new URLSearchParams({ ...asked, scope: 'openid', state: 's' });
  const page = await own.get(`/authorize.php?${query}`);
  const { id, shown } = consentFormIn(page);
  const form = { id, shown, scope: 'openid', decision: 'allow' };
  const allowed = await own.post('/authorize.php/consent', form);
  const code = new URL(allowed.headers.location!).searchParams.get('code')!;
  const profile = await server.fetch(`/api.php?code=${code}`);
  return (profile.json() as { service_id: string }).service_id;
}

it('the mails and the notices to sites about all changes outlive a kill', async () => {
  await using site = await startSite();
  await using away = await startSmtp(refuseAll);
  const env = { CLIENT_LIMITS: 'off', BASE_URL: origin, SOURCE_ALLOW_PRIVATE: 'on' };
  let visitor: string;
  await using server = await startTestServer({ threads: 1, env: { ...env, SMTP_URL: away.url } });
  {
    await using people = openPeopleOf(server);
    await people.register(email);
    const own = await people.signIn(email);
    visitor = await signInAt(site.origin, server, own);
    const made = await own.post('/account/keys/create');
    assert.equal(made.status, 200, made.body);
    const id = /name="id" value="([^"]+)"/.exec(made.body)![1]!;
    assert.equal((await own.post('/account/keys/revoke', { id, sure: 'yes' })).status, 303);
    await addPasskey(own, origin);
    await totpOn(own);
    const password = 'cobalt-meadow-118-rain';
    const done = await own.post('/account/security/password', { password });
    assert.equal(done.status, 303, done.body);
    const failing = async () => (await server.cliJson('site', 'notices'))[0]?.failures > 0;
    await within(failing, 'the command says that the site fails');
    await server.kill();
  }
  assert.deepEqual(subjects(away), []);
  site.comeBack();
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
    'An API key was created for your account',
    'Your password was changed',
    'Your second factor was turned on',
  ]);
  await within(() => site.taken.length >= 1, 'the notice to the site');
  const { keys } = (await again.fetch('/.well-known/jwks.json')).json() as { keys: JsonWebKey[] };
  const [head, claims, signature] = site.taken[0]!.split('.');
  const key = createPublicKey({ key: keys[0]!, format: 'jwk' });
  const signed = Buffer.from(`${head}.${claims}`);
  assert.ok(verify(null, signed, key, Buffer.from(signature!, 'base64url')));
  const told = JSON.parse(Buffer.from(claims!, 'base64url').toString());
  assert.deepEqual([told.iss, told.aud, told.sub], [origin, '127.0.0.1', visitor]);
  assert.deepEqual(Object.keys(told.events), [siteEvents.signed_out]);
  const listed = async () => {
    const [one] = await again.cliJson('site', 'notices', '127.0');
    return one?.waiting === 0 && `${one.origin} ${one.text} ${one.deliveredAt !== null}`;
  };
  await within(async () => (await listed()) === `${site.origin} taken true`, 'said by the command');
  await again.stop();
});
