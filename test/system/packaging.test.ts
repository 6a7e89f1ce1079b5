/**
 * Portcullis as it is packaged: the npm package, the container's steps as an unprivileged user under a
 * read-only root, the systemd unit, and Caddy in front. Container engines are not asked: the steps of the
 * Dockerfile are carried out as they stand there.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { hasMountNamespace, hasTool } from '../support/house/tools.ts';
import { type LineChild, startCommand } from '../support/server/child.ts';
import { freePort } from '../support/server/free-port.ts';
import { fetchFrom, startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const require = createRequire(join(process.cwd(), 'test/system/package.json'));
const directory = makeTempDir('packaging');
const children: LineChild[] = [];
after(() => {
  for (const child of children) child.process.kill('SIGKILL');
  directory.remove();
});

/** As far as it is looked at. */
interface Compose {
  readonly services: Readonly<
    Record<
      'caddy' | 'portcullis',
      {
        readonly environment: Readonly<Record<string, string>>;
        readonly read_only?: boolean;
        readonly cap_drop?: readonly string[];
        readonly volumes: readonly string[];
      }
    >
  >;
  readonly networks: { readonly front: { readonly ipam: { readonly config: readonly Subnet[] } } };
}

interface Subnet {
  readonly subnet: string;
}

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const dockerfile = readFileSync('Dockerfile', 'utf8');
const base = { PATH: process.env.PATH!, HOME: process.env.HOME ?? directory.path };

function run(command: string, args: readonly string[], cwd = process.cwd()): string {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.stdout}${done.stderr}`);
  return done.stdout;
}

function start(command: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = startCommand(command, args, { ...base, ...env });
  children.push(child);
  return child;
}

async function portOf(child: LineChild): Promise<number> {
  const line = await child.errorLine((text) => text.includes('"msg":"listening"'));
  return (JSON.parse(line) as { port: number }).port;
}

/** What stands behind a word of the Dockerfile, with its continued lines. */
function instructions(name: string): string[] {
  return dockerfile
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.startsWith(`${name} `))
    .map((line) => line.slice(name.length + 1).trim());
}

/** The first stage of the container: a checkout without what .dockerignore names, packed and installed as it says. */
const build = `${directory.path}/build`;
before(() => {
  const ignored = new Set(readFileSync('.dockerignore', 'utf8').trim().split('\n'));
  for (const file of run('git', ['ls-files', '-co', '--exclude-standard']).trim().split('\n')) {
    if (ignored.has(file.split('/')[0]!) || !existsSync(file)) continue;
    mkdirSync(dirname(`${build}/${file}`), { recursive: true });
    cpSync(file, `${build}/${file}`);
  }
  const [install] = instructions('RUN');
  assert.match(install!, /npm pack .* npm install -g --prefix packed .*\.\/portcullis-\*\.tgz/);
  run('sh', ['-ec', install!], build);
});

test('npm pack, npm install -g, portcullis serve --demo', async () => {
  const prefix = `${build}/packed`;
  const folder = `${prefix}/lib/node_modules/portcullis`;
  const there = readdirSync(folder).filter((name) => name !== 'node_modules');
  const wanted = ['LICENSE', 'README.md', 'bin', 'data', 'dist', 'docs'];
  assert.deepEqual(there.sort(), [...wanted, 'package.json'].sort());
  assert.deepEqual(readdirSync(`${folder}/dist`).sort(), ['built', 'bundle', 'geo.snapshot']);

  const portcullis = `${prefix}/bin/portcullis`;
  assert.equal(run(portcullis, ['--version']).trim(), version);
  const env = { DATA_DIR: `${directory.path}/demo`, PORT: '0', LOG_LEVEL: 'debug' };
  const child = start(portcullis, ['serve', '--demo'], env);
  const port = await portOf(child);
  const line = await child.line((text) => text.startsWith('Demo API key: '));
  const headers = { Key: line.split(': ')[1]! };
  const check = await fetchFrom(port, '/api/v2/check?ipAddress=198.51.100.7', { headers });
  assert.match(check.body, /"malicious":true/);
  const home = await fetchFrom(port, '/');
  const style = /href="(\/static\/[^"]+\.css)"/.exec(home.body)![1]!;
  for (const path of ['/docs', '/kit.zip', '/openapi.json', '/captcha/', style]) {
    const answer = await fetchFrom(port, path);
    assert.notEqual(answer.status, 404, path);
    assert.ok(answer.status < 400, `${path}: ${answer.status}`);
  }
  child.process.kill('SIGTERM');
  assert.deepEqual(await child.ended, { code: 0, signal: null });
});

test('the container: its steps, an unprivileged user, a read-only root', async (t) => {
  if (!hasTool(t, 'unshare') || !hasTool(t, 'setpriv')) return;
  if (!hasMountNamespace(t)) return;
  const [, makeData] = instructions('RUN');
  // The second stage: what is copied, and nothing else.
  const image = `${directory.path}/image`;
  for (const copied of instructions('COPY').filter((text) => text.startsWith('--from=build'))) {
    const [, from, to] = copied.split(' ') as [string, string, string];
    const target = join(image, to);
    mkdirSync(dirname(target), { recursive: true });
    run('cp', ['-al', from.replace('/opt/portcullis', build), target]);
  }
  assert.match(makeData!, /-o node -g node -m 700 \/var\/lib\/portcullis/);
  const variables = Object.fromEntries(
    instructions('ENV').flatMap((text) => text.split(' ').map((pair) => pair.split('='))),
  ) as Record<string, string>;
  const [entry] = instructions('ENTRYPOINT');
  const [command] = instructions('CMD');
  const words = [...JSON.parse(entry!), ...JSON.parse(command!)] as string[];
  const data = `${directory.path}/data`;
  mkdirSync(data);
  const port = await freePort();
  // As compose.yaml has it: everything is read-only but the data and /tmp, and no privilege is left.
  const script = `
    mount --make-rprivate /
    mount -t tmpfs none "$DATA_DIR" && chown 65534:65534 "$DATA_DIR" && chmod 700 "$DATA_DIR"
    mount -o remount,bind,ro /
    cd "$0"
    if setpriv --reuid 65534 --regid 65534 --clear-groups touch "$0/mark" 2>/dev/null; then exit 9; fi
    exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;
  run('chmod', ['755', directory.path]);
  const child = start('unshare', ['--mount', 'sh', '-ec', script, image, ...words], {
    ...variables,
    DATA_DIR: data,
    PORT: String(port),
    BASE_URL: 'https://id.example.com',
    SECURE_URL: 'https://id.example.com',
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'portcullis@example.com',
    METRICS_TOKEN: 'a-token-of-the-test',
    TRUSTED_PROXIES: '172.30.75.0/24',
  });
  assert.equal(await portOf(child), port);
  const [health] = instructions('HEALTHCHECK');
  const asked = JSON.parse(health!.slice(health!.indexOf('['))) as string[];
  const ask = () =>
    spawnSync(
      asked[0]!,
      asked.slice(1).map((word) => word.replace(':8080', `:${port}`)),
    ).status;
  await within(() => ask() === 0, 'the health check');
  assert.equal((await fetchFrom(port, '/feeds')).status, 200);
  child.process.kill('SIGTERM');
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.equal(ask(), 1);
});

