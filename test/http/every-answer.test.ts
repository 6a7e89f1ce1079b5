/** What stands in every answer, whichever way it takes through the transport. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderHead } from '../../src/http/answer/head.ts';
import type { Route } from '../../src/http/router.ts';
import { type Answer, answersIn, get, openConnection, requestText, startServer } from './raw.ts';

const head = renderHead(200, [['Content-Type', 'text/plain']]);
const plain = (path: string, reply: () => object): Route =>
  ({ kind: 'plain', method: 'GET', path, handle: reply }) as unknown as Route;
const wait = () => new Promise<void>((resolve) => setImmediate(resolve));

const routes: Route[] = [
  { kind: 'hot', method: 'GET', path: '/hot', handle: (request) => request.answer(head, 'ok') },
  {
    kind: 'hot',
    method: 'GET',
    path: '/hot-broken',
    handle: () => {
      throw new Error('on purpose');
    },
  },
  plain('/plain', () => ({ status: 200, headers: [], body: 'ok' })),
  plain('/empty', () => ({ status: 204, headers: [] })),
  plain('/known', () => ({ status: 304, headers: [['ETag', '"1"']] })),
  plain('/large', () => ({ status: 200, headers: [], body: new Uint8Array(100_000) })),
  plain('/parts', () => ({ status: 200, headers: [], body: [Buffer.from('a'), Buffer.from('b')] })),
  plain('/bad-header', () => ({ status: 200, headers: [['A', 'a\r\nb']] })),
  plain('/broken', () => {
    throw new Error('on purpose');
  }),
  {
    kind: 'plain',
    method: 'POST',
    path: '/plain',
    bodyBytesMax: 10,
    cors: { allowHeaders: [] },
    handle: async () => {
      await wait();
      return { status: 200, headers: [], body: 'ok' };
    },
  },
  {
    kind: 'plain',
    method: 'POST',
    path: '/late',
    timeoutMs: 20,
    handle: () => new Promise(() => undefined),
  },
  {
    kind: 'stream',
    method: 'POST',
    path: '/stream',
    bodyBytesMax: 10,
    timeoutMs: 1_000,
    handle: async () => ({ status: 401, headers: [], body: 'no' }),
  },
];

const length = (path: string, bytes: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`;

const asked: [string, number][] = [
  [get('/hot'), 200],
  [get('/hot').replace('GET', 'HEAD'), 200],
  [get('/hot', 'Connection: close'), 200],
  [get(`/hot?${'a'.repeat(5_000)}`), 400],
  [get('/hot-broken'), 500],
  [get('/plain'), 200],
  [get('/plain').replace('GET', 'HEAD'), 200],
  [get(`/plain?${'a'.repeat(5_000)}`), 400],
  [get('/empty'), 204],
  [get('/known'), 304],
  [get('/large'), 200],
  [get('/parts'), 200],
  [get('/bad-header'), 500],
  [get('/broken'), 500],
  [get('/nowhere'), 404],
  [requestText('PUT', '/plain'), 405],
  [requestText('OPTIONS', '/plain'), 204],
  [length('/plain', 100_000).replace('POST', 'OPTIONS'), 204],
  [requestText('POST', '/plain', 'body'), 200],
  [length('/plain', 11), 413],
  [length('/nowhere', 100_000), 404],
  [`${length('/plain', 5)}half`, 408],
  [requestText('POST', '/late'), 503],
  [length('/stream', 5), 401],
  [length('/stream', 11), 413],
  ['POST /plain HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n', 411],
];

async function answerTo(port: number, request: string): Promise<Answer> {
  const connection = openConnection(port);
  connection.send(request);
  const isHead = request.startsWith('HEAD ');
  const text = await connection.until((sofar) => answersIn(sofar, isHead).length > 0);
  connection.socket.destroy();
  // Names of headers that come twice are counted in the text.
  const times = text.split(/\r\nstrict-transport-security: /i).length - 1;
  const answer = answersIn(text, isHead)[0]!;
  assert.ok(times <= 1, text);
  return answer;
}

for (const https of [true, false]) {
  test(`https ${https}: each answer says whether to stay with it, and which request it is for`, async () => {
    await using running = await startServer(routes, {
      https,
      limits: { bodyTimeoutMs: 100, drainTimeoutMs: 100 },
    });
    for (const [request, status] of asked) {
      const answer = await answerTo(running.port, request);
      const what = request.slice(0, 80);
      assert.equal(answer.status, status, what);
      // RFC 9110, 8.6: a 204 has no length. Behind its head nothing may stand.
      if (status === 204) assert.equal(answer.headers.has('content-length'), false, what);
      const expected = https ? 'max-age=31536000' : undefined;
      assert.equal(answer.headers.get('strict-transport-security'), expected, what);
      assert.equal(answer.headers.has('uwebsockets'), false, what);
      // The hot lane names only what went wrong.
      const isHot = request.includes(' /hot') && status === 200;
      assert.equal(answer.headers.has('x-request-id'), !isHot, what);
      if (!isHot) assert.match(answer.headers.get('x-request-id')!, /^[0-9a-f]{16}$/, what);
    }
    // One answer in 128 takes another way.
    const connection = openConnection(running.port);
    connection.send(get('/hot').repeat(300));
    const text = await connection.until((sofar) => answersIn(sofar).length === 300);
    connection.socket.destroy();
    const told = answersIn(text).filter((a) => a.headers.has('strict-transport-security'));
    assert.equal(told.length, https ? 300 : 0);
  });
}
