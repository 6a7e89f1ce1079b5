/**
 * Two nodes on a primary with a synchronous standby: what is redeemed, seen and deleted through both at
 * once counts once, and stays when the primary is gone for good.
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Agent as Connections, request } from 'node:http';
import { after, before, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { authorizationCodeKey, namespaces } from '../../src/storage/keys.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { toldIn } from '../support/integrations/told.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
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
import { allow, createAgent, goodRequest, password } from '../support/signon/visitor.ts';

const directory = makeTempDir('nodes-faults');
const connections = new Connections({ keepAlive: true });
let primary: TestPostgres;
let standby: TestPostgres;
/** The one that takes writes. */
let current: TestPostgres;
let name = '';
let env: Environment = {};
const nodes: TestServer[] = [];
let key = '';
/** A test that fails leaves its callers: they must not keep the process. */
let isEnded = false;

const urlOf = (...servers: TestPostgres[]) =>
  `postgres://postgres@${servers.map((one) => encodeURIComponent(one.directory))}/${name}`;
/** One statement to one of the servers. */
const ask = async (server: TestPostgres, text: string) =>
  (await server.ask(urlOf(server), text)).rows;

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  primary = await startPostgres();
  name = /\/(t\d+)\?/.exec(await primary.createDatabase())![1]!;
  current = primary;
  standby = await primary.startSynchronousStandby();
  env = {
    DATABASE_URL: urlOf(primary, standby),
    ...sharedSettings(directory.path),
    CLIENT_LIMITS: 'off',
    LOG_LEVEL: 'info',
  };
  for (const n of [1, 2]) {
    const dataDir = `${directory.path}/${n}`;
    nodes.push(await startTestServer({ threads: 1, demo: false, dataDir, env }));
  }
  await nodes[0]!.cliJson('account', 'create', demoEmail);
  key = await newKey(demoEmail);
});
after(async () => {
  isEnded = true;
  connections.destroy();
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await standby?.stop();
  await primary?.stop();
  directory.remove();
});

/** Of an API, known to both nodes. */
async function newKey(email: string): Promise<string> {
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  const { text } = await nodes[0]!.cliJson('key', 'create', email, ...quotas);
  for (const node of nodes) await within(async () => (await check(node, 0, text)) !== undefined);
  return text;
}

