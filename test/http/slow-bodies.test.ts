/** Bodies that come slowly, stall or never end, on the wire: they wait, and take nothing from others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '../../src/http/router.ts';
import {
  answersIn,
  ask,
  eventually,
  openConnection,
  type RawConnection,
  requestText,
  startServer,
  statusesIn,
} from './raw.ts';

const routes = (calls: string[]): Route[] => [
  {
    kind: 'plain',
    method: 'POST',
    path: '/upload',
    bodyBytesMax: 100_000,
    handle: async (request) => {
      calls.push(request.path);
      return { status: 200, headers: [], body: String(request.body.length) };
    },
  },
  {
    kind: 'stream',
    method: 'POST',
    path: '/stream',
    bodyBytesMax: 100_000,
    timeoutMs: 20_000,
    handle: async (_request, body) => {
      let length = 0;
      for await (const chunk of body) length += chunk.length;
      return { status: 200, headers: [], body: String(length) };
    },
  },
];

const behindProxy = {
  hasProxies: true,
  isTrusted: (ip: string) => ip === '127.0.0.1',
  normalise: (ip: string) => (ip === '' ? undefined : ip),
};

/** For tests of bodies that only wait: none is too slow, however busy the machine is. */
const anyRate = { bodyWindowMs: 60_000, bodyTimeoutMs: 60_000 };

