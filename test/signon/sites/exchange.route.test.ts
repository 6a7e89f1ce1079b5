/** /api.php over HTTP, against a real store: what it gives, to which methods, and what it refuses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientLimits } from '../../../src/access/quota/client-limits.ts';
import { clientLimits } from '../../../src/config/limits.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { profileExchangeRoutes } from '../../../src/signon/sites/exchange.route.ts';
import { createCallers } from '../../../src/web/guard/callers.ts';
import { createRenderProblem } from '../../../src/web/shape.ts';
import { ask, requestText, startServer } from '../../http/raw.ts';
import { guardOf } from '../../support/server/guard.ts';
import { openSignon } from '../fixture.ts';

async function openExchange(withLimits = false) {
  const signon = await openSignon();
  const callers = createCallers({
    limits: withLimits ? createClientLimits(clientLimits) : undefined,
    check: { judge: () => assert.fail('no score is asked for') },
    clock: systemClock(),
  });
  const routes = profileExchangeRoutes({
    authorization: signon.authorization,
    tries: { exchanged() {} },
    guard: guardOf(callers),
  });
  const renderPage = () => ({ html: 'page', headers: [] });
  const renderProblem = createRenderProblem({ routes, areas: [], renderPage });
  const running = await startServer(routes, { renderProblem });
  return {
    signon,
    port: running.port,
    async send(method: string, query: string, headers: string[] = [], body?: string) {
      const path = query === '' ? '/api.php' : `/api.php?${query}`;
      const [answer] = await ask(running.port, requestText(method, path, body, headers));
      return answer!;
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await signon[Symbol.asyncDispose]();
    },
  };
}

const form = ['Content-Type: application/x-www-form-urlencoded'];
const invalidGrant = JSON.stringify({
  error: 'invalid_grant',
  error_description: 'The code is unknown, used or expired.',
});

test('a code gives the profile once, by GET and by POST, never cached, never cross-origin', async () => {
  await using exchange = await openExchange();
  for (const method of ['GET', 'POST', 'POST with query']) {
    const code = await exchange.signon.codeFor();
    const origin = 'Origin: https://example.com';
    const asked =
      method === 'POST'
        ? exchange.send('POST', '', [...form, origin], `code=${code}&client_id=example.com`)
        : exchange.send(method.slice(0, 4).trim(), `code=${code}&client_id=example.com`, [origin]);
    const answer = await asked;
    assert.equal(answer.status, 200, method);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.equal(answer.headers.get('x-sso-client'), 'example.com');
    assert.equal(answer.headers.has('access-control-allow-origin'), false);
    assert.equal(JSON.parse(answer.body).given_name, 'Ada');
    const again = await exchange.send('GET', `code=${code}`);
    assert.equal(again.status, 400);
    assert.equal(again.body, invalidGrant);
    assert.equal(again.headers.has('x-sso-client'), false);
  }
});

test('unknown, used, expired and burned codes have the same answer, headers included', async () => {
  await using exchange = await openExchange();
  const { signon, send } = exchange;
  const expired = await signon.codeFor();
  signon.clock.advance(300_000);
  const used = await signon.codeFor();
  await send('GET', `code=${used}`);
  const burned = await signon.codeFor();
  const wrong = await send('GET', `code=${burned}&client_id=evil.com`);
  const answers = [wrong];
  for (const code of ['A'.repeat(43), 'x', expired, used, burned]) {
    answers.push(await send('GET', `code=${code}`));
  }
  const seen = answers.map(({ status, headers, body }) => {
    const { date: _date, 'x-request-id': _id, ...rest } = Object.fromEntries(headers);
    return { status, body, rest };
  });
  for (const answer of seen) assert.deepEqual(answer, seen[0]);
  assert.equal(seen[0]!.body, invalidGrant);
});

test('HEAD, OPTIONS and others get 405 and leave the code alive', async () => {
  await using exchange = await openExchange();
  const code = await exchange.signon.codeFor();
  for (const method of ['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
    const headers = ['Origin: https://a.example', 'Access-Control-Request-Method: GET'];
    const answer = await exchange.send(method, `code=${code}`, headers);
    assert.equal(answer.status, 405, method);
    assert.equal(answer.headers.get('allow'), 'GET, POST');
    assert.equal(answer.headers.has('access-control-allow-origin'), false);
    if (method !== 'HEAD') assert.equal(JSON.parse(answer.body).error, 'invalid_request');
  }
  assert.equal((await exchange.send('GET', `code=${code}`)).status, 200);
});

test('missing, repeated and broken parameters are invalid_request and leave the code alive', async () => {
  await using exchange = await openExchange();
  const { send } = exchange;
  const code = await exchange.signon.codeFor();
  const queries = [
    '',
    'code=',
    'Code=x',
    'code[]=x',
    `code=${code}&code=${code}`,
    `code=${code}&%63ode=${code}`,
    `code=${code}&client_id=example.com&client_id=example.com`,
    `code=${code}&redirect_uri=a&redirect_uri=b`,
    `code=${code}&x=%`,
    `code=${code}&x=%zz`,
    `code=${code}&x=%ff`,
    `code=${code}%00`,
    `code=${code}&${'x'.repeat(8_193)}`,
  ];
  for (const query of queries) {
    const answer = await send('GET', query);
    assert.equal(answer.status, 400, query);
    assert.equal(JSON.parse(answer.body).error, 'invalid_request', query);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
  const bodies: readonly (readonly [string, string, string])[] = [
    ['', form[0]!, ''],
    ['', form[0]!, 'code='],
    [`code=${code}`, form[0]!, `code=${code}`],
    ['', form[0]!, `code=${code}&code=${code}`],
    ['', form[0]!, `code=${code}&x=%`],
    ['', 'Content-Type: application/json', JSON.stringify({ code })],
    ['', 'Content-Type: multipart/form-data; boundary=x', `code=${code}`],
  ];
  for (const [query, type, body] of bodies) {
    const answer = await send('POST', query, [type], body);
    assert.equal(answer.status, 400, body);
    assert.equal(JSON.parse(answer.body).error, 'invalid_request', body);
  }
  const large = await send('POST', '', form, `code=${code}&x=${'y'.repeat(20_000)}`);
  assert.equal(large.status, 413);
  assert.equal((await send('GET', `code=${code}`)).status, 200);
});

test('a redirect address of full length still fits when every character is escaped', async () => {
  await using exchange = await openExchange();
  const start = 'https://example.com/';
  const redirect_uri = start + '$'.repeat(2_000 - start.length);
  const code = await exchange.signon.codeFor(exchange.signon.requestOf({ redirect_uri }));
  const query = new URLSearchParams({ code, redirect_uri }).toString();
  assert.ok(query.length > 5_900);
  assert.equal((await exchange.send('GET', query)).status, 200);
});

test('200 clients at once: one gets the profile', async () => {
  await using exchange = await openExchange();
  const code = await exchange.signon.codeFor();
  const all = await Promise.all(
    Array.from({ length: 200 }, () => exchange.send('GET', `code=${code}`)),
  );
  assert.equal(all.filter(({ status }) => status === 200).length, 1);
  assert.equal(all.filter(({ body }) => body === invalidGrant).length, 199);
});

test('the 601st exchange of an address in a minute is refused and does not redeem', async () => {
  await using exchange = await openExchange(true);
  for (let i = 0; i < clientLimits.exchange.max; i++) {
    assert.equal((await exchange.send('GET', 'code=x')).status, 400);
  }
  const code = await exchange.signon.codeFor();
  const answer = await exchange.send('GET', `code=${code}`);
  assert.equal(answer.status, 429);
  assert.ok(Number(answer.headers.get('retry-after')) >= 1);
  assert.equal(JSON.parse(answer.body).error, 'temporarily_unavailable');
  assert.ok((await exchange.signon.exchange(code)).ok);
});

test('a store that cannot write answers 503, not invalid_grant', async () => {
  const routes = profileExchangeRoutes({
    authorization: { exchange: async () => ({ ok: false, error: 'store_unavailable' }) },
    tries: { exchanged() {} },
    guard: guardOf(),
  });
  await using running = await startServer(routes);
  const [answer] = await ask(running.port, requestText('GET', '/api.php?code=x'));
  assert.equal(answer!.status, 503);
  assert.equal(answer!.headers.get('retry-after'), '5');
  assert.equal(JSON.parse(answer!.body).error, 'temporarily_unavailable');
});
