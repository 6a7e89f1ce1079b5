/** Nodes compare what they made of the journal: a node with a broken row is found, and outvoted by two. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { openState } from '../../src/app/state.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { setReports } from '../../src/index/records.ts';
import { snapshotFile } from '../../src/storage/lmdb/presence.ts';
import { decodeDigests } from '../../src/storage/nodes/digests.ts';
import { open as openLocal } from '../storage/lmdb-opener.ts';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import type { TestPostgres } from '../support/server/postgres.ts';
import { type Environment, runCli, type TestServer, within } from '../support/server/server.ts';

let cluster: TestCluster | undefined;
const metricsToken = 'a-token-for-metrics';
let database: TestPostgres;
let env: Environment = {};
let nodes: TestServer[] = [];

const startNode = (n: number) => cluster!.startNode(n);

before(async (context) => {
  cluster = await startCluster(context, { METRICS_TOKEN: metricsToken, CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  ({ postgres: database, env } = cluster);
  nodes = [await startNode(1), await startNode(2)];
});
after(() => cluster?.[Symbol.asyncDispose]());

/** What status, readiness and metrics of both nodes say. */
async function memories(): Promise<string[]> {
  const status = await runCli(['cluster', 'status', '--json'], {
    ...env,
    DATA_DIR: nodes[0]!.dataDir,
  });
  assert.equal(status.code, 0, status.stderr);
  const rows = JSON.parse(status.stdout) as { nodes: { memory: string }[] };
  const said = rows.nodes.map(({ memory }) => memory);
  for (const node of nodes) {
    const ready = await node.fetch('/readyz');
    assert.equal(ready.status, 200, 'of two nobody knows which one is right');
    said.push((ready.json() as { memory: string }).memory);
    const headers = { Authorization: `Bearer ${metricsToken}` };
    const { body } = await node.fetch('/metrics', { headers });
    said.push(/^portcullis_memory_differs (\d)$/m.exec(body)![1]!);
  }
  return said;
}

async function saying(expected: string[]): Promise<void> {
  let said: string[] = [];
  const isSaid = async () => {
    said = await memories();
    return said.join() === expected.join();
  };
  await within(isSaid).catch(() => assert.deepEqual(said, expected));
}

/** In what a node that is stopped saved of its memory. */
async function breakRow(dataDir: string): Promise<void> {
  rmSync(`${dataDir}/node/${snapshotFile}`, { force: true });
  const clock = systemClock();
  const store = await openLocal(`${dataDir}/node/store`, clock);
  const onFailure = (error: unknown) => assert.fail(String(error));
  const log = createLog('silent');
  const state = await openState({ store, clock, random: systemRandom(), log, onFailure });
  const entry = state.entries.get(4, Uint32Array.of(0x0909_0909, 0, 0, 0), 32);
  assert.ok(entry > 0);
  state.entries.touch(entry);
  setReports(state.index.records, entry, 77);
  // A checkpoint is of its own event: the next one, which changes nothing of this.
  await state.projection.checkpoint(state.projection.checkpointSeq() + 1n);
  await store.close();
}

/** @param email of an account that is made meanwhile, for an event more */
async function restartBroken(email: string): Promise<void> {
  await nodes[1]!.stop();
  await nodes[0]!.cliJson('account', 'create', email);
  await breakRow(nodes[1]!.dataDir);
  nodes[1] = await startNode(2);
}

async function restartAnew(): Promise<void> {
  await nodes[1]!.stop();
  rmSync(nodes[1]!.dataDir, { recursive: true });
  nodes[1] = await startNode(2);
}

it('nodes whose memories agree say so, and one broken row is found and told by both', async () => {
  const file = `${cluster!.directory}/list.txt`;
  writeFileSync(file, '9.9.9.9\n9.9.9.10\n');
  await nodes[0]!.cliJson('seed', '--format', 'plain', '--confidence', '100', file);
  await saying(['agrees', 'agrees', 'agrees', '0', 'agrees', '0']);

  await restartBroken('nobody@example.org');
  await saying(['differs', 'differs', 'differs', '1', 'differs', '1']);
  for (const node of nodes) {
    await within(() => node.stderr().includes('memory differs from that of other nodes'));
  }

  await restartAnew();
  await within(async () => (await nodes[0]!.fetch('/readyz')).body.includes('"memory":"agrees"'));
});

async function readiness(): Promise<unknown[]> {
  const answers = await Promise.all(nodes.map((node) => node.fetch('/readyz')));
  return answers.map((answer) => [answer.status, (answer.json() as { memory: string }).memory]);
}

async function sayingReady(expected: unknown[]): Promise<void> {
  let said: unknown[] = [];
  const isSaid = async () => {
    said = await readiness();
    return JSON.stringify(said) === JSON.stringify(expected);
  };
  await within(isSaid).catch(() => assert.deepEqual(said, expected));
}

/** Of all nodes that run, at the last event of the journal, once all are there. */
async function lastDigests(): Promise<string[]> {
  const url = env.DATABASE_URL!;
  let last: (string | undefined)[] = [];
  await within(async () => {
    const [head] = (await database.ask(url, 'select last_seq from journal_head')).rows;
    const { rows } = await database.ask(url, 'select digests from nodes where not is_stopped');
    last = rows.map(({ digests }) => decodeDigests(digests).get(BigInt(head!.last_seq)));
    return last.length === nodes.length && !last.includes(undefined);
  }, 'a digest of each node at the last event');
  return last as string[];
}

it('of three nodes one with a broken row is not ready; made anew while reports come, it agrees', async () => {
  nodes.push(await startNode(3));
  await sayingReady(nodes.map(() => [200, 'agrees']));
  const email = 'reporter@example.org';
  await nodes[0]!.cliJson('account', 'create', email);
  const quotas = ['--write-per-minute', '100000'];
  const { text: key } = await nodes[0]!.cliJson('key', 'create', email, ...quotas);

  await restartBroken('nobody-else@example.org');
  await sayingReady([
    [200, 'differs'],
    [503, 'outvoted'],
    [200, 'differs'],
  ]);
  assert.equal(new Set(await lastDigests()).size, 2);

  let isOver = false;
  let acknowledged = 0;
  async function report(node: TestServer, net: number): Promise<void> {
    for (let n = 0; !isOver; n++) {
      const { status } = await node.report(`9.${net}.${n >> 8}.${n & 255}`, { key });
      if (status === 200) acknowledged++;
    }
  }
  const reporting = [report(nodes[0]!, 20), report(nodes[2]!, 21)];
  await within(() => acknowledged > 40, 'reports before');
  await restartAnew();
  const before = acknowledged;
  await within(() => acknowledged > before + 40, 'reports after');
  isOver = true;
  await Promise.all(reporting);
  await sayingReady(nodes.map(() => [200, 'agrees']));
  assert.equal(new Set(await lastDigests()).size, 1);
});
