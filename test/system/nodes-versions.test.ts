/** Two nodes of different programs on one database: an update of one node after the other. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { eventVersions } from '../../src/storage/journal/define-event.ts';
import { createConnection } from '../../src/storage/postgres/connection.ts';
import { migrate, type SchemaStep } from '../../src/storage/postgres/schema.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import type { TestPostgres } from '../support/server/postgres.ts';
import {
  demoEmail,
  type Environment,
  runCli,
  type TestServer,
  within,
} from '../support/server/server.ts';

const preloadOf = (name: string) => [
  '--import',
  fileURLToPath(new URL(`../support/server/${name}.js`, import.meta.url)),
];
const newerProgram = preloadOf('newer-program');
/** The event versions of this program and of the one to come. */
const [present, toCome] = [eventVersions.read, eventVersions.read + 1];
let cluster: TestCluster | undefined;
let database: TestPostgres;
let env: Environment = {};
let older: TestServer;
let newer: TestServer;
let key = '';
let agentKey = '';

const startOlder = () => cluster!.startNode('older', { nodeArguments: preloadOf('older-program') });

before(async (context) => {
  cluster = await startCluster(context, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  ({ postgres: database, env } = cluster);
  older = await startOlder();
  newer = await cluster.startNode('newer', { nodeArguments: newerProgram });
  await newer.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  key = (await newer.cliJson('key', 'create', demoEmail)).text;
  agentKey = (await newer.cliJson('bouncer', 'add', demoEmail, 'agent', '--agent')).text;
  for (const node of [older, newer]) await within(async () => (await seen(node, 1)) !== undefined);
});
after(() => cluster?.[Symbol.asyncDispose]());

const addressOf = (n: number) => `45.9.0.${n}`;

/** How many reports of the address a node knows; undefined while it doesn't know the key. */
async function seen(node: TestServer, n: number): Promise<number | undefined> {
  const path = `/api/v2/check?ipAddress=${addressOf(n)}`;
  const answer = await node.fetch(path, { headers: { Key: key } });
  if (answer.status === 401) return undefined;
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: { totalReports: number } }).data.totalReports;
}

async function report(node: TestServer, n: number): Promise<number> {
  return (await node.report(addressOf(n), { key })).status;
}

/** What an agent saw becomes a ban, by an event that the older program does not know. */
async function ban(node: TestServer, n: number): Promise<number> {
  const post = (path: string, body: unknown, headers = {}) =>
    node.fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const login = { machine_id: 'm', password: agentKey, scenarios: [] };
  const { token } = (await post('/v1/watchers/login', login)).json() as { token: string };
  const alert = {
    scenario: 'crowdsecurity/ssh-bf',
    message: 'seen',
    simulated: false,
    capacity: 5,
    decisions: null,
    events: [],
    remediation: true,
    source: { ip: addressOf(n), scope: 'Ip', value: addressOf(n) },
  };
  return (await post('/v1/alerts', [alert], { Authorization: `Bearer ${token}` })).status;
}

async function ready(node: TestServer) {
  const { status, body } = await node.fetch('/readyz');
  return { status, ...(JSON.parse(body) as { outdated: boolean; writable: boolean }) };
}

interface Status {
  readonly eventVersion: number;
  readonly nodes: { id: number; readVersion: number; memory: string; behind: number }[];
}
const clusterCommand = (word: string, ...flags: string[]) =>
  runCli(['cluster', word, ...flags], { ...env, DATA_DIR: newer.dataDir }, '', newerProgram);

