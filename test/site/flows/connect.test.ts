/** /connect on a running server: who sees a key there, what is refused, and the first request. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';
import { type OwnBrowser, openPeopleOf } from '../../support/signon/person.ts';

const email = 'ada@mail.example';

const server = forFile(await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } }));
const people = forFile(openPeopleOf(server));
await people.register(email);
const ada = await people.signIn(email);

describe('connect', () => {
  let key = '';

  const look = async (reader: OwnBrowser) => JSON.parse((await reader.get('/connect/seen')).body);

  /** Asks until the owner's page has the note: a thread tells of so many requests of a network in a second. */
  async function refused(
    reader: OwnBrowser,
    note: { readonly name: string; readonly about: string },
    ask: () => Promise<{ readonly status: number }>,
    status: number,
  ): Promise<void> {
    await within(async () => {
      const answer = await ask();
      assert.equal(answer.status, status);
      return isDeepStrictEqual((await look(reader)).note, note);
    }, JSON.stringify(note));
  }

  it('the first screen leads to each target, and each answers', async () => {
    const { status, body } = await server.fetch('/connect');
    assert.equal(status, 200);
    const paths = [...body.matchAll(/class="target" href="([^"#]+)/g)].map(([, path]) => path!);
    assert.ok(paths.length >= 18, paths.join());
    for (const path of paths) {
      const page = await server.fetch(path);
      assert.equal(page.status, 200, path);
      if (path.startsWith('/connect/')) assert.match(page.headers['cache-control']!, /no-store/);
      if (path.startsWith('/connect/')) assert.match(page.body, /<code id="/);
      assert.doesNotMatch(page.body, /127\.0\.0\.1:8080/, path);
      const regions = [...page.body.matchAll(/role="region" aria-label="([^"]*)"/g)];
      assert.equal(new Set(regions.map(([, name]) => name)).size, regions.length, path);
    }
    const french = await server.fetch('/connect/php', { headers: { 'Accept-Language': 'fr' } });
    assert.match(french.body, /Connectez-vous.: votre clé s’inscrira ici/);
  });

  it('what is no target and no choice is refused', async () => {
    for (const path of ['nope', 'php%00', '__proto__', '..%2Fphp', 'x'.repeat(300)]) {
      const { status } = await server.fetch(`/connect/${path}`);
      assert.ok(status === 404 || status === 400, `${path} ${status}`);
    }
    for (const query of ['score=1', 'score=', 'family=5', 'family=4%27', 'score=75.0']) {
      assert.equal((await server.fetch(`/connect/opnsense?${query}`)).status, 422, query);
    }
    const long = 'a'.repeat(64);
    for (const query of [
      ...['domain=a%20b', `domain=${long}.example`, 'domain=a..b', 'domain=%3Cb%3E'],
      ...['app=127.0.0.1', 'app=ftp://a', 'app=http://a/path', 'app=http://a;', 'app=http://[::1'],
      ...['challenge=0', 'challenge=75', 'challenge=1e1', 'block=101', 'block=50', 'block=-1'],
    ]) {
      assert.equal((await server.fetch(`/connect/nginx?${query}`)).status, 422, query);
    }
    const kept = (await server.fetch('/connect/nginx?domain=a..b&app=http://a&challenge=80')).body;
    assert.match(kept, /<input[^>]*name="domain"[^>]*value="a\.\.b"[^>]*aria-invalid="true"/);
    assert.match(kept, /id="value-domain-error">A domain looks like shop\.example/);
    assert.match(kept, /<input[^>]*name="challenge"[^>]*value="80"/);
    assert.match(kept, /proxy_pass <mark data-value="app">http:\/\/a</);
    assert.match(kept, /server_name <mark data-value="domain">site\.example</);
    assert.equal((await server.fetch('/connect/nginx?block=80&block=81')).status, 400);
    assert.equal((await server.fetch('/connect/opnsense?score=75&score=85')).status, 400);
    const chosen = '?domain=Shop.example&app=http://10.0.0.5:9000/&challenge=30&block=60';
    const { body } = await server.fetch(`/connect/nginx${chosen}`);
    assert.match(body, /server_name <mark data-value="domain">shop\.example<\/mark>;/);
    assert.match(body, /proxy_pass <mark data-value="app">http:\/\/10\.0\.0\.5:9000<\/mark>;/);
    assert.match(
      body,
      /challenge=<mark data-value="challenge">30<\/mark>&amp;block=<mark data-value="block">60</,
    );
    const post = await server.fetch('/connect', { method: 'POST' });
    assert.equal(post.status, 405);
  });

  it('a key is shown to its owner alone, with a fresh proof of identity', async () => {
    assert.match((await ada.get('/connect/php')).body, /You have no API key yet/);
    assert.equal((await ada.post('/connect/nginx')).status, 404);
    const late = await (await people.signIn(email, 20 * 60_000)).post('/connect/php');
    assert.equal(late.headers.location, '/account/confirm?return=%2Fconnect%2Fphp');
    const made = await ada.post('/connect/php');
    assert.equal(made.headers.location, '/connect/php');
    const own = await ada.get('/connect/php');
    assert.match((await ada.get('/account/security')).body, /API key/, 'it is told as any other');
    key = /pcl_[\w-]{20,}/.exec(own.body)![0];
    assert.doesNotMatch((await ada.get('/account/keys')).body, /pcs_/, 'no site key beside it');
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
    const eves = await people.signIn('eve@mail.example');
    const noteFor = async (path: string, own: string) => {
      await server.fetch(path, { headers: { 'X-Api-Key': own } });
      return JSON.parse((await eves.get('/connect/seen/crowdsec-firewall')).body).note?.name;
    };
    const others = await eves.post('/account/keys/create');
    const whole = /<code id="shown-key">([^<]+)</.exec(others.body)![1]!;
    const name = 'unknown';
    await within(async () => (await noteFor(stream, 'mine')) === name, 'a stream with no key');
    await within(
      async () => (await noteFor('/v1/decisions?ip=192.0.2.1', whole)) === 'bouncerKey',
      '403',
    );
    const failing = /data-note="bouncerKey" data-fails="accepted">/;
    assert.match((await eves.get(screen)).body, failing);
    assert.match((await ada.get(screen)).body, /live-card is-working/);
    const eve = await people.signIn('eve@mail.example');
    assert.equal(await seen(eve), 0);
    assert.equal((await server.fetch('/connect/seen/crowdsec-firewall')).status, 404);
  });

  it('Dovecot’s screen leads to a key for it alone, sees that key, and tells of a wrong one', async () => {
    const screen = '/connect/dovecot';
    assert.match((await server.fetch(screen)).body, /\/account\/keys\?scope=mail#key-name/);
    const eves = await people.signIn('eve@mail.example');
    const looked = async () =>
      JSON.parse((await eves.get('/connect/seen/dovecot')).body) as {
        requests: number;
        note?: { name: string };
      };
    const ask = (own: string) =>
      server.fetch('/policy/dovecot?command=allow', {
        method: 'POST',
        headers: { 'X-Api-Key': own, 'Content-Type': 'application/json' },
        body: '{"remote":"198.51.100.7"}',
      });
    const others = await eves.post('/account/keys/named/create', { name: 'app-1', check: 'on' });
    const wrong = /<code id="shown-key">([^<]+)</.exec(others.body)![1]!;
    await within(async () => (await ask(wrong)).status === 403, 'a key of another kind');
    await within(async () => (await looked()).note?.name === 'mailKey', 'it is told');
    const made = await eves.post('/account/keys/named/create', { name: 'mx-1', mail: 'on' });
    const own = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    assert.equal((await looked()).requests, 0);
    await within(async () => (await ask(own)).status === 200, 'an answer');
    await within(async () => (await looked()).requests === 1, 'the request is seen');
    assert.match((await eves.get(screen)).body, /live-card is-working/);
  });

  it('the keys of the plugin are made on its page, by a form of its own', async () => {
    const eve = await people.signIn('eve@mail.example');
    const before = (await eve.get('/connect/wordpress')).body;
    assert.match(before, /Create my keys/);
    const stranger = await server.fetch('/connect/wordpress', { method: 'POST' });
    assert.match(stranger.headers.location!, /^\/signin/);
    for (const target of ['nope', 'nginx']) {
      assert.equal((await eve.post(`/connect/${target}`)).status, 404, target);
    }
    const made = await eve.post('/connect/wordpress');
    assert.equal(made.status, 303);
    assert.equal(made.headers.location, '/connect/wordpress');
    const { body } = await eve.get('/connect/wordpress');
    const [, own] = /<code id="plugin-key">(pcl_[^<]+)</.exec(body)!;
    assert.match(body, /<code id="plugin-site-key">pcs_/);
    assert.doesNotMatch(body, /Create my keys/);
    const report = (key: string, ip: string) => server.report(ip, { key });
    // A request that was refused is told to its owner alone.
    await refused(eve, { name: 'parameter', about: 'ip' }, () => report(own!, 'nonsense'), 422);
    assert.notEqual((await look(ada)).note?.name, 'parameter');
    assert.match(
      (await eve.get('/connect/fail2ban')).body,
      /data-note="parameter" data-fails="understood">/,
    );
  });

  it('a check or a bulk that is refused is told to its owner, and no request counts as answered', async () => {
    const check = (Key: string, ipAddress = '192.0.2.1') =>
      server.fetch(`/api/v2/check?ipAddress=${ipAddress}`, { headers: { Key } });
    const bulk = (Key: string, body: string) =>
      server.fetch('/api/v2/check-bulk', { method: 'POST', headers: { Key }, body });
    const file = (Key: string, name: string) => {
      const headers = { Key, 'Content-Type': 'multipart/form-data; boundary=b' };
      const csv = `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nip\r\n--b--\r\n`;
      return server.fetch('/api/v2/bulk-report', { method: 'POST', headers, body: csv });
    };
    const before = (await look(ada)).requests;
    const asks = { name: 'parameter', about: 'ipAddress' };
    await refused(ada, asks, () => check(key, 'nonsense'), 422);
    await refused(ada, { name: 'parameter', about: 'body' }, () => bulk(key, ''), 422);
    await refused(ada, { name: 'key', about: '' }, () => check(key.slice(0, -1)), 401);
    await refused(ada, { name: 'parameter', about: 'csv' }, () => file(key, 'csw'), 422);
    await refused(ada, { name: 'key', about: '' }, () => file(key.slice(0, -1), 'csv'), 401);
    await refused(ada, asks, () => check(key, ''), 422);
    await refused(ada, { name: 'key', about: '' }, () => bulk(key.replace(/.$/, '_'), '1'), 401);
    const made = await ada.post('/account/keys/named/create', { name: 'fw-2', bouncer: 'on' });
    const bouncer = /<code id="shown-key">([^<]+)</.exec(made.body)![1]!;
    await refused(ada, { name: 'scope', about: '' }, () => check(bouncer), 403);
    assert.equal((await look(ada)).requests, before);
    assert.match((await ada.get('/connect/node')).body, /live-card is-failing/);
    // A key of another server, or of another product, is told to whoever waits; one answer ends the note.
    const stranger = `pcl_aaaaaaaa_${key.slice(13)}`;
    for (const unknown of [stranger, 'f'.repeat(80)]) {
      const eve = await people.signIn('eve@mail.example');
      await refused(eve, { name: 'unknown', about: '' }, () => check(unknown), 401);
      assert.match(
        (await eve.get('/connect/node')).body,
        /data-note="unknown" data-fails="accepted">/,
      );
    }
    await within(async () => {
      assert.equal((await check(key)).status, 200);
      return (await look(ada)).note === undefined;
    }, 'the note ends');
    const { requests } = await look(ada);
    assert.ok(requests > before);
    assert.equal((await bulk(key, '192.0.2.1\n192.0.2.2')).status, 200);
    assert.deepEqual(await look(ada), { requests: requests + 2 });
    const setReads = (reads: string) =>
      server.cli('account', 'set-quotas', email, '--read-per-minute', reads);
    await setReads('1');
    await within(async () => (await check(key)).status === 429, 'the quota');
    await refused(ada, { name: 'quota', about: '' }, () => check(key), 429);
    await setReads('0');
  });

  it('a site on the developer’s own machine needs a demo server, where it has plain http', async () => {
    await using real = await startTestServer({ threads: 1, demo: false });
    for (const domain of ['localhost', 'localhost:4000', '127.0.0.1:4000']) {
      const refused = await real.fetch(`/connect/sign-in-php?domain=${domain}`);
      assert.equal(refused.status, 422, domain);
      assert.match(refused.body, /localhost works with a demo server only/);
    }
    const path = '/connect/sign-in-php?domain=localhost:4000';
    const { status, body } = await server.fetch(path);
    assert.equal(status, 200);
    assert.match(body, /<mark data-value="domain">http:\/\/localhost:4000<\/mark>\/callback\.php/);
    for (const domain of ['localhost:0', 'localhost:x', 'shop.example:4000', 'localhost.:4000']) {
      const wrong = await server.fetch(`/connect/sign-in-php?domain=${domain}`);
      assert.equal(wrong.status, 422, domain);
    }
  });

  it('the domain that a screen for sign-on suggests can be a client', async () => {
    const { body } = await server.fetch('/connect/sign-in-node');
    assert.match(body, /placeholder="example\.com"/);
    assert.doesNotMatch(body, /site\.example/);
  });

  it('the page of fail2ban says why a score stays low', async () => {
    const { body } = await ada.get('/connect/fail2ban');
    assert.match(body, /A new account never blocks an address alone/);
    assert.doesNotMatch(body, /\/admin\/people/);
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
    // A reload says so, from the same count.
    const reloaded = (await ada.get('/connect/python')).body;
    assert.match(reloaded, /live-card is-known/);
    assert.match(reloaded, />Your key works<\/span>/);
    assert.match(reloaded, new RegExp(`${before + 1} requests? from any of your tools`));
    // Whether this program sent it, nobody knows.
    assert.match(reloaded, /<span data-when="working" hidden/);
    assert.doesNotMatch(reloaded, /<li data-check="answered" class="is-ok"/);
    assert.doesNotMatch(reloaded, /Waiting for the next/);
    const stranger = await server.fetch('/connect/seen');
    assert.equal(stranger.status, 303);
    assert.match(stranger.headers.location!, /^\/signin/);
    const signedOut = (await server.fetch('/connect/node')).body;
    assert.doesNotMatch(signedOut, /data-seen/);
    assert.match(signedOut, /href="\/signin\?return=%2Fconnect%2Fnode">Sign in, and this page/);
  });

  it('what only reports counts reports, not the checks of other tools', async () => {
    const seen = async () => JSON.parse((await ada.get('/connect/seen/fail2ban')).body).requests;
    const checked = () =>
      server.fetch('/api/v2/check?ipAddress=192.0.2.1', { headers: { Key: key } });
    assert.equal((await checked()).status, 200);
    assert.equal(await seen(), 0);
    assert.match((await ada.get('/connect/fail2ban')).body, /live-card is-waiting/);
    assert.equal((await server.report('127.0.0.1', { key })).status, 200);
    await within(async () => (await seen()) === 1, 'the report is seen');
    assert.match((await ada.get('/connect/fail2ban')).body, /1 report from any of your tools/);
    const { passed } = JSON.parse((await ada.get('/connect/seen/fail2ban')).body);
    assert.equal(passed, undefined, 'the card goes on showing a key that works');
  });

  it('a report that is repeated within 15 minutes is a success, and no request of what only checks', async () => {
    await people.register('lin@mail.example');
    const lin = await people.signIn('lin@mail.example');
    assert.equal((await lin.post('/connect/wordpress')).status, 303);
    const [, own] = /<code id="plugin-key">(pcl_[^<]+)</.exec(
      (await lin.get('/connect/wordpress')).body,
    )!;
    const report = (ip: string) => server.report(ip, { key: own! });
    const seen = async (screen: string) =>
      JSON.parse((await lin.get(`/connect/seen/${screen}`)).body);
    await within(async () => (await report('93.184.216.34')).status === 200, 'a report');
    await within(async () => (await seen('fail2ban')).requests === 1, 'it is seen');
    // One alone, so that none is told behind the answers that end it.
    const fault = { name: 'parameter', about: 'ip' };
    assert.equal((await report('nonsense')).status, 422);
    await within(async () => isDeepStrictEqual((await seen('fail2ban')).note, fault), 'the fault');
    assert.equal((await report('93.184.216.34')).status, 429);
    assert.equal((await report('93.184.216.34')).status, 429);
    // A refusal that is left later is told: one of the repeated report would be, too.
    const later = { name: 'parameter', about: 'categories' };
    await refused(ada, later, () => server.report('93.184.216.35', { key, categories: '99' }), 422);
    await within(async () => (await seen('fail2ban')).requests === 3, 'repeated ones are seen');
    assert.equal((await seen('fail2ban')).note, undefined, 'a success ends the fault');
    assert.match((await lin.get('/connect/fail2ban')).body, /live-card is-known/);
    for (const screen of ['wordpress', 'php']) {
      assert.deepEqual(await seen(screen), { requests: 0 }, screen);
      assert.match((await lin.get(`/connect/${screen}`)).body, /live-card is-waiting/, screen);
    }
  });

  it('a receipt that is redeemed is seen on the screen of the CAPTCHA', async () => {
    const seen = async () => JSON.parse((await ada.get('/connect/seen/captcha')).body).requests;
    const before = await seen();
    const asked = await server.fetch('/captcha/receipt', {
      method: 'POST',
      headers: { Key: key, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'receipt=none',
    });
    assert.equal(asked.status, 200);
    await within(async () => (await seen()) === before + 1, 'the request is seen');
    assert.match((await ada.get('/connect/captcha')).body, /<li data-check="answered"/);
  });

  it('a text that lacks a key has no button to copy it', async () => {
    const stranger = (await server.fetch('/connect/captcha')).body;
    for (const id of ['key-fpm', 'captcha-form', 'captcha-verify']) {
      assert.ok(stranger.includes(`id="${id}"`), id);
      assert.ok(!stranger.includes(`data-copy="${id}"`), id);
    }
    assert.match(stranger, /data-copy="captcha-try"/);
    assert.match((await ada.get('/connect/php')).body, /data-copy="key-fpm"/);
  });
});
