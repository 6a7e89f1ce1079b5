/** Connections of HAProxy: how many there are, when they end, and what waits in them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenSpoe, spoeLimits } from '../../../src/integrations/haproxy/module.ts';
import { address, ask, disconnect, hello, readFrames } from '../../support/integrations/spoe.ts';

const waitMs = 120_000;

async function open(options: { connections?: number; lingerMs?: number } = {}) {
  const ends: string[] = [];
  const time = { nowMs: 0 };
  const listener = await listenSpoe({
    endpoint: { family: 4, address: '127.0.0.1', port: 0 },
    agent: { isDraining: () => false, answer: () => ({ verdict: 'allow', score: 0 }) },
    count: (end) => ends.push(end),
    inIndexRead: (work) => work(),
    nowMs: () => time.nowMs,
    limits: { ...spoeLimits, sweepMs: 5, lingerMs: waitMs, ...options },
  });
  return { listener, ends, time };
}

interface Client {
  readonly socket: Socket;
  /** All frames until now: type, or type and status of a goodbye. */
  said(): string[];
  /** Resolves when the server has ended it. */
  readonly closed: Promise<unknown>;
}

async function visit(port: number, options = {}): Promise<Client> {
  const parts: Buffer[] = [];
  const socket = connect({ port, host: '127.0.0.1', ...options }).on('error', () => {});
  socket.on('data', (part: Buffer) => parts.push(part));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  const said = () =>
    readFrames(Buffer.concat(parts)).map(({ type, values }) =>
      type === 102 ? `102 ${values['status-code']}` : `${type}`,
    );
  return { socket, said, closed };
}

async function until(isTrue: () => boolean, what: string): Promise<void> {
  const end = Date.now() + waitMs;
  while (!isTrue()) {
    assert.ok(Date.now() < end, what);
    await sleep(2);
  }
}

const question = ask({ ip: address('45.10.0.7') });

it('who doesn’t say HELLO, or begins a frame and no more, is slow; who asks nothing is idle', async () => {
  const { listener, ends, time } = await open();
  const { port } = listener;
  const [silent, cut, idle] = await Promise.all([visit(port), visit(port), visit(port)]);
  cut.socket.write(Buffer.concat([hello(), question.subarray(0, -1)]));
  idle.socket.write(Buffer.concat([hello(), question]));
  await until(() => cut.said().length === 1 && idle.said().length === 2, 'the first answers');
  await until(() => listener.open() === 3, 'the silent one is taken');
  time.nowMs = spoeLimits.slowMs + 1;
  await Promise.all([silent.closed, cut.closed]);
  assert.deepEqual([silent.said(), cut.said()], [['102 2'], ['101', '102 2']]);
  assert.deepEqual(ends, ['slow', 'slow']);
  idle.socket.write(question);
  await until(() => idle.said().length === 3, 'the idle one is answered');
  time.nowMs += spoeLimits.idleMs + 1;
  await idle.closed;
  assert.deepEqual(idle.said(), ['101', '103', '103', '102 2']);
  assert.equal(ends[2], 'idle');
  await listener.close();
});

it('one connection too many is told so, and a place is free again when one ends', async () => {
  const { listener, ends } = await open({ connections: 2 });
  const { port } = listener;
  const [first, second] = [await visit(port), await visit(port)];
  await until(() => listener.open() === 2, 'two are open');
  const third = await visit(port);
  await third.closed;
  assert.deepEqual(third.said(), ['102 13']);
  first.socket.write(Buffer.concat([hello(), disconnect()]));
  await first.closed;
  assert.deepEqual(first.said(), ['101', '102 0']);
  await until(() => listener.open() === 1, 'one is gone');
  const fourth = await visit(port);
  fourth.socket.write(Buffer.concat([hello(), question]));
  await until(() => fourth.said().length === 2, 'it is served');
  second.socket.destroy();
  await until(() => ends.includes('closed'), 'the other side hung up');
  assert.deepEqual(ends, ['full', 'disconnected', 'closed']);
  await listener.close();
  await fourth.closed;
  assert.deepEqual(fourth.said(), ['101', '103', '102 0']);
  assert.equal(ends[3], 'stopped');
});

it('who doesn’t read is asked nothing more, holds little, and is ended as slow', async () => {
  const { listener, ends, time } = await open({ lingerMs: 0 });
  const { socket, said } = await visit(listener.port);
  socket.write(hello());
  await until(() => said().length === 1, 'HELLO');
  socket.pause();
  const many = Buffer.concat(Array.from({ length: 2_000 }, () => question));
  // Until all buffers between the two are full: what gets further is not slow.
  await until(() => {
    if (socket.writableLength === 0) socket.write(many);
    time.nowMs += spoeLimits.slowMs / 100;
    return ends.includes('slow');
  }, 'it is slow');
  time.nowMs *= 2;
  await until(() => listener.open() === 0, 'it is gone');
  await listener.close();
});

it('what comes behind the last frame is not read, and nobody else is told of it', async () => {
  const { listener, ends } = await open();
  const rubbish = Buffer.of(255, 255, 255, 255);
  const first = await visit(listener.port, { allowHalfOpen: true });
  first.socket.write(Buffer.concat([hello(), rubbish, question, question]));
  await until(() => first.said().length === 2, 'the goodbye');
  first.socket.write(Buffer.concat([rubbish, question]));
  first.socket.end();
  await first.closed;
  await until(() => listener.open() === 0, 'it is gone');
  assert.deepEqual(first.said(), ['101', '102 3']);
  const second = await visit(listener.port);
  second.socket.write(hello());
  await until(() => second.said().length > 0, 'HELLO');
  assert.deepEqual(second.said(), ['101']);
  assert.deepEqual(ends, ['too_big']);
  await listener.close();
  await second.closed;
});
