/** What front ends answer while the main thread stands still, and what they say of it. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { blockedFile, blockedLine } from '../../support/server/block-main.ts';
import {
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

const blocker = new URL('../../support/server/block-main.js', import.meta.url).href;
const checks = 200;

/** @returns lets it go on */
async function blockMain(server: TestServer): Promise<() => void> {
  const file = join(server.dataDir, blockedFile);
  writeFileSync(file, '');
  server.child.process.kill('SIGUSR2');
  await server.child.errorLine((line) => line === blockedLine);
  return () => rmSync(file);
}

async function askAll(server: TestServer): Promise<void> {
  for (let i = 0; i < checks; i++) assert.ok((await server.check('192.0.2.75')).malicious);
  const headers = { Key: server.key };
  const bulk = { method: 'POST', headers, body: '192.0.2.75\n8.8.8.8\n' };
  assert.equal((await server.fetch('/api/v2/check-bulk', bulk)).status, 200);
}

for (const threads of threadCounts) {
  describe(`the main thread stands still, ${threads} front ends`, () => {
    it('what memory knows is answered; /healthz fails until it moves again', async () => {
      await using server = await startTestServer({
        threads,
        nodeArguments: ['--import', blocker],
      });
      const health = async () => (await server.fetch('/healthz')).status;
      await proveEachThread(server, '/healthz', health);
      assert.equal(await health(), 200);
      const unblock = await blockMain(server);
      const readiness = server.fetch('/readyz');
      await askAll(server);
      await within(async () => (await health()) === 503, 'a failing /healthz');
      await askAll(server);
      // Forwarded: it waits for the thread that does not move, until its own deadline.
      assert.equal((await readiness).status, 503);
      unblock();
      await within(async () => (await health()) === 200, '/healthz answers again');
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });
  });
}