function begin(port: number, path: string, bytes: number, client = '10.0.0.1'): RawConnection {
  const connection = openConnection(port);
  connection.send(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${client}\r\nContent-Length: ${bytes}\r\n\r\n`,
  );
  return connection;
}

/** Sends `bytes` each `everyMs` until the connection ends. */
async function trickle(connection: RawConnection, bytes: number, everyMs: number) {
  const timer = setInterval(() => {
    if (!connection.isClosed()) connection.send('x'.repeat(bytes));
  }, everyMs);
  const isOver = (text: string) => answersIn(text).length > 0;
  return statusesIn(await connection.until(isOver).finally(() => clearInterval(timer)))[0];
}

for (const path of ['/upload', '/stream']) {
  test(`${path}: a body under the least rate ends with 408, one above it arrives`, async () => {
    await using running = await startServer(routes([]), {
      limits: { bodyWindowMs: 400, bodyBytesPerSecondMin: 500 },
    });
    const { port } = running;
    // 100 to 400 B/s, one that stops, one that begins fast and then stalls, one that drips.
    const stalled = begin(port, path, 90_000);
    stalled.send('x'.repeat(60_000));
    const slow = [
      trickle(begin(port, path, 50_000), 10, 100),
      trickle(begin(port, path, 50_000), 40, 100),
      trickle(begin(port, path, 50_000), 1, 300),
      trickle(begin(port, path, 50_000), 0, 100),
      trickle(stalled, 1, 100),
    ];
    assert.deepEqual(await Promise.all(slow), [408, 408, 408, 408, 408]);
    // A stop of the whole process, as of a busy machine, makes a sender slow too.
    let status: number | undefined;
    for (let tries = 0; tries < 20 && status !== 200; tries++) {
      status = await trickle(begin(port, path, 20_000), 1_000, 50);
    }
    assert.equal(status, 200);
    await eventually(() => running.server.inFlight() === 0);
  });
}

test('a client that the server holds back is not too slow', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using running = await startServer(
    [
      {
        kind: 'stream',
        method: 'POST',
        path: '/stream',
        bodyBytesMax: 60_000_000,
        timeoutMs: 20_000,
        handle: async (_request, body) => {
          await gate;
          let length = 0;
          for await (const chunk of body) length += chunk.length;
          return { status: 200, headers: [], body: String(length) };
        },
      },
    ],
    { limits: { bodyWindowMs: 50 } },
  );
  const connection = openConnection(running.port);
  connection.send(requestText('POST', '/stream', 'x'.repeat(40_000_000)));
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(connection.text(), '');
  release();
  const text = await connection.until((sofar) => answersIn(sofar).length > 0);
  assert.equal(answersIn(text)[0]!.body, '40000000');
});

test('bodies on their way take no place of those that are complete', async () => {
  const calls: string[] = [];
  await using running = await startServer(routes(calls), {
    limits: { ...anyRate, inFlightMax: 4 },
  });
  const waiting = Array.from({ length: 50 }, () => begin(running.port, '/upload', 10));
  await eventually(() => running.server.inFlight() === 50);
  const [answer] = await ask(running.port, requestText('POST', '/upload', 'whole'));
  assert.equal(answer!.status, 200);
  assert.equal(calls.length, 1);
  for (const connection of waiting) connection.socket.destroy();
  await eventually(() => running.server.inFlight() === 0);
});

test('who lets most bodies wait gives up the oldest of them, with an answer', async () => {
  await using running = await startServer(routes([]), {
    addresses: behindProxy,
    limits: {
      ...anyRate,
      waitingMax: 12,
      waitingPerClientMax: 8,
      waitingPerNeighbourhoodMax: 10,
      drainTimeoutMs: 20,
    },
  });
  const { port, server } = running;
  const honest = begin(port, '/upload', 5, '10.9.0.1');
  await eventually(() => server.inFlight() === 1);
  const greedy: RawConnection[] = [];
  for (const client of ['10.0.0.1', '10.0.0.2', '10.0.1.1']) {
    for (let i = 0; i < 12; i++) {
      greedy.push(begin(port, '/upload', 5, client));
      const wanted = greedy.length + 1;
      const isSettled = () =>
        greedy.filter((c) => c.isClosed()).length + server.inFlight() === wanted;
      await eventually(() => isSettled() && server.inFlight() <= 12);
    }
  }
  const displaced = greedy.filter((connection) => connection.isClosed());
  assert.ok(displaced.length >= 24, `${displaced.length}`);
  for (const connection of displaced) assert.deepEqual(statusesIn(connection.text()), [429]);
  honest.send('whole');
  const text = await honest.until((sofar) => answersIn(sofar).length > 0);
  assert.deepEqual(statusesIn(text), [200]);
  // A newcomer gets in, also of the greedy network.
  for (const client of ['10.9.9.9', '10.0.0.1']) {
    const line = `X-Forwarded-For: ${client}`;
    const [answer] = await ask(port, requestText('POST', '/upload', 'whole', [line]));
    assert.equal(answer!.status, 200, client);
  }
});

test('who gave way is told later, within a bound, and no handler gets the body', async () => {
  const calls: string[] = [];
  await using running = await startServer(routes(calls), {
    limits: { ...anyRate, waitingPerClientMax: 2, refusedMax: 3, drainTimeoutMs: 60_000 },
  });
  const { port, server } = running;
  const all: RawConnection[] = [];
  for (let i = 1; i <= 9; i++) {
    all.push(begin(port, '/upload', 5));
    await eventually(() => server.inFlight() === Math.min(i, 5));
  }
  await eventually(() => all.filter((connection) => connection.isClosed()).length === 4);
  assert.deepEqual(
    all.map((connection) => statusesIn(connection.text())[0]),
    [429, 429, 429, 429, ...Array(5)],
  );
  const { arriving_bodies, refused_bodies } = server.taken();
  assert.deepEqual({ arriving_bodies, refused_bodies }, { arriving_bodies: 2, refused_bodies: 3 });
  all[4]!.send('whole');
  const told = await all[4]!.until((sofar) => answersIn(sofar).length > 0);
  assert.deepEqual(statusesIn(told), [429]);
  assert.deepEqual(calls, []);
  for (const connection of all) connection.socket.destroy();
  await eventually(() => server.inFlight() === 0);
});

test('refused bodies that are still sent wait within a bound of their own', async () => {
  await using running = await startServer(routes([]), {
    limits: { waitingPerClientMax: 2, refusedMax: 8, drainTimeoutMs: 60_000 },
  });
  const all = Array.from({ length: 40 }, () => begin(running.port, '/nowhere', 50_000));
  await eventually(() => all.filter((connection) => connection.isClosed()).length === 32);
  await eventually(() => running.server.inFlight() === 8);
  await eventually(() => all.every((connection) => statusesIn(connection.text()).length > 0));
  for (const connection of all) assert.deepEqual(statusesIn(connection.text()), [404]);
  for (const connection of all) connection.socket.destroy();
});

test('answers that nobody reads take no place of those being worked on', async () => {
  const large = new Uint8Array(30_000_000);
  const calls: string[] = [];
  await using running = await startServer(
    [
      ...routes(calls),
      {
        kind: 'plain',
        method: 'GET',
        path: '/large',
        handle: () => ({ status: 200, headers: [], body: large }),
      },
    ],
    { limits: { inFlightMax: 4, waitingMax: 12, waitingPerClientMax: 8 } },
  );
  const readers = Array.from({ length: 30 }, () => {
    const connection = openConnection(running.port);
    connection.socket.pause();
    connection.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    return connection;
  });
  await eventually(() => running.finished.length === 22);
  assert.equal(running.server.inFlight(), 8);
  const [answer] = await ask(running.port, requestText('POST', '/upload', 'whole'));
  assert.equal(answer!.status, 200);
  for (const connection of readers) connection.socket.destroy();
});
