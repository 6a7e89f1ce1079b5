/** "We saw your request" of the screens without a key: by a mark that one reader’s screen alone has. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allowOn, type WebVisitor, webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';
import { type Agent, authorizePath, createAgent } from '../../support/signon/visitor.ts';

async function markOn(reader: Agent, screen: string): Promise<string> {
  const { body } = await reader.get(`/connect/${screen}`);
  const marks = new Set(body.match(/(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/g));
  assert.equal(marks.size, 1, screen);
  return [...marks][0]!;
}

async function lookOf(
  reader: Agent,
  screen: string,
): Promise<{ requests: number; visitor?: string; note?: { name: string; about: string } }> {
  const { status, body } = await reader.get(`/connect/seen/${screen}`);
  assert.equal(status, 200);
  return JSON.parse(body);
}

const requestsOf = async (reader: Agent, screen: string) => (await lookOf(reader, screen)).requests;

describe('the first request', () => {
  it('a request with the mark of a screen is seen there, by its reader alone', async () => {
    const env = { CLIENT_LIMITS: 'off', TRUSTED_PROXIES: '127.0.0.1' };
    const headers = { 'X-Forwarded-For': '8.8.8.8' };
    await using server = await startTestServer({ env });
    await within(async () => (await server.fetch('/feeds/blocklist.nft')).status === 200, 'a list');
    const [ada, eve] = [createAgent(server), createAgent(server)];
    const ways: readonly (readonly [string, (mark: string) => string])[] = [
      ['nftables', (mark) => `/feeds/blocklist.nft?mark=${mark}`],
      ['ipset', (mark) => `/feeds/blocklist.ipset?ipVersion=4&mark=${mark}`],
      ['haproxy-list', (mark) => `/feeds/blocklist.haproxy?mark=${mark}`],
      ['opnsense', (mark) => `/feeds/blocklist.txt?aggregate=1&mark=${mark}`],
      ['mikrotik', (mark) => `/feeds/blocklist.rsc?aggregate=1&mark=${mark}`],
      ['unbound', (mark) => `/feeds/blocklist.rpz?mark=${mark}`],
      ['firehol', (mark) => `/feeds/blocklist.txt?ipVersion=4&mark=${mark}`],
      ['nginx', (mark) => `/gate/check?mode=nginx&mark=${mark}`],
      ['caddy', (mark) => `/gate/check?challenge=50&block=75&mark=${mark}`],
      ['traefik', (mark) => `/gate/check?mark=${mark}`],
      ['envoy', (mark) => `/gate/envoy/block=75&mark=${mark}/a/b?c=d`],
    ];
    for (const [screen, pathOf] of ways) {
      const mark = await markOn(ada, screen);
      assert.equal(await markOn(ada, screen), mark, 'the same when it is looked at again');
      assert.notEqual(await markOn(eve, screen), mark);
      assert.equal(await requestsOf(ada, screen), 0);
      assert.match((await ada.get(`/connect/${screen}`)).body, /live-card is-waiting/);
      if (pathOf(mark).startsWith('/gate/')) {
        assert.equal((await server.fetch(pathOf(mark))).status, 422, screen);
        await within(
          async () => (await lookOf(ada, screen)).note !== undefined,
          `${screen} is refused`,
        );
        // A proxy that is trusted and says nothing.
        assert.deepEqual((await lookOf(ada, screen)).note, { name: 'silent', about: '127.0.0.1' });
        const { body } = await ada.get(`/connect/${screen}`);
        assert.match(body, /live-card is-failing[\s\S]*data-note="silent" data-fails="address">/);
        assert.equal((await lookOf(eve, screen)).note, undefined);
        // Its own address in place of a visitor's.
        for (const [name, about] of [
          ['private', '172.17.0.1'],
          ['loopback', '127.0.0.1'],
        ] as const) {
          const own = { 'X-Forwarded-For': about };
          assert.equal((await server.fetch(pathOf(mark), { headers: own })).status, 200);
          await within(
            async () => (await lookOf(ada, screen)).note?.name === name,
            `${screen}: ${name}`,
          );
          assert.deepEqual((await lookOf(ada, screen)).note, { name, about });
        }
        const page = (await ada.get(`/connect/${screen}`)).body;
        assert.match(page, /live-card is-failing/);
        assert.match(page, /So far only this machine itself visited: 127\.0\.0\.1\./);
        assert.equal(await requestsOf(ada, screen), 0);
      }
      assert.equal((await server.fetch(pathOf(mark), { headers })).status, 200, screen);
      await within(async () => (await requestsOf(ada, screen)) === 1, `${screen} is seen`);
      const { body } = await ada.get(`/connect/${screen}`);
      assert.match(body, /live-card is-working/);
      if (pathOf(mark).startsWith('/gate/')) {
        assert.match(body, /The visitor’s address: 8\.8\.8\.8\./);
        assert.equal((await lookOf(ada, screen)).visitor, '8.8.8.8');
      }
      assert.match(
        (await ada.get('/connect')).body,
        new RegExp(`/connect/${screen}"[^]*?target-live`),
      );
      assert.equal(await requestsOf(eve, screen), 0);
      assert.equal(await requestsOf(createAgent(server), screen), 0);
    }
  });
});

it('a forged mark is answered and not seen, another text is refused, a screen with a key has none', async () => {
  await using server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200, 'a list');
  const ada = createAgent(server);
  const mark = await markOn(ada, 'opnsense');
  const forged = mark.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
  const plain = await server.fetch('/feeds/blocklist.txt');
  for (const text of [forged, mark]) {
    const answer = await server.fetch(`/feeds/blocklist.txt?mark=${text}`);
    assert.equal(answer.body, plain.body);
    assert.equal(answer.headers.etag, plain.headers.etag);
  }
  await within(async () => (await requestsOf(ada, 'opnsense')) === 1, 'the right one');
  const other = createAgent(server);
  const unseen = await markOn(other, 'opnsense');
  const bad = unseen.replace(/^........../, '0000000000');
  assert.equal((await server.fetch(`/feeds/blocklist.txt?mark=${bad}`)).status, 200);
  for (const text of ['', 'x', mark.toUpperCase(), `${mark}0`]) {
    assert.equal((await server.fetch(`/feeds/blocklist.txt?mark=${text}`)).status, 422, text);
    assert.equal((await server.fetch(`/gate/check?mark=${text}`)).status, 422, text);
  }
  assert.equal((await server.fetch(`/gate/check?block=1&mark=${unseen}`)).status, 422);
  assert.equal(await requestsOf(other, 'opnsense'), 0);
  for (const screen of ['php', 'nope', '__proto__']) {
    assert.equal((await ada.get(`/connect/seen/${screen}`)).status, 404, screen);
  }
});

it('a gate asked by a proxy that is not trusted is named on its screen, with the setting, and in the log', async () => {
  await using server = await startTestServer({ threads: 1 });
  const [ada, eve] = [createAgent(server), createAgent(server)];
  const mark = await markOn(ada, 'nginx');
  const headers = { 'X-Forwarded-For': '8.8.8.8' };
  const asked = await server.fetch(`/gate/check?mode=nginx&mark=${mark}`, { headers });
  assert.equal(asked.status, 422);
  await within(async () => (await lookOf(ada, 'nginx')).note !== undefined, 'it is told');
  assert.deepEqual((await lookOf(ada, 'nginx')).note, { name: 'untrusted', about: '127.0.0.1' });
  assert.equal((await lookOf(eve, 'nginx')).note, undefined);
  const { body } = await ada.get('/connect/nginx');
  assert.match(body, /A request came from 127\.0\.0\.1, which is not a trusted proxy\./);
  assert.match(body, /<code id="mend">TRUSTED_PROXIES=127\.0\.0\.1 npm start<\/code>/);
  assert.match(body, /data-step="trust" class="is-bad"/);
  // A policy with a mistake is named, too.
  const bad = await markOn(eve, 'caddy');
  assert.equal((await server.fetch(`/gate/check?block=0&mark=${bad}`)).status, 422);
  await within(async () => (await lookOf(eve, 'caddy')).note?.name === 'policy', 'the policy');
  assert.deepEqual((await lookOf(eve, 'caddy')).note, { name: 'policy', about: 'block' });
  // So is a client that asks for a list too often.
  const often = await markOn(eve, 'opnsense');
  const list = `/feeds/blocklist.txt?aggregate=1&mark=${often}`;
  for (let asked = 0; (await server.fetch(list)).status !== 429; asked++) assert.ok(asked < 100);
  const slow = await markOn(ada, 'opnsense');
  assert.equal((await server.fetch(list.replace(often, slow))).status, 429);
  await within(async () => (await lookOf(ada, 'opnsense')).note?.name === 'quota', 'the limit');
  await within(async () => server.stderr().includes('gate: a request got no verdict'), 'the log');
});

it('a sign-in at a site is told to the browser that made it, step by step, and to nobody else', async () => {
  await using server = await startTestServer({ env: { CLIENT_LIMITS: 'off' } });
  await using people = openPeopleOf(server);
  await people.register('ada@portcullis.example');
  await people.register('eve@portcullis.example');
  const [ada, eve] = [webVisitor(server), webVisitor(server)];
  await ada.signIn('ada@portcullis.example', personPassword);
  await eve.signIn('eve@portcullis.example', personPassword);
  const seenBy = async (who: WebVisitor, domain = 'example.com') => {
    const { status, body } = await who.get(`/connect/seen/sign-in-node?domain=${domain}`);
    assert.equal(status, 200);
    return JSON.parse(body) as { requests: number; passed: number; note?: { name: string } };
  };
  const none = { requests: 0, passed: 0 };
  assert.deepEqual(await seenBy(ada), none);
  assert.match((await ada.get('/connect/sign-in-node')).body, /live-card is-waiting/);

  const refusals = [
    [{ client_id: 'https://example.com' }, 'signInClient', 'https://example.com'],
    [{ redirect_uri: 'https://evil.example/cb' }, 'signInRedirect', 'example.com'],
    [{ response_type: 'token' }, 'signInRequest', 'example.com'],
  ] as const;
  for (const [changes, name, about] of refusals) {
    await ada.get(authorizePath(changes));
    assert.deepEqual(await seenBy(ada), { ...none, note: { name, about } });
    assert.match((await ada.get('/connect/sign-in-php')).body, /live-card is-failing/, name);
  }

  const consent = await ada.get(authorizePath());
  assert.deepEqual(await seenBy(ada), { ...none, passed: 2 });
  const back = await allowOn(ada, await ada.get(consent.headers.location ?? authorizePath()));
  assert.deepEqual(await seenBy(ada), { ...none, passed: 3 });
  const code = back.searchParams.get('code')!;
  assert.equal((await server.fetch(`/api.php?code=${'A'.repeat(43)}`)).status, 400);
  assert.deepEqual(await seenBy(ada), { ...none, passed: 3 }, 'another code');
  assert.equal((await server.fetch(`/api.php?code=${code}&client_id=other.example`)).status, 400);
  assert.deepEqual((await seenBy(ada)).note, { name: 'signInExchange', about: 'example.com' });

  // Allowed before: the code comes at once.
  const again = new URL((await ada.get(authorizePath())).headers.location!);
  const path = `/api.php?code=${again.searchParams.get('code')}`;
  assert.equal((await server.fetch(path)).status, 200);
  assert.deepEqual(await seenBy(ada), { requests: 1, passed: 4 });
  assert.match((await ada.get('/connect/sign-in-node')).body, /live-card is-working/);
  assert.equal((await server.fetch(path)).status, 400, 'once');
  assert.equal((await seenBy(ada)).requests, 1, 'a second exchange takes nothing back');
  assert.deepEqual(await seenBy(ada, 'shop.example'), none, 'another site');

  assert.deepEqual(await seenBy(eve), none, 'another browser');
  await ada.signIn('eve@portcullis.example', personPassword);
  assert.deepEqual(await seenBy(ada), none, 'another account in the same browser');
});
