/**
 * What front ends do by themselves: limits that are the same however many there are, and answers while
 * the main thread stands still.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { blockedFile, blockedLine } from '../../support/server/block-main.ts';
import { longLimits } from '../../support/server/long-windows.ts';
import {
  type Answer,
  answersByThread,
  proveEachThread,
  startTestServer,
  type TestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';

const preloads = ['block-main.js', 'long-windows.js'].flatMap((name) => [
  '--import',
  new URL(`../../support/server/${name}`, import.meta.url).href,
]);
const checks = 200;
const atOnce = 10;
const feed = '/feeds/blocklist.txt';

/** @returns lets it go on */
async function blockMain(server: TestServer): Promise<() => void> {
  const file = join(server.dataDir, blockedFile);
  writeFileSync(file, '');
  server.child.process.kill('SIGUSR2');
  await server.child.errorLine((line) => line === blockedLine);
  return () => rmSync(file);
}

for (const threads of threadCounts) {
  describe(`${threads} front ends`, () => {
    let server: TestServer;
    let clients = 0;
    before(async () => {
      server = await startTestServer({
        threads,
        env: { TRUSTED_PROXIES: '127.0.0.1' },
        nodeArguments: preloads,
      });
    });
    after(() => server?.[Symbol.asyncDispose]());

    /** As a client of a network of its own, unless one is named. */
    function ask(path: string, client = `198.18.${clients++ % 256}.7`): Promise<Answer> {
      return server.fetch(path, { headers: { 'X-Forwarded-For': client } });
    }
    async function statusesOf(path: string, client: string, count: number): Promise<number[]> {
      const statuses: number[] = [];
      while (statuses.length < count) {
        const some = Array.from({ length: atOnce }, () => ask(path, client));
        statuses.push(...(await Promise.all(some)).map(({ status }) => status));
      }
      return statuses;
    }
    const health = async () => (await ask('/healthz')).status;

    it('count a client together', async () => {
      await within(async () => {
        const some = await Promise.all(Array.from({ length: 3 * atOnce }, () => ask(feed)));
        return some.every(({ status }) => status === 200);
      }, 'a feed in each thread');
      const cases = [
        [feed, 200, longLimits.feeds.max],
        ['/nothing-here', 404, longLimits.answers.max],
      ] as const;
      for (const [path, status, max] of cases) {
        const statuses = await statusesOf(path, `198.19.${max}.7`, max + 30);
        const ok = statuses.filter((seen) => seen === status);
        const refused = statuses.filter((seen) => seen === 429);
        assert.deepEqual([ok.length, refused.length], [max, 30], path);
      }
      const byThread = await answersByThread(server, feed);
      assert.ok(
        byThread.every((answers) => answers > 0),
        `${byThread}`,
      );
    });

    it('answer from memory while the main thread stands still, and say so at /healthz', async () => {
      await proveEachThread(server, '/healthz', health);
      assert.equal(await health(), 200);
      const page = await ask('/');
      const style = /\/static\/[^"]+\.css/.exec(page.body)![0];
      await server.child.errorLine((line) => line.includes('static files: shared'));
      const unblock = await blockMain(server);
      const readiness = ask('/readyz');
      for (let i = 0; i < checks; i++) assert.ok((await server.check('192.0.2.75')).malicious);
      const headers = { Key: server.key };
      const bulk = { method: 'POST', headers, body: '192.0.2.75\n8.8.8.8\n' };
      assert.equal((await server.fetch('/api/v2/check-bulk', bulk)).status, 200);
      for (let i = 0; i < atOnce; i++) {
        assert.match((await ask(feed)).body, /^192\.0\.2\.\d+$/m);
        assert.equal((await ask(style)).status, 200);
      }
      await within(async () => (await health()) === 503, 'a failing /healthz');
      assert.ok((await server.check('192.0.2.75')).malicious);
      assert.equal((await ask(feed)).status, 200);
      // Forwarded: it waits for the thread that does not move, until its own deadline.
      assert.equal((await readiness).status, 503);
      unblock();
      await within(async () => (await health()) === 200, '/healthz answers again');
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    });
  });
}
