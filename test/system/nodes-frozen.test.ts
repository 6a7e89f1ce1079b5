/** A database that keeps its connections and says nothing, as behind a network that drops all that is sent. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startCluster } from '../support/server/cluster.ts';
import { addressOf, reportAt, reportsAt } from '../support/server/nodes.ts';
import { demoEmail, plenty, type TestServer, within } from '../support/server/server.ts';

async function ready(node: TestServer) {
  const { status, body } = await node.fetch('/readyz');
  return { status, ...(JSON.parse(body) as { writable: boolean; staleSeconds: number }) };
}

it('nodes stay ready, say how stale they are and answer checks; what needs the database is 503', async (t) => {
  await using cluster = await startCluster(t, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  const nodes = [await cluster.startNode(1), await cluster.startNode(2)];
  await nodes[0]!.cliJson('account', 'create', demoEmail);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  const key: string = (await nodes[0]!.cliJson('key', 'create', demoEmail, ...quotas)).text;
  for (const node of nodes) {
    await within(async () => (await reportAt(node, key, 0)) !== 401);
    await within(async () => (await reportsAt(node, key, 0)) === 1);
    await within(async () => (await ready(node)).status === 200);
  }
  const thaw = cluster.postgres.freeze();
  try {
    for (const node of nodes) {
      const first = await ready(node);
      assert.deepEqual([first.status, first.writable], [200, false]);
      await within(async () => {
        const { status, staleSeconds } = await ready(node);
        assert.equal(status, 200);
        return staleSeconds >= 4;
      });
      assert.equal(await reportsAt(node, key, 0), 1);
      assert.equal(await reportAt(node, key, 1), 503);
    }
    // By now new connections are tried, and who needs one hears so before the deadline of an answer.
    const page = () => nodes[0]!.fetch(`/ip/${addressOf(0)}`);
    await within(async () => /can not reach its data/.test((await page()).body));
  } finally {
    thaw();
  }
  for (const node of nodes) {
    await within(async () => {
      const { status, writable, staleSeconds } = await ready(node);
      assert.equal(status, 200);
      return writable && staleSeconds === 0;
    });
    await within(async () => (await reportAt(node, key, 2)) !== 503);
    await within(async () => (await reportsAt(node, key, 2)) >= 1);
  }
  const thawAgain = cluster.postgres.freeze();
  try {
    assert.deepEqual(
      await nodes[1]!.stop(),
      { code: 0, signal: null },
      'a stop waits for it no longer',
    );
  } finally {
    thawAgain();
  }
});
