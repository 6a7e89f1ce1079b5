/**
 * Nodes of one cluster: one of them fetches lists and writes groups of networks for all, and when it is gone another
 * one does; reports and checks count once.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import { decodeDigests } from '../../src/storage/nodes/digests.ts';
import { buildMmdb } from '../support/reputation/mmdb.ts';
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

/** Tables that know system 64500 and France as the lower halves of so many networks of a block, from one of them on. */
function writeTables(block: number, from: number, to: number): Record<string, string> {
  const facts = {
    autonomous_system_number: 64_500,
    autonomous_system_organization: 'Example',
    country: { iso_code: 'FR' },
  };
  const networks = Array.from({ length: to - from }, (_, i) => {
    const n = from + i;
    return [`${block}.${n >> 8}.${n & 255}.0/25`, facts] as const;
  });
  const path = `${cluster!.directory}/${block}-${from}.mmdb`;
  writeFileSync(path, buildMmdb({ recordSize: 28, ipVersion: 6, networks }));
  return { GEO_ASN_MMDB: path, GEO_COUNTRY_MMDB: path };
}

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

it('tables that change while a node writes a group out leave one memory on both, and the groups of the heir', async () => {
  await using pair = await startCluster(undefined, { BASE_URL: 'http://localhost:8080' });
  if (pair === undefined) return;
  const [older, newer] = [writeTables(45, 0, 12_000), writeTables(45, 6_000, 15_000)];
  // The first has the lease.
  const first = await pair.startNode('first', { env: older });
  const second = await pair.startNode('second', { env: newer });
  const used = async (node: TestServer) =>
    (await metric(node, 'portcullis_table_used')).get('table="contributions"') ?? 0;
  const url = pair.env.DATABASE_URL!;
  /** Waits until both made the same of the last event. */
  const agreed = () =>
    within(async () => {
      const [head] = (await pair.postgres.ask(url, 'select last_seq from journal_head')).rows;
      const { rows } = await pair.postgres.ask(
        url,
        'select digests from nodes where not is_stopped',
      );
      const last = rows.map(({ digests }) => decodeDigests(digests).get(BigInt(head!.last_seq)));
      return last.length === 2 && last[0] !== undefined && last[0] === last[1];
    }, 'the same digest of both at the last event');
  // Known crawlers are there from the start.
  await agreed();
  const before = await used(second);
  assert.ok(before > 0);
  await first.cliJson('entry', 'add', 'AS64500', '--score', '90');
  await first.cliJson('allow', 'add', 'FR');
  await within(async () => (await used(second)) > before, 'a part of a group');
  await first.kill();
  const wanted = 9_000;
  await within(async () => (await used(second)) === before + 2 * wanted, 'the groups of the heir');
  const returned = await pair.startNode('first', { env: older });
  const scores = async (node: TestServer) => {
    const read = async (address: string) => {
      const { abuseConfidenceScore, isWhitelisted } = await node.cliJson('check', address);
      return [abuseConfidenceScore, isWhitelisted];
    };
    return [await read('45.0.0.1'), await read('45.30.0.1'), await read('45.58.0.1')];
  };
  await second.cliJson('allow', 'remove', 'FR');
  for (const node of [second, returned]) {
    await within(async () => (await used(node)) === before + wanted, 'the end of a group');
  }
  for (const node of [second, returned]) {
    assert.deepEqual(await scores(node), [
      [0, false],
      [90, false],
      [90, false],
    ]);
    const agrees = async () => (await node.fetch('/readyz')).body.includes('"memory":"agrees"');
    await within(agrees, 'the agreement');
  }
  await agreed();
});
