/** Nodes of one cluster give the same feeds: a download that begins at one ends at the other. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, it, type TestContext } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import {
  type Environment,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('nodes-feeds');
let database: TestPostgres;
let env: Environment = {};
let nodes: TestServer[] = [];

function startNode(n: number): Promise<TestServer> {
  const dataDir = `${directory.path}/${n}`;
  return startTestServer({ threads: 1, demo: false, dataDir, env: { ...env, DATA_DIR: dataDir } });
}

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  const key = `${directory.path}/master.key`;
  writeFileSync(key, randomBytes(32).toString('hex'), { mode: 0o600 });
  database = await startPostgres();
  env = {
    DATABASE_URL: await database.createDatabase(),
    MASTER_KEY_FILE: key,
    SMTP_URL: 'smtp://127.0.0.1:9',
    BASE_URL: 'http://localhost:8080',
    FEED_INTERVAL_SECONDS: '1',
    CLIENT_LIMITS: 'off',
  };
  nodes = [await startNode(1), await startNode(2)];
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

it('the node that takes the upkeep over goes on with the versions that readers know', async () => {
  const [one, two] = nodes;
  const since = await versionOf(two!, '/feeds/blocklist.txt');
  await one!.kill();
  nodes = [two!];
  await seed('ccc', 10);
  await agree('9.3.0.9');
  const changes = await two!.fetch(`/feeds/changes.json?since=${since}`);
  assert.equal((changes.json() as { added: string[] }).added.length, 10, changes.body);
});
