/**
 * Slow and silent clients, all at once, because the library looks at its timeouts only every
 * four seconds: ten seconds are eight to twelve. A client in good order isn't disturbed.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { renderHead } from '../../src/http/answer/head.ts';
import { httpVectors } from '../vectors/http.ts';
import {
  ask,
  get,
  isNewerBuild,
  isUndispatched,
  openConnection,
  type RawConnection,
  startServer,
  statusesIn,
} from './raw.ts';

const head = renderHead(200, []);
let calls = 0;

const running = await startServer([
  { kind: 'hot', method: 'GET', path: '/hot', handle: (request) => request.answer(head, 'ok') },
  {
    kind: 'plain',
    method: 'POST',
    path: '/upload',
    bodyBytesMax: 4_096,
    handle: () => {
      calls++;
      return { status: 200, headers: [], body: 'ok' };
    },
  },
]);
after(() => running[Symbol.asyncDispose]());

/** Sends `first` and then one byte every two seconds; resolves with what came until the end. */
async function drip(first: string, byte: string): Promise<string> {
  const connection = openConnection(running.port);
  connection.send(first);
  const timer = setInterval(() => {
    if (!connection.isClosed()) connection.send(byte);
  }, 2_000);
  try {
    return await connection.closed();
  } finally {
    clearInterval(timer);
  }
}

async function idle(first: string): Promise<string> {
  const connection = openConnection(running.port);
  if (first !== '') connection.send(first);
  return connection.closed();
}

const posting = 'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n';

test('slow and silent clients are closed while others are served', {
  concurrency: true,
}, async (t) => {
  const parallel = { concurrency: true };
  await Promise.all([
    t.test('400 idle connections are closed', parallel, async () => {
      const all = await Promise.all(Array.from({ length: 400 }, () => idle('')));
      assert.ok(all.every((text) => text === ''));
    }),
    t.test('an idle keep-alive connection is closed', parallel, async () => {
      assert.deepEqual(statusesIn(await idle(get('/hot'))), [200]);
    }),
    t.test('a request line that never ends is closed', parallel, async () => {
      assert.equal(await idle('GET /ho'), '');
    }),
    t.test('headers at a byte every two seconds are closed', parallel, async () => {
      assert.equal(await drip('GET /hot HTTP/1.1\r\nHost: x\r\nA: ', 'b'), '');
    }),
    t.test('a body at a byte every two seconds is not accepted', parallel, async () => {
      const statuses = statusesIn(await drip(posting, 'b'));
      assert.ok(statuses.length === 0 || statuses[0] === 408);
      assert.equal(calls, 0);
    }),
    t.test('more header lines than the library takes are never dispatched', parallel, async () => {
      const lines = (count: number) => Array.from({ length: count }, (_, i) => `H${i}: v`);
      const linesMax = isNewerBuild ? 98 : 48;
      // One more is the Host.
      assert.equal((await ask(running.port, get('/hot', ...lines(linesMax - 1))))[0]!.status, 200);
      assert.ok(isUndispatched(await idle(get('/hot', ...lines(linesMax)))));
    }),
    t.test(
      'heads of more than 4 or 16 KB in pieces of 1,448 bytes are closed',
      parallel,
      async () => {
        const connection: RawConnection = openConnection(running.port);
        const bytes = Buffer.from(get('/hot', `A: ${'b'.repeat(isNewerBuild ? 17_000 : 4_500)}`));
        for (let at = 0; at < bytes.length && !connection.isClosed(); at += 1_448) {
          connection.send(bytes.subarray(at, at + 1_448));
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        assert.ok(isUndispatched(await connection.closed()));
      },
    ),
    ...httpVectors
      .filter((vector) => vector.expect === 'refused')
      .map((vector) =>
        t.test(`closed in time: ${vector.name}`, parallel, async () => {
          assert.ok(isUndispatched(await idle(vector.bytes.replaceAll('@', '/hot'))));
        }),
      ),
    t.test(
      'a client that asks now and then is kept, longer than one that asks once',
      parallel,
      async () => {
        const connection = openConnection(running.port);
        const silent = openConnection(running.port);
        silent.send(get('/hot'));
        for (let i = 1; i <= 7 || (i <= 60 && !silent.isClosed()); i++) {
          connection.send(get('/hot'));
          await connection.until((text) => statusesIn(text).length === i);
          assert.equal(connection.isClosed(), false);
          await new Promise((resolve) => setTimeout(resolve, 2_000));
        }
        assert.equal(silent.isClosed(), true);
        connection.socket.destroy();
      },
    ),
  ]);
});
