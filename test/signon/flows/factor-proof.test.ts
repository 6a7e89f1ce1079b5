/** What a change of a factor, the password or the address asks for, over HTTP. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import { locationOf, openPeopleOf, personPassword } from '../../support/signon/person.ts';
import { createAgent } from '../../support/signon/visitor.ts';

const origin = 'http://localhost:4547';
const newPassword = 'cobalt-meadow-118-rain';

const server = forFile(
  await startTestServer({
    env: { CLIENT_LIMITS: 'off', BASE_URL: origin, TRUSTED_BROWSERS: 'on' },
  }),
);
const people = forFile(openPeopleOf(server));

describe('the proof that a change asks for', () => {
  let count = 0;

  async function newPerson() {
    const email = `owner${count++}@example.org`;
    return { email, id: await people.register(email) };
  }

  it('a password alone changes no factor where one is set', async () => {
    const { email } = await newPerson();
    const [owner, thief] = [await people.signIn(email), await people.signIn(email)];
    const { codes } = await totpOn(owner);
    // Fresh by password, of before the factor.
    const confirm = '/account/confirm?return=%2Faccount%2Fsecurity';
    const factorPaths = ['security/totp/disable', 'security/totp/renew', 'security/password'];
    for (const path of factorPaths) {
      const answer = await thief.post(`/account/${path}`, { password: newPassword });
      assert.equal(answer.headers.location, confirm, path);
    }
    for (const path of ['keys/create', 'export', 'delete', 'email', 'phone']) {
      const fields = { email: 'x@example.org', confirm: 'delete', phone: '+33612345678' };
      const answer = await thief.post(`/account/${path}`, fields);
      assert.match(answer.headers.location ?? '', /^\/account\/confirm/, path);
    }
    assert.equal((await addPasskey(thief, origin)).added.status, 403);
    const alone = await thief.post('/account/confirm', { password: personPassword });
    assert.equal(alone.status, 401);
    const fields = { password: personPassword, code: codes[0]! };
    assert.equal((await thief.post('/account/confirm', fields)).status, 303);
    assert.equal((await thief.post('/account/security/totp/disable')).status, 303);
  });

  it('a browser that its owner trusts is not asked for the code, until the owner ends that', async () => {
    const { email } = await newPerson();
    const owner = await people.signIn(email);
    const { codes } = await totpOn(owner);
    const browser = createAgent(server);
    const hiddenField = (body: string, name: string) =>
      new RegExp(`<input type="hidden" name="${name}" value="([^"]*)"`).exec(body)![1]!;
    async function signIn() {
      browser.cookies.delete('session');
      const csrf = hiddenField((await browser.get('/signin')).body, 'csrf');
      return browser.post('/signin', { csrf, email, password: personPassword });
    }
    assert.equal((await signIn()).headers.location, '/signin/second-factor');
    const page = await browser.get('/signin/second-factor');
    assert.match(page.body, /Trust this browser for 30 days/);
    const [csrf, ticket] = ['csrf', 'ticket'].map((name) => hiddenField(page.body, name));
    const given = { csrf: csrf!, ticket: ticket!, trust: 'on' };
    const wrong = await browser.post('/signin/second-factor', { ...given, code: '000000' });
    assert.match(wrong.body, /name="trust"[^>]* checked/, 'as it was chosen');
    const entered = await browser.post('/signin/second-factor', { ...given, code: codes[0]! });
    assert.equal(entered.headers.location, '/account');
    const cookie = entered.headers['set-cookie']!.find((line) => line.startsWith('trusted='))!;
    assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/);
    assert.equal((await signIn()).headers.location, '/account');
    assert.match((await browser.get('/account/security')).body, /password in a trusted browser/);
    const confirm = await browser.post('/account/security/totp/disable', {});
    assert.equal(confirm.status, 403, 'no token');
    const listed = await owner.get('/account/security');
    const id = /trusted\/end"[\s\S]*?name="id" value="([^"]+)"/.exec(listed.body)![1]!;
    const ended = await owner.post('/account/security/trusted/end', { id });
    assert.match(ended.headers.location!, /^\/account\/security\?done=/);
    assert.match((await owner.get('/account/security')).body, /Browser no longer trusted/);
    assert.equal((await owner.post('/account/security/trusted/end', { id })).status, 404);
    assert.equal((await signIn()).headers.location, '/signin/second-factor');
  });

  it('where there is a passkey, a factor or the address is changed with it alone', async () => {
    const { email } = await newPerson();
    const owner = await people.signIn(email);
    const { authenticator } = await addPasskey(owner, origin);
    const thief = await people.signIn(email);
    const security = '/account/confirm?return=%2Faccount%2Fsecurity';
    assert.equal((await addPasskey(thief, origin)).added.status, 403);
    const remove = { id: authenticator.id };
    const paths: [string, string][] = [
      ['security/passkeys/remove', security],
      ['security/totp/begin', security],
      ['security/password', security],
      ['email', '/account/confirm?return=%2Faccount'],
    ];
    for (const [path, to] of paths) {
      const fields = { ...remove, password: newPassword, email: 'elsewhere@example.org' };
      assert.equal(locationOf(await thief.post(`/account/${path}`, fields)), to, path);
    }
    const page = await thief.get(security);
    assert.doesNotMatch(page.body, /name="password"/);
    assert.match(page.body, /passkey/);
    const alone = { password: personPassword, return: '/account/security' };
    assert.equal((await thief.post('/account/confirm', alone)).status, 403);
    // The same session once it shows the passkey.
    const asked = await thief.call('/account/confirm/passkey/options', {});
    const response = authenticator.get(asked.json() as never);
    assert.equal((await thief.call('/account/confirm/passkey', { response })).status, 200);
    const gone = await thief.post('/account/security/passkeys/remove', remove);
    assert.equal(doneWay(gone), '/account/security?done=passkey_removed');
  });
});
