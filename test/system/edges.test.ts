/** Two edges beside two cores on one PostgreSQL: edges have no database, and follow whichever core is there. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { reportAt, reportsAt, sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { pruneToCheckpoint, waitForCheckpoints } from '../support/server/prune.ts';
import {
  demoEmail,
  type Environment,
  plenty,
  runCli,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { createAgent, password } from '../support/signon/visitor.ts';

const directory = makeTempDir('edges');
const shared = sharedSettings(directory.path);
let database: TestPostgres;
let [url, key] = ['', ''];
const cores: TestServer[] = [];
const edges: TestServer[] = [];
const listens: string[] = [];

/** A core comes back on its port, so none that the system gives away meanwhile. */
const firstPort = 20_000 + ((process.pid * 2) % 10_000);

const common: Environment = {
  ...shared,
  CLIENT_LIMITS: 'off',
  LOG_LEVEL: 'info',
};
const edgeEnv = (first: number): Environment => ({
  ...common,
  ROLE: 'edge',
  CORES: [listens[first]!, listens[1 - first]!].join(','),
});

function startCore(n: number): Promise<TestServer> {
  const dataDir = `${directory.path}/core${n}`;
  const env = { ...common, DATABASE_URL: url, INTERNAL_LISTEN: listens[n]! };
  return startTestServer({ threads: 1, demo: false, dataDir, env });
}

function startEdge(n: number): Promise<TestServer> {
  const dataDir = `${directory.path}/edge${n}`;
  return startTestServer({ threads: 1, demo: false, dataDir, env: edgeEnv(n) });
}

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  database = await startPostgres();
  url = await database.createDatabase();
  for (const n of [0, 1]) {
    listens.push(`127.0.0.1:${firstPort + n}`);
    cores.push(await startCore(n));
  }
  for (const n of [0, 1]) edges.push(await startEdge(n));
  await cores[0]!.cliJson('account', 'create', demoEmail);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  key = (await cores[0]!.cliJson('key', 'create', demoEmail, ...quotas)).text;
  for (const node of [...cores, ...edges])
    await within(async () => (await report(node, 0)) !== 401);
});
after(async () => {
  const ended = await Promise.allSettled(
    [...edges, ...cores].map((node) => node[Symbol.asyncDispose]()),
  );
  await database?.stop();
  directory.remove();
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
});

const report = (node: TestServer, n: number) => reportAt(node, key, n);
const reportsOf = (node: TestServer, n: number) => reportsAt(node, key, n);

async function ready(node: TestServer) {
  const { status, body } = await node.fetch('/readyz');
  return { status, ...(JSON.parse(body) as { writable: boolean; memory: string }) };
}