async function statusOf(): Promise<Status> {
  const { code, stdout, stderr } = await clusterCommand('status', '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Status;
}

async function saysOnceThatItIsTooOld(node: TestServer): Promise<void> {
  const said = () => node.stderr().match(/"msg":"node: this program is too old[^"]*"/g)?.length;
  await within(() => said() !== undefined, 'the line in the log');
  assert.equal(said(), 1);
}

it('nodes of two programs take reports together, and their memories are not compared', async () => {
  assert.equal(await report(older, 1), 200);
  assert.equal(await report(newer, 2), 200);
  for (const node of [older, newer]) {
    for (const n of [1, 2]) await within(async () => (await seen(node, n)) === 1);
  }
  await within(async () => (await statusOf()).nodes.every(({ behind }) => behind === 0));
  const { rows } = await database.ask(env.DATABASE_URL!, 'select digests from nodes order by id');
  assert.ok(rows.every(({ digests }) => String(digests).includes(':')));
  const { eventVersion, nodes } = await statusOf();
  assert.equal(eventVersion, present);
  assert.deepEqual(
    nodes.map(({ readVersion, memory }) => [readVersion, memory]),
    [
      [present, 'unknown'],
      [toCome, 'unknown'],
    ],
  );
  const { stdout } = await clusterCommand('status');
  assert.match(stdout, /^journal [0-9a-f-]{36}: \d+ events up to version \d+, removed up to 0\n/);
  assert.match(stdout, /\nnode +name +version +reads +state .*\n1 .* \d+ +up .*\n2 .* \d+ +up /);
});

it('nobody writes what one node can not read, and the agreement is not raised before it is gone', async () => {
  assert.equal(await ban(newer, 3), 503);
  assert.equal(await ban(newer, 4), 503);
  const said = () => newer.stderr().match(/agent\.banned needs event version \d/g)?.length;
  await within(async () => said() !== undefined, 'the line in the log');
  assert.equal(said(), 1, 'once for a kind');
  const refused = await clusterCommand('upgrade');
  assert.equal(refused.code, 1);
  const why = new RegExp(
    `version ${toCome} could not be read by node 1 \\(\\S+, \\S+: up to ${present}\\)`,
  );
  assert.match(refused.stderr, why);
  assert.equal((await statusOf()).eventVersion, present);
  assert.deepEqual([(await ready(older)).status, (await ready(newer)).status], [200, 200]);
});

it('a node that slept through the upgrade says so once, is not ready, writes nothing and answers on', async () => {
  older.child.process.kill('SIGSTOP');
  // As if it had slept for longer than a node answers without the database.
  await database.ask(env.DATABASE_URL!, 'update nodes set seen_at = 0 where id = 1');
  const raised = await clusterCommand('upgrade', '--json');
  assert.equal(raised.code, 0, raised.stderr);
  assert.deepEqual(JSON.parse(raised.stdout), { from: present, to: toCome });
  assert.ok((await clusterCommand('upgrade')).stdout.includes(`up to version ${toCome} already`));
  await within(async () => (await ban(newer, 3)) === 201);
  older.child.process.kill('SIGCONT');
  await within(async () => (await ready(older)).outdated);
  const { status, writable } = await ready(older);
  assert.deepEqual([status, writable], [503, false]);
  assert.equal(await seen(older, 1), 1);
  assert.equal(await report(older, 5), 503);
  assert.equal(await report(newer, 5), 200);
  await within(async () => (await statusOf()).nodes[0]!.behind > 0);
  await saysOnceThatItIsTooOld(older);
  assert.deepEqual([older.child.process.exitCode, older.child.process.signalCode], [null, null]);
  assert.equal((await ready(newer)).status, 200);
  await older.stop();
  // The exit code, and what to do in the last line.
  await assert.rejects(
    startOlder(),
    /ended \(1\) before[\s\S]*\n[^\n{]*events of version \d, this program reads up to 2: start the newer version\s*$/,
  );
});

it('a node whose settings not all nodes can read starts without them, and with them once all agree', async () => {
  const url = await database.createDatabase();
  const own = { DATABASE_URL: url, NETWORK_RISE: 'on' };
  const first = await cluster!.startNode('first', { env: { ...own, NETWORK_RISE: 'off' } });
  await first.stop();
  await database.ask(url, "update meta set value = '1' where name = 'write_version'");
  const waits = await cluster!.startNode('first', { env: own });
  assert.match(waits.stderr(), /policy\.changed needs event version 2, the nodes agreed on 1/);
  assert.doesNotMatch(waits.stderr(), /"rising":true/);
  await waits.stop();
  const settings = { ...env, ...own, DATA_DIR: waits.dataDir };
  const raised = await runCli(['cluster', 'upgrade'], settings, '');
  assert.equal(raised.code, 0, raised.stderr);
  const rises = await cluster!.startNode('first', { env: own });
  assert.match(rises.stderr(), /"rising":true/);
  await rises.stop();
});

it('a node goes on beside tables with more in them, and stops to write once it is too old for them', async () => {
  const { DATABASE_URL: url } = env;
  const [clock, log] = [systemClock(), createLog('silent')];
  async function lead(...steps: SchemaStep[]): Promise<void> {
    const connection = createConnection({ url: url!, log });
    try {
      await migrate(await connection.session(), steps);
    } finally {
      await connection.close();
    }
  }
  const open = async () => (await openPostgresStore({ url: url!, clock, log })).close();
  const adds = 'alter table nodes add column to_come int';
  await lead(adds);
  await open();
  assert.equal((await statusOf()).eventVersion, toCome);
  await lead(adds, { text: 'alter table nodes drop column to_come', breaks: true });
  await assert.rejects(
    open(),
    /the database has data format 3 and needs a program that knows 3, this one knows 1/,
  );
  await within(async () => (await ready(newer)).outdated);
  assert.equal((await ready(newer)).status, 503);
  assert.equal(await seen(newer, 5), 1);
  assert.equal(await report(newer, 6), 503);
  await saysOnceThatItIsTooOld(newer);
});
