/** A body in several parts arrives as one, however slowly it is read. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { PlainRoute } from '../../src/http/router.ts';
import { seededRandom } from '../support/seeded.ts';
import { ask, get, startServer } from './raw.ts';

const random = seededRandom(21);
const sizes = [1, 0, 300_000, 7, 2_000_000, 0, 65_536, 1_500_000, 3, 0];
const large = sizes.map((size) => random.bytes(size));
const small = ['abc', '', 'de', 'f'].map((text) => Buffer.from(text));

function route(
  path: string,
  body: readonly Uint8Array[],
  method: 'GET' | 'POST' = 'GET',
): PlainRoute {
  return { kind: 'plain', method, path, handle: () => ({ status: 200, headers: [], body }) };
}

const routes = [route('/large', large), route('/small', small), route('/none', [])];

test('a large body is complete through a reader that pauses at random', async () => {
  await using running = await startServer(routes);
  const whole = Buffer.concat(large);
  const socket = connect({ port: running.port, host: '127.0.0.1' });
  socket.write(get('/large', 'Connection: close'));
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      socket.pause();
      setTimeout(() => socket.resume(), random.next() * 2);
    });
  });
  const text = Buffer.concat(chunks);
  const body = text.subarray(text.indexOf('\r\n\r\n') + 4);
  assert.equal(body.length, whole.length);
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  assert.equal(digest(body), digest(whole));
  assert.match(text.subarray(0, 300).toString('latin1'), /content-length: 3865547\r\n/i);
});

test('a small one and an empty one are answers like any other, also to HEAD', async () => {
  await using running = await startServer(routes);
  const [answer] = await ask(running.port, get('/small'));
  assert.equal(answer!.body, 'abcdef');
  const [empty] = await ask(running.port, get('/none'));
  assert.equal(empty!.body, '');
  assert.equal(empty!.status, 200);
  const { status, headers } = await fetch(`http://127.0.0.1:${running.port}/large`, {
    method: 'HEAD',
  });
  assert.equal(status, 200);
  assert.equal(headers.get('content-length'), '3865547');
});
