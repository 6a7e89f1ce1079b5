/** Nodes of one cluster: one of them fetches lists for all, and when it is gone another one does; reports and checks count once. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import {
  answersByThread,
  demoEmail,
  metric,
  type TestServer,
  within,
} from '../support/server/server.ts';

let cluster: TestCluster | undefined;
const nodes: TestServer[] = [];
let list = ['9.9.9.9'];
/** Slower than every node looks for what is due: two that fetch would both have begun. */
const answerMs = 4_000;
const publisher = createServer((_, res) => {
  setTimeout(() => res.end(list.join('\n')), answerMs);
});

before(async (context) => {
  cluster = await startCluster(context, {
    BASE_URL: 'http://localhost:8080',
    SOURCE_ALLOW_PRIVATE: 'on',
  });
  if (cluster === undefined) return;
  await new Promise<void>((resolve) => publisher.listen(0, '127.0.0.1', resolve));
  for (const n of [1, 2]) nodes.push(await cluster.startNode(n));
});
after(async () => {
  await cluster?.[Symbol.asyncDispose]();
  publisher.closeAllConnections();
  publisher.close();
});

const rowsOf = async (node: TestServer) =>
  (await metric(node, 'portcullis_source_rows')).get('source="bad"') ?? 0;
const fetchesOf = (node: TestServer) => node.stderr().split('"lists: source loaded"').length - 1;

it('a report and a check count once, whichever node had them', async () => {
  const [first, second] = nodes as [TestServer, TestServer];
  await first.cliJson('account', 'create', demoEmail);
  const { text: Key } = await first.cliJson('key', 'create', demoEmail);
  const totals = () =>
    Promise.all(nodes.map(async (n) => (await metric(n, 'portcullis_reports_total')).get('')));
  const checks = () =>
    Promise.all(nodes.map(async (n) => (await answersByThread(n, '/api/v2/check'))[0]));
  assert.deepEqual(await totals(), [0, 0]);
  const ask = (node: TestServer, path: string, method = 'GET') =>
    node.fetch(`/api/v2/${path}`, { method, headers: { Key } });
  for (const node of nodes) {
    await within(async () => (await ask(node, 'check-block?network=9.9.8.0/24')).status === 200);
  }
  for (const [node, host] of [
    [first, 1],
    [second, 2],
    [second, 3],
  ] as const) {
    const { status, body } = await ask(node, `report?ip=9.9.8.${host}&categories=18`, 'POST');
    assert.equal(status, 200, body);
  }
  await within(async () => (await totals()).every((total) => total! >= 3), 'all of them on both');
  assert.deepEqual(await totals(), [3, 3]);
  for (const node of [first, second, second]) await ask(node, 'check?ipAddress=9.9.8.1');
  await within(async () => (await checks())[1]! >= 2, 'the checks');
  assert.deepEqual(await checks(), [1, 2], 'of its own clients alone');
});

it('one node fetches for all, and the other one when that is gone', async () => {
  const { port } = publisher.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const words = ['--format', 'plain', '--source', 'bad'];
  await nodes[1]!.cliJson('source', 'add', url, ...words);
  for (const node of nodes) await within(async () => (await rowsOf(node)) === 1, 'the first load');
  await within(() => nodes.some((node) => fetchesOf(node) > 0), 'the word of it');
  assert.deepEqual(nodes.map(fetchesOf).sort(), [0, 1]);
  const doer = nodes.findIndex((node) => fetchesOf(node) === 1);
  const [gone, heir] = [nodes[doer]!, nodes[1 - doer]!];
  await gone.kill();
  list = ['9.9.9.9', '149.112.112.112'];
  await heir.cliJson('source', 'refresh', 'bad');
  await within(async () => (await rowsOf(heir)) === 2, 'the second load');
  await within(() => fetchesOf(heir) === 1, 'the word of the heir');
});
