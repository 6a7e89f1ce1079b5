/**
 * Thousands of slow POSTs, from one network or a few, while somebody else signs in: nobody else is
 * refused, on any route, and health is told throughout.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { attackSlowly, type SlowAttackOptions } from '../../support/server/slow-attack.ts';
import { openPeople, password } from '../../support/signon/visitor.ts';

const email = 'ada@portcullis.example';
const paths = ['/signin', '/register', '/recover', '/captcha/verify', '/api.php'];
const hex = (n: number) => n.toString(16);

const attacks: Record<string, Omit<SlowAttackOptions, 'count' | 'paths'> & { paths?: string[] }> = {
  'one IPv6 /64': { addressOf: (n) => `2001:db8::${hex(n & 0xffff)}`, firstBytes: 0 },
  '34 IPv4 addresses of as many networks': {
    addressOf: (n) => `198.18.${n % 34}.7`,
    firstBytes: 1,
  },
  'a /48, all its /64s, all beginning fast': {
    addressOf: (n) => `2001:db8:5:${hex(n & 0xffff)}::1`,
    firstBytes: 2_000,
  },
  '5,000 networks': {
    addressOf: (n) => `2001:db8:${hex(n % 5_000)}::1:${hex(n & 0xffff)}`,
    firstBytes: 100,
  },
  'files of reports and lists': {
    addressOf: (n) => `198.19.7.${n % 250}`,
    firstBytes: 10,
    paths: ['/api/v2/bulk-report', '/api/v2/check-bulk', '/api/v2/report', '/captcha/receipt'],
  },
  'chunked bodies': {
    addressOf: (n) => `2001:db8::${hex(n & 0xffff)}`,
    firstBytes: 5,
    chunked: true,
  },
};
/** More than a thread has places, also when the kernel resets some. */
const count = 6_000;

for (const threads of [1, 3]) {
  describe(`slow bodies, ${threads} threads`, () => {
    let server: TestServer;
    before(async () => {
      const env = { TRUSTED_PROXIES: '127.0.0.1', CLIENT_LIMITS: 'off', BASE_URL: '' };
      server = await startTestServer({ threads, env });
      await using people = openPeople(server);
      await people.add(email);
    });
    after(() => server[Symbol.asyncDispose]());

    for (const [name, attack] of Object.entries(attacks).slice(
      ...(threads === 3 ? [0, 2] : [2, 6]),
    )) {
      it(`from ${name}: everybody else is served`, async (t) => {
        await using slow = attackSlowly(server.port, { paths, ...attack, count });
        await slow.begun;
        t.diagnostic(`${slow.open()} are open`);
        let asked = 0;
        let slowestMs = 0;
        async function others(): Promise<void> {
          const from = { 'X-Forwarded-For': `203.0.113.${asked++ % 250}` };
          for (const [path, status] of [
            ['/signin', 200],
            ['/feeds', 200],
            ['/healthz', 200],
            ['/readyz', 200],
            ['/captcha/new', 200],
          ] as const) {
            assert.equal((await server.fetch(path, { headers: from })).status, status, path);
          }
          const visitor = webVisitor(server, from);
          const beganMs = performance.now();
          const inside = await visitor.signIn(email, password);
          slowestMs = Math.max(slowestMs, performance.now() - beganMs);
          assert.equal(inside.status, 303, inside.body.slice(0, 300));
          assert.equal(inside.headers.location, '/account');
        }
        for (let round = 0; round < 4; round++) await others();
        t.diagnostic(`slowest sign-in ${slowestMs.toFixed(0)} ms`);
        // The attacker himself learns it: too slow, too many, or no such thing.
        await within(
          () => [...slow.ends.values()].reduce((sum, ends) => sum + ends, 0) >= count / 2,
        );
        for (const status of slow.ends.keys()) {
          assert.ok(
            [0, 401, 404, 408, 411, 429].includes(status),
            `status and times: ${[...slow.ends].join(' ')}`,
          );
        }
        const told = [408, 411, 429].reduce((sum, status) => sum + (slow.ends.get(status) ?? 0), 0);
        assert.ok(told > count / 4, `status and times: ${[...slow.ends].join(' ')}`);
        t.diagnostic(`ends of the attacker, by status: ${[...slow.ends].join(' ')}`);
      });
    }
  });
}
