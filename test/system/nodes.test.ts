/** Two servers on one PostgreSQL: what one of them writes the other one has, whatever is killed. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { after, before, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { claimDataDir } from '../../src/storage/lmdb/claim.ts';
import { webVisitor } from '../support/browser/web-visitor.ts';
import { siteOrigin } from '../support/captcha/beside.ts';
import { payloadOf, solve } from '../support/captcha/solution.ts';
import { hasTool } from '../support/house/tools.ts';
import { addressOf, reportAt, reportsAt, sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { pruneToCheckpoint, waitForCheckpoints } from '../support/server/prune.ts';
import {
  demoEmail,
  type Environment,
  fetchUnhurried,
  plenty,
  runCli,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { createAgent, password } from '../support/signon/visitor.ts';

const directory = makeTempDir('nodes');
const shared = sharedSettings(directory.path);
let database: TestPostgres;
let [url, key] = ['', ''];
let nodes: TestServer[] = [];

const [secret, metricsToken] = ['not-in-any-log', 'a-token-for-metrics'];

function environment(): Environment {
  return {
    // The socket lets everybody in, whatever the password.
    DATABASE_URL: url.replace('postgres@', `postgres:${secret}@`),
    ...shared,
    LOG_LEVEL: 'info',
    TRUSTED_PROXIES: '127.0.0.1,::1',
    METRICS_TOKEN: metricsToken,
  };
}

function startNode(n: number): Promise<TestServer> {
  const dataDir = `${directory.path}/${n}`;
  return startTestServer({ threads: 1, demo: false, dataDir, env: environment() });
}

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  database = await startPostgres();
  url = await database.createDatabase();
  nodes = [await startNode(1), await startNode(2)];
  await nodes[0]!.cliJson('account', 'create', demoEmail);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  key = (await nodes[0]!.cliJson('key', 'create', demoEmail, ...quotas)).text;
  for (const node of nodes) await within(async () => (await report(node, 0)) !== 401);
});
after(async () => {
  const ended = await Promise.allSettled(nodes.map((node) => node[Symbol.asyncDispose]()));
  await database?.stop();
  directory.remove();
  for (const end of ended) if (end.status === 'rejected') throw end.reason;
});

const report = (node: TestServer, n: number) => reportAt(node, key, n);
const reportsOf = (node: TestServer, n: number) => reportsAt(node, key, n);

async function newAccount(name: string): Promise<string> {
  const email = `${name}@example.org`;
  await nodes[0]!.cliJson('account', 'create', email);
  return email;
}

async function ready(node: TestServer) {
  const { status, body } = await node.fetch('/readyz');
  return { status, ...(JSON.parse(body) as { writable: boolean; staleSeconds: number }) };
}

it('a report through one node counts on the other one, and a key is good on both', async () => {
  assert.equal(await report(nodes[0]!, 1), 200);
  await within(async () => (await reportsOf(nodes[1]!, 1)) === 1);
  assert.equal(await report(nodes[1]!, 2), 200);
  await within(async () => (await reportsOf(nodes[0]!, 2)) === 1);
  assert.equal(await report(nodes[1]!, 1), 429, 'the same account and address, on the other node');
  for (let i = 10; i < 30; i++) {
    const both = await Promise.all(nodes.map((node) => report(node, i)));
    assert.deepEqual(both.toSorted(), [200, 429], 'of two at once, one at each node');
  }
});

it('a node takes three connections of the database', async () => {
  // Of a command that has ended a connection may be there for a moment more.
  await within(async () => {
    const { rows } = await database.ask(
      url,
      `select count(*)::int as n from pg_stat_activity where datname = current_database()
       and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return rows[0]!.n === 3 * nodes.length;
  });
});

it('the status shows both nodes, how far they are, and that one does the maintenance', async () => {
  const env = { ...environment(), DATA_DIR: nodes[0]!.dataDir };
  interface Status {
    readonly lastSeq: number;
    readonly nodes: { id: number; state: string; behind: number; doesMaintenance: boolean }[];
  }
  let status!: Status;
  await within(async () => {
    status = JSON.parse((await runCli(['cluster', 'status', '--json'], env)).stdout) as Status;
    return status.nodes.every(({ behind }) => behind === 0);
  });
  assert.ok(status.lastSeq > 0);
  assert.deepEqual(
    status.nodes.map(({ id, state, doesMaintenance }) => [id, state, doesMaintenance]),
    [
      [1, 'up', true],
      [2, 'up', false],
    ],
  );
  const { stdout } = await runCli(['cluster', 'status'], env);
  assert.match(
    stdout,
    /^journal \S{36}: \d+ events up to version 2, removed up to 0\nnode {2}name/,
  );
  assert.match(stdout, /\n1 .* up .* yes\n2 .* up [^\n]* 0 +[a-z]+\n$/);
  const alone = await runCli(['cluster', 'status'], { DATA_DIR: `${directory.path}/alone` });
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /DATABASE_URL is not set/);
});

it('a form of one node is taken by the other one, and who signs in there is signed in on both', async () => {
  const email = 'ada@example.org';
  const env = { ...environment(), DATA_DIR: nodes[0]!.dataDir };
  const made = await runCli(['account', 'create', email, '--password-stdin'], env, `${password}\n`);
  assert.equal(made.code, 0, made.stderr);
  const [one, two] = nodes.map((node) => createAgent(node));
  const csrfIn = (page: string) => /name="csrf" value="([^"]+)"/.exec(page)![1]!;
  const csrf = csrfIn((await one!.get('/signin')).body);
  for (const [name, cookie] of one!.cookies) two!.cookies.set(name, cookie);
  const signedIn = await two!.post('/signin', { csrf, email, password });
  assert.equal(signedIn.headers.location, '/account', signedIn.body);
  for (const [name, cookie] of two!.cookies) one!.cookies.set(name, cookie);
  const account = await one!.get('/account');
  assert.ok(account.body.includes(email));
  const saved = await two!.post('/account/profile', {
    csrf: csrfIn(account.body),
    given_name: 'Ada',
  });
  assert.equal(saved.status, 303, saved.body);
  assert.match((await one!.get('/account')).body, /value="Ada"/);
});

it('a challenge of one node is shown and judged through the other one, once', async () => {
  const [one, two] = nodes;
  const { token, img } = (await one!.fetch('/captcha/new')).json() as Record<string, string>;
  const through = await fetchUnhurried(two!, img!);
  assert.equal(through.status, 200, through.body);
  assert.equal(through.headers['content-type'], 'image/gif');
  assert.equal(through.body, (await one!.fetch(img!)).body);
  const clip = img!.replace('/img/', '/audio/').replace('.gif', '.wav');
  const sound = await fetchUnhurried(two!, clip);
  assert.equal(sound.headers['content-type'], 'audio/wav');
  const body = JSON.stringify({ token, answer: 'no' });
  const headers = { 'Content-Type': 'application/json' };
  const judged = await two!.fetch('/captcha/verify', { method: 'POST', headers, body });
  assert.equal(judged.body, '{"ok":false}');
  for (const node of nodes) assert.equal((await node.fetch(img!)).status, 404, 'taken');
});

it('a solution of work, its receipt, and one of the widget of ALTCHA: once, of many requests to both nodes at once', async () => {
  const { id: siteKey } = await nodes[0]!.cliJson('sitekey', 'create', demoEmail);
  const headers = { Origin: siteOrigin, 'Content-Type': 'application/json' };
  async function workOf(node: TestServer, path: string): Promise<unknown> {
    const { body } = await node.fetch(`/captcha/${path}?sitekey=${siteKey}`, { headers });
    const given = JSON.parse(body) as { work?: object; parameters?: object };
    return given.work ?? (given.parameters && given);
  }
  for (const node of nodes) {
    await within(async () => (await workOf(node, 'altcha')) !== undefined, 'the site key is known');
  }
  /** Sends the same to both nodes, ten times each, all at once; of the answers those that are good. */
  async function race(path: string, fields: object): Promise<Record<string, unknown>[]> {
    const body = JSON.stringify(fields);
    const sends = Array.from({ length: 20 }, (_, i) =>
      nodes[i % 2]!.fetch(`/captcha/${path}`, { method: 'POST', headers, body }),
    );
    const answers = await Promise.all(sends);
    const read = answers.map((answer) => answer.json() as Record<string, unknown>);
    return read.filter(({ ok, success }) => (ok ?? success) === true);
  }
  const solution = async (path: string) => payloadOf(await solve(await workOf(nodes[0]!, path)));

  const good = await race('work', { work: await solution('start'), sitekey: siteKey });
  assert.equal(good.length, 1);
  const { receipt } = good[0]!;
  assert.equal((await race('siteverify', { secret: key, response: receipt })).length, 1);
  const response = await solution('altcha');
  assert.equal((await race('siteverify', { secret: key, response, sitekey: siteKey })).length, 1);
  // What is a receipt's worth in one call is none in the other one.
  assert.equal((await race('work', { work: response, sitekey: siteKey })).length, 0);
});

