/**
 * Chunked bodies. The build in use is either known to parse them strictly, which the vectors
 * prove here, or takes none: no handler runs, neither for the request nor for what stands behind.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadNative } from '../../src/http/native.ts';
import type { Route } from '../../src/http/router.ts';
import { chunkVectors } from '../vectors/http.ts';
import {
  answersIn,
  isUndispatched,
  openConnection,
  sleep,
  startServer,
  statusesIn,
  withoutLibraryError,
} from './raw.ts';

/** `path` of each call of a handler. */
function routesInto(calls: string[]): Route[] {
  const handle = (request: { path: string }) => {
    calls.push(request.path);
    return { status: 200, headers: [], body: 'ran' };
  };
  return [
    { kind: 'plain', method: 'GET', path: '/smuggled', handle },
    { kind: 'plain', method: 'GET', path: '/plain/:id', handle },
    { kind: 'plain', method: 'POST', path: '/plain/:id', bodyBytesMax: 4_096, handle },
    {
      kind: 'stream',
      method: 'POST',
      path: '/stream/:id',
      bodyBytesMax: 4_096,
      timeoutMs: 5_000,
      handle: async (request, body) => {
        for await (const _ of body);
        return handle(request);
      },
    },
    {
      kind: 'plain',
      method: 'DELETE',
      path: '/open/:id',
      cors: { allowHeaders: [] },
      bodyBytesMax: 0,
      handle,
    },
  ];
}

/** Sends the pieces one packet each; resolves with what came until the connection ended. */
async function exchange(port: number, pieces: readonly string[]): Promise<string> {
  const connection = openConnection(port);
  for (const piece of pieces) {
    if (connection.isClosed()) break;
    connection.send(piece);
    if (pieces.length > 1) await sleep(4);
  }
  return connection.closed();
}

async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const workers = Array.from({ length: 64 }, async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item);
  });
  await Promise.all(workers);
}

function cutsOf(text: string): string[][] {
  const halves = Array.from({ length: text.length - 1 }, (_, at) => [
    text.slice(0, at + 1),
    text.slice(at + 1),
  ]);
  return [[text], [...text], ...halves];
}

test('a build that is lenient runs nothing of a chunked request, nor what stands behind it', async () => {
  const calls: string[] = [];
  await using running = await startServer(routesInto(calls), {
    takesChunked: false,
    limits: { drainTimeoutMs: 150 },
  });
  const paths = ['/plain/1', '/stream/1', '/nowhere', '/smuggled', '/open/1'];
  const jobs = chunkVectors.flatMap((vector, i) =>
    cutsOf(vector.bytes.replaceAll('@', paths[i % paths.length]!)),
  );
  await each(jobs, async (pieces) => {
    const text = withoutLibraryError(await exchange(running.port, pieces));
    const statuses = statusesIn(text);
    assert.ok(
      statuses.length === 0 || (statuses.length === 1 && statuses[0] === 411),
      `${JSON.stringify(pieces.join(''))}: ${JSON.stringify(text)}`,
    );
    assert.equal(text.split('HTTP/1.1').length - 1, statuses.length);
  });
  assert.deepEqual(calls, []);
});

test('a client that sends a chunked body is told what is wanted', async () => {
  await using running = await startServer(routesInto([]), { takesChunked: false });
  const body = '5\r\nhello\r\n0\r\n\r\n';
  for (const path of ['/plain/1', '/stream/1', '/nowhere', '/open/1']) {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const [answer, second] = answersIn(await exchange(running.port, [head, body]));
      assert.equal(answer?.status, 411, `${method} ${path}`);
      assert.equal(answer.headers.get('connection'), 'close');
      assert.equal(answer.body, 'length_required\n\r\n');
      assert.equal(second, undefined);
    }
  }
});

test('a client that waits before its chunks is told at once', async () => {
  await using running = await startServer(routesInto([]), { takesChunked: false });
  const head = 'POST /plain/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
  assert.deepEqual(statusesIn(await exchange(running.port, [head])), [411]);
});

test('a chunked GET is closed unanswered, on each lane', async () => {
  const calls: string[] = [];
  await using running = await startServer(routesInto(calls));
  for (const method of ['GET', 'HEAD']) {
    const bytes = `${method} /plain/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    assert.equal(await exchange(running.port, [bytes]), '');
  }
  assert.deepEqual(calls, []);
});

/** What a vector did where chunked bodies are taken. */
async function outcomeOf(
  pieces: readonly string[],
  waitMs?: number,
): Promise<'answered' | 'closed' | 'wrong'> {
  const calls: string[] = [];
  await using running = await startServer(routesInto(calls), { takesChunked: true });
  const connection = openConnection(running.port);
  for (const piece of pieces) {
    if (connection.isClosed()) break;
    connection.send(piece);
    if (pieces.length > 1) await sleep(4);
  }
  const isOver = (text: string) => statusesIn(text).length >= 2;
  const text = await connection.until(isOver, waitMs).catch(() => connection.text());
  connection.socket.destroy();
  if (calls.join(' ') === '/plain/1 /smuggled') return 'answered';
  return isUndispatched(text) && calls.length === 0 ? 'closed' : 'wrong';
}

test('what is known of the build is so: it takes chunked bodies only if it parses them strictly', async () => {
  const faults: string[] = [];
  const jobs = chunkVectors.flatMap(({ kind, bytes }) => {
    const text = bytes.replaceAll('@', '/plain/1');
    return [[text], [...text]].map((pieces) => ({ kind, pieces }));
  });
  await each(jobs, async ({ kind, pieces }) => {
    // What is well is answered in the end, however busy the machine is.
    const outcome = await outcomeOf(pieces, kind === 'well' ? undefined : 1_500);
    const isRight =
      kind === 'well'
        ? outcome === 'answered'
        : outcome === 'closed' || (kind === 'may' && outcome === 'answered');
    if (!isRight) faults.push(`${outcome}: ${JSON.stringify(pieces)}`);
  });
  const { parsesChunksStrictly } = loadNative();
  if (parsesChunksStrictly) assert.deepEqual(faults, []);
  else assert.notDeepEqual(faults, [], 'this build is strict: say so in native.ts');
});
