/** /authorize.php on the whole server: what is asked, of whom, and what goes back to the site. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { clientLimits } from '../../../src/config/limits.ts';
import { hiddenOf } from '../../support/browser/web-visitor.ts';
import { startTestServer, type TestServer, threadCounts } from '../../support/server/server.ts';
import {
  type Agent,
  allow,
  authorizePath,
  consentFormIn,
  createAgent,
  openPeople,
  type People,
  password,
} from '../../support/signon/visitor.ts';

const email = 'ada@mail.example';
const mainOf = (body: string) => body.slice(body.indexOf('<main'), body.indexOf('</main>'));
const codeShape = /^[A-Za-z0-9_-]{43}$/;

for (const threads of threadCounts)
  describe(`authorize, ${threads} threads`, () => {
    let server: TestServer;
    let people: People;
    let stranger: Agent;
    let person: Agent;
    before(async () => {
      server = await startTestServer({ threads, demo: false, env: { CLIENT_LIMITS: 'off' } });
      people = openPeople(server);
      await people.add(email, { givenName: 'Ada' });
      stranger = createAgent(server);
      person = createAgent(server, await people.signIn(email));
    });
    after(async () => {
      await people[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });

    it('a repeated name or a broken escape is a local 400 that leads home alone', async () => {
      const good = authorizePath();
      for (const tail of [
        ...['&client_id=example.com', '&client_id=evil.com', '&redirect_uri=x', '&state=s2'],
        ...['&x=%', '&x=%zz', '&state2=%ff', '&y=%00', `&${'z=1&'.repeat(200)}`],
      ]) {
        for (const agent of [stranger, person]) {
          const answer = await agent.get(good + tail);
          assert.equal(answer.status, 400, tail);
          assert.equal(answer.headers.location, undefined);
          const ways = mainOf(answer.body).match(/<form\b|href="[^"]*"/g);
          assert.deepEqual(ways, ['href="/"'], tail);
        }
      }
      assert.equal((await stranger.get('/authorize.php')).status, 400);
      assert.equal((await stranger.get(`/authorize.php?x=${'y'.repeat(13_000)}`)).status, 400);
    });

    it('HEAD, OPTIONS and POST are refused and change nothing', async () => {
      const { id } = consentFormIn(await person.get(authorizePath()));
      for (const path of [authorizePath(), `/authorize.php/continue?id=${id}`]) {
        for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT']) {
          const answer = await server.fetch(path, { method });
          assert.equal(answer.status, 405, `${method} ${path}`);
          assert.equal(answer.headers.location, undefined);
          assert.equal(answer.headers['access-control-allow-origin'], undefined);
        }
      }
      assert.equal((await person.get(`/authorize.php/continue?id=${id}`)).status, 200);
    });

    it('a stranger is sent to sign in, and goes on from there in the same browser', async () => {
      const browser = createAgent(server);
      const address = authorizePath({ login_hint: email });
      const sent = await browser.get(address);
      assert.equal(sent.status, 303);
      assert.equal(sent.headers['referrer-policy'], 'no-referrer');
      const target = sent.headers.location!;
      assert.equal(target, address.replace('/authorize.php', '/signin'), 'no longer than it came');
      const page = await browser.get(target);
      assert.match(mainOf(page.body), /value="ada@mail\.example"/, 'the hint');
      const form = { ...hiddenOf(page, '/signin'), email, password };
      const done = await browser.post('/signin', form);
      const next = done.headers.location!;
      assert.match(next, /^\/authorize\.php\/continue\?id=[\w-]{43}$/);
      const asked = consentFormIn(await browser.get(next));
      assert.deepEqual(consentFormIn(await browser.get(next)), asked, 'loaded again');
      for (const other of [stranger, person]) assert.equal((await other.get(next)).status, 403);
    });

    it('a faulty request goes back by itself for a person, by a named link for a stranger', async () => {
      for (const [changes, error] of [
        [{ response_type: 'token' }, 'unsupported_response_type'],
        [{ response_type: undefined }, 'invalid_request'],
        [{ scope: 'openid admin' }, 'invalid_scope'],
        [{ scope: undefined }, 'invalid_request'],
        [{ prompt: 'select_account' }, 'invalid_request'],
        [{ prompt: 'none login' }, 'invalid_request'],
        [{ code_challenge: 'x' }, 'invalid_request'],
        [{ code_challenge_method: 'S256' }, 'invalid_request'],
      ] as const) {
        const label = JSON.stringify(changes);
        const told = await person.get(authorizePath(changes));
        assert.equal(told.status, 303, label);
        assert.equal(told.headers['referrer-policy'], 'no-referrer');
        const back = new URL(told.headers.location!);
        assert.equal(back.origin + back.pathname, 'https://example.com/cb');
        assert.equal(back.searchParams.get('error'), error, label);
        assert.equal(back.searchParams.get('state'), 's1');
        assert.equal(back.searchParams.get('x'), '1');
        assert.deepEqual(back.searchParams.getAll('iss'), [server.baseUrl]);
        const shown = await stranger.get(authorizePath(changes));
        assert.equal(shown.status, 200, label);
        assert.equal(shown.headers.location, undefined);
        assert.ok(mainOf(shown.body).includes(`error=${error}&amp;`), label);
        const link = /href="(https:\/\/example\.com\/cb[^"]*)"/.exec(mainOf(shown.body))![1]!;
        const linked = new URL(link.replaceAll('&amp;', '&')).searchParams;
        assert.deepEqual(linked.getAll('iss'), [server.baseUrl], label);
        assert.ok(mainOf(shown.body).includes('<strong>example.com</strong>'));
      }
    });

    it('state goes back character for character, up to 2,048', async () => {
      for (const state of [
        ...['', ' ', 'a b+c', '%20%zz', '&=?#/', '"<>\\', "it's", 'é', '漢字', '😀', '\t\r\n x'],
        ...['&code=forged&state=2', '\u202e\u200b', '{"a":[1]}', 'x'.repeat(2_048)],
      ]) {
        const answer = await person.get(authorizePath({ state, prompt: 'none', scope: 'phone' }));
        assert.equal(answer.status, 303, state.slice(0, 50));
        assert.ok(answer.headers.location!.endsWith(`&state=${encodeURIComponent(state)}`));
        const back = new URL(answer.headers.location!).searchParams;
        assert.deepEqual(back.getAll('state'), [state]);
        assert.deepEqual(back.getAll('code'), []);
        const { id, csrf } = consentFormIn(await person.get(authorizePath({ state })));
        const denied = await person.post('/authorize.php/consent', { id, csrf, decision: 'deny' });
        assert.equal(denied.status, 303);
        const refused = new URL(denied.headers.location!).searchParams;
        assert.deepEqual(refused.getAll('state'), [state]);
        assert.deepEqual(refused.getAll('iss'), [server.baseUrl]);
      }
      const none = await person.get(authorizePath({ state: undefined, prompt: 'none' }));
      assert.equal(new URL(none.headers.location!).searchParams.has('state'), false);
      const long = await person.get(authorizePath({ state: 'x'.repeat(2_049) }));
      const back = new URL(long.headers.location!).searchParams;
      assert.equal(back.get('error'), 'invalid_request');
      assert.equal(back.has('state'), false);
    });

    it('the longest request that is allowed fits', async () => {
      const uri = `https://example.com/?${'%C3%A9'.repeat(329)}`;
      assert.ok(uri.length > 1_990 && uri.length <= 2_000);
      const state = '&'.repeat(2_048);
      const answer = await person.get(authorizePath({ redirect_uri: uri, state, prompt: 'none' }));
      assert.equal(answer.status, 303);
      assert.equal(new URL(answer.headers.location!).searchParams.get('state'), state);
    });

    it('prompt=none never asks', async () => {
      const silent = authorizePath({
        prompt: 'none',
        client_id: 'silent.example.com',
        redirect_uri: 'https://silent.example.com/cb',
      });
      const nobody = await stranger.get(`${silent}&login_hint=${email}`);
      assert.equal(nobody.status, 200);
      assert.match(mainOf(nobody.body), /error=login_required/);
      assert.equal(nobody.headers.location, undefined);
      const unasked = new URL((await person.get(silent)).headers.location!);
      assert.equal(unasked.searchParams.get('error'), 'consent_required');
      await allow(person, silent.replace('prompt=none', 'prompt='), []);
      const answered = new URL((await person.get(silent)).headers.location!);
      assert.match(answered.searchParams.get('code')!, codeShape);
      const wider = silent.replace('scope=openid', 'scope=age%20openid');
      const more = new URL((await person.get(wider)).headers.location!);
      assert.equal(more.searchParams.get('error'), 'consent_required');
    });

    it('prompt=login asks for a sign-in since the request, prompt=consent for the page', async () => {
      const site = { client_id: 'p.example.com', redirect_uri: 'https://p.example.com/' };
      await allow(person, authorizePath(site));
      const straight = await person.get(authorizePath(site));
      assert.match(new URL(straight.headers.location!).searchParams.get('code')!, codeShape);
      assert.ok(
        (await person.get(authorizePath({ ...site, prompt: 'consent' }))).body.includes(
          'the site asks you to review it',
        ),
      );
      const again = createAgent(server, await people.signIn(email));
      const sent = await again.get(authorizePath({ ...site, prompt: 'login' }));
      assert.match(sent.headers.location!, /^\/signin\?client_id=/);
      const page = await again.get(sent.headers.location!);
      const form = { ...hiddenOf(page, '/signin'), email, password };
      const inside = await again.post('/signin', form);
      const done = await again.get(inside.headers.location!);
      assert.match(new URL(done.headers.location!).searchParams.get('code')!, codeShape);
    });

    it('an address that is not verified gets no further', async () => {
      const newcomer = createAgent(server, await people.addUnverified('new@mail.example'));
      const shown = await newcomer.get(authorizePath());
      assert.equal(shown.status, 200);
      assert.ok(mainOf(shown.body).includes('new@mail.example'));
      const query = authorizePath().split('?')[1]!.replaceAll('&', '&amp;');
      assert.ok(mainOf(shown.body).includes(`href="/authorize.php?${query}"`));
      assert.ok(mainOf(shown.body).includes(`href="/verify?${query}"`));
      const silent = await newcomer.get(authorizePath({ prompt: 'none' }));
      assert.match(mainOf(silent.body), /error=login_required/);
      const faulty = await newcomer.get(authorizePath({ scope: 'x' }));
      assert.equal(faulty.status, 200, 'not redirected either');
    });

    it('a session that has ended is nobody', async () => {
      const account = await people.add('gone@mail.example');
      const gone = createAgent(server, await people.signIn('gone@mail.example'));
      const { id, csrf, shown } = consentFormIn(await gone.get(authorizePath()));
      await people.endSessions(account);
      const answer = await gone.post('/authorize.php/consent', {
        id,
        csrf,
        shown,
        decision: 'allow',
      });
      assert.equal(answer.status, 403);
      assert.match((await gone.get(authorizePath())).headers.location!, /^\/signin/);
    });
  });

it('each client has a limit, a /64 is one client, and neighbours who ask now and then use up nothing', async () => {
  const env = { TRUSTED_PROXIES: '127.0.0.1,::1' };
  await using server = await startTestServer({ threads: 1, demo: false, env });
  const { max } = clientLimits.authorize;
  assert.ok(max >= 5 * 60, 'five people of an office who ask once a second');
  const ask = (client: string) =>
    server.fetch('/authorize.php?client_id=x', { headers: { 'X-Forwarded-For': client } });
  const clients = [() => '203.0.113.7', (i: number) => `2001:db8:7:1::${i.toString(16)}`];
  for (const client of clients) {
    // Some at once: all of them have to come in a minute, on a slow machine too.
    const statuses = new Set<number>();
    for (let i = 1; i <= max; i += 10) {
      const some = Array.from({ length: Math.min(10, max + 1 - i) }, (_, j) => ask(client(i + j)));
      for (const { status } of await Promise.all(some)) statuses.add(status);
    }
    assert.deepEqual([...statuses], [400]);
    const beyond = [await ask(client(max + 1)), await ask(client(max + 2))];
    assert.deepEqual(
      beyond.map(({ status }) => status),
      [429, 429],
    );
    assert.ok(Number((await ask(client(max))).headers['retry-after']) >= 1);
  }
  for (const other of ['203.0.113.8', '2001:db8:7:2::1'])
    assert.equal((await ask(other)).status, 400);
});
