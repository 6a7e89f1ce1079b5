/** Webhooks on two nodes: one of them tells for both, and when it is killed the other one goes on. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/random.ts';
import { createWebhooks, type Webhooks } from '../../src/reputation/webhooks/webhook-store.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import {
  demoEmail,
  type Environment,
  runCli,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('nodes-webhooks');
let database: TestPostgres;
let store: PostgresStore;
let hooks: Webhooks;
let env: Environment = {};
const nodes: TestServer[] = [];
/** Longer than two looks of each node, shorter than the node waits for an answer. */
const severalLooksMs = 4_500;

interface Told {
  readonly id: string;
  readonly body: string;
}
const told: Told[] = [];
const held: ServerResponse[] = [];
let isAnswering = false;
const receiver = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text) => {
    body += text;
  });
  request.on('end', () => {
    told.push({ id: String(request.headers['webhook-id']), body });
    held.push(response);
    if (isAnswering) answerAll();
  });
});
function answerAll(): void {
  for (const response of held.splice(0)) response.end();
}

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const keyBytes = randomBytes(32);
  const keyFile = `${directory.path}/master.key`;
  writeFileSync(keyFile, keyBytes.toString('hex'), { mode: 0o600 });
  database = await startPostgres();
  env = {
    DATABASE_URL: await database.createDatabase(),
    MASTER_KEY_FILE: keyFile,
    SMTP_URL: 'smtp://127.0.0.1:9',
    SOURCE_ALLOW_PRIVATE: 'on',
  };
  for (const n of [1, 2]) {
    const dataDir = `${directory.path}/${n}`;
    nodes.push(await startTestServer({ threads: 1, demo: false, dataDir, env }));
  }
  const clock = systemClock();
  store = await openPostgresStore({ url: env.DATABASE_URL!, clock, log: memoryLog().log });
  const masterKey = masterKeyFromBytes(keyBytes);
  const parts = { store, clock, random: systemRandom(), masterKey };
  hooks = createWebhooks({ ...parts, faultOf: async () => undefined });
});
after(async () => {
  await store?.close();
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await database?.stop();
  receiver.closeAllConnections();
  receiver.close();
  directory.remove();
});

const listed: string[] = [];
const hook = async () => (await hooks.all())[0]!;

async function list(node: TestServer, address: string): Promise<void> {
  const file = `${directory.path}/list.txt`;
  // A list takes the place of the one before.
  listed.push(address);
  writeFileSync(file, listed.join('\n'));
  await node.cliJson('seed', file, '--format', 'plain', '--confidence', '90');
}

/** Which of the nodes does the maintenance. */
async function doerOf(): Promise<number> {
  const { stdout } = await runCli(['cluster', 'status', '--json'], {
    ...env,
    DATA_DIR: nodes[0]!.dataDir,
  });
  const status = JSON.parse(stdout) as { nodes: { id: number; doesMaintenance: boolean }[] };
  return status.nodes
    .sort((a, b) => a.id - b.id)
    .findIndex(({ doesMaintenance }) => doesMaintenance);
}

const toldOf = (address: string) =>
  told.filter(({ body }) => JSON.parse(body).data.watched === address);

it('each event is told once, by one node; one that was under way in a kill is told again by the other', async () => {
  const { id: account } = await nodes[0]!.cliJson('account', 'create', demoEmail);
  const watches = ['9.9.20.1', '9.9.20.2', '9.9.20.3'] as const;
  const [first, second, third] = watches;
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  assert.ok((await hooks.create(account, { url, threshold: 25, watches })).ok);
  await within(
    async () => (await hook()).watches.every(({ state }) => state === 'below'),
    'the first look',
  );
  const doer = await doerOf();
  const [gone, heir] = [nodes[doer]!, nodes[1 - doer]!];

  await list(heir, first);
  await within(() => toldOf(first).length > 0, 'the first event');
  await delay(severalLooksMs);
  assert.equal(told.length, 1, 'the other node sees the listing too, and tells nothing');
  answerAll();
  await within(async () => (await hook()).delivered === 1, 'the first delivery');

  await list(heir, second);
  await within(() => toldOf(second).length > 0, 'the second event');
  await gone.kill();
  const toldBefore = toldOf(second).length;
  isAnswering = true;
  await within(() => toldOf(second).length > toldBefore, 'the second event, again');
  await within(async () => (await hook()).delivered === 2, 'the second delivery');

  await list(heir, third);
  await within(async () => (await hook()).delivered === 3, 'the third delivery');
  // A receiver knows by its id what it got twice.
  const once = new Map(told.map(({ id, body }) => [id, JSON.parse(body)]));
  assert.deepEqual(
    [...once.values()].map(({ type, data }) => [type, data.watched]),
    watches.map((address) => ['address.listed', address]),
  );
  const { dropped, failures, waiting } = await hook();
  assert.deepEqual({ dropped, failures, waiting }, { dropped: 0, failures: 0, waiting: [] });
});