const comment = 'seen-at-my-own-door';
const addressOf = (n: number) => `9.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;

/** How often an address was reported; undefined while the key is not known. */
async function check(node: TestServer, n: number, by = key): Promise<number | undefined> {
  const path = `/api/v2/check?ipAddress=${addressOf(n)}`;
  const answer = await node.fetch(path, { headers: { Key: by } });
  if (answer.status === 401) return undefined;
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: { totalReports: number } }).data.totalReports;
}

async function report(node: TestServer, n: number, by = key): Promise<number> {
  return (await node.report(addressOf(n), { key: by, comment })).status;
}

/** Callers at each node that report one address after the other. */
function reporting(through: readonly TestServer[], firstAddress: number, by = key) {
  const acknowledged: number[] = [];
  const refused = new Map<number, number>();
  let next = firstAddress;
  let isOver = false;
  async function send(node: TestServer): Promise<void> {
    while (!isOver && !isEnded) {
      const n = next++;
      const status = await report(node, n, by);
      if (status === 200) acknowledged.push(n);
      else refused.set(status, (refused.get(status) ?? 0) + 1);
      if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const senders = through.flatMap((node) => [1, 2, 3, 4].map(() => send(node)));
  return {
    acknowledged,
    refused,
    async grow(): Promise<void> {
      const had = acknowledged.length;
      await within(() => acknowledged.length > had + 40, 'more reports');
    },
    /** @returns addresses that were tried */
    async stop(): Promise<number[]> {
      isOver = true;
      await Promise.all(senders);
      return Array.from({ length: next - firstAddress }, (_, i) => firstAddress + i);
    },
  };
}

/** Each address counts once where the report was acknowledged, and at most once elsewhere; alike on both nodes. */
async function counted(tried: readonly number[], acknowledged: readonly number[]): Promise<void> {
  const sure = new Set(acknowledged);
  const last = Number((await ask(current, 'select last_seq from journal_head'))[0]!.last_seq);
  await within(async () => {
    const rows = await ask(current, 'select min(applied_seq) as seq from nodes');
    return Number(rows[0]!.seq) >= last;
  }, 'both nodes at the end of the journal');
  for (const n of tried) {
    const counts = await Promise.all(nodes.map((node) => check(node, n)));
    assert.equal(counts[0], counts[1], `${addressOf(n)} on both nodes`);
    assert.ok(counts[0]! <= 1, `${addressOf(n)} was counted ${counts[0]} times`);
    if (sure.has(n)) assert.equal(counts[0], 1, `${addressOf(n)} was acknowledged`);
  }
}

/** A site's request for the profile behind a code, over a connection that is kept. */
function exchange(node: TestServer, code: string): Promise<{ status: number; body: string }> {
  const path = `/api.php?${new URLSearchParams({ code, client_id: goodRequest.client_id })}`;
  return new Promise((resolve, reject) => {
    const place = { host: '127.0.0.1', port: node.port, path, agent: connections };
    const sent = request(place, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text) => {
        body += text;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const codesInAll = 10_000;
const codesAtOnce = 24;

/** A person allows a site and gets a code; then as many more as are wanted, of the same grant. */
async function makeCodes(): Promise<string[]> {
  const email = 'ada@example.org';
  const own = { ...env, DATA_DIR: nodes[0]!.dataDir };
  const made = await runCli(['account', 'create', email, '--password-stdin'], own, `${password}\n`);
  assert.equal(made.code, 0, made.stderr);
  const agent = createAgent(nodes[0]!);
  const page = await agent.get('/signin');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.body)![1]!;
  const signedIn = await agent.post('/signin', { csrf, email, password });
  assert.equal(signedIn.headers.location, '/account', signedIn.body);
  const first = (await allow(agent)).searchParams.get('code')!;
  const keyOf = (code: string) => authorizationCodeKey(createHash('sha256').update(code).digest());
  const url = urlOf(current);
  const store = await openPostgresStore({ url, clock: systemClock(), log: memoryLog().log });
  try {
    // A row says what was granted, and nothing of its code.
    const { value } = (await store.get(keyOf(first)))!;
    const expiresAt = Date.now() + 3_600_000;
    const codes = [first];
    while (codes.length < codesInAll) {
      const more = Array.from({ length: Math.min(1_000, codesInAll - codes.length) }, () =>
        randomBytes(32).toString('base64url'),
      );
      const done = await store.commit({
        set: more.map((code) => ({ key: keyOf(code), value, expiresAt })),
      });
      assert.ok(done.ok);
      codes.push(...more);
    }
    return codes;
  } finally {
    await store.close();
  }
}

it('10,000 codes, each redeemed at both nodes at once, give 10,000 profiles', async (context) => {
  const codes = await makeCodes();
  const won = [0, 0];
  const startMs = performance.now();
  async function redeem(): Promise<void> {
    for (let code = codes.pop(); code !== undefined; code = codes.pop()) {
      const answers = await Promise.all(nodes.map((node) => exchange(node, code)));
      const winner = answers.findIndex(({ status }) => status === 200);
      const [profile, other] = winner === 0 ? answers : answers.toReversed();
      assert.equal(profile!.status, 200, profile!.body);
      assert.equal(JSON.parse(profile!.body).email, 'ada@example.org');
      assert.equal(other!.status, 400, other!.body);
      assert.equal(JSON.parse(other!.body).error, 'invalid_grant');
      won[winner]! += 1;
    }
  }
  await Promise.all(Array.from({ length: codesAtOnce }, redeem));
  assert.equal(won[0]! + won[1]!, codesInAll);
  assert.ok(
    won.every((count) => count > 0),
    `one node won them all: ${won}`,
  );
  context.diagnostic(`won ${won} in ${Math.round(performance.now() - startMs)} ms`);
});

/** The values that a node's stream tells a bouncer since it asked there last. */
async function streamed(node: TestServer, bouncer: string, query = '') {
  const headers = { 'X-Api-Key': bouncer, 'User-Agent': 'bouncer' };
  const answer = await node.fetch(`/v1/decisions/stream${query}`, { headers });
  assert.equal(answer.status, 200, answer.body);
  const { new: added, deleted } = toldIn<{ value: string }>(answer.body);
  return { added: added.map(({ value }) => value), deleted: deleted.map(({ value }) => value) };
}

it('what an agent tells one node is in the stream of the other, and so is its end', async () => {
  const [one, two] = nodes as [TestServer, TestServer];
  const owner = 'owner@example.org';
  await one.cliJson('account', 'create', owner);
  const agent = (await one.cliJson('bouncer', 'add', owner, 'agent', '--agent')).text;
  const bouncer = (await two.cliJson('bouncer', 'add', owner, 'firewall')).text;
  function post(node: TestServer, path: string, body: unknown, headers = {}) {
    return node.fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }
  const login = { machine_id: 'm', password: agent, scenarios: [] };
  let token = '';
  await within(async () => {
    const answer = await post(one, '/v1/watchers/login', login);
    if (answer.status === 200) token = (answer.json() as { token: string }).token;
    return answer.status === 200;
  }, 'the login');
  const banned = '45.30.0.1';
  for (const node of nodes) {
    const headers = { 'X-Api-Key': bouncer };
    const known = async () =>
      (await node.fetch('/v1/decisions?ip=45.30.0.2', { headers })).status === 200;
    await within(known, 'the key of the bouncer');
    const { added } = await streamed(node, bouncer, '?startup=true');
    assert.ok(!added.includes(banned));
  }
  const alert = {
    scenario: 'crowdsecurity/ssh-bf',
    message: 'seen',
    simulated: false,
    capacity: 5,
    decisions: null,
    events: [],
    remediation: true,
    source: { ip: banned, scope: 'Ip', value: banned },
  };
  // The token of one node is good on the other.
  const bearer = { Authorization: `Bearer ${token}` };
  await within(async () => (await two.fetch('/v1/heartbeat', { headers: bearer })).status === 200);
  assert.equal((await post(one, '/v1/alerts', [alert], bearer)).status, 201);
  for (const node of [two, one]) {
    await within(async () => (await streamed(node, bouncer)).added.includes(banned), 'the ban');
  }
  await two.cliJson('allow', 'add', banned);
  for (const node of nodes) {
    await within(async () => (await streamed(node, bouncer)).deleted.includes(banned), 'its end');
  }
});

/** Namespaces with a row in which the text stands. */
async function namespacesWith(text: string): Promise<number[]> {
  const bytes = `convert_to('${text}', 'utf8')`;
  const rows = await ask(
    current,
    `select distinct get_byte(key, 0) as namespace from kv
     where position(${bytes} in key) > 0 or position(${bytes} in value) > 0 order by 1`,
  );
  return rows.map(({ namespace }) => namespace);
}

it('an account that one node deletes while its reports come to the other leaves nothing of the person', async () => {
  const email = 'leaver@example.org';
  await nodes[0]!.cliJson('account', 'create', email);
  const own = await newKey(email);
  const { id } = await nodes[0]!.cliJson('account', 'show', email);
  const reports = reporting([nodes[1]!], 1_000, own);
  await reports.grow();
  const { account, reportByAccount, reportByAddress, reportById, reportGuard } = namespaces;
  assert.deepEqual(
    await namespacesWith(comment),
    [reportByAddress],
    'the search finds what is there',
  );
  for (const one of [account, reportByAccount]) assert.ok((await namespacesWith(id)).includes(one));
  await nodes[0]!.cliJson('account', 'delete', email);
  await within(() => reports.refused.has(401), 'its end on the other node');
  const tried = await reports.stop();
  for (const node of nodes) assert.equal(await check(node, 0, own), undefined);
  assert.deepEqual(await namespacesWith(comment), []);
  assert.deepEqual(await namespacesWith(email), []);
  // The id leads to nobody: scores rest on the reports, and what was done to the account is noted.
  const { accountSlot, erasure, erased, audit } = namespaces;
  const kept = [accountSlot, reportByAddress, reportById, reportGuard, erasure, erased, audit];
  assert.deepEqual(await namespacesWith(id), kept);
  await counted(tried, reports.acknowledged);
});

it('a primary that is gone for good takes nothing along that was acknowledged', async () => {
  const pids = nodes.map(({ pid }) => pid);
  const reports = reporting(nodes, 100_000);
  await reports.grow();
  const [receiver] = await ask(standby, 'select pid from pg_stat_wal_receiver');
  process.kill(receiver!.pid, 'SIGSTOP');
  try {
    const had = reports.acknowledged.length;
    // A commit waits for the standby until its node gives it up.
    await within(async () => {
      assert.ok(reports.acknowledged.length < had + 40, 'without the standby');
      const ready = await Promise.all(nodes.map((node) => node.fetch('/readyz')));
      return ready.every(({ body }) => body.includes('"writable":false'));
    }, 'no writes');
    await primary.kill();
  } finally {
    process.kill(receiver!.pid, 'SIGCONT');
  }
  for (const node of nodes) assert.equal(await check(node, 100_000), 1, 'from memory');
  await ask(standby, 'select pg_promote()');
  current = standby;
  await reports.grow();
  await within(async () => {
    const ready = await Promise.all(nodes.map((node) => node.fetch('/readyz')));
    return ready.every(({ body }) => /"writable":true.*"memory":"agrees"/.test(body));
  }, 'both nodes as before');
  const tried = await reports.stop();
  await counted(tried, reports.acknowledged);
  const rows = await ask(current, 'select first_seq, last_seq from journal order by last_seq');
  let last = 0;
  for (const { first_seq: first, last_seq: end } of rows) {
    assert.equal(Number(first), last + 1, 'the journal has no gap');
    last = Number(end);
  }
  const [events] = await ask(current, 'select count(*) as ids from event_ids');
  assert.equal(Number(events!.ids), last, 'and no event twice');
  assert.deepEqual(
    nodes.map(({ child }) => [child.process.pid, child.process.exitCode]),
    pids.map((pid) => [pid, null]),
  );
});
