/** Forwarding between two threads: replies, bounds, deadlines, callers who leave. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel, Worker } from 'node:worker_threads';
import { createLog } from '../../src/core/log.ts';
import {
  createForwarder,
  NumberedItems,
  packToFront,
  packToOwner,
  type ServeForwardedOptions,
  serveForwarded,
  type ToFront,
  type ToOwner,
  unpackToFront,
  unpackToOwner,
  unreadBytesMax,
} from '../../src/http/forward.ts';
import { BodyAborted } from '../../src/http/request/intake.ts';
import type { Request } from '../../src/http/request/message.ts';
import type { Caller } from '../../src/http/router.ts';
import { StoreUnavailableError } from '../../src/storage/store.ts';
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
    id: 'r1',
  };
}

function pair(handle: ServeForwardedOptions['handle']) {
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

test('all requests of a turn cross as one message, and so do all answers', async () => {
  const { port1, port2 } = new MessageChannel();
  const crossed: Record<'there' | 'back', number[]> = { there: [], back: [] };
  port2.on('message', (batch) => crossed.there.push(unpackToOwner(batch).length));
  port1.on('message', (batch) => crossed.back.push(unpackToFront(batch).length));
  const handle = ({ query }: Request) => ({ status: 200, headers: [], body: query });
  serveForwarded({ port: port2, log: createLog('silent'), handle });
  const forwarder = createForwarder({ port: port1, outstandingMax: 3 });
  const answers = ['a', 'b', 'c'].map((q) => forwarder.forward(request(q), nobody, timeoutMs));
  const bodies = (await Promise.all(answers)).map((result) => result.ok && result.value.body);
  assert.deepEqual(bodies, ['a', 'b', 'c']);
  assert.deepEqual(crossed, { there: [3], back: [3] });
  port1.close();
});

test('many requests of one turn cross 32 at a time, so that the other side begins before the last is made', async () => {
  const { port1, port2 } = new MessageChannel();
  const crossed: number[] = [];
  port2.on('message', (batch) => crossed.push(unpackToOwner(batch).length));
  const handle = ({ query }: Request) => ({ status: 200, headers: [], body: query });
  serveForwarded({ port: port2, log: createLog('silent'), handle });
  const forwarder = createForwarder({ port: port1, outstandingMax: 100 });
  const asked = Array.from({ length: 70 }, (_, n) => String(n));
  const answers = asked.map((q) => forwarder.forward(request(q), nobody, timeoutMs));
  const bodies = (await Promise.all(answers)).map((result) => result.ok && result.value.body);
  assert.deepEqual(bodies, asked);
  assert.deepEqual(crossed, [32, 32, 6]);
  port1.close();
});

test('whatever crosses is on the other side what it was', () => {
  const bare = request('q');
  const headers = { a: ['b'], many: ['1', '2'] };
  const there: ToOwner[] = [
    { id: 7, request: { ...bare, headers, body: Uint8Array.of(1, 2) } },
    { id: 8, request: { ...bare, headers: {}, trace: 't' }, inPieces: true },
    { id: 11, request: { ...bare, reading: ['\u00e9\u4f1a', 2 ** 40, ''] } },
    { id: 8, piece: Uint8Array.of(3) },
    { id: 9, request: { ...bare, body: new Uint8Array(5_000).fill(4) } },
    { id: 8, isWhole: true },
    { id: 7, gone: true },
    { id: 10, request: { ...bare, body: Uint8Array.of(5) } },
  ];
  const arrived = unpackToOwner(structuredClone(packToOwner(there)));
  const unsaid = { trace: undefined, reading: undefined };
  const shown = (items: readonly ToOwner[]) =>
    items.map((item) =>
      'request' in item
        ? { ...item, request: { ...unsaid, ...item.request, body: [...item.request.body] } }
        : item,
    );
  assert.deepEqual(shown(arrived), shown(there));
  const back: ToFront[] = [
    {
      id: 7,
      reply: {
        status: 200,
        headers: [
          ['A', '1'],
          ['A', '2'],
        ],
        body: 'text',
      },
    },
    { id: 8, failed: 'internal' },
    { id: 9, reply: { status: 204, headers: [] } },
    { id: 9, taken: 65_536 },
    { id: 10, reply: { status: 200, headers: [], body: [Uint8Array.of(1), Uint8Array.of(2)] } },
  ];
  assert.deepEqual(unpackToFront(structuredClone(packToFront(back))), back);
});

test('a reply that cannot cross fails alone', async () => {
  using both = pair(({ query }) => {
    const body = (query === 'bad' ? () => undefined : query) as string;
    return { status: 200, headers: [], body };
  });
  const [good, bad] = await Promise.all(
    ['good', 'bad'].map((query) => both.forwarder.forward(request(query), nobody, timeoutMs)),
  );
  assert.equal(good!.ok && good!.value.body, 'good');
  assert.equal(!bad!.ok && bad!.error, 'internal');
});

/** A body of pieces of `bytes` each, and how many of them were asked for. */
function pieces(count: number, bytes: number) {
  const state = { given: 0, body: undefined as unknown as AsyncIterable<Uint8Array> };
  state.body = (async function* () {
    for (; state.given < count; ) {
      state.given++;
      yield new Uint8Array(bytes).fill(state.given);
    }
  })();
  return state;
}

