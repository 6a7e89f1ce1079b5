/** The gate behind Debian's HAProxy, asked over SPOE, with the configuration that its page shows. */

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { after, before, it } from 'node:test';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { refusesHostileHeads, startCredulousApp } from '../support/integrations/hostile-heads.ts';
import {
  type Ask,
  asker,
  blocked,
  clean,
  judge,
  page,
  proxyLine,
  sample,
  seedVisitors,
  startApp,
  statusOf,
  suspect,
} from '../support/integrations/site.ts';
import { freePort } from '../support/server/free-port.ts';
import { metric, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('haproxy');
const env = { TRUSTED_PROXIES: '127.0.0.1' };
const start = (more: Readonly<Record<string, string>>) =>
  startTestServer({
    threads: 1,
    demo: false,
    dataDir: `${directory.path}/data`,
    env: { ...env, ...more },
  });
let server: TestServer;
let app: Server;
let spoePort = 0;
const running: ChildProcess[] = [];
let errors = '';
let ask: Ask;

before(async () => {
  // One that is listened on again after a kill: the kernel gives it to nobody meanwhile.
  spoePort = await freePort();
  server = await start({ SPOE_LISTEN: `127.0.0.1:${spoePort}` });
  await server.child.errorLine((text) => text.includes('"msg":"spoe: listening"'));
  await seedVisitors(server, directory.path);
  const site = await startApp();
  app = site.server;
  ({ ask } = await startHaproxy('site', site.port));
});

after(async () => {
  for (const one of running) {
    if (one.exitCode !== null || one.pid === undefined) continue;
    const ended = once(one, 'exit');
    one.kill('SIGTERM');
    await ended;
  }
  app?.close();
  app?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
  directory.remove();
});

/** Visitors come through another proxy, which says by its own protocol who they are. */
async function startHaproxy(
  name: string,
  behind: number,
  change = { spoe: (text: string) => text, global: '' },
): Promise<{ ask: Ask; port: number }> {
  const ports = { 8080: server.port, 3000: behind, 9002: spoePort };
  const port = await freePort();
  const spoe = `${directory.path}/${name}-portcullis.conf`;
  // A machine that has much to do must not let anybody in.
  const patient = sample('spoe', ports).replace(
    /timeout (processing|hello) \w+/g,
    'timeout $1 10s',
  );
  writeFileSync(spoe, change.spoe(patient));
  const site = sample('haproxy', ports)
    .replace('bind :80', `bind 127.0.0.1:${port} accept-proxy`)
    .replace('timeout connect 1s', 'timeout connect 60s')
    .replace('/etc/haproxy/portcullis.conf', spoe);
  const times = ['connect 60s', 'client 120s', 'server 120s', 'check 60s'].map(
    (one) => `    timeout ${one}\n`,
  );
  const config = `${directory.path}/${name}.cfg`;
  writeFileSync(config, `global\n${change.global}\ndefaults\n${times.join('')}\n${site}`);
  const haproxy = spawn('haproxy', ['-db', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  // Where it isn't installed each test says so.
  haproxy.on('error', () => {});
  haproxy.stderr!.on('data', (part: Buffer) => {
    errors += part;
  });
  running.push(haproxy);
  return { ask: asker(port, proxyLine), port };
}

const isBlocked = async () => (await statusOf(ask, blocked)) === 403;

it('HAProxy lets in, challenges and blocks, and takes a pass', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  await judge(ask);
  assert.doesNotMatch(errors, /WARNING|ALERT/);
  const counts = await metric(server, 'portcullis_spoe_requests_total');
  for (const outcome of ['allow', 'pass', 'challenge', 'block']) {
    assert.ok(counts.get(`outcome="${outcome}"`)! > 0, outcome);
  }
  assert.equal(counts.get('outcome="failed"'), 0);
  let ends = new Map<string, number>();
  await within(async () => {
    ends = await metric(server, 'portcullis_spoe_connections_ended_total');
    return ends.get('reason="health_check"')! > 0;
  }, 'a check of health');
  assert.equal(ends.get('reason="malformed"'), 0);
});

it('no cookie and no path of a visitor gets him past his verdict', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  const cookies = [
    'portcullis_pass=',
    'portcullis_pass=a=b',
    `portcullis_pass=${'x'.repeat(14_500)}`,
  ];
  for (const Cookie of cookies) {
    assert.equal((await ask(blocked, '/', { headers: { ...page, Cookie } })).status, 403);
    assert.equal((await ask(suspect, '/', { headers: { ...page, Cookie } })).status, 302);
  }
  const long = await ask(suspect, `/${'a'.repeat(3_000)}`, { headers: page });
  assert.deepEqual([long.status, long.headers.location], [302, '/.portcullis/challenge']);
  const guest = await ask(blocked, '/.portcullis/../secret', { headers: page });
  assert.doesNotMatch(guest.body, /^app/);
  const many = Array.from({ length: 200 }, (_, i) => ask([blocked, clean][i % 2]!, '/'));
  const statuses = (await Promise.all(many)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses.filter((_, i) => i % 2 === 0))], [403]);
  assert.deepEqual([...new Set(statuses.filter((_, i) => i % 2 === 1))], [200]);
});

it('no head of a blocked visitor gets him in, nor with larger buffers', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  await using credulous = await startCredulousApp();
  for (const [name, global] of [
    ['usual', ''],
    ['large', 'tune.bufsize 131072'],
  ] as const) {
    const asIs = (text: string) => text;
    const proxy = await startHaproxy(name, credulous.port, { spoe: asIs, global });
    await refusesHostileHeads({ ...proxy, credulous, opening: proxyLine });
  }
});

it('a question that Portcullis refuses lets nobody in', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  await using credulous = await startCredulousApp();
  const mistaken = (text: string) => text.replace('challenge=50', 'chalenge=50');
  const proxy = await startHaproxy('mistaken', credulous.port, { spoe: mistaken, global: '' });
  await within(async () => (await statusOf(proxy.ask, blocked)) === 503, 'the refusal');
  assert.equal(await statusOf(proxy.ask, clean), 503);
});

it('while Portcullis is away everybody gets in, and it counts again when it is back', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  assert.ok(await isBlocked());
  await server.kill();
  const all = [blocked, suspect, clean].map((one) => ask(one, '/a', { headers: page }));
  for (const { status, body } of await Promise.all(all)) {
    assert.deepEqual([status, body], [200, 'app GET /a ']);
  }
  server = await start({ SPOE_LISTEN: `127.0.0.1:${spoePort}` });
  await within(isBlocked, 'the verdict after the restart');
  assert.equal((await ask(clean, '/', { headers: page })).status, 200);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.equal((await ask(blocked, '/', { headers: page })).status, 200);
});