it('what a key spends through one node is spent on the other one', async () => {
  const [one, two] = nodes;
  const quotas = ['--read-per-minute', '1000'];
  const { text } = await one!.cliJson('key', 'create', await newAccount('spender'), ...quotas);
  async function check(node: TestServer) {
    const path = `/api/v2/check?ipAddress=${addressOf(1)}`;
    const { status, headers } = await node.fetch(path, { headers: { Key: text } });
    return { status, remaining: Number(headers['x-ratelimit-remaining']) };
  }
  for (const node of nodes) await within(async () => (await check(node)).status === 200);
  for (let i = 0; i < 300; i++) assert.equal((await check(one!)).status, 200);
  let looks = 0;
  await within(async () => {
    looks++;
    return (await check(two!)).remaining < 700;
  });
  assert.ok(looks < 250, 'not by what it spent itself');
  const asked = await two!.fetch('/metrics', {
    headers: { Authorization: `Bearer ${metricsToken}` },
  });
  assert.match(asked.body, /^portcullis_exchange_nodes 1$/m);
  assert.match(asked.body, /^portcullis_exchange_age_seconds [0-9.e-]+$/m);
});

it('who guesses a password through one node waits on the other one', async () => {
  const email = await newAccount('guessed');
  let strangers = 0;
  /** From anywhere: the account alone is what they have in common. */
  async function guess(node: TestServer): Promise<boolean> {
    const visitor = webVisitor(node, { 'X-Forwarded-For': `198.18.${strangers++}.7` });
    const { status, body } = await visitor.signIn(email, 'a wrong guess');
    assert.ok(status === 422 || status === 429, body);
    return status === 422;
  }
  const [one, two] = nodes;
  let guesses = 0;
  while (await guess(one!)) guesses++;
  assert.equal(guesses, 10);
  // Nodes tell each other every second. After ten of its own the other one would refuse by itself.
  let elsewhere = 0;
  do await delay(3_000);
  while (elsewhere < 9 && (await guess(two!)) && ++elsewhere);
  assert.ok(elsewhere < 9, 'not by what it counted itself');
});

