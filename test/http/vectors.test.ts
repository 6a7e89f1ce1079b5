/** Every vector whole, split at every byte and in 1,448-byte pieces, on a hot and a plain route. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { renderHead } from '../../src/http/answer/head.ts';
import { type HttpVector, httpVectors } from '../vectors/http.ts';
import {
  isNewerBuild,
  isUndispatched,
  openConnection,
  type RawConnection,
  sleep,
  startServer,
  statusesIn,
} from './raw.ts';

const head = renderHead(200, [['Content-Type', 'text/plain']]);
/** Handler calls by path. */
const calls = new Map<string, number>();

function count(path: string): void {
  calls.set(path, (calls.get(path) ?? 0) + 1);
}
function callsOf(path: string): number {
  return calls.get(path) ?? 0;
}

const running = await startServer([
  {
    kind: 'hot',
    method: 'GET',
    path: '/hot',
    handle: (request) => {
      count('/hot');
      request.answer(head, 'hot');
    },
  },
  ...(['GET', 'POST'] as const).map((method) => ({
    kind: 'plain' as const,
    method,
    path: '/plain/:id',
    bodyBytesMax: 4_096,
    handle: (request: { path: string }) => {
      count(request.path);
      return { status: 200, headers: [], body: 'plain' };
    },
  })),
  {
    kind: 'plain',
    method: 'GET',
    path: '/smuggled',
    handle: () => {
      count('/smuggled');
      return { status: 200, headers: [], body: 'smuggled' };
    },
  },
]);
after(() => running[Symbol.asyncDispose]());

let nextId = 0;

/** Sends the pieces one packet each and checks the outcome; its own path, so calls can be counted. */
async function check(vector: HttpVector, cut: (bytes: Buffer) => Buffer[]): Promise<void> {
  const path = `/plain/${nextId++}`;
  const bytes = Buffer.from(vector.bytes.replaceAll('@', path), 'latin1');
  const connection = openConnection(running.port);
  for (const piece of cut(bytes)) {
    if (connection.isClosed()) break;
    connection.send(piece);
    await sleep(8);
  }
  if (Array.isArray(vector.expect)) {
    const expected = vector.expect as readonly number[];
    const text = await connection.until((sofar) => statusesIn(sofar).length >= expected.length);
    assert.deepEqual(statusesIn(text), expected, vector.name);
    const handled = expected.filter((status) => status === 200).length;
    assert.equal(callsOf(path), handled, `${vector.name}: handler calls`);
  } else {
    if (vector.expect === 'closed') await connection.closed();
    else await sleep(150);
    await assertUndispatched(vector, connection);
    assert.equal(callsOf(path), 0, `${vector.name}: handler ran`);
  }
  connection.socket.destroy();
}

async function assertUndispatched(
  { name, expect }: HttpVector,
  connection: RawConnection,
): Promise<void> {
  const text = connection.text();
  if (expect === 'unhandled' && text !== '') assert.deepEqual(statusesIn(text), [405], name);
  else assert.ok(isUndispatched(text), `${name}: ${JSON.stringify(text)}`);
  // The library closes what it answered itself; the answer may arrive before the end does.
  if (text !== '' && isUndispatched(text)) await connection.closed();
}

function splitAt(position: number): (bytes: Buffer) => Buffer[] {
  return (bytes) => [bytes.subarray(0, position), bytes.subarray(position)];
}

function pieces(size: number): (bytes: Buffer) => Buffer[] {
  return (bytes) => {
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) out.push(bytes.subarray(at, at + size));
    return out;
  };
}

/** At most 256 connections at a time: most wait seconds for the server to close them. */
async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const workers = Array.from({ length: 256 }, async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await run(item);
  });
  await Promise.all(workers);
}

test('every vector has the same outcome whole and split at every byte', async () => {
  const jobs = httpVectors.flatMap((vector) => [
    { vector, cut: (bytes: Buffer) => [bytes] },
    ...Array.from({ length: vector.bytes.length - 1 }, (_, i) => ({ vector, cut: splitAt(i + 1) })),
  ]);
  await each(jobs, ({ vector, cut }) => check(vector, cut));
  assert.equal(callsOf('/smuggled'), 0);
});

test('every vector sent one byte at a time has the same outcome', async () => {
  const good = httpVectors.filter((vector) => vector.bytes.length < 120);
  await each(good, (vector) => check(vector, pieces(1)));
  assert.equal(callsOf('/smuggled'), 0);
});

test('good requests of up to 4 KB in pieces of 1,448 bytes are answered', async () => {
  const fill = (length: number) => 'a'.repeat(length);
  const long: HttpVector[] = [
    {
      name: 'a long header',
      expect: [200],
      bytes: `GET @ HTTP/1.1\r\nHost: x\r\nA: ${fill(3_900)}\r\n\r\n`,
    },
    {
      name: 'a long query',
      expect: [200],
      bytes: `GET @?${fill(3_900)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    },
    {
      name: 'a long body',
      expect: [200],
      bytes: `POST @ HTTP/1.1\r\nHost: x\r\nContent-Length: 4000\r\n\r\n${fill(4_000)}`,
    },
  ];
  await each(long, (vector) => check(vector, pieces(1_448)));
});

test('heads of up to 16 KB in pieces of 1,448 bytes are answered by the newer build', async () => {
  // Where the older build runs, 4 KB is what can come in several packets.
  const lines = Array.from({ length: 30 }, (_, i) => `H${i}: ${'v'.repeat(490)}`).join('\r\n');
  await check(
    {
      name: 'a long head',
      expect: isNewerBuild ? [200] : 'refused',
      bytes: `GET @ HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`,
    },
    pieces(1_448),
  );
});

test('a hot route refuses the same bytes as a plain one', async () => {
  const gets = httpVectors.filter((v) => /^(GET|get) @/.test(v.bytes) && !Array.isArray(v.expect));
  assert.ok(gets.length > 15);
  await each(gets, async (vector) => {
    const connection = openConnection(running.port);
    connection.send(vector.bytes.replaceAll('@', '/hot'));
    if (vector.expect === 'closed') await connection.closed();
    else await sleep(150);
    await assertUndispatched(vector, connection);
    connection.socket.destroy();
  });
  assert.equal(callsOf('/hot'), 0);
  assert.equal(callsOf('/smuggled'), 0);
});
