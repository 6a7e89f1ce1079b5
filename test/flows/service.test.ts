/** What operators, crawlers and probes ask of a whole server: health, metrics, robots, security.txt. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  answersByThread,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
} from '../support/server.ts';

const token = 'a-token-of-more-than-16-characters';
const stranger = '203.0.113.9';

for (const threads of threadCounts) {
  describe(`service routes, ${threads} threads`, () => {
    let server: TestServer;
    /** With a metrics token. */
    let guarded: TestServer;
    before(async () => {
      [server, guarded] = await Promise.all([
        startTestServer({ threads, env: { TRUSTED_PROXIES: '127.0.0.1' } }),
        startTestServer({ threads, demo: false, env: { METRICS_TOKEN: token } }),
      ]);
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await guarded[Symbol.asyncDispose]();
    });

    it('is alive and ready', async () => {
      const health = await server.fetch('/healthz');
      assert.equal(health.status, 200);
      assert.equal(health.body, 'ok\n');
      const ready = await server.fetch('/readyz');
      assert.equal(ready.status, 200);
      const state = ready.json() as Record<string, unknown>;
      assert.deepEqual(
        { ...state, newestListAgeSeconds: 0 },
        {
          ready: true,
          indexLoaded: true,
          writable: true,
          entries: 24,
          behind: 0,
          newestListAgeSeconds: 0,
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
      assert.match(own.body, /^portcullis_index_entries 24$/m);
      assert.match(own.body, /^portcullis_store_writable 1$/m);
      assert.match(own.body, new RegExp(`^portcullis_http_threads ${threads}$`, 'm'));
      for (const hops of [stranger, `127.0.0.1, ${stranger}`, `${stranger}, 127.0.0.1`]) {
        const refused = await server.fetch('/metrics', { headers: { 'X-Forwarded-For': hops } });
        assert.equal(refused.status, 401, hops);
        assert.match(String(refused.headers['www-authenticate']), /^Bearer /);
        assert.doesNotMatch(refused.body, /portcullis_/);
      }
      const near = await server.fetch('/metrics', { headers: { 'X-Forwarded-For': '127.0.0.1' } });
      assert.equal(near.status, 200);
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
      const { body } = await server.fetch('/metrics');
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
  });
}