async function connections(): Promise<number> {
  const { rows } = await database.ask(
    url,
    `select count(*)::int as n from pg_stat_activity where datname = current_database()
     and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return rows[0]!.n;
}

interface Status {
  readonly lastSeq: number;
  readonly nodes: {
    name: string;
    state: string;
    behind: number;
    memory: string;
    hasUpkeep: boolean;
  }[];
}

it('a report at a core or at an edge counts everywhere, and the database knows cores alone', async () => {
  assert.equal(await report(cores[0]!, 1), 200);
  assert.equal(await report(edges[1]!, 2), 200);
  for (const node of [...cores, ...edges]) {
    for (const n of [1, 2]) await within(async () => (await reportsOf(node, n)) === 1);
  }
  assert.equal(await report(edges[0]!, 2), 429, 'the same account and address at the other edge');
  // Of a command that has ended a connection may be there for a moment more.
  await within(async () => (await connections()) === 6, 'three connections for each core');
});

it('an edge shows in the status, agrees, and never does the upkeep', async () => {
  let status!: Status;
  const isSettled = async (node: TestServer, env: Environment) => {
    const args = ['cluster', 'status', '--json'];
    const { stdout } = await runCli(args, { ...env, DATA_DIR: node.dataDir });
    status = JSON.parse(stdout) as Status;
    return status.nodes.every(({ memory, behind }) => memory === 'agrees' && behind === 0);
  };
  const coreEnv = { ...common, DATABASE_URL: url };
  for (const [node, env] of [
    [cores[0]!, coreEnv],
    [edges[0]!, edgeEnv(0)],
  ] as const) {
    await within(() => isSettled(node, env), 'all agree');
    assert.deepEqual(
      status.nodes.map(({ name, state, hasUpkeep }) => [/ \(edge\)$/.test(name), state, hasUpkeep]),
      [
        [false, 'up', true],
        [false, 'up', false],
        [true, 'up', false],
        [true, 'up', false],
      ],
    );
  }
  const refused = await runCli(['cluster', 'upgrade'], {
    ...edgeEnv(0),
    DATA_DIR: edges[0]!.dataDir,
  });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /run it on a core/);
});

it('a person registers by the command line of an edge and signs in at the other one', async () => {
  const env = { ...edgeEnv(0), DATA_DIR: edges[0]!.dataDir };
  const made = await runCli(
    ['account', 'create', 'ada@example.org', '--password-stdin'],
    env,
    `${password}\n`,
  );
  assert.equal(made.code, 0, made.stderr);
  const agent = createAgent(edges[1]!);
  const page = await agent.get('/signin');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)![1]!;
  const signedIn = await agent.post('/signin', { csrf, email: 'ada@example.org', password });
  assert.equal(signedIn.headers.location, '/account', signedIn.body);
});

it('kill -9 of a core: its edge goes on with the other one; without any it answers checks, and waits', async () => {
  await cores[0]!.kill();
  await within(
    async () => (await report(edges[0]!, 10)) === 200,
    'a report through the other core',
  );
  for (const node of [cores[1]!, ...edges]) {
    await within(async () => (await reportsOf(node, 10)) === 1);
  }
  await cores[1]!.kill();
  for (const edge of edges) {
    await within(async () => !(await ready(edge)).writable, 'it says that nothing can be written');
    assert.equal((await ready(edge)).status, 200);
    assert.equal(await reportsOf(edge, 10), 1);
    assert.equal(await report(edge, 11), 503);
  }
  for (const n of [0, 1]) cores[n] = await startCore(n);
  for (const edge of edges) {
    await within(async () => (await ready(edge)).writable, 'it can be written again');
  }
  await within(async () => (await report(edges[0]!, 12)) === 200);
  for (const node of [...cores, ...edges]) {
    await within(async () => (await reportsOf(node, 12)) === 1);
  }
});

it('an edge that is behind all of the journal ends, and starts anew from a checkpoint', async () => {
  const paused = edges[0]!;
  process.kill(paused.pid, 'SIGSTOP');
  await edges[1]!.stop();
  for (let n = 20; n < 30; n++) assert.equal(await report(cores[0]!, n), 200);
  await waitForCheckpoints(database, url);
  for (const core of cores) await core.stop();
  // Nobody keeps the journal for who was away for longer than an hour.
  await database.ask(
    url,
    "update nodes set seen_at = seen_at - 7200000 where name like '% (edge)'",
  );
  await pruneToCheckpoint(url, cores[0]!.dataDir);
  for (const n of [0, 1]) cores[n] = await startCore(n);
  process.kill(paused.pid, 'SIGCONT');
  assert.equal((await paused.child.ended).code, 1);
  assert.match(paused.stderr(), /journal is pruned through/);
  for (const n of [0, 1]) {
    edges[n] = await startEdge(n);
    assert.match(edges[n]!.stderr(), /memory is copied from a checkpoint/);
    await within(async () => (await report(edges[n]!, 40 + n)) === 200);
    for (const known of [1, 10, 29]) assert.equal(await reportsOf(edges[n]!, known), 1);
  }
});