test('Dockerfile and compose.yaml are without faults', () => {
  const { validate } = require('dockerfile-utils') as {
    validate(text: string): readonly { message: string }[];
  };
  assert.deepEqual(
    validate(dockerfile).map(({ message }) => message),
    [],
  );
  const { parse } = require('yaml') as {
    parse(text: string, options: { strict: boolean }): Compose;
  };
  const compose = parse(readFileSync('compose.yaml', 'utf8'), { strict: true });
  const { portcullis, caddy } = compose.services;
  assert.equal(portcullis.read_only, true);
  assert.deepEqual(portcullis.cap_drop, ['ALL']);
  // A setting that is misspelt would be ignored.
  const known = readFileSync('docs/SETTINGS.md', 'utf8').matchAll(/`([A-Z][A-Z_]+)`/g);
  const names = new Set([...known].map(([, name]) => name));
  for (const name of Object.keys(portcullis.environment)) assert.ok(names.has(name), name);
  const [subnet] = compose.networks.front.ipam.config;
  assert.equal(portcullis.environment.TRUSTED_PROXIES, subnet?.subnet);
  assert.equal(caddy.environment.UPSTREAM, 'portcullis:8080');
  assert.ok(caddy.volumes.includes('./data/packaging/Caddyfile:/etc/caddy/Caddyfile:ro'));
});

test('unit and containers let the threads that answer go first', () => {
  // 20 less the niceness, as RLIMIT_NICE counts; a thread goes to -10.
  const rlimit = /^ {4,6}nice: 30$/m;
  for (const file of ['compose.yaml', 'compose.cluster.yaml']) {
    assert.match(readFileSync(file, 'utf8'), rlimit, file);
  }
  assert.match(readFileSync('data/packaging/portcullis.service', 'utf8'), /^LimitNICE=-10$/m);
});

test('systemd takes the unit', (t) => {
  if (!hasTool(t, 'systemd-analyze')) return;
  const unit = 'data/packaging/portcullis.service';
  const done = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  assert.deepEqual([done.status, done.stderr], [0, '']);
});

test('Caddy in front: clients keep their addresses, and a restart is not seen', async (t) => {
  if (!hasTool(t, 'caddy')) return;
  const data = makeTempDir('behind-caddy');
  const upstream = String(await freePort());
  const port = await freePort();
  const env = {
    PORT: upstream,
    TRUSTED_PROXIES: '127.0.0.1',
    BASE_URL: `http://localhost:${port}`,
    SECURE_URL: `http://localhost:${port}`,
  };
  // A machine that has much to do starts a server for longer than a visitor waits.
  const shown = readFileSync('data/packaging/Caddyfile', 'utf8');
  assert.match(shown, /lb_try_duration 10s/);
  const config = `${data.path}.caddy`;
  writeFileSync(config, shown.replace('lb_try_duration 10s', 'lb_try_duration 120s'));
  const caddy = start('caddy', ['run', '--config', config, '--adapter', 'caddyfile'], {
    HOME: directory.path,
    DOMAIN: `http://localhost:${port}`,
    UPSTREAM: `127.0.0.1:${upstream}`,
  });
  try {
    await using first = await startTestServer({ threads: 1, dataDir: data.path, env });
    const ask = () => fetchFrom(port, '/healthz', { headers: { Host: `localhost:${port}` } });
    await within(async () => (await ask().catch(() => undefined))?.status === 200, 'Caddy');
    let isOver = false;
    const statuses = new Map<number, number>();
    const asking = (async () => {
      while (!isOver) {
        const { status } = await ask();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    })();
    assert.deepEqual(await first.stop(), { code: 0, signal: null });
    await using second = await startTestServer({ threads: 1, dataDir: data.path, env });
    const before = statuses.get(200) ?? 0;
    await within(() => (statuses.get(200) ?? 0) > before + 20, 'answers of the second server');
    isOver = true;
    await asking;
    assert.deepEqual([...statuses.keys()], [200]);
    assert.equal(second.child.process.exitCode, null);
  } finally {
    caddy.process.kill('SIGTERM');
    await caddy.ended;
    data.remove();
  }
});
