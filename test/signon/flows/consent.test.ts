/** The consent form and the exchange on the whole server: tampering, replays, races, narrow grants. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { consentsPerAccountMax, createConsents } from '../../../src/signon/sites/consents.ts';
import { hiddenOf } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';
import { openStoreBeside } from '../../support/server/shared-store.ts';
import {
  allow,
  authorizePath,
  consentFormIn,
  createAgent,
  goodRequest,
  openPeople,
  password,
} from '../../support/signon/visitor.ts';

const email = 'ada@mail.example';
const formPath = '/authorize.php/consent';

function assertNoCode(answer: Answer, status: number, label = ''): void {
  assert.equal(answer.status, status, label);
  assert.equal(answer.headers.location, undefined, label);
  assert.doesNotMatch(answer.body, /code=/, label);
}

const server = forFile(await startTestServer({ demo: false, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeople(server));
const birthdate = '1990-12-10';
await people.add(email, { givenName: 'Ada', nickname: 'Countess', birthdate });
await people.add('eve@mail.example');
const person = createAgent(server, await people.signIn(email));

describe('consent', () => {
  const exchange = (code: string, more: Readonly<Record<string, string>> = {}) =>
    server.fetch(`/api.php?${new URLSearchParams({ code, ...more })}`);
  const codeOf = (address: URL) => address.searchParams.get('code')!;

  it('an account that has allowed as many sites as it may is told so, and loses none', async () => {
    const clock = systemClock();
    const id = await people.add('full@mail.example');
    const full = createAgent(server, await people.signIn('full@mail.example'));
    const store = openStoreBeside(server.dataDir, clock);
    const consents = createConsents({ store, clock, random: systemRandom() });
    const set = Array.from({ length: consentsPerAccountMax }, (_, i) => {
      const parties = { accountId: id, clientId: `s${i}.example`, origin: 'https://s.example' };
      return consents.afterDecision(undefined, parties, ['openid'], ['openid']).row;
    });
    assert.ok((await store.commit({ set })).ok);
    const { id: form, csrf, shown } = consentFormIn(await full.get(authorizePath({})));
    const body = { id: form, csrf, shown, decision: 'allow' };
    const refused = await full.post(formPath, body);
    assertNoCode(refused, 409);
    assert.match(refused.body, /You have allowed as many sites as an account can/);
    assert.equal((await consents.list(id)).length, consentsPerAccountMax);
    await consents.revoke(id, 's5.example');
    assert.equal((await full.post(formPath, body)).status, 303, 'the same form');
    await store.close();
  });

  it('the page keeps to itself: headers', async () => {
    const { headers } = await person.get(authorizePath({ prompt: 'consent' }));
    const policy = headers['content-security-policy'] as string;
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /form-action|unsafe/);
    assert.equal(headers['x-frame-options'], 'DENY');
    assert.equal(headers['referrer-policy'], 'same-origin');
    assert.equal(headers['cache-control'], 'no-store');
    const named = await createAgent(server).get(authorizePath({ prompt: 'none' }));
    assert.match(named.headers['content-security-policy'] as string, /form-action 'self'/);
  });

  it('what was allowed is what the site reads, once', async () => {
    const back = await allow(person, authorizePath({ scope: 'openid profile email age' }), [
      'email',
      'age',
    ]);
    assert.equal(back.origin + back.pathname, 'https://example.com/cb');
    assert.deepEqual([...back.searchParams.keys()], ['x', 'code', 'iss', 'state']);
    const answer = await exchange(codeOf(back));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['x-sso-client'], 'example.com');
    const profile = answer.json() as Record<string, unknown>;
    assert.deepEqual(Object.keys(profile).sort(), [
      ...['age', 'age_verified', 'birthdate', 'email', 'email_verified', 'service_id'],
    ]);
    assert.equal(profile.email, email);
    assert.equal((await exchange(codeOf(back))).status, 400);
  });

  it('a new scope is asked about, with the rest as it was left', async () => {
    const wider = await person.get(authorizePath({ scope: 'openid profile email age phone' }));
    assert.ok(wider.body.includes('Your phone number is new.'));
    assert.deepEqual(consentFormIn(wider).scopes, ['email', 'phone', 'age']);
    // Nothing was decided by looking.
    const known = await person.get(authorizePath({ scope: 'openid profile email age' }));
    const profile = (await exchange(codeOf(new URL(known.headers.location!)))).json();
    assert.equal((profile as Record<string, unknown>).given_name, undefined);
  });

  it('the form needs its own token, and one of this very session', async () => {
    const { id, csrf, shown } = consentFormIn(
      await person.get(authorizePath({ prompt: 'consent' })),
    );
    const eve = createAgent(server, await people.signIn('eve@mail.example'));
    const second = createAgent(server, await people.signIn(email));
    const evesToken = consentFormIn(await eve.get(authorizePath())).csrf;
    const form = { id, shown, decision: 'allow', scope: ['profile'] };
    assertNoCode(await person.post(formPath, form), 403, 'no token');
    assertNoCode(await person.post(formPath, { ...form, csrf: '' }), 403, 'empty');
    assertNoCode(await person.post(formPath, { ...form, csrf: evesToken }), 403, "eve's");
    assertNoCode(await eve.post(formPath, { ...form, csrf: evesToken }), 403, "eve's session");
    assertNoCode(await eve.post(formPath, { ...form, csrf }), 403);
    const secondToken = consentFormIn(await second.get(authorizePath({ prompt: 'consent' }))).csrf;
    assertNoCode(await second.post(formPath, { ...form, csrf: secondToken }), 403, 'same person');
    assertNoCode(await createAgent(server).post(formPath, { ...form, csrf }), 403, 'stranger');
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ]) {
      const answer = await person.post(formPath, { ...form, csrf }, headers);
      assertNoCode(answer, 403, JSON.stringify(headers));
    }
    // None of it has used the form up.
    assert.equal((await person.post(formPath, { ...form, csrf })).status, 303);
  });

  it('nothing that is sent changes site, scopes or address', async () => {
    const site = { client_id: 't.example.com', redirect_uri: 'https://t.example.com/cb' };
    const { id, csrf, shown } = consentFormIn(
      await person.get(authorizePath({ ...site, scope: 'openid profile' })),
    );
    const answer = await person.post(formPath, {
      id,
      csrf,
      shown,
      decision: 'allow',
      client_id: 'evil.example',
      response_type: 'token',
      redirect_uri: 'https://evil.example/',
      state: 'forged',
      accountId: 'x',
      scope: ['profile', 'email', 'phone', 'admin', '__proto__', ''],
    });
    const back = new URL(answer.headers.location!);
    assert.equal(back.origin + back.pathname, 'https://t.example.com/cb');
    assert.equal(back.searchParams.get('state'), 's1');
    assert.deepEqual(back.searchParams.getAll('iss'), [server.baseUrl]);
    const exchanged = await exchange(codeOf(back));
    assert.equal(exchanged.headers['x-sso-client'], 't.example.com');
    const profile = exchanged.json() as Record<string, unknown>;
    assert.equal(profile.email, undefined);
    assert.equal(profile.given_name, 'Ada');
  });

  it('openid is given whatever the form says', async () => {
    const site = { client_id: 'o.example.com', redirect_uri: 'https://o.example.com/' };
    const back = await allow(person, authorizePath(site), []);
    const profile = (await exchange(codeOf(back))).json() as object;
    assert.deepEqual(Object.keys(profile), ['service_id']);
  });

  it('a form is answered once', async () => {
    const { id, csrf, shown } = consentFormIn(
      await person.get(authorizePath({ prompt: 'consent' })),
    );
    const send = (decision: string) => person.post(formPath, { id, csrf, shown, decision });
    assert.equal((await send('nothing')).status, 400);
    assert.equal((await send('')).status, 400);
    const race = await Promise.all(Array.from({ length: 20 }, () => send('allow')));
    assert.equal(race.filter(({ status }) => status === 303).length, 1);
    for (const answer of race) if (answer.status !== 303) assertNoCode(answer, 403);
    for (const decision of ['allow', 'deny', 'switch']) assertNoCode(await send(decision), 403);
  });

  it('hostile forms are refused', async () => {
    const { id, csrf, shown } = consentFormIn(
      await person.get(authorizePath({ prompt: 'consent' })),
    );
    const good = `csrf=${csrf}&id=${id}&decision=allow`;
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const cookie = { Cookie: `session=${person.cookies.get('session')}` };
    for (const [body, status] of [
      [`${good}&id=${id}`, 400],
      [`${good}&decision=deny`, 400],
      [`${good}&csrf=${csrf}`, 400],
      [`${good}&scope=%`, 400],
      [`${good}&scope=%00`, 400],
      [`${good}${'&scope=profile'.repeat(300)}`, 400],
      [`${good}&pad=${'x'.repeat(70_000)}`, 413],
      [`csrf=${csrf}&decision=allow`, 403],
      [`csrf=${csrf}&decision=allow&id=${id.slice(1)}`, 403],
      [`csrf=${csrf}&decision=allow&id=${'x'.repeat(5_000)}`, 403],
      ['', 403],
    ] as const) {
      const headers = { ...type, ...cookie };
      const answer = await server.fetch(formPath, { method: 'POST', headers, body });
      assertNoCode(answer, status, body.slice(0, 200));
    }
    const json = { ...cookie, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ csrf, id, shown, decision: 'allow' });
    assertNoCode(await server.fetch(formPath, { method: 'POST', headers: json, body }), 415);
    assertNoCode(await server.fetch(formPath, { headers: cookie }), 403, 'names no request');
    assert.equal((await person.post(formPath, { id, csrf, shown, decision: 'allow' })).status, 303);
  });

  it('refusing leads back with access_denied and decides nothing', async () => {
    const site = { client_id: 'd.example.com', redirect_uri: 'https://d.example.com/' };
    const { id, csrf } = consentFormIn(await person.get(authorizePath(site)));
    const answer = await person.post(formPath, { id, csrf, decision: 'deny', scope: 'profile' });
    assert.equal(answer.status, 303);
    assert.equal(answer.headers['referrer-policy'], 'no-referrer');
    const back = new URL(answer.headers.location!);
    assert.equal(back.searchParams.get('error'), 'access_denied');
    assert.equal(back.searchParams.get('state'), 's1');
    assert.equal(back.searchParams.has('code'), false);
    consentFormIn(await person.get(authorizePath(site)));
  });

  it('another account takes the request over, and the first one can not answer it', async () => {
    const site = { client_id: 'w.example.com', redirect_uri: 'https://w.example.com/' };
    const { id, csrf } = consentFormIn(await person.get(authorizePath(site)));
    const sent = await person.post(formPath, { id, csrf, decision: 'switch' });
    assert.equal(sent.headers.location, authorizePath(site).replace('/authorize.php', '/signin'));
    assertNoCode(await person.post(formPath, { id, csrf, decision: 'allow' }), 403);
    const before = person.cookies.get('session')!;
    const page = await person.get(sent.headers.location!);
    const fields = { ...hiddenOf(page, '/signin'), email: 'eve@mail.example', password };
    const done = await person.post('/signin', fields);
    const shown = await person.get(done.headers.location!);
    assert.ok(shown.body.includes('<strong>eve@mail.example</strong>'));
    // A browser has one session: the former one has ended.
    person.cookies.set('session', before);
    assert.equal((await person.get(authorizePath(site))).status, 303);
    person.cookies.set('session', await people.signIn(email));
  });

  it('of 200 who redeem a code at once, one gets the profile', async () => {
    const code = codeOf(await allow(person, authorizePath({ prompt: 'consent' })));
    for (const method of ['HEAD', 'OPTIONS']) {
      assert.equal((await server.fetch(`/api.php?code=${code}`, { method })).status, 405);
    }
    const answers = await Promise.all(Array.from({ length: 200 }, () => exchange(code)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assert.equal(answer.status, 400);
      assert.equal((answer.json() as { error: string }).error, 'invalid_grant');
    }
  });

  it('a code of one site is no use with the name of another, and is burned by it', async () => {
    const { redirect_uri } = goodRequest;
    for (const [wrong, right] of [
      [{ client_id: 'b.example' }, { client_id: 'example.com' }],
      [{ redirect_uri: 'https://example.com/cb' }, { redirect_uri }],
      [{ code_verifier: 'v'.repeat(43) }, {}],
    ] as const) {
      const code = codeOf(await allow(person, authorizePath({ prompt: 'consent' })));
      assert.equal((await exchange(code, wrong)).status, 400, JSON.stringify(wrong));
      assert.equal((await exchange(code, right)).status, 400, 'burned');
    }
    const code = codeOf(await allow(person, authorizePath({ prompt: 'consent' })));
    assert.equal((await exchange(code, { client_id: 'example.com', redirect_uri })).status, 200);
  });

  it('a challenge makes the verifier necessary', async () => {
    const verifier = 'portcullis-'.repeat(5);
    const code_challenge = createHash('sha256').update(verifier).digest('base64url');
    const challenged = { code_challenge, code_challenge_method: 'S256' };
    const code = async () =>
      codeOf(new URL((await person.get(authorizePath(challenged))).headers.location!));
    assert.equal((await exchange(await code(), { code_verifier: verifier })).status, 200);
    assert.equal((await exchange(await code())).status, 400);
    assert.equal((await exchange(await code(), { code_verifier: `${verifier}x` })).status, 400);
  });

  it('codes, tokens and cookies are in no log', async () => {
    const { id, csrf, shown } = consentFormIn(
      await person.get(authorizePath({ prompt: 'consent' })),
    );
    const answer = await person.post(formPath, { id, csrf, shown, decision: 'allow' });
    const code = codeOf(new URL(answer.headers.location!));
    await exchange(code);
    await exchange(code);
    const logs = server.stderr() + server.stdout();
    const secrets = [id, csrf, code, ...person.cookies.values(), email];
    assert.deepEqual(
      secrets.filter((secret) => logs.includes(secret)),
      [],
    );
    assert.ok(logs.includes('a code was sent again'), 'the log was written');
  });
});
