/** What the transport does around handlers: methods, heads, failures, limits, stopping. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numberField, renderHead, withNumber } from '../../src/http/answer/head.ts';
import type { Reply } from '../../src/http/request/message.ts';
import type { HotRoute, PlainRoute } from '../../src/http/router.ts';
import { StoreUnavailableError } from '../../src/storage/store.ts';
import {
  answersIn,
  ask,
  eventually,
  get,
  isUndispatched,
  openConnection,
  requestText,
  sleep,
  startServer,
  statusesIn,
} from './raw.ts';

const head = renderHead(200, [['Content-Type', 'application/json']]);
const remaining = numberField('X-RateLimit-Remaining');

function plain(path: string, handle: PlainRoute['handle'], extra: Partial<PlainRoute> = {}) {
  return { kind: 'plain', method: 'GET', path, handle, ...extra } as const;
}
function hot(path: string, handle: HotRoute['handle'], headers: string[] = []): HotRoute {
  return { kind: 'hot', method: 'GET', path, handle, headers };
}
function text(body: string): Reply {
  return { status: 200, headers: [['Content-Type', 'text/plain']], body };
}
const echo = hot('/hot', (request) => request.answer(head, request.query));

test('a thousand pipelined checks get a thousand answers in order', async () => {
  await using running = await startServer([echo, plain('/plain', (r) => text(r.query))]);
  for (const path of ['/hot', '/plain']) {
    const numbers = Array.from({ length: 1_000 }, (_, i) => `n=${i}`);
    const answers = await ask(
      running.port,
      numbers.map((n) => get(`${path}?${n}`)).join(''),
      numbers.length,
    );
    assert.deepEqual(
      answers.map((answer) => answer.body),
      numbers,
    );
  }
});

test('HEAD has the headers of GET and no body', async () => {
  const big = new Uint8Array(100_000);
  await using running = await startServer([
    echo,
    plain('/text', () => text('žluť')),
    plain('/big', () => ({ status: 200, headers: [], body: big })),
  ]);
  const lengths = { '/hot?abc': '3', '/text': '6', '/big': '100000' };
  for (const [path, length] of Object.entries(lengths)) {
    const [answer, second] = await ask(
      running.port,
      requestText('HEAD', path) + requestText('HEAD', '/text'),
      2,
    );
    assert.equal(answer!.status, 200);
    assert.equal(answer!.headers.get('content-length'), length, path);
    assert.equal(second!.status, 200, 'the connection stays in step');
  }
});

test('404, and 405 with Allow; OPTIONS only with CORS', async () => {
  const cors = { allowHeaders: ['Content-Type'] };
  await using running = await startServer([
    echo,
    plain('/open', () => text('open'), { cors }),
    plain('/post', () => text('post'), { method: 'POST' }),
  ]);
  const at = async (method: string, path: string) =>
    (await ask(running.port, requestText(method, path)))[0]!;
  assert.equal((await at('GET', '/none')).body, 'not_found\n');
  assert.equal((await at('GET', '/hot/')).status, 404);
  assert.equal((await at('GET', '//hot')).status, 404);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
    const answer = await at(method, '/hot');
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
    assert.equal(answer.body, 'method_not_allowed\n');
  }
  assert.equal((await at('GET', '/post')).headers.get('allow'), 'POST');
  const preflight = await at('OPTIONS', '/open');
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'GET, HEAD, OPTIONS');
  assert.equal((await at('GET', '/open')).headers.get('access-control-allow-origin'), '*');
  assert.equal((await at('GET', '/hot')).headers.has('access-control-allow-origin'), false);
});

test('replies carry the default headers unless they set them', async () => {
  await using running = await startServer([
    plain('/a', () => text('a')),
    plain('/b', () => ({ status: 200, headers: [['referrer-policy', 'origin']], body: 'b' })),
    plain('/c', () => ({ status: 304, headers: [['ETag', '"x"']] })),
  ]);
  const answers = await ask(running.port, get('/a') + get('/b') + get('/c') + get('/a'), 4);
  assert.equal(answers[0]!.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(answers[0]!.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(answers[1]!.headers.get('referrer-policy'), 'origin');
  assert.equal(answers[2]!.headers.has('content-length'), false);
  assert.equal(answers[3]!.body, 'a');
});

test('a reply whose header holds a line end becomes a 500', async () => {
  for (const value of ['a\r\nSet-Cookie: x=y', 'a\nb', 'a\0b', 'a\rb']) {
    await using running = await startServer([
      plain('/split', () => ({ status: 200, headers: [['Location', value]], body: 'never' })),
      plain('/name', () => ({ status: 200, headers: [['A\r\nB', 'x']], body: 'never' })),
    ]);
    const answers = await ask(running.port, get('/split') + get('/name'), 2);
    assert.deepEqual(statusesFrom(answers), [500, 500]);
    assert.equal(answers[0]!.headers.has('set-cookie'), false);
    assert.equal(answers[0]!.body.includes('never'), false);
  }
});

function statusesFrom(answers: readonly { status: number }[]): number[] {
  return answers.map((answer) => answer.status);
}

test('a handler that throws, rejects or never answers ends in a 500 or a 503', async () => {
  await using running = await startServer(
    [
      plain('/throws', () => {
        throw new Error('boom');
      }),
      plain('/rejects', async () => {
        await sleep(1);
        throw new Error('boom');
      }),
      plain('/never', () => new Promise(() => undefined)),
      plain('/store-away', () => Promise.reject(new StoreUnavailableError('away'))),
      hot('/hot-throws', () => {
        throw new Error('boom');
      }),
      hot('/hot-silent', () => undefined),
    ],
    { limits: { handlerTimeoutMs: 50 } },
  );
  const at = async (path: string) => (await ask(running.port, get(path)))[0]!;
  for (const path of ['/throws', '/rejects', '/hot-throws', '/hot-silent']) {
    const answer = await at(path);
    assert.equal(answer.status, 500, path);
    assert.equal(answer.body, 'internal\n');
  }
  const away = await at('/store-away');
  assert.equal(away.status, 503);
  assert.equal(away.body, 'store_unavailable\n');
  assert.equal(away.headers.get('retry-after'), '5');
  const late = await at('/never');
  assert.equal(late.status, 503);
  assert.equal(late.body, 'deadline_exceeded\n');
  assert.equal(late.headers.get('retry-after'), '1');
  assert.equal(running.server.inFlight(), 0);
});

test('what a hot route defers is answered by the plain route of its path, once', async () => {
  const finished: string[] = [];
  await using running = await startServer(
    [
      hot('/d', (r) => (r.query.includes('more') ? r.defer() : r.answer(head, 'hot')), ['key']),
      plain('/d', async (r) => text(`${r.method} ${r.query} ${r.headers.key}`), {
        headers: ['key'],
      }),
      hot('/alone', (r) => r.defer()),
    ],
    { onFinished: (path, status) => finished.push(`${path} ${status}`) },
  );
  const at = async (request: string) => (await ask(running.port, request))[0]!;
  assert.equal((await at(get('/d?x', 'Key: a'))).body, 'hot');
  assert.equal((await at(get('/d?more', 'Key: a'))).body, 'GET more a');
  assert.equal((await at(get('/d?x', 'Key: b'))).body, 'hot', 'the next one is not deferred');
  const [short] = await ask(running.port, requestText('HEAD', '/d?more', '', ['Key: a']));
  assert.equal(short?.status, 200);
  assert.equal(short?.headers.get('content-length'), String('HEAD more a'.length));
  assert.equal((await at(get('/alone'))).status, 500, 'nothing to defer to');
  await eventually(() => running.server.inFlight() === 0);
  assert.deepEqual(finished, ['/d 200', '/d 200', '/d 200', '/d 200', '/alone 500']);
});

test('a client that leaves midway is noticed and its reply dropped', async () => {
  let release: () => void = () => undefined;
  let wasTold = false;
  await using running = await startServer([
    plain('/wait', (_request, caller) => {
      caller.onGone(() => {
        wasTold = true;
      });
      return new Promise((resolve) => {
        release = () => resolve(text('late'));
      });
    }),
  ]);
  const connection = openConnection(running.port);
  connection.send(get('/wait'));
  await eventually(() => running.server.inFlight() === 1);
  connection.socket.destroy();
  await eventually(() => wasTold);
  assert.equal(running.server.inFlight(), 0);
  release();
  await sleep(10);
  assert.deepEqual(running.finished, ['/wait 0']);
});

test('a request pipelined behind an unanswered one is never dispatched', async () => {
  let calls = 0;
  await using running = await startServer([
    plain('/slow', async () => {
      calls++;
      await sleep(50);
      return text('slow');
    }),
  ]);
  const connection = openConnection(running.port);
  connection.send(get('/slow') + get('/slow'));
  await connection.closed();
  assert.equal(connection.text(), '');
  assert.equal(calls, 1);
  // One after the other is the way to do it.
  assert.equal((await ask(running.port, get('/slow')))[0]!.body, 'slow');
});

test('Connection: close is honoured on both lanes', async () => {
  await using running = await startServer([echo, plain('/plain', () => text('x'))]);
  for (const path of ['/hot', '/plain', '/none']) {
    const silent = openConnection(running.port);
    silent.send(get(path));
    await silent.until((sofar) => statusesIn(sofar).length === 1);
    const connection = openConnection(running.port);
    connection.send(get(path, 'Connection: te, close'));
    assert.equal(statusesIn(await connection.closed()).length, 1);
    // The library closes any connection that is silent, the older one first.
    assert.equal(silent.isClosed(), false, path);
    silent.socket.destroy();
  }
});

test('header lines reach the handler whole, and only those it asked for', async () => {
  await using running = await startServer([
    plain('/h', (r) => text(JSON.stringify(r.headers)), { headers: ['cookie', 'accept'] }),
    hot('/k', (r) => r.answer(head, JSON.stringify(r.values)), ['key', 'accept']),
  ]);
  const lines = ['Cookie: a=1', 'X: y', 'cookie: b=2', 'Key: k1', 'Key: k2'];
  const [all] = await ask(running.port, get('/h', ...lines));
  assert.deepEqual(JSON.parse(all!.body), { cookie: ['a=1', 'b=2'] });
  const [joined] = await ask(running.port, get('/k', ...lines));
  assert.deepEqual(JSON.parse(joined!.body), ['k1, k2', null]);
  const [none] = await ask(running.port, get('/k'));
  assert.deepEqual(JSON.parse(none!.body), [null, null], 'nothing is left of the last request');
});

test('the client address is the peer, or walked back over trusted proxies', async () => {
  const routes = [
    plain('/ip', (r) => text(r.clientIp)),
    hot('/hot-ip', (r) => r.answer(head, r.client().ip)),
  ];
  const addresses = {
    hasProxies: true,
    isTrusted: (ip: string) => ip === '127.0.0.1' || ip === '10.0.0.1',
    normalise: (ip: string) => (/^[\d.]+$/.test(ip) ? ip : undefined),
  };
  await using direct = await startServer(routes);
  await using proxied = await startServer(routes, { addresses });
  const lines = ['X-Forwarded-For: 6.6.6.6, 9.9.9.9', 'X-Forwarded-For: 10.0.0.1'];
  for (const path of ['/ip', '/hot-ip']) {
    assert.equal((await ask(direct.port, get(path, ...lines)))[0]!.body, '127.0.0.1');
    assert.equal((await ask(proxied.port, get(path, ...lines)))[0]!.body, '9.9.9.9');
    assert.equal((await ask(proxied.port, get(path)))[0]!.body, '127.0.0.1');
    const standard = ['Forwarded: for=6.6.6.6', 'Forwarded: for="9.9.9.9:80", for=10.0.0.1'];
    assert.equal((await ask(direct.port, get(path, ...standard)))[0]!.body, '127.0.0.1');
    assert.equal((await ask(proxied.port, get(path, ...standard)))[0]!.body, '9.9.9.9');
    assert.equal((await ask(proxied.port, get(path, ...lines, ...standard)))[0]!.body, '9.9.9.9');
    const other = [...lines, 'Forwarded: for=6.6.6.6'];
    assert.equal((await ask(proxied.port, get(path, ...other)))[0]!.body, '127.0.0.1');
    assert.equal(
      (await ask(proxied.port, get(path, ...lines)))[0]!.body,
      '9.9.9.9',
      'nothing stays',
    );
  }
});

test('too many requests at once are refused per network and in all, probes never', async () => {
  const wait = plain('/wait', () => new Promise(() => undefined));
  const probe = plain('/probe', async () => text('alive'), { isProbe: true });
  await using running = await startServer([wait, probe, plain('/now', () => text('now'))], {
    limits: { inFlightMax: 3 },
    addresses: {
      hasProxies: true,
      isTrusted: (ip: string) => ip === '127.0.0.1',
      normalise: (ip: string) => (/^[\d.]+$/.test(ip) ? ip : undefined),
    },
  });
  const from = (path: string, client: string) => get(path, `X-Forwarded-For: ${client}`);
  const statusOf = async (path: string, client: string) => {
    const [answer] = await ask(running.port, from(path, client));
    const wanted = answer!.status === 200 ? undefined : '1';
    assert.equal(answer!.headers.get('retry-after'), wanted);
    return answer!.status;
  };
  const waiting = ['10.0.1.1', '10.0.2.1', '10.0.3.1'].map((client) => ({
    client,
    connection: openConnection(running.port),
  }));
  for (const [i, { client, connection }] of waiting.entries()) {
    connection.send(from('/wait', client));
    await eventually(() => running.server.inFlight() === i + 1);
    assert.equal(await statusOf('/now', client), i < 2 ? 429 : 503);
    assert.equal(await statusOf('/now', client.replace(/\.1$/, '.9')), i < 2 ? 429 : 503, '/24');
    assert.equal(await statusOf('/now', '10.0.9.1'), i < 2 ? 200 : 503);
    assert.equal(await statusOf('/probe', client), 200);
  }
  for (const { connection } of waiting) connection.socket.destroy();
  await eventually(() => running.server.inFlight() === 0);
  assert.equal(await statusOf('/now', '10.0.1.1'), 200);
});

test('a path or query that is too long or badly encoded is a 400', async () => {
  await using running = await startServer([echo, plain('/p/:id', (r) => text(r.param))]);
  const at = async (path: string) => (await ask(running.port, get(path)))[0]!;
  assert.equal((await at('/p/a%20b')).body, 'a b');
  for (const bad of ['%', '%zz', '%00', '%ff', 'a'.repeat(1_100), 'caf\xc3\xa9', '\xff']) {
    assert.equal((await at(`/p/${bad}`)).body, 'bad_request\n', bad.slice(0, 9));
  }
  for (const path of ['/p/x', '/hot']) {
    assert.equal((await at(`${path}?${'q'.repeat(4_097)}`)).body, 'bad_request\n');
  }
  const manyLines = Array.from({ length: 40 }, (_, i) => `H${i}: ${'v'.repeat(500)}`);
  const connection = openConnection(running.port);
  connection.send(get('/hot', ...manyLines));
  assert.ok(isUndispatched(await connection.closed()), 'more than 16 KB of headers');
});

test('numbers are added to a head without a check on each request', () => {
  assert.equal(
    withNumber(head, remaining, 7),
    '200 OK\r\nContent-Type: application/json\r\nX-RateLimit-Remaining: 7',
  );
});

function isTaken(port: number): Promise<boolean> {
  const { socket } = openConnection(port);
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

test('a graceful stop answers what is in flight and closes idle connections', async () => {
  let release: () => void = () => undefined;
  const running = await startServer([
    echo,
    plain(
      '/wait',
      () =>
        new Promise((resolve) => {
          release = () => resolve(text('done'));
        }),
    ),
  ]);
  const idle = openConnection(running.port);
  idle.send(get('/hot?x'));
  await idle.until((sofar) => sofar.includes('\r\n\r\nx'));
  const busy = openConnection(running.port);
  busy.send(get('/wait'));
  await eventually(() => running.server.inFlight() === 1);
  const stopped = running.server.close(5_000);
  while (await isTaken(running.port));
  assert.equal(busy.isClosed(), false);
  release();
  await stopped;
  const received = await busy.closed();
  assert.equal(answersIn(received)[0]!.body, 'done');
  assert.equal(answersIn(received)[0]!.headers.get('connection'), 'close');
  await idle.closed();
});

test('a stop answers a connection that waits to be accepted', async () => {
  const running = await startServer([echo]);
  const waiting = openConnection(running.port);
  waiting.send(get('/hot?x'));
  // The system has taken the connection by now, and the thread has not looked yet.
  await new Promise(process.nextTick);
  const stopped = running.server.close(5_000);
  const [answer] = answersIn(await waiting.closed());
  assert.equal(answer?.body, 'x');
  assert.equal(answer?.headers.get('connection'), 'close');
  await stopped;
});

test('a stop waits no longer than its grace for a handler that hangs', async () => {
  const running = await startServer([plain('/wait', () => new Promise(() => undefined))]);
  const busy = openConnection(running.port);
  busy.send(get('/wait'));
  await eventually(() => running.server.inFlight() === 1);
  await running.server.close(50);
  assert.equal(await busy.closed(), '');
});
