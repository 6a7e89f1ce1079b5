/** A front-end thread that dies over an error is replaced, and nobody but its own clients notices. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { describe, it } from 'node:test';
import {
  answersByThread,
  metric,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

const saboteur = new URL('../../support/server/break-thread.js', import.meta.url).href;

const unprivileged = new URL('../../support/server/no-privilege.js', import.meta.url).href;

const alive = 'portcullis_http_threads';
const replaced = 'portcullis_http_threads_replaced_total';

/** Waits for values of metrics; a failure says what was seen instead, and the server's own words. */
function watchMetrics(server: TestServer) {
  const seen: string[] = [];
  const now = async (name: string) => (await metric(server, name)).get('');
  async function becomes(name: string, wanted: number): Promise<void> {
    async function isSo(): Promise<boolean> {
      // Connections of the dying thread may be cut; the next one is answered.
      const value = await now(name).catch((error: NodeJS.ErrnoException) => error.code);
      const text = `${name} ${value}`;
      if (seen.at(-1) !== text) seen.push(text);
      const { exitCode, signalCode } = server.child.process;
      assert.equal(exitCode ?? signalCode, null, 'the server has ended');
      return value === wanted;
    }
    try {
      await within(isSo, `${name} ${wanted}`);
    } catch (error) {
      const words = server.stderr().slice(-4_000);
      throw new Error(`${error}\nseen: ${seen.join(', ')}\nstandard error: ${words}`);
    }
  }
  return { now, becomes };
}

for (const threads of threadCounts) {
  describe(`a thread that fails, ${threads} threads`, () => {
    it('leaves the server running, is replaced and counted', async () => {
      await using server = await startTestServer({
        threads,
        nodeArguments: ['--import', saboteur],
      });
      const seen = watchMetrics(server);
      assert.equal(await seen.now(alive), threads);
      assert.equal(await seen.now(replaced), 0);
      for (let fault = 1; fault <= 2; fault++) {
        server.child.process.kill('SIGUSR2');
        await seen.becomes(replaced, fault);
        await seen.becomes(alive, threads);
      }
      const before = await answersByThread(server, '/api/v2/check');
      for (let i = 0; i < 60; i++) assert.ok((await server.check('192.0.2.75')).malicious);
      const counts = await answersByThread(server, '/api/v2/check');
      assert.ok(
        counts.every((count, thread) => count > before[thread]!),
        `answers by thread ${before} and ${counts}`,
      );
      assert.match(server.stderr(), /thrown on purpose[\s\S]*rejected on purpose/);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });
  });
}

/** Priorities of all threads, the one that goes first at the beginning; of proc(5), field 19. */
function nicesOf({ pid }: TestServer): number[] {
  const nices = readdirSync(`/proc/${pid}/task`).map((id) => {
    const text = readFileSync(`/proc/${pid}/task/${id}/stat`, 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
  });
  return nices.sort((a, b) => a - b);
}

describe('threads that answer', { skip: process.platform !== 'linux' }, () => {
  const threads = 2;
  for (const [title, nodeArguments] of [
    ['go before all others of the server', []],
    [
      'keep their place where the system does not let them, and all others step behind',
      ['--import', unprivileged],
    ],
  ] as const) {
    it(title, async () => {
      const preloaded = nodeArguments.length === 0 ? {} : { nodeArguments };
      await using server = await startTestServer({ threads, ...preloaded });
      const nices = nicesOf(server);
      const [answering, others] = [nices.slice(0, threads), nices.slice(threads)];
      assert.ok(others.length > 4, `${nices}`);
      assert.ok(Math.max(...answering) < Math.min(...others), `${nices}`);
      if (nodeArguments.length > 0) assert.equal(answering[0], getPriority());
    });
  }
});
