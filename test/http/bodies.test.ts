/** Request bodies on the wire: limits, deadlines, early refusals, streams with backpressure. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderHead } from '../../src/http/answer/head.ts';
import { createBodyBudget } from '../../src/http/limits/request-slots.ts';
import type { PlainRoute, StreamRoute } from '../../src/http/router.ts';
import { networksOf } from '../../src/ip/networks.ts';
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

const upload: PlainRoute = {
  kind: 'plain',
  method: 'POST',
  path: '/upload',
  bodyBytesMax: 20_000,
  handle: (request) => ({ status: 200, headers: [], body: request.body }),
};

function chunked(path: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
}

test('a body of exactly the limit passes, one byte more is a 413', async () => {
  await using running = await startServer([upload]);
  const body = Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(i & 0x7f)).join('');
  const [fits] = await ask(running.port, requestText('POST', '/upload', body));
  assert.equal(fits!.body, body);
  const [over] = await ask(running.port, requestText('POST', '/upload', `${body}x`));
  assert.equal(over!.status, 413);
  assert.equal(over!.body, 'body_too_large\n\r\n');
  assert.equal(over!.headers.get('connection'), 'close');
});

test('a client that waits for 100 Continue gets it, however it spells that, and then one answer', async () => {
  await using running = await startServer([upload]);
  for (const expected of [
    '100-continue',
    '100-Continue',
    '100-CONTINUE',
    '100-Continue\r\nExpect: 100-continue',
    '100-continue\r\nExpect: 100-Continue',
  ]) {
    for (const [path, status, body] of [
      ['/upload', 200, '\u00e9: é'],
      ['/nowhere', 404, 'not_found\n'],
    ] as const) {
      const connection = openConnection(running.port);
      const length = path === '/upload' ? Buffer.byteLength(body) : 3;
      connection.send(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: ${expected}\r\nContent-Length: ${length}\r\n\r\n`,
      );
      const interim = await connection.until((sofar) => sofar.includes('\r\n\r\n'));
      assert.match(interim, /^HTTP\/1\.1 100 Continue\r\n\r\n/, expected);
      connection.send(Buffer.from(path === '/upload' ? body : 'abc'));
      const text = await connection.until((sofar) => sofar.split('\r\n\r\n').length > 2);
      const [answer, ...others] = answersIn(text.slice(text.indexOf('\r\n\r\n') + 4));
      assert.deepEqual([answer!.status, others.length], [status, 0], expected);
      assert.ok(Buffer.from(answer!.body, 'latin1').toString().startsWith(body), expected);
      if (status !== 200) continue;
      connection.send(requestText('POST', path, 'next'));
      const more = await connection.until((sofar) => sofar.endsWith('next'));
      assert.match(more.slice(text.length), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nnext$/, expected);
    }
  }
});

test('a chunked body over the limit is a 413 while it still arrives', async () => {
  await using running = await startServer([upload], {
    takesChunked: true,
    limits: { drainTimeoutMs: 600_000 },
  });
  const connection = openConnection(running.port);
  connection.send(chunked('/upload'));
  for (let i = 0; i < 3; i++) connection.send(`2000\r\n${'x'.repeat(0x2000)}\r\n`);
  const text = await connection.until((sofar) => answersIn(sofar).length > 0);
  assert.equal(answersIn(text)[0]!.status, 413);
  // The rest is read, so that the client's own write doesn't fail first; then it is over.
  connection.send('0\r\n\r\n');
  await connection.closed();
});

test('a declared 100 MB is refused at once and what follows is never a request', async () => {
  let calls = 0;
  const smuggled: PlainRoute = {
    kind: 'plain',
    method: 'GET',
    path: '/smuggled',
    handle: () => {
      calls++;
      return { status: 200, headers: [], body: '' };
    },
  };
  await using running = await startServer([upload, smuggled], {
    limits: { drainTimeoutMs: 200 },
  });
  for (const path of ['/upload', '/nowhere', '/smuggled']) {
    const connection = openConnection(running.port);
    connection.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n`);
    connection.send('GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n');
    const text = await connection.closed();
    const statuses = answersIn(text).map((answer) => answer.status);
    assert.deepEqual(statuses, [path === '/upload' ? 413 : path === '/nowhere' ? 404 : 405]);
  }
  assert.equal(calls, 0);
});

test('a body that stalls is a 408', async () => {
  await using running = await startServer([upload], {
    limits: { bodyTimeoutMs: 60, drainTimeoutMs: 60 },
  });
  const connection = openConnection(running.port);
  connection.send('POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
  const text = await connection.closed();
  assert.equal(answersIn(text)[0]!.body, 'body_timeout\n\r\n');
  await eventually(() => running.server.inFlight() === 0);
});

test('a client that leaves in the middle of its body costs nothing', async () => {
  await using running = await startServer([upload]);
  const connection = openConnection(running.port);
  connection.send('POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
  await eventually(() => running.server.inFlight() === 1);
  connection.socket.destroy();
  await eventually(() => running.server.inFlight() === 0);
  assert.deepEqual(running.finished, ['/upload 0']);
});

function stream(handle: StreamRoute['handle'], bodyBytesMax = 1_000_000): StreamRoute {
  return {
    kind: 'stream',
    method: 'POST',
    path: '/stream',
    bodyBytesMax,
    timeoutMs: 60_000,
    handle,
  };
}

test('a streamed body arrives complete and in order', async () => {
  await using running = await startServer([
    stream(async (_request, body) => {
      const parts: Uint8Array[] = [];
      for await (const chunk of body) parts.push(chunk);
      return { status: 200, headers: [], body: Buffer.concat(parts) };
    }),
  ]);
  const body = Array.from({ length: 50_000 }, (_, i) => String(i % 10)).join('');
  const [answer, second] = await ask(running.port, requestText('POST', '/stream', body));
  assert.equal(answer!.body, body);
  assert.equal(second, undefined);
  const [empty] = await ask(running.port, requestText('POST', '/stream'));
  assert.equal(empty!.status, 200);
  assert.equal(empty!.body, '');
});

test('a handler that does not read makes the client wait', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let taken = 0;
  await using running = await startServer([
    stream(async (_request, body) => {
      await gate;
      for await (const chunk of body) taken += chunk.length;
      return { status: 200, headers: [], body: String(taken) };
    }, 64_000_000),
  ]);
  const total = 48_000_000;
  const connection = openConnection(running.port);
  connection.send(`POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: ${total}\r\n\r\n`);
  connection.send(Buffer.alloc(total));
  await sleep(300);
  // Socket buffers hold some megabytes; the rest waits in the client.
  assert.ok(connection.socket.writableLength > 0, 'the client was stopped');
  release();
  const text = await connection.until((sofar) => answersIn(sofar).length > 0);
  assert.equal(answersIn(text)[0]!.body, String(total));
});

test('a streamed body over its limit, or a reader who gives up, is answered early', async () => {
  let failure: unknown;
  await using running = await startServer(
    [
      stream(async (request, body) => {
        if (request.query === 'deny') return { status: 401, headers: [], body: 'no' };
        try {
          for await (const _ of body);
        } catch (error) {
          failure = error;
          throw error;
        }
        return { status: 200, headers: [], body: '' };
      }, 100_000),
    ],
    { takesChunked: true },
  );
  const connection = openConnection(running.port);
  connection.send(`${chunked('/stream')}`);
  connection.send(`20000\r\n${'x'.repeat(0x20000)}\r\n0\r\n\r\n`);
  const text = await connection.closed();
  assert.deepEqual(
    answersIn(text).map((answer) => answer.status),
    [413],
  );
  assert.equal((failure as Error).name, 'BodyAborted');
  const [denied] = await ask(running.port, requestText('POST', '/stream?deny', 'x'.repeat(90_000)));
  assert.equal(denied!.status, 401);
  await eventually(() => running.server.inFlight() === 0);
});

/** A connection whose body lacks its last byte. */
function unfinished(port: number, bytes: number) {
  const connection = openConnection(port);
  connection.send(requestText('POST', '/upload', 'x'.repeat(bytes)).slice(0, -1));
  return connection;
}

