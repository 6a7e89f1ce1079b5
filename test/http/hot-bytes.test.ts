/** Answers as bytes that a route writes over the ones before. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HotRoute } from '../../src/http/router.ts';
import {
  answersIn,
  ask,
  eventually,
  get,
  openConnection,
  requestText,
  sleep,
  startServer,
} from './raw.ts';

test('bytes that are overwritten behind an answer arrive as they were', async () => {
  const headBytes = Buffer.alloc(256);
  let body = Buffer.alloc(1_024);
  const handle: HotRoute['handle'] = (request) => {
    const headEnd = headBytes.write(`200 OK\r\nX-Query: ${request.query}${request.fields}`);
    body.fill(request.query);
    request.answerBytes(200, headBytes.subarray(0, headEnd), body);
    setImmediate(() => {
      headBytes.fill('-');
      body.fill('-');
    });
  };
  const route: HotRoute = { kind: 'hot', method: 'GET', path: '/bytes', handle };
  await using running = await startServer([route], { https: true });
  const queries = Array.from({ length: 1_000 }, (_, i) => String(1_000 + i));
  const requests = queries.map((query) => get(`/bytes?${query}`)).join('');
  for (const [i, answer] of (await ask(running.port, requests, 1_000)).entries()) {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-query'), queries[i]);
    assert.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000');
    assert.equal(answer.body, queries[i]!.repeat(256));
  }
  assert.deepEqual([...new Set(running.finished)], ['/bytes 200']);
  // One answer in 128, the 1,024th here, waits for its reader when the buffers between them are full.
  const heads = Array.from({ length: 23 }, () => requestText('HEAD', '/bytes?abcd'));
  for (const { headers } of await ask(running.port, heads.join(''), 23)) {
    assert.equal(headers.get('content-length'), '1024');
  }
  body = Buffer.alloc(16 * 1_048_576);
  const slow = openConnection(running.port);
  slow.socket.pause();
  slow.send(get('/bytes?abcd'));
  await eventually(() => running.finished.length === 1_024);
  await sleep(50);
  slow.socket.resume();
  const isThere = () => slow.socket.bytesRead > body.length && answersIn(slow.text()).length === 1;
  await eventually(isThere);
  slow.socket.destroy();
  const [answer] = answersIn(slow.text());
  assert.ok(answer?.body === 'abcd'.repeat(body.length / 4));
});
