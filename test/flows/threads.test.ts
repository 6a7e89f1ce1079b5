/** A front-end thread that dies over an error is replaced, and nobody but its own clients notices. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  answersByThread,
  metric,
  startTestServer,
  threadCounts,
  within,
} from '../support/server.ts';

const saboteur = new URL('../support/break-thread.js', import.meta.url).href;

for (const threads of threadCounts) {
  describe(`a thread that fails, ${threads} threads`, () => {
    it('leaves the server running, is replaced and counted', async () => {
      await using server = await startTestServer({
        threads,
        nodeArguments: ['--import', saboteur],
      });
      const one = async (name: string) => (await metric(server, name)).get('');
      assert.equal(await one('portcullis_http_threads'), threads);
      assert.equal(await one('portcullis_http_threads_replaced'), 0);
      // With one thread there is none to break: the signal must change nothing.
      const faults = threads === 1 ? 1 : 2;
      for (let fault = 1; fault <= faults; fault++) {
        server.child.process.kill('SIGUSR2');
        if (threads > 1) {
          await within(10_000, async () => {
            // Connections of the dying thread may be cut; the next one is answered.
            const replaced = await one('portcullis_http_threads_replaced').catch(() => -1);
            return replaced === fault;
          });
        }
        await within(10_000, async () => (await one('portcullis_http_threads')) === threads);
      }
      const before = await answersByThread(server, '/api/v2/check');
      for (let i = 0; i < 60; i++) assert.ok((await server.check('192.0.2.75')).malicious);
      const counts = await answersByThread(server, '/api/v2/check');
      assert.ok(
        counts.every((count, thread) => count > before[thread]!),
        `answers by thread ${before} and ${counts}`,
      );
      if (threads > 1) assert.match(server.stderr(), /on purpose/);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });
  });
}
