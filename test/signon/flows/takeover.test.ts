/**
 * Somebody takes an account over, and the owner takes it back: what was left behind, how it was
 * hidden, and what a copy of a cookie still opens. Each was seen to work on a server of before.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Authenticator } from '../../support/browser/authenticator.ts';
import {
  hiddenOf,
  mailedLink,
  mailsIn,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { doneWay } from '../../support/signon/done-way.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const origin = 'http://localhost:4546';
const newPassword = 'cobalt-meadow-118-rain';
const long = 20 * 60_000;

const env = { CLIENT_LIMITS: 'off', BASE_URL: origin, SOURCE_ALLOW_PRIVATE: 'on' };
const server = forFile(await startTestServer({ env }));
const people = forFile(openPeopleOf(server));

describe('an account that was taken over', () => {
  let count = 0;

  async function newPerson() {
    const email = `owner${count++}@example.org`;
    return { email, id: await people.register(email) };
  }

  /** Subjects of the mails to this address, oldest first. */
  const subjectsTo = (email: string) =>
    mailsIn(server)
      .filter((mail) => mail.includes(`To: ${email}`))
      .map((mail) => /^Subject: (.*)$/m.exec(mail)?.[1]?.trim() ?? '');
  const mailed = (email: string, subject: RegExp, times = 1) =>
    within(
      () => subjectsTo(email).filter((line) => subject.test(line)).length >= times,
      `${times} mails ${subject} to ${email}: ${subjectsTo(email)}`,
    );

  async function signInWith(authenticator: Authenticator) {
    const visitor = webVisitor(server);
    const { csrf } = hiddenOf(await visitor.get('/signin'), '/signin');
    const json = { 'Content-Type': 'application/json' };
    const asked = await visitor.post('/signin/passkey/options', JSON.stringify({ csrf }), {
      ...json,
      Origin: origin,
    });
    assert.equal(asked.status, 200, asked.body);
    const response = authenticator.get(asked.json() as never);
    return visitor.post('/signin/passkey', JSON.stringify({ csrf, response }), {
      ...json,
      Origin: origin,
    });
  }

  const visitorOf = (): WebVisitor => webVisitor(server, { 'X-Test': '1' });
  const post = (visitor: WebVisitor, path: string, fields: Record<string, string>) =>
    visitor.post(path, new URLSearchParams(fields).toString(), { Origin: origin });

  async function resetByMail(email: string, visitor = visitorOf()) {
    const recover = hiddenOf(await visitor.get('/recover'), '/recover');
    const asked = await post(visitor, '/recover', { ...recover, email });
    assert.equal(asked.status, 303, asked.body);
    const link = await mailedLink(server, email, '/reset');
    const form = hiddenOf(await visitor.get(link.pathname + link.search), '/reset');
    const done = await post(visitor, '/reset', { ...form, password: newPassword });
    assert.equal(done.status, 303, done.body);
    return visitor;
  }

  async function enter(visitor: WebVisitor, email: string, password: string, query = '') {
    const form = hiddenOf(await visitor.get(`/signin${query}`), '/signin');
    return post(visitor, '/signin', { ...form, email, password });
  }

  it('a passkey, a key and a webhook left behind are reviewed by the owner before anything', async () => {
    const { email, id } = await newPerson();
    const thief = await people.signIn(email);
    const made = await thief.post('/account/keys/create');
    const key = /pcl_[0-9A-Za-z_-]+/.exec(made.body)![0];
    const named = { name: 'sensor', check: 'on' };
    const leftBehind = await thief.post('/account/keys/named/create', named);
    const sensor = /pcl_[0-9A-Za-z_-]+/.exec(leftBehind.body)![0];
    const { authenticator, added } = await addPasskey(thief, origin);
    assert.equal(added.status, 200, added.body);
    const { authenticator: second, added: both } = await addPasskey(thief, origin);
    assert.equal(both.status, 200, both.body);
    const hook = { url: 'http://127.0.0.1:9/told', watches: '9.9.30.1', threshold: '90' };
    assert.equal((await thief.post('/account/webhooks/create', hook)).status, 200);
    const stolen = thief.cookie;
    const owner = await resetByMail(email);
    assert.equal((await server.fetch('/account', { headers: { Cookie: stolen } })).status, 303);
    // Whose the passkeys are is what the review asks: until then they let nobody in.
    const early = await signInWith(authenticator);
    assert.equal(early.status, 403, early.body);
    const entered = await enter(owner, email, newPassword, '?return=%2Faccount%2Fsites');
    assert.equal(entered.headers.location, '/account/sites');
    const to = '/account/review?return=%2Faccount%2Fsites';
    assert.equal((await owner.get('/account/sites')).headers.location, to);
    for (const path of ['/account', '/account/keys', '/account/security', '/account/data']) {
      assert.match((await owner.get(path)).headers.location ?? '', /^\/account\/review/, path);
    }
    const site = '/authorize.php?client_id=example.com&redirect_uri=https%3A%2F%2Fexample.com%2Fcb';
    const asked = await owner.get(`${site}&response_type=code&scope=openid&state=s`);
    const forSite = asked.headers.location ?? '';
    assert.match(forSite, /^\/account\/review\?client_id=example\.com&/);
    const carried = hiddenOf(await owner.get(forSite), '/account/review');
    assert.ok(carried.request, 'what the site asked goes on afterwards');
    const page = await owner.get(to);
    assert.equal(page.status, 200);
    const names = [...page.body.matchAll(/type="radio" name="([^"]+)" value="keep"/g)].map(
      (found) => found[1]!,
    );
    assert.equal(names.length, 5, `${names}`);
    assert.match(page.body, /127\.0\.0\.1:9\/told[\s\S]{0,400}Watches: 9\.9\.30\.1</);
    assert.doesNotMatch(page.body, /\schecked/, 'nothing is decided beforehand');
    const hidden = hiddenOf(page, '/account/review');
    const part = await post(owner, '/account/review', { ...hidden, [names[0]!]: 'keep' });
    assert.equal(part.status, 422);
    assert.equal(part.body.match(/Decide whether this stays/g)?.length, 4);
    assert.match(part.body, /checked/);
    assert.equal((await people.signon.passkeys.list(id)).length, 2);
    const bad = await post(owner, '/account/review', { ...hidden, [names[0]!]: 'perhaps' });
    assert.equal(bad.status, 422);
    const decisions = Object.fromEntries(
      names.map((name) => [name, name.includes(second.id) ? 'keep' : 'remove']),
    );
    const before = owner.cookies.get('session')!;
    const answer = { ...carried, ...decisions };
    const done = await post(owner, '/account/review', answer);
    assert.match(done.headers.location ?? '', /^\/authorize\.php\?client_id=/, done.body);
    assert.match((await owner.get(done.headers.location!)).body, /consent-form/);
    assert.equal((await owner.get('/account/sites')).status, 200);
    const copied = { Cookie: `session=${before}` };
    assert.equal((await server.fetch('/account', { headers: copied })).status, 303);
    const left = await people.signon.passkeys.list(id);
    assert.deepEqual(
      left.map((passkey) => passkey.id),
      [second.id],
    );
    assert.equal((await signInWith(authenticator)).status, 401);
    assert.equal((await signInWith(second)).status, 200);
    for (const Key of [key, sensor]) {
      const path = '/api/v2/check?ipAddress=8.8.8.8';
      assert.equal((await server.fetch(path, { headers: { Key } })).status, 401);
    }
    await mailed(email, /passkey was added/, 2);
    assert.doesNotMatch((await owner.get('/account/webhooks')).body, /9\.9\.30\.1/);
    await mailed(email, /API key was created/);
    await mailed(email, /webhook was created/);
    await mailed(email, /review/);
    assert.equal((await owner.get('/account/review')).headers.location, '/account');
  });

  it('an account with nothing to look through has no review', async () => {
    const { email } = await newPerson();
    const owner = await resetByMail(email);
    await enter(owner, email, newPassword);
    assert.equal((await owner.get('/account')).status, 200);
  });

  it('each change is mailed, whatever was done to use the mails up', async () => {
    const { email } = await newPerson();
    for (let i = 0; i < 8; i++) {
      const stranger = visitorOf();
      assert.equal((await enter(stranger, email, personPassword)).status, 303);
      const recover = hiddenOf(await stranger.get('/recover'), '/recover');
      await post(stranger, '/recover', { ...recover, email });
    }
    const thief = await people.signIn(email);
    const { codes } = await totpOn(thief);
    await mailed(email, /second factor was turned on/);
    for (let i = 0; i < 7; i++) {
      assert.equal((await thief.post('/account/security/totp/renew')).status, 200);
    }
    await mailed(email, /New backup codes/, 7);
    assert.equal(codes.length, 10);
    assert.equal((await thief.post('/account/security/totp/disable')).status, 303);
    await mailed(email, /turned off/);
    const { authenticator, added } = await addPasskey(thief, origin);
    assert.equal(added.status, 200);
    await mailed(email, /passkey was added/);
    const removed = await thief.post('/account/security/passkeys/remove', {
      id: authenticator.id,
    });
    assert.equal(doneWay(removed), '/account/security?done=passkey_removed');
    await mailed(email, /passkey of your account was removed/);
    const made = await thief.post('/account/keys/create');
    const id = /name="id" value="([^"]+)"/.exec(made.body)![1]!;
    await mailed(email, /API key was created/);
    assert.equal((await thief.post('/account/keys/revoke', { id, sure: 'yes' })).status, 303);
    await mailed(email, /API key of your account was revoked/);
    const done = await thief.post('/account/security/password', { password: newPassword });
    assert.equal(doneWay(done), '/account/security?done=password_changed');
    await mailed(email, /password was changed/);
  });

  it('too many changes are refused, none is made unseen; a reset is not held up', async () => {
    const { email } = await newPerson();
    const thief = await people.signIn(email);
    await totpOn(thief);
    let changes = 1;
    for (;;) {
      const answer = await thief.post('/account/security/totp/renew');
      if (answer.status !== 200) {
        assert.equal(answer.status, 429);
        assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
        break;
      }
      changes++;
      assert.ok(changes <= 30, 'bounded');
    }
    const { added } = await addPasskey(thief, origin);
    assert.equal(added.status, 429);
    assert.equal((await thief.post('/account/keys/create')).status, 429);
    await mailed(email, /New backup codes/, changes - 1);
    await resetByMail(email);
    await mailed(email, /password was changed/);
  });

  it('a change of the address is told to both; later changes go to the old one too', async () => {
    const { email } = await newPerson();
    const thief = await people.signIn(email);
    let now = email;
    for (const step of ['one', 'two']) {
      const next = `thief-${step}-${now}`;
      assert.equal((await thief.post('/account/email', { email: next })).status, 303);
      const link = await mailedLink(server, next, '/account/email/confirm');
      const page = await thief.get(link.pathname + link.search);
      const form = hiddenOf(page, '/account/email/confirm');
      const before = thief.cookie;
      const done = await thief.post('/account/email/confirm', form);
      assert.equal(done.headers.location, '/account', done.body);
      const dead = await server.fetch('/account', { headers: { Cookie: before } });
      assert.equal(dead.status, 303);
      await mailed(next, /email address was changed/);
      await mailed(email, /email address was changed/, step === 'one' ? 1 : 2);
      now = next;
    }
    const { added } = await addPasskey(thief, origin);
    assert.equal(added.status, 200);
    for (const to of [now, email]) await mailed(to, /passkey was added/);
    assert.equal((await thief.post('/account/keys/create')).status, 200);
    await mailed(email, /API key was created/);
    const done = await thief.post('/account/security/password', { password: newPassword });
    assert.equal(done.status, 303);
    await mailed(email, /password was changed/);
  });

  it('the browser of a thief is not known after a reset', async () => {
    const { email } = await newPerson();
    const thief = visitorOf();
    await enter(thief, email, personPassword);
    await mailed(email, /New sign-in/, 1);
    const before = subjectsTo(email).filter((line) => /New sign-in/.test(line)).length;
    await resetByMail(email);
    await enter(thief, email, newPassword);
    await mailed(email, /New sign-in/, before + 1);
  });

  it('a copy of the cookie is dead after each change, and harms nobody in flight', async () => {
    const { email } = await newPerson();
    const owner = await people.signIn(email, long);
    const open = async (cookie: string) =>
      (await server.fetch('/account', { headers: { Cookie: cookie } })).status === 200;
    const steps: [string, () => Promise<unknown>][] = [
      ['proof', () => owner.post('/account/confirm', { password: personPassword })],
      ['end others', () => owner.post('/account/security/sessions/end-others')],
      ['factor on', () => totpOn(owner)],
      ['codes', () => owner.post('/account/security/totp/renew')],
      ['factor off', () => owner.post('/account/security/totp/disable')],
      ['passkey', () => addPasskey(owner, origin)],
      ['password', () => owner.post('/account/security/password', { password: newPassword })],
    ];
    for (const [name, step] of steps) {
      const copy = owner.cookie;
      const csrf = await owner.csrf();
      assert.ok(await open(copy), `before ${name}`);
      await step();
      assert.notEqual(owner.cookie, copy, name);
      assert.ok(await open(owner.cookie), `after ${name}`);
      const late = await server.fetch('/account', { headers: { Cookie: copy } });
      assert.equal(late.status, 303, name);
      const cookies = String(late.headers['set-cookie'] ?? '');
      assert.doesNotMatch(cookies, /session=/, 'the browser keeps the cookie that it has by now');
      const form = {
        method: 'POST',
        headers: { Cookie: copy, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: `csrf=${csrf}`,
      };
      for (const path of ['security/sessions/end-others', 'keys/create', 'delete', 'confirm']) {
        const refused = await server.fetch(`/account/${path}`, form);
        assert.equal(refused.status, 403, `${name} ${path}`);
        assert.match(refused.body, /Nothing was changed/);
        assert.doesNotMatch(String(refused.headers['set-cookie'] ?? ''), /session=/);
      }
      const call = { ...form, headers: { ...form.headers, 'Content-Type': 'application/json' } };
      const options = { ...call, body: JSON.stringify({ csrf }) };
      const asked = await server.fetch('/account/security/passkeys/options', options);
      assert.equal(asked.status, 403);
    }
  });

  it('the page that shows the backup codes has forms that work', async () => {
    const { email } = await newPerson();
    const owner = await people.signIn(email);
    const { page } = await totpOn(owner);
    const { csrf } = hiddenOf(page, '/signout');
    const out = await owner.post('/signout', `csrf=${csrf}`);
    assert.equal(out.headers.location, '/');
    // Cookies would take the known browser along, and those of sibling hosts.
    assert.equal(out.headers['clear-site-data'], '"cache", "storage"');
  });

  it('of many changes sent at once with one cookie, one is made', async () => {
    const { email } = await newPerson();
    const owner = await people.signIn(email);
    await totpOn(owner);
    const csrf = await owner.csrf();
    const headers = {
      Cookie: owner.cookie,
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const body = `csrf=${csrf}`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.fetch('/account/security/totp/renew', { method: 'POST', headers, body }),
      ),
    );
    // Whoever comes in when the session is gone is refused, or asked for a proof.
    const [made, ...others] = answers.toSorted((a, b) => a.status - b.status);
    assert.equal(made!.status, 200);
    for (const { status, headers: told } of others) {
      assert.ok(status === 403 || (status === 303 && /^\/account\/confirm/.test(told.location!)));
    }
  });
});
