/** Password, second factor, passkeys, sessions and log of a person on a whole server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { systemRandom } from '../../../src/core/random.ts';
import { createAuthenticator } from '../../support/browser/authenticator.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { locationOf, openPeopleOf, personPassword } from '../../support/signon/person.ts';

const long = 20 * 60_000;
const back = '/account/confirm?return=%2Faccount%2Fsecurity';

const origin = 'http://localhost:4545';
const env = { CLIENT_LIMITS: 'off', BASE_URL: origin };
const server = forFile(await startTestServer({ env }));
const people = forFile(openPeopleOf(server));
await people.register('bob@example.org');
const bob = await people.signIn('bob@example.org');

describe('security of a person', () => {
  let count = 0;
  async function newPerson(): Promise<{ email: string; id: string }> {
    const email = `ada${count++}@example.org`;
    return { email, id: await people.register(email) };
  }
  const idsIn = (body: string) =>
    [...body.matchAll(/name="id" value="([^"]+)"/g)].map((m) => m[1]!);

  it('does what the table of docs/SIGNON.md says without a fresh proof', async () => {
    const { email, id } = await newPerson();
    const old = await people.signIn(email, long);
    assert.doesNotMatch((await old.get('/account/security')).body, /security\/(password|totp)/);
    const fresh = await people.signIn(email);
    const made = await fresh.post('/account/keys/create');
    const [key] = idsIn(made.body);
    assert.ok(key);
    const authenticator = createAuthenticator(systemRandom(), origin);
    const asked = await fresh.call('/account/security/passkeys/options', {});
    const response = authenticator.create(asked.json() as never);
    await fresh.call('/account/security/passkeys', { name: 'one', response });
    const [passkey] = await people.signon.passkeys.list(id);
    assert.ok(passkey);
    const before = await people.signon.deletion.exportOf(id);
    const wanted: [path: string, returnTo: string, fields: Record<string, string>][] = [
      ['export', 'data', {}],
      ['delete', 'data', { confirm: 'delete' }],
      ['email', '', { email: 'elsewhere@example.org' }],
      ['security/password', 'security', { password: 'another-long-one-9' }],
      ['security/totp/begin', 'security', {}],
      ['security/totp/enable', 'security', { code: '123456' }],
      ['security/totp/renew', 'security', {}],
      ['security/totp/disable', 'security', {}],
      ['security/passkeys/remove', 'security', { id: passkey.id }],
      ['keys/create', 'keys', {}],
      ['keys/reveal', 'keys', { id: key }],
      ['keys/revoke', 'keys', { id: key }],
    ];
    for (const [path, returnTo, fields] of wanted) {
      const answer = await old.post(`/account/${path}`, fields);
      const page = returnTo === '' ? '/account' : `/account/${returnTo}`;
      const to = `/account/confirm?return=${encodeURIComponent(page)}`;
      assert.equal(locationOf(answer), to, path);
    }
    assert.equal((await old.get('/account/security/totp')).headers.location, back);
    const options = await old.call('/account/security/passkeys/options', {});
    assert.equal(options.status, 403);
    const unasked = await old.call('/account/security/passkeys', { name: 'x', response });
    assert.equal(unasked.status, 422);
    // Both logs are written a moment after the answer.
    const withoutLog = (copy: typeof before) =>
      copy.ok && { ...copy.value, securityLog: [], signInLog: [], sessions: [] };
    assert.deepEqual(withoutLog(await people.signon.deletion.exportOf(id)), withoutLog(before));
    // What needs none.
    const free: [path: string, fields: Record<string, string>, to: string][] = [
      ['site-keys/create', { hosts: 'shop.example' }, 'keys?done=site_key_made'],
      ['security/sessions/end-others', {}, 'security?done=sessions_ended'],
    ];
    for (const [path, fields, to] of free) {
      const answer = await old.post(`/account/${path}`, fields);
      assert.equal(doneWay(answer), `/account/${to}`, path);
    }
    const saved = await old.post('/account/profile', { given_name: 'Ada' });
    assert.equal(doneWay(saved), '/account?done=saved');
  });

  it('takes the password again, and leads back', async () => {
    const { email } = await newPerson();
    const old = await people.signIn(email, long);
    const asked = await old.get(back);
    assert.match(asked.body, /name="return" value="\/account\/security"/);
    const wrong = await old.post('/account/confirm', {
      password: 'wrong-password',
      return: '/account/keys',
    });
    assert.equal(wrong.status, 401);
    assert.match(wrong.body, /name="return" value="\/account\/keys"/);
    const before = old.cookie;
    const right = await old.post('/account/confirm', {
      password: personPassword,
      return: '/account/keys',
    });
    assert.equal(right.headers.location, '/account/keys');
    assert.notEqual(old.cookie, before);
    assert.match((await old.get('/account/security')).body, /security\/password/);
    const dead = await server.fetch('/account', { headers: { Cookie: before } });
    assert.equal(dead.status, 303);
    for (const target of ['//evil.example', 'https://evil.example/', '/\\evil.example', '']) {
      const answer = await old.post('/account/confirm', {
        password: personPassword,
        return: target,
      });
      assert.equal(answer.headers.location, '/account', target);
    }
  });

  it('takes password and code together where there is a second factor', async () => {
    const { email, id } = await newPerson();
    const own = await people.signIn(email);
    const old = await people.signIn(email, long);
    assert.doesNotMatch((await old.get(back)).body, /name="code"/);
    await own.post('/account/security/totp/begin');
    const page = (await own.get('/account/security/totp')).body;
    const secret = /<code id="totp-secret">([A-Z2-7 ]+)<\/code>/
      .exec(page)![1]!
      .replaceAll(' ', '');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = totp.generate();
    const on = await own.post('/account/security/totp/enable', { code });
    const backup = /<code id="backup-codes">([^<]+)<\/code>/.exec(on.body)![1]!.split('\n');
    assert.match((await old.get(back)).body, /name="code"/);
    const refused = [
      { password: personPassword },
      { password: personPassword, code: '000000' },
      { password: personPassword, code },
      { password: 'wrong-password', code: backup[0]! },
    ];
    const pages = new Set<string>();
    for (const fields of refused) {
      const answer = await old.post('/account/confirm', { ...fields, return: '/account/keys' });
      assert.equal(answer.status, 401);
      assert.ok(!answer.body.includes(fields.code ?? 'nothing'), 'nothing typed comes back');
      pages.add(answer.body.replace(/nonce="[^"]*"/g, ''));
    }
    assert.equal(pages.size, 1, 'one answer');
    assert.equal((await people.signon.secondFactors.state(id)).backupCodesLeft, 10);
    const fields = { password: personPassword, code: backup[0]!, return: '/account/keys' };
    assert.equal((await old.post('/account/confirm', fields)).headers.location, '/account/keys');
    assert.match((await old.get('/account/keys')).body, /keys\/create/);
    // Written after the answer.
    await within(async () =>
      (await old.get('/account/security')).body.includes('Identity confirmation failed'),
    );
    for (let i = 0; i < 5; i++) {
      assert.equal((await old.post('/account/confirm', fields)).status, 401);
    }
    const locked = await old.post('/account/confirm', fields);
    assert.equal(locked.status, 429);
    assert.match(String(locked.headers['retry-after']), /^[1-9]\d*$/);
    assert.match(locked.body, /name="return" value="\/account\/keys"/);
  });

  it('changes the password; other sessions end', async () => {
    const { email } = await newPerson();
    const [one, two] = [await people.signIn(email), await people.signIn(email)];
    const short = await one.post('/account/security/password', { password: 'short' });
    assert.equal(short.status, 422);
    assert.match(short.body, /id="password-error"/);
    assert.doesNotMatch(short.body, /value="short"/);
    const weak = await one.post('/account/security/password', { password: 'password123' });
    assert.equal(weak.status, 422);
    const done = await one.post('/account/security/password', {
      password: 'cobalt-meadow-118-rain',
    });
    assert.equal(doneWay(done), '/account/security?done=password_changed', done.body);
    const told = await one.get(done.headers.location!);
    assert.match(told.body, /All other sessions have ended\./, 'in the session as it is renewed');
    assert.equal((await one.get('/account')).status, 200);
    assert.equal((await two.get('/account')).status, 303);
  });

  it('switches the second factor on, renews its codes, and switches it off', async () => {
    const { email, id } = await newPerson();
    const ada = await people.signIn(email);
    assert.equal((await ada.get('/account/security/totp')).headers.location, '/account/security');
    const begun = await ada.post('/account/security/totp/begin');
    assert.equal(begun.headers.location, '/account/security/totp');
    const page = (await ada.get('/account/security/totp')).body;
    assert.match(page, /<svg class="qr"/);
    const secret = /<code id="totp-secret">([A-Z2-7 ]+)<\/code>/
      .exec(page)![1]!
      .replaceAll(' ', '');
    const wrong = await ada.post('/account/security/totp/enable', { code: '12' });
    assert.equal(wrong.status, 422);
    // The same secret again: what was scanned stays right.
    assert.ok(wrong.body.replaceAll(' ', '').includes(secret));
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
    const on = await ada.post('/account/security/totp/enable', { code });
    assert.equal(on.status, 200, on.body);
    const codes = /<code id="backup-codes">([^<]+)<\/code>/.exec(on.body)![1]!.split('\n');
    assert.equal(codes.length, 10);
    assert.ok(!(await ada.get('/account/security')).body.includes(codes[0]!));
    assert.equal(await people.signon.secondFactors.isEnabled(id), true);
    const renewed = await ada.post('/account/security/totp/renew');
    assert.ok(!renewed.body.includes(codes[0]!));
    assert.match((await ada.get('/account/security')).body, /10 backup codes/);
    assert.equal((await ada.post('/account/security/totp/begin')).status, 409);
    const off = await ada.post('/account/security/totp/disable');
    assert.equal(doneWay(off), '/account/security?done=totp_disabled');
    assert.equal(await people.signon.secondFactors.isEnabled(id), false);
  });

  it('adds a passkey, proves identity with it, and removes it', async () => {
    const { email, id } = await newPerson();
    const ada = await people.signIn(email);
    const authenticator = createAuthenticator(systemRandom(), origin);
    const asked = await ada.call('/account/security/passkeys/options', {});
    assert.equal(asked.status, 200, asked.body);
    const options = asked.json() as { challenge: string; user: { id: string } };
    const response = authenticator.create(options);
    const added = await ada.call('/account/security/passkeys', { name: 'my <phone>', response });
    assert.equal(added.status, 200, added.body);
    const repeated = await ada.call('/account/security/passkeys', { name: 'x', response });
    assert.equal(repeated.status, 422);
    assert.match(repeated.body, /The new passkey was not accepted/);
    assert.match((await ada.get('/account/security')).body, /my &lt;phone>|my &lt;phone&gt;/);

    const old = await people.signIn(email, long);
    const again = await old.call('/account/confirm/passkey/options', {});
    const proof = authenticator.get(again.json() as { challenge: string });
    assert.equal((await old.call('/account/confirm/passkey', { response: proof })).status, 200);
    assert.match((await old.get('/account/security')).body, /security\/password/);
    for (const response of [proof, null, 7, {}, 'x', []]) {
      const refused = await old.call('/account/confirm/passkey', { response });
      assert.equal(refused.status, 401);
      assert.match(refused.body, /This passkey was not accepted/);
    }
    const call = { response: proof, csrf: await bob.csrf() };
    assert.equal((await old.call('/account/confirm/passkey', call)).status, 403);
    const crossSite = { Origin: 'https://evil.example' };
    const foreign = await old.call('/account/security/passkeys/options', {}, crossSite);
    assert.equal(foreign.status, 403);

    const [passkey] = await people.signon.passkeys.list(id);
    const remove = '/account/security/passkeys/remove';
    assert.equal((await bob.post(remove, { id: passkey!.id })).status, 404);
    assert.equal((await people.signon.passkeys.list(id)).length, 1);
    assert.equal((await ada.post(remove, { id: passkey!.id })).status, 303);
    assert.equal((await people.signon.passkeys.list(id)).length, 0);
  });

  it('lists sessions, ends one, ends all others; never those of another account', async () => {
    const { email, id } = await newPerson();
    const [one, two, three] = [
      await people.signIn(email),
      await people.signIn(email),
      await people.signIn(email),
    ];
    const page = (await one.get('/account/security')).body;
    assert.match(page, /This one/);
    const others = idsIn(page);
    assert.equal(others.length, 2);
    const [mine] = one.cookie.replace('session=', '').split('.');
    assert.ok(!others.includes(mine!));
    for (const wrong of [mine!, others[0]!, 'x', '', 'a'.repeat(9_000)]) {
      const answer = await bob.post('/account/security/sessions/end', { id: wrong });
      assert.equal(answer.status, 404, wrong.slice(0, 30));
    }
    assert.equal((await people.signon.sessions.list(id)).length, 3);
    const [twoId] = two.cookie.replace('session=', '').split('.');
    const ended = await one.post('/account/security/sessions/end', { id: twoId! });
    assert.equal(doneWay(ended), '/account/security?done=session_ended');
    assert.equal((await two.get('/account')).status, 303);
    assert.equal((await three.get('/account')).status, 200);
    assert.equal((await one.post('/account/security/sessions/end-others')).status, 303);
    assert.equal((await three.get('/account')).status, 303);
    assert.equal((await one.get('/account')).status, 200);
    assert.match((await one.get('/account/security')).body, /Sessions ended/);
  });
});