it('without the database checks go on, writes and readers of it get 503, nodes go on afterwards', async () => {
  await database.kill();
  for (const node of nodes) {
    assert.equal(await reportsOf(node, 1), 1);
    assert.equal(await report(node, 3), 503);
    const detailed = await node.fetch(`/api/v2/check?ipAddress=${addressOf(1)}&verbose`, {
      headers: { Key: key },
    });
    assert.equal(detailed.status, 503, detailed.body);
    assert.ok(detailed.headers['retry-after'] !== undefined);
    const { status, writable } = await ready(node);
    assert.deepEqual([status, writable], [200, false]);
    await within(async () => (await ready(node)).staleSeconds >= 1);
  }
  await database.start();
  await within(async () => (await report(nodes[0]!, 3)) === 200);
  await within(async () => (await reportsOf(nodes[1]!, 3)) === 1);
  for (const node of nodes) {
    await within(async () => {
      const { writable, staleSeconds } = await ready(node);
      return writable && staleSeconds === 0;
    });
  }
});

it('kill -9 of the database and of a node loses no report that was acknowledged, and doubles none', async () => {
  const acknowledged: number[] = [];
  let next = 1_000;
  let isOver = false;
  async function sendThrough(node: TestServer): Promise<void> {
    while (!isOver) {
      const n = next++;
      const status = await report(node, n).catch(() => 0);
      if (status === 200) acknowledged.push(n);
      else await delay(20);
    }
  }
  const senders = nodes.flatMap((node) => [1, 2, 3, 4].map(() => sendThrough(node)));
  const grow = (had = acknowledged.length) => within(() => acknowledged.length > had + 40);
  try {
    await grow();
    await database.kill();
    await database.start();
    await grow();
    await nodes[1]!.kill();
    await grow();
  } finally {
    isOver = true;
    await Promise.all(senders);
  }
  nodes[1] = await startNode(2);
  for (const node of nodes) {
    await within(async () => (await reportsOf(node, acknowledged.at(-1)!)) === 1);
    for (let n = 1_000; n < next; n++) {
      const found = await reportsOf(node, n);
      assert.ok(found <= 1, `${addressOf(n)} was counted ${found} times`);
      if (acknowledged.includes(n)) assert.equal(found, 1, `${addressOf(n)} was acknowledged`);
    }
  }
  const rows = await database.ask(url, 'select first_seq, last_seq from journal order by last_seq');
  let last = 0;
  for (const { first_seq: first, last_seq: end } of rows.rows) {
    assert.equal(Number(first), last + 1, 'the journal has no gap');
    last = Number(end);
  }
});