for (const [who, limits, status] of [
  ['one client', { bodyBytesPerClientMax: 20_000 }, 429],
  ['all clients', { bodyBytesInAllMax: 20_000 }, 503],
] as const) {
  test(`large bodies of ${who} are refused beyond their budget, small ones are not`, async () => {
    await using running = await startServer([upload], {
      limits: { bodyBytesFree: 4_096, ...limits },
    });
    const { port } = running;
    const body = 'x'.repeat(18_000);
    const first = unfinished(port, body.length);
    const statusOf = async (text: string) =>
      (await ask(port, requestText('POST', '/upload', text)))[0]!;
    await eventually(() => running.server.taken().body_bytes > 0);
    const refused = await statusOf(body);
    assert.equal(refused.status, status);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.equal((await statusOf('x'.repeat(4_000))).status, 200);
    // What was held comes back when the body is answered, and when its client leaves.
    first.send('x');
    await first.until((text) => answersIn(text).length > 0);
    assert.equal((await statusOf(body)).status, 200);
    const leaver = unfinished(port, body.length);
    await eventually(() => running.server.taken().body_bytes > 0);
    leaver.socket.destroy();
    await eventually(() => running.server.inFlight() === 0);
    assert.equal((await statusOf(body)).status, 200);
  });
}

test('a handler whose deadline has passed learns that nobody waits', async () => {
  let gone = 0;
  const slow: PlainRoute = {
    kind: 'plain',
    method: 'GET',
    path: '/slow',
    timeoutMs: 30,
    handle: (_request, caller) => {
      caller.onGone(() => gone++);
      return new Promise(() => undefined);
    },
  };
  await using running = await startServer([slow]);
  const [late] = await ask(running.port, requestText('GET', '/slow'));
  assert.equal(late!.status, 503);
  assert.equal(gone, 1);
});

