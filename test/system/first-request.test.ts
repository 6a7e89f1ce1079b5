/**
 * "We saw your request" of each screen of /connect that uses no key: its own text, as the page shows it, in
 * the program that it is made for; what doesn't run here is asked as that program asks.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { after, before, it, type TestContext } from 'node:test';
import { openConnectScreen } from '../support/docs/connect-screen.ts';
import { spawn, stopChild } from '../support/house/spawn.ts';
import { hasNetworkNamespace, hasTool } from '../support/house/tools.ts';
import { asker, startApp } from '../support/integrations/site.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { openPeopleOf } from '../support/signon/person.ts';

const zone = 'bl.rep.example';
const directory = makeTempDir('first-request');
let server: TestServer;
let app: Server;
let appPort = 0;

before(async () => {
  const [port, dnsPort, spoePort] = [await freePort(), await freePort(), await freePort()];
  server = await startTestServer({
    threads: 3,
    env: {
      PORT: `${port}`,
      BASE_URL: `http://127.0.0.1:${port}`,
      CLIENT_LIMITS: 'off',
      TRUSTED_PROXIES: '127.0.0.1',
      DNS_ZONE: zone,
      DNS_LISTEN: `127.0.0.1:${dnsPort}`,
      SPOE_LISTEN: `127.0.0.1:${spoePort}`,
    },
  });
  ({ server: app, port: appPort } = await startApp());
  await within(async () => (await server.fetch('/feeds/blocklist.nft')).status === 200, 'a list');
});

after(async () => {
  app?.close();
  app?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
  directory.remove();
});

for (const [name, tools, ids] of [
  [
    'nftables',
    ['curl', 'nft'],
    ['refresh-script', 'feed-folder', 'nftables-rules', 'nftables-run'],
  ],
  [
    'ipset',
    ['curl', 'ipset', 'iptables'],
    ['refresh-script', 'feed-folder', 'ipset-load', 'ipset-run'],
  ],
] as const) {
  it(`${name} is seen when its commands run`, async (context) => {
    if (!tools.every((tool) => hasTool(context, tool)) || !hasNetworkNamespace(context)) return;
    await using screen = await openConnectScreen(server, name, { network: true });
    assert.equal(await screen.requests(), 0);
    for (const id of ids) screen.paste(id);
    await screen.isSeen();
  });
}

it('the list of HAProxy is seen when it is fetched', async (context) => {
  if (!hasTool(context, 'curl')) return;
  await using screen = await openConnectScreen(server, 'haproxy-list');
  for (const id of ['refresh-script', 'feed-folder', 'haproxy-fetch']) screen.paste(id);
  await screen.isSeen();
});

it('OPNsense and MikroTik are seen by the address that they fetch', async (context) => {
  if (!hasTool(context, 'curl')) return;
  for (const name of ['opnsense', 'mikrotik']) {
    await using screen = await openConnectScreen(server, name);
    const url = /https?:\/\/[^\s"]+/.exec(
      screen.code(`${name === 'opnsense' ? 'opnsense-url' : 'mikrotik-run'}`),
    )![0];
    screen.run(`curl -fsS -o /dev/null '${url}'`);
    await screen.isSeen();
  }
});

it('PHP, Node.js and Python are seen by what their last step asks', async (context) => {
  await using people = openPeopleOf(server);
  await people.register('ada@mail.example');
  const ada = await people.signIn('ada@mail.example');
  await ada.post('/account/keys/create');
  for (const [name, tool] of [
    ['php', 'php'],
    ['node', 'node'],
    ['python', 'python3'],
  ] as const) {
    if (!hasTool(context, tool)) return;
    const requests = async () =>
      (JSON.parse((await ada.get('/connect/seen')).body) as { requests: number }).requests;
    const before = await requests();
    await using screen = await openConnectScreen(server, name, { reader: ada });
    const path = /<figcaption><span>(portcullis\.\w+)</.exec(
      (await ada.get(`/connect/${name}`)).body,
    )![1]!;
    writeFileSync(`${directory.path}/${path}`, screen.code(`${name}-code`));
    const askOnce = (key: string) => {
      const words = `cd ${directory.path}\n${key}${screen.code(`${name}-run`)}`;
      return spawnSync('sh', ['-c', words], { encoding: 'utf8' });
    };
    const { stdout, stderr, status } = askOnce(screen.code('key'));
    assert.equal(status, 0, stderr);
    assert.match(stdout, /abuseConfidenceScore/);
    assert.equal(askOnce("export PORTCULLIS_KEY='wrong'\n").status, 1, name);
    await within(async () => (await requests()) > before, `${name} is seen`);
  }
});

/** A request of a visitor through the proxy. */
async function visit(port: number): Promise<void> {
  const ask = asker(port);
  await within(async () => {
    const answer = await ask('45.13.0.7', '/').catch(() => undefined);
    return answer?.status === 200;
  }, 'the visitor gets in');
}