test('a body arrives in pieces and in order, and no faster than it is read', async () => {
  const pieceBytes = 16_384;
  const source = pieces(40, pieceBytes);
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  using both = pair(async (_request, _caller, body) => {
    await gate;
    const seen: number[] = [];
    for await (const piece of body!) seen.push(piece[0]!);
    return { status: 200, headers: [], body: seen.join() };
  });
  const answer = both.forwarder.stream(request('x'), source.body, timeoutMs);
  await eventually(() => source.given === unreadBytesMax / pieceBytes);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(source.given, unreadBytesMax / pieceBytes);
  open();
  const result = await answer;
  assert.deepEqual(
    result.ok && result.value.body,
    Array.from({ length: 40 }, (_, i) => i + 1).join(),
  );
});

test('an answer before the end of a body stops its sender', async () => {
  const source = pieces(1_000, 65_536);
  using both = pair((_request, _caller, body) => {
    assert.ok(body);
    return { status: 413, headers: [] };
  });
  const result = await both.forwarder.stream(request('x'), source.body, timeoutMs);
  assert.equal(result.ok && result.value.status, 413);
  assert.ok(source.given < 10, `${source.given} pieces`);
  assert.equal(both.forwarder.outstanding(), 0);
});

test('a body that breaks off reaches its reader as that, and nothing is answered', async () => {
  let seen: unknown;
  using both = pair(async (_request, _caller, body) => {
    try {
      for await (const _piece of body!);
    } catch (error) {
      seen = error;
      throw error;
    }
    return { status: 200, headers: [] };
  });
  async function* broken() {
    yield Uint8Array.of(1);
    throw new BodyAborted('the client left');
  }
  const result = await both.forwarder.stream(request('x'), broken(), timeoutMs);
  assert.equal(!result.ok && result.error, 'deadline_exceeded');
  await eventually(() => seen instanceof BodyAborted);
  assert.equal(both.forwarder.outstanding(), 0);
});

test('a handler that finds no store is told apart from one that fails', async () => {
  const errors = [new StoreUnavailableError('away'), new Error('broken')];
  using end = pair(() => Promise.reject(errors.shift()));
  const told = [1, 2].map(() => end.forwarder.forward(request('x'), nobody, timeoutMs));
  const codes = (await Promise.all(told)).map((result) => (result.ok ? 'ok' : result.error));
  assert.deepEqual(codes, ['store_unavailable', 'internal']);
});

test('an answer that comes too late reaches nobody who took the place since', async () => {
  const answers: (() => void)[] = [];
  using both = pair(
    (r) =>
      new Promise((resolve) => {
        answers.push(() => resolve({ status: 200, headers: [], body: r.query }));
      }),
  );
  let leave: () => void = () => undefined;
  const gone = both.forwarder.forward(
    request('first'),
    { onGone: (listener) => (leave = listener) },
    timeoutMs,
  );
  await eventually(() => answers.length === 1);
  leave();
  assert.equal((await gone).ok, false);
  const second = both.forwarder.forward(request('second'), nobody, timeoutMs);
  await eventually(() => answers.length === 2);
  for (const answer of answers) answer();
  const result = await second;
  assert.ok(result.ok);
  assert.equal(result.value.body, 'second');
  assert.equal(both.forwarder.outstanding(), 0);
});

test('numbers of items that are used again do not come again, and what left is not found', () => {
  const items = new NumberedItems<{ id: number }>();
  const seen = new Set<number>();
  for (let i = 0; i < 1_000; i++) {
    const [a, b] = [items.add((id) => ({ id })), items.add((id) => ({ id }))];
    for (const { id } of [a, b]) {
      assert.ok(!seen.has(id));
      seen.add(id);
    }
    assert.equal(items.get(a.id), a);
    items.remove(a.id);
    items.remove(a.id);
    assert.equal(items.get(a.id), undefined);
    assert.deepEqual(items.all(), [b]);
    items.remove(b.id);
  }
  assert.equal(items.size, 0);
});
