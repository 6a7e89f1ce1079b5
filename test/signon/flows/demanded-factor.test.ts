/** REQUIRE_SECOND_FACTOR: who has none sets one up before anything else, and then goes on. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { roleRow } from '../../../src/access/accounts/records.ts';
import { endpoints } from '../../../src/app/modules.ts';
import { isSessionEndpoint } from '../../../src/web/guard/endpoint.ts';
import {
  type Answer,
  runCli,
  startTestServer,
  type TestServer,
} from '../../support/server/server.ts';
import { addPasskey, totpOn } from '../../support/signon/factors.ts';
import {
  type OwnBrowser,
  openPeopleOf,
  type People,
  personPassword,
} from '../../support/signon/person.ts';
import { authorizePath, consentFormIn } from '../../support/signon/visitor.ts';

const origin = 'http://localhost:4561';
const enrolment = /^\/account\/security\?return=/;

/** What a person who is signed in may do while a second factor is to be set up. */
const open = new Set([
  'GET /account/security',
  'GET /account/security/totp',
  'POST /account/security/totp/begin',
  'POST /account/security/totp/enable',
  'POST /account/security/passkeys/options',
  'POST /account/security/passkeys',
  'GET /account/confirm',
  'POST /account/confirm',
  'POST /account/confirm/passkey/options',
  'POST /account/confirm/passkey',
  'GET /account/review',
  'POST /account/review',
  'POST /signout',
  'POST /verify/resend',
]);

const own = endpoints.filter(isSessionEndpoint).filter(({ who }) => who !== 'anyone');

/** @returns what was let in of the pages and forms that only people with a session have */
async function letIn(browser: OwnBrowser): Promise<string[]> {
  const found: string[] = [];
  for (const { method, path, body } of own) {
    const line = `${method} ${path}`;
    if (open.has(line)) continue;
    const asked = path.replace(/:\w+|\*/g, 'x');
    const type = body?.types[0];
    const answer =
      method === 'GET'
        ? await browser.get(asked)
        : type === 'json-call'
          ? await browser.call(asked, {})
          : type === 'multipart'
            ? await browser.upload(asked, 'picture', new Uint8Array(8))
            : await browser.post(asked, { id: 'x', decision: 'allow', password: personPassword });
    const isAway = enrolment.test(answer.headers.location ?? '');
    if (!isAway && !(type === 'json-call' && answer.status === 403)) {
      found.push(`${line}: ${answer.status} ${answer.headers.location ?? ''}`);
    }
  }
  return found;
}

const locationOf = (answer: Answer) => answer.headers.location ?? `none: ${answer.status}`;
const returnOf = (answer: Answer) =>
  new URL(locationOf(answer), origin).searchParams.get('return') ?? 'nowhere';

