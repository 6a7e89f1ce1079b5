/** Answers that wait for slow readers hold only so much memory, and give it back. */

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { UnreadBytes } from '../../src/http/limits/request-slots.ts';
import type { Route } from '../../src/http/router.ts';
import { within } from '../support/server/server.ts';
import { get, startServer } from './raw.ts';

const bytes = (length: number) => new Uint8Array(length);

test('a client beyond its bound gives up its oldest answers, others keep theirs', () => {
  const unread = new UnreadBytes({ perClientMax: 100, max: 1_000 });
  const gone: string[] = [];
  const take = (client: string, name: string, ...parts: Uint8Array[]) =>
    unread.take(client, parts, () => gone.push(name));
  take('b', 'b1', bytes(90));
  const a1 = take('a', 'a1', bytes(40), bytes(20));
  take('a', 'a2', bytes(30));
  const a3 = take('a', 'a3', bytes(50));
  assert.deepEqual(gone, ['a1']);
  assert.equal(unread.total, 170);
  a1();
  assert.equal(unread.total, 170, 'what is lost is not given back again');
  const a4 = take('a', 'a4', bytes(500));
  assert.deepEqual(gone, ['a1', 'a2', 'a3'], 'one that is larger than the bound stays alone');
  a3();
  a4();
  assert.equal(unread.total, 90);
});

test('when all hold too much whoever holds most gives up its oldest', () => {
  const unread = new UnreadBytes({ perClientMax: 100, max: 200 });
  const gone: string[] = [];
  const leave = ['a1 60', 'b1 90', 'c1 20', 'a2 20', 'd1 40'].map((line) => {
    const [name, length] = line.split(' ') as [string, string];
    return unread.take(name[0]!, [bytes(Number(length))], () => gone.push(name));
  });
  assert.deepEqual(gone, ['b1']);
  assert.equal(unread.total, 140);
  for (const end of leave) end();
  assert.equal(unread.total, 0);
});

test('newcomers that each are a little larger than all before push out others', () => {
  const unread = new UnreadBytes({ perClientMax: 1_000, max: 1_000 });
  const gone: string[] = [];
  for (let n = 0; n < 40; n++) {
    unread.take(`c${n}`, [bytes(300 + n)], () => gone.push(`c${n}`));
    assert.ok(unread.total <= 1_000, `${unread.total} after ${n}`);
  }
  assert.equal(gone.length, 37);
  unread.take('large', [bytes(5_000)], () => gone.push('large'));
  assert.equal(unread.total, 5_000, 'one that is larger than the bound stays alone');
});

test('memory that answers share counts once, until the last of them is read', () => {
  const unread = new UnreadBytes({ perClientMax: 100, max: 150 });
  const shared = bytes(80);
  const leave = ['a', 'b', 'c', 'a'].map((client) =>
    unread.take(client, [shared, shared.subarray(1)], () => assert.fail(`${client} lost it`)),
  );
  assert.equal(unread.total, 80);
  for (const [i, end] of leave.entries()) {
    assert.equal(unread.total, 80, `answer ${i}`);
    end();
  }
  assert.equal(unread.total, 0);
});

/** More than a system's buffers take. Nobody writes into it, so it costs nothing. */
const large = 24 * 1_048_576;
const feed = new Uint8Array(new SharedArrayBuffer(large));
const text = 'x'.repeat(large);
const own = () => new Uint8Array(new SharedArrayBuffer(large));
const bodies = { list: () => [own()], feed: () => feed, page: () => text, own };
const routes = Object.entries(bodies).map(
  ([name, body]): Route => ({
    kind: 'plain',
    method: 'GET',
    path: `/${name}`,
    handle: () => ({ status: 200, headers: [], body: body() }),
  }),
);

for (const [kind, others] of [
  ['list', 3],
  ['own', 3],
  ['page', 3],
  ['feed', 6],
] as const) {
  test(`readers of a ${kind} that read nothing pin what is allowed, and nothing when they left`, async () => {
    await using running = await startServer(routes, {
      limits: { unreadBytesPerClientMax: 2 * large, unreadBytesInAllMax: 3 * large },
      addresses: { hasProxies: true, isTrusted: () => true, normalise: (ip) => ip },
    });
    const sockets: Socket[] = [];
    const isOver = new Set<Socket>();
    const ask = (client: string) => {
      const socket = connect(running.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('close', () => isOver.add(socket));
      socket.pause();
      socket.write(get(`/${kind}`, `X-Forwarded-For: ${client}`));
      sockets.push(socket);
    };
    const pinned = () => running.server.taken();
    for (let i = 0; i < 6; i++) {
      const before = running.finished.length + pinned().unread_answers;
      ask(`192.0.2.${i < 3 ? 1 : i}`);
      await within(() => running.finished.length + pinned().unread_answers > before, 'an answer');
    }
    await within(() => pinned().unread_answers === others, `${others} that are left`);
    assert.equal(pinned().unread_bytes, kind === 'feed' ? large : 3 * large);
    for (const socket of sockets) socket.destroy();
    await within(() => pinned().unread_bytes === 0, 'all given back');
    assert.equal(pinned().unread_answers, 0);
  });
}
