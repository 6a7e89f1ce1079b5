/**
 * How many answers a client and its network get in a while: nobody's paths, pages, HEAD and wrong keys
 * count, good keys don't, probes count apart; a refused client keeps its connection, and what it sends at once in great number
 * is never read.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAnswerLimits } from '../../src/http/limits/admission.ts';
import { addressRules } from '../../src/http/request/client-ip.ts';
import type { PlainRoute } from '../../src/http/router.ts';
import { manualClock } from '../support/seeded.ts';
import { ask, get, openConnection, requestText, startServer, statusesIn } from './raw.ts';

const bounds = {
  answers: { max: 4, windowMs: 60_000 },
  answersNear: { max: 10, windowMs: 60_000 },
  probes: { max: 2, windowMs: 60_000 },
};

async function openLimited() {
  const clock = manualClock(0);
  let handled = 0;
  const page: PlainRoute = {
    kind: 'plain',
    method: 'GET',
    path: '/page',
    handle: () => {
      handled++;
      return { status: 200, headers: [], body: 'a page' };
    },
  };
  const keyed: PlainRoute = {
    kind: 'plain',
    method: 'GET',
    path: '/keyed',
    who: 'api-key',
    headers: ['key'],
    handle: ({ headers }) => ({ status: headers.key?.[0] === 'good' ? 200 : 401, headers: [] }),
  };
  const probe: PlainRoute = { ...page, path: '/probe', isProbe: true };
  const server = await startServer([page, keyed, probe], {
    answerLimits: createAnswerLimits(bounds, clock),
    addresses: addressRules(['127.0.0.1']),
  });
  const from = (client: string, path = '/page', ...lines: string[]) =>
    get(path, `X-Forwarded-For: ${client}`, ...lines);
  const statusOf = async (...request: Parameters<typeof from>) =>
    (await ask(server.port, from(...request)))[0]?.status;
  return {
    ...server,
    clock,
    from,
    statusOf,
    handled: () => handled,
  };
}

test('a client gets so many answers, and then a refusal that says when to come back', async () => {
  await using server = await openLimited();
  const { from, statusOf, port } = server;
  assert.equal(await statusOf('192.0.2.1'), 200);
  assert.equal(await statusOf('192.0.2.1', '/nowhere'), 404);
  const method = from('192.0.2.1').replace('GET', 'DELETE');
  assert.equal((await ask(port, method))[0]?.status, 405);
  assert.equal(await statusOf('192.0.2.1', '/nowhere'), 404);
  const [refused] = await ask(port, from('192.0.2.1', '/nowhere'));
  assert.equal(refused?.status, 429);
  assert.ok(Number(refused?.headers.get('retry-after')) >= 1);
  assert.equal(await statusOf('192.0.2.1', '/keyed', 'Key: good'), 429);
  assert.equal(await statusOf('192.0.2.1', '/probe'), 200, 'probes count apart');
  assert.equal(await statusOf('192.0.2.1', '/probe'), 200);
  assert.equal(await statusOf('192.0.2.1', '/probe'), 429);
  server.clock.advance(70_000);
  assert.equal(await statusOf('192.0.2.1'), 200);
});

test('a network of many clients has a bound of its own, and another network is not held by it', async () => {
  await using server = await openLimited();
  const { statusOf } = server;
  const statuses = [];
  for (let i = 0; i < 12; i++) statuses.push(await statusOf(`192.0.2.${i}`));
  assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429]);
  assert.equal(await statusOf('198.51.100.1'), 200);
  assert.equal(await statusOf('192.0.2.77', '/keyed', 'Key: good'), 200, 'a good key is not held');
  assert.equal(await statusOf('192.0.2.77', '/nowhere'), 429);
  const wide = [];
  for (let i = 0; i < 11; i++) wide.push(await statusOf(`2001:db8:7:${i.toString(16)}::1`));
  assert.deepEqual(wide, [...Array(10).fill(200), 429]);
});

test('of requests that need a key the ones without a good one count', async () => {
  await using server = await openLimited();
  const { statusOf } = server;
  for (let i = 0; i < 9; i++) {
    assert.equal(await statusOf('192.0.2.1', '/keyed', 'Key: good'), 200);
  }
  for (let i = 0; i < 4; i++) assert.equal(await statusOf('192.0.2.1', '/keyed'), 401);
  assert.equal(await statusOf('192.0.2.1', '/keyed'), 429);
});

test('a client that is refused keeps its connection, whatever short body it sends, and how', async () => {
  await using server = await openLimited();
  const connection = openConnection(server.port);
  const client = 'X-Forwarded-For: 192.0.2.1';
  const body = 'x'.repeat(3_000);
  const whole = requestText('POST', '/nowhere', body, [client]);
  for (let i = 1; i <= 300; i++) {
    // The body follows its head in a packet of its own, or comes with it.
    const cut = whole.length - (i % 3 === 0 ? 1 : i % 3 === 1 ? body.length : 0);
    connection.send(whole.slice(0, cut));
    if (cut < whole.length) await new Promise((resolve) => setImmediate(resolve));
    connection.send(whole.slice(cut));
    await connection.until((text) => statusesIn(text).length >= i);
  }
  const statuses = statusesIn(connection.text());
  assert.deepEqual(statuses, [...Array(4).fill(404), ...Array(296).fill(429)]);
  server.clock.advance(70_000);
  connection.send(server.from('192.0.2.1'));
  await connection.until((text) => statusesIn(text).length > 300);
  assert.equal(statusesIn(connection.text()).at(-1), 200);
  connection.socket.destroy();
});

for (const method of ['GET', 'HEAD', 'POST']) {
  test(`what stands behind many a refused ${method} is not read`, async () => {
    await using server = await openLimited();
    const connection = openConnection(server.port);
    const path = method === 'POST' ? '/nowhere' : '/page';
    connection.send(server.from('192.0.2.1', path).replace('GET', method).repeat(500));
    const text = await connection.closed();
    assert.ok(statusesIn(text, method === 'HEAD').length <= 4 + 65);
    assert.deepEqual(server.finished.length, 4 + 65);
    if (method !== 'POST') assert.equal(server.handled(), 4);
  });
}

test('with no bounds nobody is held', async () => {
  const limits = createAnswerLimits(undefined, manualClock(0));
  const networks = { client: 'a', neighbourhood: 'b' };
  for (let i = 0; i < 20_000; i++) assert.equal(limits.refusalOf(networks, undefined), undefined);
});