test('a few clients that hold all they can leave room for the bodies of others', () => {
  const budget = createBodyBudget({
    bodyBytesFree: 0,
    bodyBytesPerClientMax: 32_000,
    bodyBytesInAllMax: 96_000,
  });
  for (let client = 0; client < 4; client++) {
    while (budget.open(networksOf(`10.0.${client}.1`)).hold(1_000) === undefined);
  }
  assert.ok(budget.held() <= 92_000, `${budget.held()} of 96,000 are held`);
  assert.ok(
    budget.held() > 60_000,
    'they hold much, and other addresses of the same /24 nothing beyond',
  );
  const share = budget.open(networksOf('10.1.0.1'));
  assert.equal(share.hold(3_000), undefined);
  assert.equal(budget.open(networksOf('10.1.0.1')).hold(3_000)?.status, 503);
});

test('a body on GET or HEAD that no handler reads never runs as a request', async () => {
  const seen: string[] = [];
  const note = ({ query }: { query: string }) => void seen.push(query);
  const body = new Uint8Array(200_000);
  await using running = await startServer([
    {
      kind: 'hot',
      method: 'GET',
      path: '/hot',
      handle(request) {
        note(request);
        request.answer(renderHead(200, []), 'ok');
      },
    },
    {
      kind: 'plain',
      method: 'GET',
      path: '/large',
      handle(request) {
        note(request);
        return { status: 200, headers: [], body };
      },
    },
    {
      kind: 'plain',
      method: 'GET',
      path: '/later',
      async handle(request) {
        note(request);
        await new Promise(setImmediate);
        return { status: 200, headers: [], body: 'ok' };
      },
    },
  ]);
  const hidden = get('/hot?hidden');
  const next = get('/hot?next');
  for (const method of ['GET', 'HEAD']) {
    for (const path of ['/hot', '/large', '/later', '/nowhere']) {
      for (const isLate of [false, true]) {
        const lines = `Host: x\r\nContent-Length: ${hidden.length}\r\n\r\n`;
        const asked = `${method} ${path}?asked HTTP/1.1\r\n${lines}`;
        const answers = (text: string) => text.split('HTTP/1.1 ').length - 1;
        const exchange = async () => {
          seen.length = 0;
          const connection = openConnection(running.port);
          if (isLate) {
            connection.send(asked);
            await connection.until((text) => answers(text) === 1);
            connection.send(hidden.slice(0, 9));
            connection.send(hidden.slice(9) + next);
          } else connection.send(asked + hidden + next);
          // What is pipelined behind an answer of a later turn ends the connection.
          await connection.until(
            (text) => answers(text) === 2 || text.includes('\r\nConnection: close\r\n'),
          );
          return connection;
        };
        let connection = await exchange();
        // One answer without a body in some hundreds ends its connection, drawn by lot: never two in a row here.
        if (connection.text().includes('\r\nConnection: close\r\n')) {
          connection.socket.destroy();
          connection = await exchange();
        }
        const what = `${method} ${path} ${isLate ? 'late' : 'whole'}`;
        const isAnswered = !connection.isClosed() || seen.includes('next');
        assert.ok(isAnswered || (path === '/later' && !isLate), what);
        assert.deepEqual(
          seen,
          ['asked', 'next'].slice(path === '/nowhere' ? 1 : 0, isAnswered ? 2 : 1),
          what,
        );
        connection.socket.destroy();
      }
    }
  }
});
