/**
 * Nodes of one cluster give the same feeds, know the same keys of bouncers and let in by each other's passes: what
 * begins at one goes on at the other.
 */

import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { writeFileSync } from 'node:fs';
import { after, before, it, type TestContext } from 'node:test';
import { solveGif } from '../support/captcha/solver.ts';
import { hasTool } from '../support/house/tools.ts';
import { blocked, page, seedVisitors, suspect } from '../support/integrations/site.ts';
import { freePort } from '../support/server/free-port.ts';
import { sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import {
  type Environment,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('nodes-integrations');
let database: TestPostgres;
let env: Environment = {};
let nodes: TestServer[] = [];

/** Of the DNS block list, by node. */
const dnsPorts: number[] = [];

/** In all threads of a node: the clock of its machine is two hours late. */
const late = 'const now = Date.now; Date.now = () => now() - 7_200_000;';

async function startNode(n: number, ...nodeArguments: string[]): Promise<TestServer> {
  const dataDir = `${directory.path}/${n}`;
  dnsPorts.push(await freePort());
  const own = { DATA_DIR: dataDir, DNS_LISTEN: `127.0.0.1:${dnsPorts.at(-1)}` };
  const given = { threads: 1, demo: false, dataDir, env: { ...env, ...own } };
  return startTestServer(nodeArguments.length === 0 ? given : { ...given, nodeArguments });
}

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  database = await startPostgres();
  env = {
    DATABASE_URL: await database.createDatabase(),
    ...sharedSettings(directory.path),
    BASE_URL: 'http://localhost:8080',
    FEED_INTERVAL_SECONDS: '1',
    CLIENT_LIMITS: 'off',
    TRUSTED_PROXIES: '127.0.0.1',
    DNS_ZONE: 'bl.test',
    // Who asks is let in by a label alone.
    DNS_ALLOW: '192.0.2.1',
  };
  nodes = [await startNode(1, '--import', `data:text/javascript,${late}`), await startNode(2)];
});
after(async () => {
  for (const node of nodes) await node[Symbol.asyncDispose]();
  await database?.stop();
  directory.remove();
});

const versionOf = async (node: TestServer, path: string) => {
  return (await node.fetch(path)).headers['x-feed-version'];
};

async function seed(name: string, count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, n) => `9.${name.length}.${n >> 8}.${n & 255}`);
  const file = `${directory.path}/${name}.txt`;
  writeFileSync(file, `${lines.join('\n')}\n`);
  await nodes[0]!.cliJson('seed', '--format', 'plain', '--confidence', '100', file);
}

/** Both show so many entries, and the same version. */
async function agree(entry: string): Promise<void> {
  await within(async () => {
    const answers = await Promise.all(nodes.map((node) => node.fetch('/feeds/blocklist.txt')));
    const versions = new Set(answers.map(({ headers }) => headers['x-feed-version']));
    return versions.size === 1 && answers.every(({ body }) => body.includes(`${entry}\n`));
  });
}

it('the same bytes, ETags and versions, changes from either, and a download that goes on elsewhere', async () => {
  await seed('a', 600);
  await agree('9.1.2.87');
  const [one, two] = nodes;
  const since = await versionOf(one!, '/feeds/blocklist.txt');
  await seed('bb', 300);
  await agree('9.2.1.43');
  for (const path of ['blocklist.txt', 'blocklist.json', 'blocklist.csv']) {
    for (const encoding of ['identity', 'gzip']) {
      const headers = { 'Accept-Encoding': encoding };
      // Both may be built anew at the full hour.
      await within(async () => {
        const answers = nodes.map((node) => node.fetch(`/feeds/${path}`, { headers }));
        const [a, b] = await Promise.all(answers);
        const isSame = ['etag', 'last-modified', 'x-feed-version'].every(
          (name) => a!.headers[name] === b!.headers[name],
        );
        return a!.status === 200 && isSame && a!.bytes.equals(b!.bytes);
      }, `the same ${path}`);
    }
  }
  const changes = await two!.fetch(`/feeds/changes.json?since=${since}`);
  assert.equal(changes.body, (await one!.fetch(`/feeds/changes.json?since=${since}`)).body);
  assert.equal((changes.json() as { added: string[] }).added.length, 300);
  const whole = await one!.fetch('/feeds/blocklist.txt');
  const half = Math.floor(whole.bytes.length / 2);
  const rest = await two!.fetch('/feeds/blocklist.txt', {
    headers: { Range: `bytes=${half}-`, 'If-Range': whole.headers.etag! },
  });
  assert.equal(rest.status, 206);
  assert.ok(rest.bytes.equals(whole.bytes.subarray(half)));
});

