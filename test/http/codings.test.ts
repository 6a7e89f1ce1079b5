/** Packed bodies: which codings are taken, what comes out of a gzip stream, and what is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { codingOf, codingRefusal } from '../../src/http/answer/refusal.ts';
import type { Request } from '../../src/http/request/message.ts';
import {
  createUnpacking,
  PackedBodyError,
  unpackedPieces,
} from '../../src/http/request/unpacking.ts';
import type { PlainRoute } from '../../src/http/router.ts';
import { ask, startServer } from './raw.ts';

const packed = (body: Uint8Array, coding = 'gzip', clientIp = '192.0.2.1'): Request => ({
  method: 'POST',
  path: '/',
  param: '',
  query: '',
  clientIp,
  id: 'x',
  body,
  headers: { 'content-encoding': [coding] },
});

async function whole(body: Uint8Array, bytesMax = 1_000): Promise<string> {
  return createUnpacking().whole(packed(body), bytesMax, (one) =>
    one.ok ? Buffer.from(one.value.body).toString() : one.error,
  );
}

async function inPieces(body: Uint8Array, size: number, bytesMax = 1_000): Promise<string> {
  async function* pieces() {
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
  }
  const parts: Uint8Array[] = [];
  try {
    for await (const part of unpackedPieces(packed(body), pieces(), () => bytesMax)) {
      parts.push(part);
    }
  } catch (error) {
    assert.ok(error instanceof PackedBodyError, String(error));
    return error.failure.error;
  }
  return Buffer.concat(parts).toString();
}

test('gzip is taken under both its names, whatever the case, and nothing else is', () => {
  for (const name of ['gzip', 'x-gzip', 'GZIP', ' X-GZip ', 'identity, gzip', 'gzip,', ',gzip']) {
    assert.equal(codingOf(name), 'gzip', name);
  }
  for (const name of [undefined, '', 'identity', 'Identity', 'identity, identity', ' , ']) {
    assert.equal(codingOf(name), 'identity', name);
  }
  for (const name of ['br', 'deflate', 'zstd', 'compress', 'gzip, gzip', 'gzip, br', 'gzip;q=1']) {
    assert.equal(codingOf(name), undefined, name);
    const refusal = codingRefusal(name, true);
    assert.equal(refusal?.status, 415, name);
    assert.deepEqual(refusal?.headers, [['Accept-Encoding', 'gzip, identity']]);
  }
  assert.deepEqual(codingRefusal('gzip', false)?.headers, [['Accept-Encoding', 'identity']]);
  assert.equal(codingRefusal('gzip', true), undefined);
  assert.equal(codingRefusal('identity', false), undefined);
});

const [hello, world] = [gzipSync('hello '), gzipSync('world')];
const bodies: [name: string, body: Uint8Array, wanted: string][] = [
  ['one member', hello, 'hello '],
  ['two members', Buffer.concat([hello, world]), 'hello world'],
  ['a thousand empty members', Buffer.concat(Array(1_000).fill(gzipSync(''))), ''],
  ['zeros behind it', Buffer.concat([hello, Buffer.alloc(9)]), 'hello '],
  ['exactly the bound', gzipSync(Buffer.alloc(1_000, 'x')), 'x'.repeat(1_000)],
  ['one byte more', gzipSync(Buffer.alloc(1_001, 'x')), 'body_too_large'],
  ['a bomb', gzipSync(Buffer.alloc(50_000_000)), 'body_too_large'],
  [
    'a bomb of members',
    Buffer.concat(Array(50).fill(gzipSync(Buffer.alloc(500)))),
    'body_too_large',
  ],
  ['cut in its checksum', hello.subarray(0, -3), 'bad_request'],
  ['cut in its head', hello.subarray(0, 5), 'bad_request'],
  ['cut in its second member', Buffer.concat([hello, world.subarray(0, 12)]), 'bad_request'],
  ['junk behind it', Buffer.concat([hello, Buffer.from('junk')]), 'bad_request'],
  ['a wrong checksum', Buffer.concat([hello.subarray(0, -8), Buffer.alloc(8)]), 'bad_request'],
  ['plain text', Buffer.from('{"a":1}'), 'bad_request'],
  ['brotli', brotliCompressSync('hello'), 'bad_request'],
  ['zlib', deflateSync('hello'), 'bad_request'],
];

test('a gzip stream is unpacked to the bound, whole or in pieces of any size', async () => {
  for (const [name, body, wanted] of bodies) {
    assert.equal(await whole(body), wanted, name);
    for (const size of [1, 7, 65_536]) {
      if (size === 1 && body.length > 10_000) continue;
      assert.equal(await inPieces(body, size), wanted, `${name}, in pieces of ${size}`);
    }
  }
});

test('a body without a coding goes through untouched', async () => {
  const body = Buffer.from('as it is');
  const through = await createUnpacking().whole(packed(body, 'identity'), 4, (one) => one);
  assert.ok(through.ok);
  assert.equal(through.value.body, body);
});

test('packed bodies that are worked on hold no more memory than others may', async () => {
  const limits = { bodyBytesFree: 100, bodyBytesPerClientMax: 2_000, bodyBytesInAllMax: 4_000 };
  const unpacking = createUnpacking(limits);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const ofClient = (clientIp: string) =>
    unpacking.whole(packed(hello, 'gzip', clientIp), 1_000, async (one) => {
      if (one.ok) await held;
      return one.ok ? 'taken' : one.error;
    });
  const first = [ofClient('192.0.2.1'), ofClient('192.0.2.1')];
  assert.equal(await ofClient('192.0.2.1'), 'client_limit_exceeded');
  const others = ['198.51.100.1', '203.0.113.1'].map(ofClient);
  assert.equal(await ofClient('192.0.9.1'), 'overloaded');
  release();
  assert.deepEqual(await Promise.all([...first, ...others]), Array(4).fill('taken'));
  assert.equal(await ofClient('192.0.2.1'), 'taken');
});

const route = (path: string, takesGzip: boolean): PlainRoute => ({
  kind: 'plain',
  method: 'POST',
  path,
  bodyBytesMax: 100,
  takesGzip,
  handle: () => ({ status: 200, headers: [] }),
});

test('a coding that a route does not take is a 415 that names those it takes', async () => {
  await using running = await startServer([route('/gzip', true), route('/plain', false)]);
  const post = async (path: string, lines: string, body = 'x') => {
    const text = `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
    const [answer] = await ask(running.port, text);
    return [answer!.status, answer!.headers.get('accept-encoding')];
  };
  assert.deepEqual(await post('/gzip', 'Content-Encoding: gzip\r\n'), [200, undefined]);
  assert.deepEqual(await post('/gzip', 'content-encoding: br\r\n'), [415, 'gzip, identity']);
  const twice = 'Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n';
  assert.deepEqual(await post('/gzip', twice), [415, 'gzip, identity']);
  assert.deepEqual(await post('/plain', 'Content-Encoding: gzip\r\n'), [415, 'identity']);
  assert.deepEqual(await post('/plain', 'Content-Encoding: identity\r\n'), [200, undefined]);
  // Nothing is coded where there is nothing.
  assert.deepEqual(await post('/plain', 'Content-Encoding: br\r\n', ''), [200, undefined]);
});