it('what would be another one on each node is refused before anything is made', async () => {
  const dataDir = `${directory.path}/refused`;
  const good: Environment = { ...environment(), DATA_DIR: dataDir };
  // An empty setting counts as absent.
  const withoutMail = { ...good, SMTP_URL: '' };
  const withoutKey = { ...good, MASTER_KEY_FILE: '' };
  writeFileSync(`${directory.path}/other.key`, randomBytes(32).toString('hex'), { mode: 0o600 });
  // As a node leaves it; a running one answers for itself.
  const stopped = `${directory.path}/stopped`;
  mkdirSync(`${stopped}/node`, { recursive: true, mode: 0o700 });
  const refusals: [Environment, string[], RegExp][] = [
    [withoutMail, ['serve'], /SMTP_URL must be set/],
    [withoutKey, ['serve'], /MASTER_KEY_FILE must be set/],
    [{ ...good, BACKUP_FOLDER: dataDir }, ['serve'], /BACKUP_FOLDER is for the embedded store/],
    [
      { ...good, MASTER_KEY_FILE: `${directory.path}/other.key` },
      ['serve'],
      /master key is another/,
    ],
    [good, ['verify'], /works on the embedded store/],
    [good, ['compact'], /on the embedded store, .* use the means of the database\n$/],
    [{ ...good, DATABASE_URL: 'postgres://u:hidden@127.0.0.1:9/n' }, ['serve'], /can't be reached/],
    [{ DATA_DIR: stopped }, ['allow', 'list'], /belongs to a node of a cluster/],
    [
      { DATA_DIR: dataDir, DATABASE_REPLICA_URL: 'postgres://u:hidden@h/n' },
      ['serve'],
      /DATABASE_REPLICA_URL is for a node: set DATABASE_URL/,
    ],
  ];
  for (const [env, args, expected] of refusals) {
    const { code, stderr } = await runCli(args, env);
    assert.equal(code, 1, args.join(' '));
    assert.match(stderr, expected);
    assert.ok(!stderr.includes('hidden') && !stderr.includes(secret), stderr);
  }
});

it('a database that was taken back makes nodes end, and their next start makes memory anew', async () => {
  const head = 'select last_seq from journal_head';
  const lastSeq = Number((await database.ask(url, head)).rows[0].last_seq);
  // As after a restore of a backup: the last reports are gone, with all that they wrote.
  await database.ask(
    url,
    `begin;
     delete from journal where last_seq > ${lastSeq} - 20;
     update journal_head set last_seq = (select max(last_seq) from journal), epoch = gen_random_uuid();
     commit`,
  );
  const ended = await Promise.all(nodes.map((node) => node.child.ended));
  for (const [i, node] of nodes.entries()) {
    assert.equal(ended[i]!.code, 1);
    assert.match(node.stderr(), /the journal is not the one that was followed/);
    assert.ok(!node.stderr().includes(secret));
  }
  // A command beside a node that still runs leaves the node's memory alone.
  const own = `${nodes[0]!.dataDir}/node`;
  const claim = claimDataDir(own, 'a node');
  const { ino } = statSync(`${own}/store`);
  try {
    const beside = await runCli(['allow', 'list'], {
      ...environment(),
      DATA_DIR: nodes[0]!.dataDir,
    });
    assert.equal(beside.code, 0, beside.stderr);
    assert.equal(statSync(`${own}/store`).ino, ino);
  } finally {
    claim.release();
  }
  nodes = await Promise.all([startNode(1), startNode(2)]);
  for (const node of nodes) {
    assert.match(node.stderr(), /memory is made anew/);
    assert.equal(await reportsOf(node, 1), 1);
  }
});

it('a node that the journal alone does not bring up to date copies a checkpoint when it starts', async () => {
  await waitForCheckpoints(database, url);
  for (const node of nodes) await node.stop();
  // All but the first count as away for long, and so would one that was never there.
  await database.ask(
    url,
    `update nodes set seen_at = 0 where checkpoint_seq < (select last_seq from journal_head)`,
  );
  await pruneToCheckpoint(url, nodes[0]!.dataDir);
  rmSync(nodes[1]!.dataDir, { recursive: true });
  nodes = [await startNode(1), await startNode(2)];
  assert.match(nodes[1]!.stderr(), /memory is copied from a checkpoint/);
  assert.ok(!nodes[0]!.stderr().includes('memory is copied'));
  for (const node of nodes) {
    await within(async () => (await report(node, 9_000)) !== 401);
    assert.equal(await reportsOf(node, 1), 1);
  }
});