/** What each node says to the key of a bouncer, and to its label. */
async function saidTo({ text, label }: { text: string; label: string }): Promise<string> {
  const headers = { 'X-Api-Key': text };
  const answers = nodes.map(async (node, n) => {
    const { status } = await node.fetch('/v1/decisions/stream?startup=true', { headers });
    const resolver = new Resolver({ timeout: 5_000, tries: 4 });
    resolver.setServers([`127.0.0.1:${dnsPorts[n]}`]);
    const found = await resolver.resolve4(`2.0.0.127.${label}.bl.test`).catch(({ code }) => code);
    return `${status} ${found}`;
  });
  return (await Promise.all(answers)).join();
}

it('a key of a bouncer and its label work at each node until they are removed', async () => {
  await nodes[0]!.cliJson('account', 'create', 'ada@example.org');
  const add = (name: string) =>
    nodes[0]!.cliJson('bouncer', 'add', 'ada@example.org', name, '--dns');
  const [made, kept] = [await add('fw-1'), await add('fw-2')];
  for (const key of [made, kept]) {
    await within(async () => (await saidTo(key)) === '200 127.0.0.2,200 127.0.0.2', 'the key');
  }
  await nodes[1]!.cliJson('bouncer', 'remove', 'ada@example.org', 'fw-1');
  await within(async () => (await saidTo(made)) === '403 EREFUSED,403 EREFUSED', 'its end');
  assert.equal(await saidTo(kept), '200 127.0.0.2,200 127.0.0.2');
});

it('a challenge of one node is solved at the other, and its pass is good at both, whatever their clocks say', async () => {
  await seedVisitors(nodes[0]!, directory.path);
  // In the feeds too, whose versions the next test compares.
  await agree(blocked);
  const own = { 'X-Forwarded-For': suspect, 'X-Forwarded-Host': 'site.example' };
  const [one, two] = nodes.map((node) => (path: string, headers = {}, body?: string) => {
    const method = body === undefined ? 'GET' : 'POST';
    return node.fetch(path, { method, headers: { ...own, ...headers }, ...(body && { body }) });
  });
  const visit = { ...page, 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/shop' };
  const statuses = async (headers = {}): Promise<string> => {
    const asked = [one!, two!].map((ask) => ask('/gate/check', { ...visit, ...headers }));
    return (await Promise.all(asked)).map(({ status }) => status).join();
  };
  await within(async () => (await statuses()) === '302,302', 'the lists');
  const shown = await one!('/.portcullis/challenge?rd=/shop', page);
  const token = /name="captcha_token" value="([\w-]{48})"/.exec(shown.body)![1]!;
  const picture = await two!(`/.portcullis/img/${token}.gif`);
  const captcha_answer = solveGif(new Uint8Array(picture.bytes)).word;
  const fields = new URLSearchParams({ captcha_token: token, captcha_answer, rd: '/shop' });
  const form = { ...page, 'Content-Type': 'application/x-www-form-urlencoded' };
  const done = await two!('/.portcullis/challenge', form, fields.toString());
  assert.deepEqual([done.status, done.headers.location], [303, '/shop'], done.body);
  const pass = /^portcullis_pass=[^;]+/.exec(done.headers['set-cookie']![0]!)![0];
  assert.equal(await statuses({ Cookie: pass }), '200,200');
  const end = pass.endsWith('AA') ? 'AE' : 'AA';
  assert.equal(await statuses({ Cookie: pass.slice(0, -2) + end }), '302,302', 'forged');
  const elsewhere = { Cookie: pass, 'X-Forwarded-Host': 'other.example' };
  assert.equal(await statuses(elsewhere), '302,302', 'of another site');
});

it('the node that takes the upkeep over goes on with the versions that readers know, and notes who asked', async () => {
  const [one, two] = nodes;
  const since = await versionOf(two!, '/feeds/blocklist.txt');
  await one!.kill();
  nodes = [two!];
  await seed('ccc', 10);
  await agree('9.3.0.9');
  const changes = await two!.fetch(`/feeds/changes.json?since=${since}`);
  assert.equal((changes.json() as { added: string[] }).added.length, 10, changes.body);
  // What a node knows of uses is written when it ends, at the latest.
  await two!.stop();
  nodes = [];
  const [key] = await two!.cliJson('bouncer', 'list');
  assert.equal(key.name, 'fw-2');
  assert.match(String(key.lastUsedAt), /^20\d\d-/);
});
