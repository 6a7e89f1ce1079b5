/** Forwarding between two threads: replies, bounds, deadlines, callers who leave. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import { createLog } from '../../src/core/log/log.ts';
import { createForwarder, serveForwarded } from '../../src/http/forward.ts';
import type { Reply, Request } from '../../src/http/message.ts';
import type { Caller } from '../../src/http/router.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { eventually } from './raw.ts';

const timeoutMs = 60_000;
const nobody: Caller = { onGone: () => undefined };
function request(query: string, body = new Uint8Array(0)): Request {
  return {
    method: 'GET',
    path: '/x',
    param: '',
    query,
    headers: { a: ['b'] },
    body,
    clientIp: '::1',
  };
}

function pair(handle: (request: Request, caller: Caller) => Reply | Promise<Reply>) {
  const { port1, port2 } = new MessageChannel();
  serveForwarded({ port: port2, log: createLog('silent'), handle });
  const forwarder = createForwarder({
    port: port1,
    outstandingMax: 3,
  });
  return { forwarder, [Symbol.dispose]: () => port1.close() };
}

test('a request crosses to another thread and its reply comes back', async () => {
  const forwardUrl = new URL('../../src/http/forward.js', import.meta.url).href;
  const worker = new Worker(
    `import { parentPort } from 'node:worker_threads';
     import { serveForwarded } from ${JSON.stringify(forwardUrl)};
     const log = { error() {} };
     serveForwarded({ port: parentPort, log, handle: async (request) => ({
       status: 200, headers: [['A', request.headers.a[0]]], body: request.body }) });`,
    { eval: true, execArgv: ['--input-type=module'] },
  );
  const forwarder = createForwarder({
    port: worker as never,
    outstandingMax: 10,
  });
  const result = await forwarder.forward(
    request('q', Uint8Array.from([1, 2, 3])),
    nobody,
    timeoutMs,
  );
  assert.ok(result.ok);
  assert.deepEqual(result.value.headers, [['A', 'b']]);
  assert.deepEqual([...(result.value.body as Uint8Array)], [1, 2, 3]);
  await worker.terminate();
});

test('replies out of order find their requests', async () => {
  const releases = new Map<string, () => void>();
  using both = pair(
    (r) =>
      new Promise((resolve) => {
        releases.set(r.query, () => resolve({ status: 200, headers: [], body: r.query }));
      }),
  );
  const answers = ['a', 'b', 'c'].map((query) =>
    both.forwarder.forward(request(query), nobody, timeoutMs),
  );
  await eventually(() => releases.size === 3);
  for (const query of ['c', 'a', 'b']) releases.get(query)!();
  const bodies = (await Promise.all(answers)).map((result) => result.ok && result.value.body);
  assert.deepEqual(bodies, ['a', 'b', 'c']);
  assert.equal(both.forwarder.outstanding(), 0);
});

test('beyond the bound a request fails at once', async () => {
  using both = pair(() => new Promise(() => undefined));
  for (let i = 0; i < 3; i++) void both.forwarder.forward(request('x'), nobody, timeoutMs);
  const refused = await both.forwarder.forward(request('x'), nobody, timeoutMs);
  assert.equal(!refused.ok && refused.error, 'overloaded');
});

test('a deadline frees the place and tells the other side', async () => {
  let gone = 0;
  using both = pair((_request, caller) => {
    caller.onGone(() => gone++);
    return new Promise(() => undefined);
  });
  const late = await both.forwarder.forward(request('x'), nobody, 30);
  assert.equal(!late.ok && late.error, 'deadline_exceeded');
  assert.equal(both.forwarder.outstanding(), 0);
  await eventually(() => gone === 1);
});

test('a caller who leaves frees the place and tells the other side', async () => {
  let gone = 0;
  let leave: () => void = () => undefined;
  using both = pair((_request, caller) => {
    caller.onGone(() => gone++);
    return new Promise(() => undefined);
  });
  const answer = both.forwarder.forward(
    request('x'),
    { onGone: (listener) => (leave = listener) },
    timeoutMs,
  );
  leave();
  assert.equal((await answer).ok, false);
  assert.equal(both.forwarder.outstanding(), 0);
  await eventually(() => gone === 1);
});

test('a handler that fails, or a closed port, fails the request', async () => {
  using both = pair(() => {
    throw new Error('boom');
  });
  const failed = await both.forwarder.forward(request('x'), nobody, timeoutMs);
  assert.equal(!failed.ok && failed.error, 'internal');
  both.forwarder.close();
  const closed = await both.forwarder.forward(request('x'), nobody, timeoutMs);
  assert.equal(!closed.ok && closed.error, 'overloaded');
});

test('a body in shared memory crosses without a copy', async () => {
  const body = new Uint8Array(new SharedArrayBuffer(100_000)).fill(7);
  using both = pair(() => ({ status: 200, headers: [], body }));
  const result = await both.forwarder.forward(request(''), nobody, timeoutMs);
  assert.ok(result.ok);
  const received = result.value.body as Uint8Array;
  assert.ok(received.buffer instanceof SharedArrayBuffer);
  body[5] = 8;
  assert.equal(received[5], 8);
});

test('a handler that finds no store is told apart from one that fails', async () => {
  const errors = [new StoreUnavailableError('away'), new Error('broken')];
  using end = pair(() => Promise.reject(errors.shift()));
  const told = [1, 2].map(() => end.forwarder.forward(request('x'), nobody, timeoutMs));
  const codes = (await Promise.all(told)).map((result) => (result.ok ? 'ok' : result.error));
  assert.deepEqual(codes, ['store_unavailable', 'internal']);
});
