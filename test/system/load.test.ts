/** A whole server under an outside load generator, with nine thousand idle connections beside it. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { it } from 'node:test';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import {
  answersByThread,
  startTestServer,
  threadCounts,
  within,
} from '../support/server/server.ts';

const idleConnections = 9_000;
const loadSeconds = 4;

interface Load {
  readonly requests: number;
  /** Lines about anything but a 200: socket errors, other statuses. */
  readonly complaints: string[];
}

function runWrk(url: string, key: string): Promise<Load> {
  const args = ['-t1', '-c64', `-d${loadSeconds}s`, '-H', `Key: ${key}`, url];
  return new Promise((resolve, reject) => {
    const child = spawn('wrk', args);
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    child.on('error', reject);
    child.on('close', () => {
      const requests = Number(/(\d+) requests in/.exec(output)?.[1] ?? Number.NaN);
      const complaints = output.split('\n').filter((line) => /Socket errors|Non-2xx/.test(line));
      resolve({ requests, complaints });
    });
  });
}

for (const threads of threadCounts) {
  it(`answers all checks beside 9,000 idle connections, ${threads} threads`, async (context) => {
    if (!hasTool(context, 'wrk')) return;
    await using server = await startTestServer({ threads });
    let open = 0;
    let closed = 0;
    for (let i = 0; i < idleConnections; i++) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('connect', () => open++);
      socket.on('error', () => undefined);
      socket.on('close', () => closed++);
      socket.resume();
      if (i % 500 === 499) await within(() => open === i + 1, 'connecting');
    }
    const url = `${server.baseUrl}/api/v2/check?ipAddress=198.51.100.7`;
    const load = await runWrk(url, server.key);
    assert.ok(load.requests > 1_000, `${load.requests} requests`);
    assert.deepEqual(load.complaints, []);
    const byThread = await answersByThread(server, '/api/v2/check');
    assert.ok(
      byThread.every((count) => count > 0),
      `answers by thread ${byThread}`,
    );
    await within(() => closed === idleConnections, 'closing');
    assert.equal(open, idleConnections);
  });
}
