/** /connect on a running server: who sees a key there, what is refused, and the first request. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { type OwnBrowser, openPeopleOf, type People } from '../../support/signon/person.ts';

const email = 'ada@mail.example';

describe('connect', () => {
  let server: TestServer;
  let people: People;
  let ada: OwnBrowser;
  let key = '';
  before(async () => {
    server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
    people = openPeopleOf(server);
    await people.register(email);
    ada = await people.signIn(email);
  });
  after(async () => {
    await people?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  it('the first screen leads to each target, and each answers', async () => {
    const { status, body } = await server.fetch('/connect');
    assert.equal(status, 200);
    const paths = [...body.matchAll(/class="target" href="([^"]+)"/g)].map(([, path]) => path!);
    assert.ok(paths.length >= 18, paths.join());
    for (const path of paths) {
      const page = await server.fetch(path);
      assert.equal(page.status, 200, path);
      assert.match(page.headers['cache-control']!, /no-store/);
      assert.match(page.body, /<code id="/);
      assert.doesNotMatch(page.body, /127\.0\.0\.1:8080/, path);
    }
    const french = await server.fetch('/connect/php', { headers: { 'Accept-Language': 'fr' } });
    assert.match(french.body, /Une clé est nécessaire/);
  });

  it('what is no target and no choice is refused', async () => {
    for (const path of ['nope', 'php%00', '__proto__', '..%2Fphp', 'x'.repeat(300)]) {
      const { status } = await server.fetch(`/connect/${path}`);
      assert.ok(status === 404 || status === 400, `${path} ${status}`);
    }
    for (const query of ['score=1', 'score=', 'family=5', 'family=4%27', 'score=75.0']) {
      assert.equal((await server.fetch(`/connect/opnsense?${query}`)).status, 422, query);
    }
    assert.equal((await server.fetch('/connect/opnsense?score=75&score=85')).status, 400);
    const post = await server.fetch('/connect/opnsense', { method: 'POST' });
    assert.equal(post.status, 405);
  });

  it('a key is shown to its owner alone, with a fresh proof of identity', async () => {
    assert.match((await ada.get('/connect/php')).body, /You have no API key yet/);
    const made = await ada.post('/account/keys/create');
    key = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    const own = await ada.get('/connect/php');
    assert.ok(own.body.includes(key));
    assert.match(own.body, /Nobody else sees this page/);
    assert.match(own.headers['cache-control']!, /no-store/);
    const handed = await ada.get('/connect/key');
    assert.deepEqual(JSON.parse(handed.body), { standing: 'shown', key });
    assert.match(handed.headers['cache-control']!, /no-store/);

    const old = await people.signIn(email, 20 * 60_000);
    const stale = await old.get('/connect/php');
    assert.ok(!stale.body.includes(key));
    assert.match(stale.body, /account\/confirm\?return=%2Fconnect%2Fphp/);

    assert.equal((await old.get('/connect/key')).body, '{"standing":"hidden"}');

    await people.register('eve@mail.example');
    const eve = await people.signIn('eve@mail.example');
    for (const page of [await eve.get('/connect/php'), await server.fetch('/connect/php')]) {
      assert.ok(!page.body.includes(key));
    }
    assert.equal((await eve.get('/connect/key')).body, '{"standing":"none"}');
    const stranger = await server.fetch('/connect/key');
    assert.equal(stranger.body, '{"standing":"unknown-reader"}');
  });

  it('a bouncer’s screen leads to a key for it alone, and sees that key', async () => {
    const screen = '/connect/crowdsec-firewall';
    const page = (await ada.get(screen)).body;
    const [, link] = /href="(\/account\/keys[^"#]*)#key-name"/.exec(page)!;
    assert.match((await server.fetch(screen)).body, /\/account\/keys\?scope=bouncer/);
    const keys = (await ada.get(link!)).body;
    const checked = [...keys.matchAll(/<input[^>]*id="scope-(\w+)"[^>]*>/g)]
      .filter(([input]) => / checked/.test(input))
      .map(([, name]) => name);
    assert.deepEqual(checked, ['bouncer']);
    const seen = async (reader: OwnBrowser) => {
      const answer = await reader.get('/connect/seen/crowdsec-firewall');
      assert.equal(answer.status, 200);
      return (JSON.parse(answer.body) as { requests: number }).requests;
    };
    assert.equal(await seen(ada), 0);
    const made = await ada.post('/account/keys/named/create', { name: 'fw-1', bouncer: 'on' });
    const own = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    assert.equal(await seen(ada), 0);
    const stream = '/v1/decisions/stream?startup=true';
    const ask = async () => (await server.fetch(stream, { headers: { 'X-Api-Key': own } })).status;
    await within(async () => (await ask()) === 200, 'decisions');
    await within(async () => (await seen(ada)) === 1, 'the request is seen');
    assert.match((await ada.get(screen)).body, /class="connect-waiting" hidden/);
    const eve = await people.signIn('eve@mail.example');
    assert.equal(await seen(eve), 0);
    assert.equal((await server.fetch('/connect/seen/crowdsec-firewall')).status, 404);
  });

  it('requests with the key are seen', async () => {
    const seen = async () => JSON.parse((await ada.get('/connect/seen')).body).requests as number;
    const before = await seen();
    assert.equal(
      /data-seen="(\d+)"/.exec((await ada.get('/connect/node')).body)![1],
      String(before),
    );
    const checked = await server.fetch('/api/v2/check?ipAddress=192.0.2.1', {
      headers: { Key: key },
    });
    assert.equal(checked.status, 200);
    assert.equal(await seen(), before + 1);
    const stranger = await server.fetch('/connect/seen');
    assert.equal(stranger.status, 303);
    assert.match(stranger.headers.location!, /^\/signin/);
    assert.doesNotMatch((await server.fetch('/connect/node')).body, /data-seen/);
  });
});
