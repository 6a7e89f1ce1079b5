/** Several threads serve one port and leave by themselves. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { claimPort } from '../../src/http/port-claim.ts';
import { ask, get } from './raw.ts';

const rawUrl = new URL('./raw.js', import.meta.url).href;

/** Listens on the given port, answers its name, closes gracefully on a message. */
const workerCode = `
  import { parentPort, workerData } from 'node:worker_threads';
  import { startServer } from ${JSON.stringify(rawUrl)};
  const body = new Uint8Array(new SharedArrayBuffer(100_000)).fill(workerData.letter);
  const { server } = await startServer([
    { kind: 'plain', method: 'GET', path: '/', handle: () => ({ status: 200, headers: [], body }) },
  ]);
  await server.listen('127.0.0.1', workerData.port).catch((error) => {
    server.closeNow(); // or the thread's end is the end of the whole process
    throw error;
  });
  parentPort.once('message', async () => {
    await server.close(1_000);
    parentPort.close();
  });
  parentPort.postMessage('listening');`;

/** Each lets 512 connections wait. */
function listeningSockets(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1);
  return rows.filter((row) => {
    const [, address = '', , state] = row.trim().split(/\s+/);
    return address.endsWith(local) && state === '0A';
  }).length;
}

test('threads share a port, send shared memory, and exit by themselves after a close', async () => {
  const { port, release } = await claimPort('127.0.0.1', 0);
  const workers = [0x61, 0x62].map(
    (letter) =>
      new Worker(workerCode, {
        eval: true,
        execArgv: ['--input-type=module'],
        workerData: { letter, port },
      }),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const listening = listeningSockets(port);
  const seen = new Set<string>();
  for (let i = 0; i < 200 && seen.size < 2; i++) {
    const [answer] = await ask(port, get('/'));
    assert.equal(answer!.body.length, 100_000);
    seen.add(answer!.body[99_999]!);
  }
  assert.deepEqual([...seen].sort(), ['a', 'b']);
  const exits = workers.map((worker) => once(worker, 'exit'));
  for (const worker of workers) worker.postMessage('stop');
  assert.deepEqual((await Promise.all(exits)).flat(), [0, 0]);
  await release();
  assert.equal(listening, workers.length * 8);
});