async function proxied(
  context: TestContext,
  name: string,
  start: (code: string, port: number) => ChildProcess,
): Promise<void> {
  if (!hasTool(context, name)) return;
  await using screen = await openConnectScreen(server, name);
  const port = await freePort();
  const code = screen.code(`${name}-gate`).replaceAll('127.0.0.1:3000', `127.0.0.1:${appPort}`);
  const child = start(code, port);
  try {
    assert.equal(await screen.requests(), 0);
    await visit(port);
    // The proxy takes the address of the connection, not the one that the visitor claims.
    await screen.isSeenFromHere();
  } finally {
    await stopChild(child);
  }
}

it('nginx is seen with its first visitor', (context) =>
  proxied(context, 'nginx', (code, port) => {
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((each) => `${each}_temp_path ${directory.path}/${each};`)
      .join('\n');
    const site = code.replace('listen 80;', `listen 127.0.0.1:${port};`);
    const config = `${directory.path}/nginx.conf`;
    const head = `daemon off;\nmaster_process off;\npid ${directory.path}/nginx.pid;\nerror_log stderr;\n`;
    writeFileSync(config, `${head}events {}\nhttp {\naccess_log off;\n${folders}\n${site}}\n`);
    assert.equal(spawnSync('nginx', ['-t', '-p', directory.path, '-c', config]).status, 0);
    return spawn('nginx', ['-p', directory.path, '-c', config], { stdio: 'ignore' });
  }));

it('Caddy is seen with its first visitor', (context) =>
  proxied(context, 'caddy', (code, port) => {
    const config = `${directory.path}/Caddyfile`;
    const site = code.replace('http://site.example', `http://:${port}`);
    writeFileSync(config, `{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n${site}`);
    const env = { PATH: process.env.PATH, HOME: directory.path, XDG_DATA_HOME: directory.path };
    const words = ['--adapter', 'caddyfile', '--config', config];
    assert.equal(spawnSync('caddy', ['validate', ...words], { env }).status, 0);
    return spawn('caddy', ['run', ...words], { stdio: 'ignore', env });
  }));

it('Traefik and Envoy are seen by the question that they ask', async () => {
  for (const [name, pattern] of [
    ['traefik', /address: "(.*)"/],
    ['envoy', /path_prefix: "(.*)"/],
  ] as const) {
    await using screen = await openConnectScreen(server, name);
    const found = pattern.exec(screen.code(`${name}-gate`))![1]!;
    const path = found.startsWith('/') ? `${found}/page?q=1` : found.replace(/^http:\/\/[^/]+/, '');
    const headers = { 'X-Forwarded-For': '45.13.0.7', 'X-Forwarded-Uri': '/page' };
    assert.equal((await server.fetch(path, { headers })).status, 200);
    await screen.isSeen();
  }
});

it('HAProxy is seen with its first visitor', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  await using screen = await openConnectScreen(server, 'haproxy');
  const port = await freePort();
  const [spoe, config] = [`${directory.path}/spoe.conf`, `${directory.path}/haproxy.cfg`];
  writeFileSync(
    spoe,
    screen.code('haproxy-spoe').replace('timeout processing 500ms', 'timeout processing 10s'),
  );
  const site = screen
    .code('haproxy-site')
    .replace('bind :80', `bind 127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${appPort}`)
    .replace('/etc/haproxy/portcullis.conf', spoe);
  const times =
    'defaults\n    timeout connect 60s\n    timeout client 60s\n    timeout server 60s\n';
  writeFileSync(config, `${times}\n${site}`);
  assert.equal(spawnSync('haproxy', ['-c', '-f', config]).status, 0);
  const child = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' });
  try {
    await visit(port);
    // The proxy takes the address of the connection, not the one that the visitor claims.
    await screen.isSeenFromHere();
  } finally {
    await stopChild(child);
  }
});

it('mail servers are seen by the query of the last step, through unbound as its step sets it up', async (context) => {
  if (!hasTool(context, 'dig') || !hasTool(context, 'unbound')) return;
  const port = await freePort();
  const config = `${directory.path}/unbound.conf`;
  const own = [
    ...['interface: 127.0.0.1', `port: ${port}`, 'chroot: ""', 'username: ""', 'use-syslog: no'],
    ...[
      'pidfile: ""',
      `directory: "${directory.path}"`,
      'do-daemonize: no',
      'module-config: "iterator"',
    ],
  ];
  let child: ChildProcess | undefined;
  try {
    for (const name of ['postfix', 'rspamd', 'spamassassin']) {
      await using screen = await openConnectScreen(server, name);
      if (child === undefined) {
        const text = screen.code('unbound-zone');
        writeFileSync(config, text.replace('server:\n', `server:\n    ${own.join('\n    ')}\n`));
        child = spawn('unbound', ['-d', '-c', config], { stdio: 'ignore' });
      }
      // What the machine's own resolver would be asked, on a port that needs no root.
      const at = name === 'spamassassin' ? '' : ` @127.0.0.1 -p ${port}`;
      const command = screen.code(`${name}-ask`).trim() + at;
      // The resolver has only begun to start: `dig` fails until it listens.
      const isListed = () => {
        try {
          return screen.run(command).trim() === '127.0.0.2';
        } catch {
          return false;
        }
      };
      await within(isListed, `${name}: ${command}`);
      await screen.isSeen();
    }
  } finally {
    if (child !== undefined) await stopChild(child);
  }
});
