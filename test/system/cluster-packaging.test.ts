/**
 * Two nodes as compose.cluster.yaml has them: its settings, the keys and certificates of its script, TLS to the
 * database, and Caddy in front. Container engines are not asked.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { type LineChild, startCommand } from '../support/server/child.ts';
import { freePort } from '../support/server/free-port.ts';
import {
  databaseOwner,
  postgresProgram,
  startPostgres,
  type TestPostgres,
} from '../support/server/postgres.ts';
import {
  type Environment,
  fetchFrom,
  runCli,
  startTestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const require = createRequire(join(process.cwd(), 'test/system/package.json'));
const script = 'data/packaging/cluster-secrets.sh';
const directory = makeTempDir('cluster-packaging');
const secrets = `${directory.path}/secrets`;
let database: TestPostgres | undefined;
let port = 0;
let name = '';
let caddy: LineChild | undefined;

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly networks: Readonly<
    Record<string, { readonly ipam: { readonly config: readonly [{ readonly subnet: string }] } }>
  >;
}

interface Service {
  readonly command?: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes: readonly string[];
  readonly networks: Readonly<Record<string, { readonly ipv4_address: string } | null>>;
}

function readCompose(): Compose {
  const { parse } = require('yaml') as {
    parse(text: string, options: { strict: boolean; merge: boolean }): Compose;
  };
  return parse(readFileSync('compose.cluster.yaml', 'utf8'), { strict: true, merge: true });
}

function makeSecrets(folder: string, ...names: string[]): void {
  const done = spawnSync('sh', [script, folder, ...names], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
}

before(async (context) => {
  const t = context as TestContext;
  if (!hasTool(t, postgresProgram) || !hasTool(t, 'openssl')) return;
  makeSecrets(secrets, 'database', 'localhost');
  const owner = databaseOwner();
  if (owner !== undefined) {
    spawnSync('chmod', ['755', directory.path, secrets]);
    chownSync(`${secrets}/database.key`, owner.uid, owner.gid);
  }
  port = await freePort();
  const more = {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    ssl: 'on',
    ssl_cert_file: `${secrets}/database.pem`,
    ssl_key_file: `${secrets}/database.key`,
  };
  database = await startPostgres({ more });
  name = /\/(t\d+)\?/.exec(await database.createDatabase())![1]!;
});
after(async () => {
  caddy?.process.kill('SIGKILL');
  await database?.stop();
  directory.remove();
});

test('the compose file: known settings, one master key, a folder and an address for each node', () => {
  const { services, networks, ...compose } = readCompose();
  const known = readFileSync('docs/SETTINGS.md', 'utf8').matchAll(/`([A-Z][A-Z_]+)`/g);
  const settings = new Set([...known].map(([, setting]) => setting));
  const nodes = [services.one!, services.two!];
  for (const { environment } of nodes) {
    for (const setting of Object.keys(environment)) assert.ok(settings.has(setting), setting);
    assert.equal(environment.MASTER_KEY_FILE, '/run/secrets/master_key');
    assert.match(
      environment.DATABASE_URL!,
      /@database:5432\/portcullis\?sslmode=verify-full&sslrootcert=\/run\/secrets\/ca$/,
    );
    assert.equal(environment.TRUSTED_PROXIES, networks.front!.ipam.config[0].subnet);
  }
  const inner = nodes.map((node) => node.networks.nodes!.ipv4_address);
  assert.deepEqual(
    nodes.map(({ environment }) => environment.INTERNAL_LISTEN),
    inner.map((address) => `${address}:7000`),
  );
  assert.equal(new Set(inner).size, 2);
  assert.equal(new Set(nodes.flatMap(({ volumes }) => volumes)).size, 2);
  assert.equal(services.caddy!.environment.UPSTREAM, 'one:8080 two:8080');
  // Whoever is asked from outside does not reach the database.
  assert.ok(Array.isArray(services.caddy!.networks));
  assert.ok(!(services.caddy!.networks as unknown as string[]).includes('nodes'));
  assert.deepEqual(services.database!.networks, ['nodes']);
  for (const secret of Object.values(services).flatMap((service) => service.secrets ?? []))
    assert.ok(compose.secrets[secret] !== undefined, secret);
});

test('the script makes what the compose file names, readable by their owners alone, once', (t) => {
  if (!hasTool(t, 'openssl')) return;
  const text = readFileSync('compose.cluster.yaml', 'utf8');
  const files = [...text.matchAll(/file: \.\/secrets\/(\S+)/g)].map(([, file]) => file!);
  assert.equal(files.length, 4);
  const read = () => files.map((file) => readFileSync(`${secrets}/${file}`, 'utf8'));
  const made = read();
  makeSecrets(secrets);
  assert.deepEqual(read(), made);
  for (const file of files.filter((file) => file.endsWith('.key')))
    assert.equal(statSync(`${secrets}/${file}`).mode & 0o777, 0o600, file);
  const checked = ['verify', '-CAfile', `${secrets}/ca.pem`, `${secrets}/database.pem`];
  assert.equal(spawnSync('openssl', checked).status, 0);
});

const urlOf = (authority: string, host = 'localhost') =>
  `postgres://postgres@${host}:${port}/${name}?sslmode=verify-full&sslrootcert=${authority}`;

function settingsOf(dataDir: string, url: string): Environment {
  return {
    DATA_DIR: dataDir,
    DATABASE_URL: url,
    SMTP_URL: 'smtp://127.0.0.1:9',
    MASTER_KEY_FILE: `${directory.path}/master.key`,
    CLIENT_LIMITS: 'off',
    LOG_LEVEL: 'info',
  };
}

test('nodes speak TLS with the database, and with no other that has its name', async (t) => {
  if (!hasTool(t, postgresProgram) || !hasTool(t, 'openssl') || !hasTool(t, 'caddy')) return;
  // The script gave its own to the container's user.
  const key = readFileSync(`${secrets}/master.key`);
  writeFileSync(`${directory.path}/master.key`, key, { mode: 0o600 });
  makeSecrets(`${directory.path}/foreign`, 'localhost');
  const refused = [
    urlOf(`${directory.path}/foreign/ca.pem`),
    // The certificate names no address.
    urlOf(`${secrets}/ca.pem`, '127.0.0.1'),
    urlOf(`${directory.path}/foreign/ca.pem`).replace('verify-full', 'require'),
  ];
  for (const url of refused) {
    const env = settingsOf(`${directory.path}/refused`, url);
    const done = await runCli(['cluster', 'status'], env);
    assert.equal(done.code, 1, done.stdout);
    assert.match(done.stderr, /certificate/);
  }
  const front = await freePort();
  const drainMs = readCompose().services.one!.environment.DRAIN_MS!;
  const upstreams = [await freePort(), await freePort()];
  const node = (i: number) => {
    const dataDir = `${directory.path}/${i}`;
    const baseUrl = `http://localhost:${front}`;
    const env = {
      ...settingsOf(dataDir, urlOf(`${secrets}/ca.pem`)),
      PORT: `${upstreams[i]}`,
      TRUSTED_PROXIES: '127.0.0.1',
      BASE_URL: baseUrl,
      SECURE_URL: baseUrl,
      DRAIN_MS: drainMs,
    };
    return startTestServer({ threads: 1, demo: false, dataDir, env });
  };
  await using one = await node(0);
  await using two = await node(1);
  const { rows } = await database!.ask(
    urlOf(`${secrets}/ca.pem`),
    `select count(*) filter (where ssl) as sealed, count(*) as connections
       from pg_stat_ssl join pg_stat_activity using (pid)
      where datname = '${name}' and pid <> pg_backend_pid()`,
  );
  assert.equal(rows[0].sealed, rows[0].connections);
  assert.ok(Number(rows[0].sealed) >= 4, `${rows[0].sealed} connections`);

  const args = ['run', '--config', 'data/packaging/Caddyfile', '--adapter', 'caddyfile'];
  caddy = startCommand('caddy', args, {
    PATH: process.env.PATH!,
    HOME: directory.path,
    DOMAIN: `http://localhost:${front}`,
    UPSTREAM: upstreams.map((upstream) => `127.0.0.1:${upstream}`).join(' '),
  });
  const ask = () => fetchFrom(front, '/healthz', { headers: { Host: `localhost:${front}` } });
  await within(async () => (await ask().catch(() => undefined))?.status === 200, 'Caddy');
  const statuses = new Map<number, number>();
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const { status } = await ask();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  })();
  const goOn = async () => {
    const before = statuses.get(200) ?? 0;
    await within(() => (statuses.get(200) ?? 0) > before + 50, 'answers of the other node');
  };
  try {
    // Each in turn, so one of them was the visitor's.
    assert.deepEqual(await one.stop(), { code: 0, signal: null });
    await goOn();
    await using _again = await node(0);
    assert.deepEqual(await two.stop(), { code: 0, signal: null });
    await goOn();
    // Before the node ends, at the end of this block.
    isOver = true;
    await asking;
  } finally {
    isOver = true;
  }
  assert.deepEqual([...statuses.keys()], [200]);
});
