/** What operators, crawlers and probes ask of a whole server: health, metrics, robots, security.txt. */

import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  answersByThread,
  type FetchOptions,
  metricsHeaders,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';
import { isShared } from '../../support/server/shared-store.ts';

const token = 'a-token-of-more-than-16-characters';
const stranger = '203.0.113.9';

for (const threads of threadCounts) {
  describe(`service routes, ${threads} threads`, () => {
    let server: TestServer;
    /** With a metrics token. */
    let guarded: TestServer;
    /** Behind a proxy, without a token; browsers reach it over https. */
    let proxied: TestServer;
    before(async () => {
      [server, guarded, proxied] = await Promise.all([
        startTestServer({ threads }),
        startTestServer({ threads, demo: false, env: { METRICS_TOKEN: token } }),
        startTestServer({
          threads,
          demo: false,
          env: {
            TRUSTED_PROXIES: '127.0.0.1',
            METRICS_TOKEN: '',
            BASE_URL: 'https://id.example.org',
            SECURE_URL: 'https://id.example.org',
          },
        }),
      ]);
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await guarded[Symbol.asyncDispose]();
      await proxied[Symbol.asyncDispose]();
    });

    it('is alive and ready', async () => {
      const health = await server.fetch('/healthz');
      assert.equal(health.status, 200);
      assert.equal(health.body, 'ok\n');
      let state: Record<string, unknown> = {};
      await within(async () => {
        const ready = await server.fetch('/readyz');
        assert.equal(ready.status, 200);
        state = ready.json() as Record<string, unknown>;
        // The known-good list is loaded once the server listens.
        return state.behind === 0 && state.entries === 98;
      });
      assert.deepEqual(
        { ...state, newestListAgeSeconds: 0 },
        {
          ready: true,
          indexLoaded: true,
          writable: true,
          draining: false,
          // 24 of the demo and 74 known-good ones.
          entries: 98,
          behind: 0,
          newestListAgeSeconds: 0,
          ...(isShared && { staleSeconds: 0, memory: 'unknown', outdated: false }),
        },
      );
      const age = state.newestListAgeSeconds as number;
      assert.ok(age >= 0 && age < 60, `age ${age}`);
      const empty = (await guarded.fetch('/readyz')).json() as Record<string, unknown>;
      assert.equal(empty.ready, true);
      assert.equal(empty.newestListAgeSeconds, null);
    });

    it('answers HEAD and refuses other methods', async () => {
      for (const path of ['/healthz', '/readyz', '/metrics', '/robots.txt', '/']) {
        const head = await server.fetch(path, { method: 'HEAD' });
        assert.equal(head.status, 200, path);
        assert.equal(head.bytes.length, 0);
        const post = await server.fetch(path, { method: 'POST' });
        assert.equal(post.status, 405, path);
        assert.equal(post.headers.allow, 'GET, HEAD');
      }
    });

    it('shows metrics to this machine alone when there is no token', async () => {
      const own = await server.fetch('/metrics');
      assert.equal(own.status, 200);
      assert.match(String(own.headers['content-type']), /^text\/plain; version=0\.0\.4/);
      for (const line of own.body.trimEnd().split('\n')) {
        assert.match(line, /^(|# (HELP|TYPE) \S+ .+|[a-z0-9_]+(\{[^{}]*\})? \S+)$/);
      }
      assert.match(own.body, /^portcullis_index_entries 98$/m);
      assert.match(own.body, /^portcullis_store_writable 1$/m);
      assert.match(own.body, new RegExp(`^portcullis_http_threads ${threads}$`, 'm'));
    });

    it('shows metrics to nobody without a token as soon as anything forwards', async () => {
      const names = ['X-Forwarded-For', 'Forwarded', 'Via', 'X-Real-IP', 'CF-Connecting-IP'];
      names.push('X-Envoy-External-Address', 'CDN-Loop', 'Forwarded-For');
      const hops = [
        ...[stranger, `127.0.0.1, ${stranger}`, `${stranger}, 127.0.0.1`, `${stranger}:51234`],
        ...['127.0.0.1', '::1', '127.0.0.1:80', '[::1]:80', '[::1]', '[2001:db8::1]:443'],
        ...['unknown', '_hidden', '', ',', '127.0.0.1, unknown', 'unknown, 127.0.0.1'],
      ];
      for (const [name, text] of [
        ...hops.map((hop) => ['X-Forwarded-For', hop] as const),
        ...names.map((name) => [name, 'for=127.0.0.1'] as const),
        ['X-Other', 'nothing forwards but the settings'],
      ]) {
        for (const asked of name === 'X-Other' ? [proxied] : [proxied, server]) {
          const refused = await asked.fetch('/metrics', { headers: { [name!]: text! } });
          assert.equal(refused.status, 401, `${name}: ${text}`);
          assert.match(String(refused.headers['www-authenticate']), /^Bearer /);
          assert.doesNotMatch(refused.body, /portcullis_/);
        }
      }
    });

    it('shows metrics to nobody without a token behind a proxy that adds no header', async () => {
      for (const base of ['https://id.example.org', 'http://id.example.org']) {
        const env = { BASE_URL: base, SECURE_URL: base, METRICS_TOKEN: '' };
        await using silent = await startTestServer({ threads, demo: false, env });
        const refused = await silent.fetch('/metrics');
        assert.equal(refused.status, 401, base);
        assert.doesNotMatch(refused.body, /portcullis_/);
      }
    });

    it('tells browsers to stay with https in every answer, and nobody what serves it', async () => {
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const asked: [string, FetchOptions, number][] = [
        ['/', {}, 200],
        ['/', { method: 'HEAD' }, 200],
        ['/', { method: 'POST' }, 405],
        ['/healthz', {}, 200],
        ['/metrics', {}, 401],
        ['/nowhere', {}, 404],
        ['/favicon.ico', {}, 301],
        ['/signin', {}, 200],
        ['/signin', { method: 'POST', headers: form, body: 'a=b' }, 403],
        ['/signin', { method: 'POST', headers: form, body: 'a'.repeat(70_000) }, 413],
        [
          '/signin',
          { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' }, body: 'a' },
          411,
        ],
        ['/account', {}, 303],
        ['/api/v2/check?ipAddress=8.8.8.8', {}, 401],
        ['/api/v2/check?ipAddress=8.8.8.8', { method: 'HEAD' }, 401],
        [`/api/v2/check?${'a'.repeat(5_000)}`, {}, 400],
        ['/api/v2/report', { method: 'POST', headers: form, body: 'ip=8.8.8.8' }, 401],
        ['/api/v2/bulk-report', { method: 'POST', headers: form, body: 'x' }, 401],
        ['/captcha/verify', { method: 'OPTIONS' }, 204],
        ['/feeds/nothing', {}, 404],
      ];
      for (const [path, options, status] of asked) {
        for (let i = 0; i < threads * 2; i++) {
          const answer = await proxied.fetch(path, options);
          assert.equal(answer.status, status, `${options.method ?? 'GET'} ${path.slice(0, 60)}`);
          const what = `${path.slice(0, 60)}: ${JSON.stringify(answer.headers)}`;
          assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000', what);
          assert.equal(answer.headers.uwebsockets, undefined, what);
        }
      }
      const home = await proxied.fetch('/');
      const [style] = /\/static\/[^"]+\.css/.exec(home.body)!;
      const whole = await proxied.fetch(style);
      const known = { 'If-None-Match': String(whole.headers.etag) };
      const unchanged = await proxied.fetch(style, { headers: known });
      assert.deepEqual([whole.status, unchanged.status], [200, 304]);
      for (const { headers } of [whole, unchanged]) {
        assert.equal(headers['strict-transport-security'], 'max-age=31536000');
      }
      assert.equal((await server.fetch('/')).headers['strict-transport-security'], undefined);
    });

    it('shows metrics to the bearer of the token alone when there is one', async () => {
      const ask = (headers: Record<string, string>) => guarded.fetch('/metrics', { headers });
      assert.equal((await ask({ Authorization: `Bearer ${token}` })).status, 200);
      for (const sent of [`Bearer ${token}x`, `Bearer ${token.slice(1)}`, token, 'Bearer', '']) {
        assert.equal((await ask({ Authorization: sent })).status, 401, sent);
      }
      assert.equal((await ask({})).status, 401);
      // Nobody is a trusted proxy here: what a client says of itself changes nothing.
      assert.equal((await ask({ 'X-Forwarded-For': '127.0.0.1' })).status, 401);
    });

    it('counts requests by thread, route and status', async () => {
      await proveEachThread(server, '/healthz', () => server.fetch('/healthz'));
      const before = await answersByThread(server, '/robots.txt');
      for (let i = 0; i < 10; i++) await server.fetch('/robots.txt');
      const counted = await answersByThread(server, '/robots.txt');
      const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
      assert.equal(sum(counted) - sum(before), 10);
      const { body } = await server.fetch('/metrics', { headers: metricsHeaders });
      assert.match(body, /portcullis_http_requests_total\{thread="0",route="[^"]*",status="2xx"\}/);
    });

    it('tells crawlers and researchers what they look for', async () => {
      const robots = await server.fetch('/robots.txt');
      assert.match(robots.body, /^User-agent: \*\nDisallow: \/api\/$/m);
      const security = await server.fetch('/.well-known/security.txt');
      assert.equal(security.headers['content-type'], 'text/plain; charset=utf-8');
      const fields = new Map(
        security.body
          .trimEnd()
          .split('\n')
          .map((line) => line.split(/: (.*)/) as [string, string]),
      );
      assert.match(fields.get('Contact')!, /^(https?:\/\/|mailto:)/);
      const expires = fields.get('Expires')!;
      assert.match(expires, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      const aheadDays = (Date.parse(expires) - Date.now()) / 86_400_000;
      assert.ok(aheadDays > 30 && aheadDays < 365, `${aheadDays} days`);
      assert.match(fields.get('Canonical')!, /\/\.well-known\/security\.txt$/);
      assert.ok(fields.has('Preferred-Languages'));
    });

    it('tells password managers and home screens what they look for', async () => {
      const change = await server.fetch('/.well-known/change-password');
      assert.deepEqual([change.status, change.headers.location], [302, '/account/security']);
      const passkeys = await server.fetch('/.well-known/passkey-endpoints');
      assert.equal(passkeys.headers['content-type'], 'application/json');
      const { enroll, manage } = passkeys.json() as Record<string, string>;
      assert.match(enroll!, /^http:\/\/[^/]+\/account\/security$/);
      assert.equal(manage, enroll);
      const home = await server.fetch('/');
      const hrefOf = (rel: string) =>
        new RegExp(`<link rel="${rel}" href="([^"]+)"`).exec(home.body)?.[1];
      const manifest = await server.fetch(hrefOf('manifest')!);
      assert.equal(manifest.headers['content-type'], 'application/manifest+json');
      const { icons } = manifest.json() as { icons: { src: string; sizes: string }[] };
      const shared = /<meta property="og:image" content="https?:\/\/[^/"]+([^"]+)"/.exec(
        home.body,
      )?.[1];
      for (const src of [...icons.map((icon) => icon.src), hrefOf('apple-touch-icon')!, shared!]) {
        const icon = await server.fetch(src);
        assert.deepEqual([icon.status, icon.headers['content-type']], [200, 'image/png'], src);
        const side = icons.find((one) => one.src === src)?.sizes;
        // Width and height stand at byte 16 of a PNG.
        if (side !== undefined)
          assert.equal(side, `${icon.bytes.readUInt32BE(16)}x${icon.bytes.readUInt32BE(20)}`);
      }
    });
  });
}

it('the operator’s name, logo and colour stand on all pages, whatever is in them', async () => {
  const name = `</script><script>x</script> "N" & 'M' \\u0000 é`;
  const logo = join(mkdtempSync(join(tmpdir(), 'logo-')), 'logo.svg');
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  writeFileSync(logo, drawing);
  const env = { SITE_NAME: name, SITE_LOGO: logo, SITE_ACCENT: '#7b2d8b' };
  await using server = await startTestServer({ threads: 1, env });
  const manifest = (await server.fetch('/site.webmanifest')).json() as Record<string, unknown>;
  assert.deepEqual([manifest.name, manifest.short_name], [name, name]);
  assert.equal(manifest.theme_color, '#7b2d8b');
  const [{ src, type }] = manifest.icons as [{ src: string; type: string }];
  assert.equal(type, 'image/svg+xml');
  const shown = await server.fetch(src);
  assert.deepEqual([shown.status, shown.headers['content-type'], shown.body], [200, type, drawing]);
  assert.match(
    String(shown.headers['content-security-policy']),
    /^default-src 'none'; .*; sandbox$/,
  );
  assert.equal(shown.headers['x-content-type-options'], 'nosniff');
  for (const path of ['/', '/docs', '/feeds']) {
    const { body } = await server.fetch(path);
    const [, said = ''] = /<meta property="og:site_name" content="([^"]*)"/.exec(body) ?? [];
    const plain = said.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    assert.equal(plain, name, path);
    assert.doesNotMatch(body, /<script>x/, path);
  }
  // The bare frame, the pages of the gate under the host of another site, and that of an error.
  for (const path of ['/signin', '/.portcullis/challenge', '/.portcullis/blocked', '/nowhere']) {
    const { body } = await server.fetch(path, { headers: { accept: 'text/html' } });
    assert.match(body, /&lt;\/script/, path);
    assert.doesNotMatch(body, path === '/nowhere' ? /<script>x/ : /<script>x|Portcullis/, path);
    if (path.endsWith('blocked')) assert.match(body, /--accent:light-dark\(#7b2d8b,#be6ecf\)/);
    else assert.ok(body.includes(src), path);
  }
});
