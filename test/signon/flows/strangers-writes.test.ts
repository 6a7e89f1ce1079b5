/**
 * Every route of the server, asked again and again by somebody without an account or a key: which
 * of them write to the store, and how much. A route that writes and isn't listed fails the test.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hiddenOf } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { stored } from '../../support/server/stored-rows.ts';
import { authorizePath, createAgent } from '../../support/signon/visitor.ts';

const requestsPerRoute = 40;
/** The tables that are counted, the fill of the index, and two marks of a restore. */
const ledgerRowsMax = 7;
/** Its answer waits for news, up to 15 seconds. */
const waitingRoute = 'GET /radar/events';

/**
 * Rows that a stranger may leave, whatever the number of requests. Registration needs a solved
 * challenge (test/signon/people/strangers-rows.test.ts has its bounds).
 */
const bounds: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // Decoys share their rows; a browser's request waits in one, and there are 4,096 at most.
  'POST /recover': { signonLink: 64, consentTransaction: 1 },
  'POST /register/passkey': { consentTransaction: 1 },
};

const server = forFile(await startTestServer({ demo: false, env: { CLIENT_LIMITS: 'off' } }));

describe('what strangers write', () => {
  it('no route writes for a stranger, or no more than its bound', {
    timeout: 600_000,
  }, async () => {
    const line = await server.child.errorLine((text) => text.includes('"msg":"routes"'));
    const { routes } = JSON.parse(line) as { routes: string[] };
    const agent = createAgent(server);
    const page = await agent.get(authorizePath().replace('/authorize.php', '/signin'));
    const { csrf, request } = hiddenOf(page, '/signin');
    const fields = (i: number) => ({
      csrf: csrf!,
      request: request!,
      email: `n${i}@mail.example`,
      password: `p-${i}-q`,
      token: 'A'.repeat(43),
      ticket: 'A'.repeat(43),
      code: '123456',
      id: 'A'.repeat(43),
      captcha_token: 'x',
      captcha_answer: 'x',
      decision: 'allow',
      secret: 'x',
      response: 'x',
      ip: '8.8.8.8',
      categories: '18',
      passkey: '{}',
    });
    const statuses: Record<string, number[]> = {};
    const written: Record<string, Record<string, number>> = {};
    for (const route of new Set(routes)) {
      const [method = '', template = ''] = route.split(' ');
      const path = template.replace(/:\w+|\*/g, 'x');
      const before = (await stored(server)).rows;
      const times = route === waitingRoute ? 1 : requestsPerRoute;
      for (let i = 0; i < times; i++) {
        const answer = await ask(method, path, i);
        if (i === 0) statuses[route] = [answer.status];
      }
      const after = (await stored(server)).rows;
      for (const [name, rows] of Object.entries(after)) {
        // The operator's log has a bound of its own, so many entries of a kind a day. The ledger has
        // one row a table, which the server itself writes whenever its index is saved.
        if (name === 'signInLog' || name === 'ledger') continue;
        const more = rows - (before[name] ?? 0);
        if (more > 0) written[route] = { ...written[route], [name]: more };
      }
    }
    const unbounded = Object.entries(written).filter(([route, rows]) =>
      Object.entries(rows).some(([name, count]) => count > (bounds[route]?.[name] ?? 0)),
    );
    assert.deepEqual(unbounded, []);
    const { ledger = 0 } = (await stored(server)).rows;
    assert.ok(ledger <= ledgerRowsMax, `${ledger} rows in the ledger`);
    assert.ok(Object.keys(statuses).length > 100, 'all routes');

    async function ask(method: string, path: string, i: number) {
      if (method === 'GET') {
        const query = path === '/authorize.php' ? authorizePath().slice(path.length) : '';
        return agent.get(`${path}${query}`);
      }
      const form = fields(i);
      if (/passkey/.test(path) && !path.startsWith('/register')) {
        const headers = { 'Content-Type': 'application/json', Cookie: cookieOf() };
        return server.fetch(path, { method, headers, body: JSON.stringify(form) });
      }
      const headers = {
        'Content-Type': 'application/x-www-form-urlencoded',
        Cookie: cookieOf(),
      };
      return server.fetch(path, { method, headers, body: `${new URLSearchParams(form)}` });
    }

    function cookieOf(): string {
      return [...agent.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    }
  });
});