describe('a second factor demanded of everybody', () => {
  let server: TestServer;
  let people: People;
  let count = 0;
  before(async () => {
    const env = { CLIENT_LIMITS: 'off', BASE_URL: origin, REQUIRE_SECOND_FACTOR: 'everybody' };
    server = await startTestServer({ threads: 1, env });
    people = openPeopleOf(server);
  });
  after(async () => {
    await people[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  async function newPerson() {
    const email = `ada${count++}@example.org`;
    return { email, id: await people.register(email) };
  }

  it('no page and no form of a session is a way around it', async () => {
    const { email } = await newPerson();
    const browser = await people.signIn(email);
    assert.ok(own.length > 60, `${own.length} pages and forms`);
    assert.deepEqual(await letIn(browser), []);
    const page = await browser.get('/account/security');
    assert.match(page.body, /Add a passkey or a second factor/);
    assert.doesNotMatch(page.body, /action="\/account\/security\/(password|sessions)/);
    const french = await browser.get('/account/security', { 'Accept-Language': 'fr' });
    assert.match(french.body, /Ajoutez une clé d’accès ou un second facteur/);
    assert.equal(
      locationOf(await browser.get('/connect/nginx')),
      '/account/security?return=%2Fconnect%2Fnginx',
    );
    assert.deepEqual((await browser.get('/connect/key')).json(), { standing: 'unknown-reader' });
    const consent = await browser.post('/authorize.php/consent', {
      id: 'A'.repeat(43),
      decision: 'allow',
    });
    assert.equal(consent.status, 403);
    const silent = await browser.get(authorizePath({ prompt: 'none' }));
    assert.match(silent.body, /error=login_required/, 'the site is told by a link');
  });

  it('a site’s request waits, and goes on once there is an authenticator', async () => {
    const { email } = await newPerson();
    const browser = await people.signIn(email);
    const away = await browser.get(authorizePath());
    assert.match(locationOf(away), enrolment);
    const back = returnOf(away);
    assert.match(back, /^\/authorize\.php\/continue\?id=/);
    assert.match(locationOf(await browser.get(back)), enrolment, 'not before');
    assert.match((await browser.get(locationOf(away))).body, /name="return"/);
    const begun = await browser.post('/account/security/totp/begin', { return: back });
    assert.equal(returnOf(begun), back);
    const enrolling = await browser.get(locationOf(begun));
    assert.match(enrolling.body, /name="return"/);
    const action = /action="(\/account\/security\/totp\/enable[^"]*)"/.exec(enrolling.body)![1]!;
    const slip = await browser.post(action, { return: back, code: '000000' });
    assert.equal(slip.status, 422);
    assert.equal(
      locationOf(await browser.get(action)),
      locationOf(begun),
      'its address, loaded anew',
    );
    const proof = `/account/confirm?return=${encodeURIComponent(locationOf(away))}`;
    const pages = [await browser.get(locationOf(away)), enrolling, slip, await browser.get(proof)];
    const openers = pages.map(({ headers }) => headers['cross-origin-opener-policy']);
    assert.deepEqual(
      new Set(openers),
      new Set(['unsafe-none']),
      'a window of the site stays in touch',
    );
    const plain = await browser.get('/account/security');
    assert.equal(plain.headers['cross-origin-opener-policy'], 'same-origin');
    const { page } = await totpOn(browser);
    assert.equal(page.status, 200);
    const form = consentFormIn(await browser.get(back));
    assert.equal((await browser.get('/account')).status, 200);
    const fields = { id: form.id, shown: form.shown, scope: 'openid', decision: 'allow' };
    const done = await browser.post('/authorize.php/consent', fields);
    assert.match(locationOf(done), /^https:\/\/example\.com\/cb\?x=1&code=/);
  });

  it('the page with the backup codes, and a passkey, lead on to where the person was going', async () => {
    const { email } = await newPerson();
    const browser = await people.signIn(email);
    await browser.post('/account/security/totp/begin', { return: '/account/keys' });
    const wrong = { code: '000000', return: '/account/keys' };
    const again = await browser.post('/account/security/totp/enable', wrong);
    assert.match(again.body, /name="return" value="\/account\/keys"/);
    const { authenticator, added } = await addPasskey(browser, origin);
    assert.equal(added.status, 200);
    assert.equal((await browser.get('/account/keys')).status, 200, 'a passkey counts as both');
    const weak = await people.signIn(email);
    assert.equal(
      locationOf(await weak.get('/account/keys')),
      '/account/confirm?return=%2Faccount%2Fkeys',
    );
    assert.equal(
      locationOf(await weak.get('/account/security')),
      '/account/confirm?return=%2Faccount%2Fsecurity',
    );
    const byPassword = { password: personPassword, return: '/account/keys' };
    assert.equal((await weak.post('/account/confirm', byPassword)).status, 403, 'not by password');
    assert.match(returnOf(await weak.get(authorizePath())), /^\/authorize\.php\/continue/);
    const options = (await weak.call('/account/confirm/passkey/options', {})).json();
    const response = authenticator.get(options as never);
    assert.equal((await weak.call('/account/confirm/passkey', { response })).status, 200);
    assert.equal((await weak.get('/account/keys')).status, 200);
    for (const bad of ['https://evil.example/', '//evil.example', '/signout', 'javascript:1']) {
      const page = await weak.get(`/account/security?return=${encodeURIComponent(bad)}`);
      assert.doesNotMatch(page.body, /evil|javascript:|name="return"/, bad);
    }
  });

  it('a session from before the authenticator shows it, and without any factor it is due again', async () => {
    const { email, id } = await newPerson();
    const [owner, other] = [await people.signIn(email), await people.signIn(email)];
    const { codes } = await totpOn(owner);
    assert.match(locationOf(await other.get('/account')), /^\/account\/confirm\?return=/);
    const proof = { password: personPassword, code: codes[0]!, return: '/account' };
    assert.equal(locationOf(await other.post('/account/confirm', proof)), '/account');
    assert.equal((await other.get('/account')).status, 200);
    assert.equal((await other.post('/account/security/totp/disable')).status, 303);
    for (const browser of [owner, other]) {
      assert.match(locationOf(await browser.get('/account')), enrolment);
      assert.deepEqual(await letIn(browser), []);
    }
    assert.ok(id);
  });

  it('a factor that the operator resets leads to the review, if one is due, and then here again', async () => {
    const env = { DATA_DIR: server.dataDir, BASE_URL: origin };
    const [plain, reviewed] = [await newPerson(), await newPerson()];
    await totpOn(await people.signIn(plain.email));
    const before = await people.signIn(reviewed.email);
    await addPasskey(before, origin);
    await totpOn(before);
    for (const { email } of [plain, reviewed]) {
      assert.equal((await runCli(['account', 'reset-factor', email], env)).code, 0);
    }
    assert.match(locationOf(await (await people.signIn(plain.email)).get('/account')), enrolment);
    const browser = await people.signIn(reviewed.email);
    for (const path of ['/account', '/account/security', authorizePath()]) {
      assert.match(locationOf(await browser.get(path)), /^\/account\/review\?/, path);
    }
    const review = await browser.get('/account/review');
    const names = new Set(
      [...review.body.matchAll(/type="radio"[^>]* name="([^"]+)"/g)].map(([, name]) => name!),
    );
    assert.ok(names.size > 0, review.body.slice(0, 500));
    const decided = Object.fromEntries([...names].map((name) => [name, 'remove']));
    assert.equal((await browser.post('/account/review', decided)).status, 303);
    assert.match(locationOf(await browser.get('/account')), enrolment);
  });

  it('keys of the API work as before', async () => {
    const { email } = await newPerson();
    const browser = await people.signIn(email);
    await totpOn(browser);
    const made = await browser.post('/account/keys/create');
    const key = /<code[^>]*>([A-Za-z0-9_-]{40,})<\/code>/.exec(made.body)?.[1];
    assert.ok(key, made.body.slice(0, 300));
    await browser.post('/account/security/totp/disable');
    assert.match(locationOf(await browser.get('/account/keys')), enrolment);
    const answer = await server.fetch('/api/v2/check?ipAddress=8.8.8.8', { headers: { Key: key } });
    assert.equal(answer.status, 200);
  });
});

it('demanded of operators, it is asked of nobody else', async () => {
  const env = { CLIENT_LIMITS: 'off', BASE_URL: origin, REQUIRE_SECOND_FACTOR: 'operators' };
  await using server = await startTestServer({ threads: 1, env });
  await using people = openPeopleOf(server);
  const operator = await people.register('operator@example.org');
  await people.register('ada@example.org');
  assert.ok((await people.store.commit(roleRow(operator, 'operator'))).ok);
  const [theirs, adas] = [
    await people.signIn('operator@example.org'),
    await people.signIn('ada@example.org'),
  ];
  assert.equal((await adas.get('/account')).status, 200);
  assert.equal(consentFormIn(await adas.get(authorizePath())).scopes.length > 0, true);
  assert.deepEqual(await letIn(theirs), []);
  await totpOn(theirs);
  assert.equal((await theirs.get('/account')).status, 200);
  assert.equal((await theirs.get('/admin/system')).status, 200);
});
