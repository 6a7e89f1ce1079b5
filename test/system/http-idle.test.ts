/** Nine thousand idle connections: checks of others go on, and all are closed in time. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ask, get, sleep } from '../http/raw.ts';
import { fork } from '../support/house/spawn.ts';

const connections = 9_000;

test('9,000 idle connections are closed while checks are answered', async () => {
  const child = fork(new URL('../http/server-process.js', import.meta.url));
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  let open = 0;
  let closed = 0;
  for (let i = 0; i < connections; i++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => open++);
    socket.on('error', () => undefined);
    socket.on('close', () => closed++);
    if (i % 500 === 0) await sleep(10);
  }
  let answered = 0;
  for (let waitedMs = 0; closed < connections && waitedMs < 25_000; waitedMs += 50) {
    const [answer] = await ask(port, get('/hot'));
    if (answer?.status === 200) answered++;
    await sleep(50);
  }
  child.disconnect();
  assert.equal(open, connections);
  assert.equal(closed, connections);
  assert.ok(answered > 20, `${answered} checks were answered meanwhile`);
});
