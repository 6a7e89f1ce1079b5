/**
 * Debian's bouncers of CrowdSec at a running server, in a network of their own: what the kernel and the
 * custom bouncer's program hold are the addresses of the feed, also after a kill of the server.
 */

import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { after, before, it, type TestContext } from 'node:test';
import { openConnectScreen } from '../support/docs/connect-screen.ts';
import { stopChild } from '../support/house/spawn.ts';
import { hasNetworkNamespace, hasTool } from '../support/house/tools.ts';
import { bouncerConfig, elements, openNetwork, openWay } from '../support/integrations/network.ts';
import { demoEmail, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('bouncers-system');
const data = makeTempDir('bouncers-system-data');
const socket = `${directory.path}/server.sock`;
const hosts = ['45.10.0.7', '45.10.0.9', '45.10.0.11', '2a10:5::1', '2a10:5::2'];
let server: TestServer;
let gate: Server;

// The feed is asked again and again until it is as wanted.
const env = { CLIENT_LIMITS: 'off' };
const start = () => startTestServer({ threads: 1, demo: false, dataDir: data.path, env });

async function seed(name: string, rows: readonly string[]): Promise<void> {
  const file = `${directory.path}/${name}.txt`;
  writeFileSync(file, `${rows.join('\n')}\n`);
  await server.cliJson('seed', file, '--format', 'plain', '--confidence', '90', '--source', name);
}

before(async () => {
  chmodSync(directory.path, 0o755);
  server = await start();
  await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  await seed('first', hosts);
  await within(async () => (await feed()).length === hosts.length, 'the first list');
  gate = await openWay(socket, () => server.port);
});

after(async () => {
  gate?.close();
  await server?.[Symbol.asyncDispose]();
  directory.remove();
  data.remove();
});

async function feed(): Promise<string[]> {
  const { status, body } = await server.fetch('/feeds/blocklist.txt');
  assert.ok(status === 200 || status === 503, body);
  if (status !== 200) return [];
  return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

const sorted = (values: Iterable<string>) => [...values].sort();
let bouncers = 0;

async function makeKey(): Promise<string> {
  return (await server.cliJson('bouncer', 'add', demoEmail, `b${++bouncers}`)).text;
}

/** What follows of each bouncer: `held` is what it holds. */
async function follows(held: () => Promise<string[]>, row: string): Promise<void> {
  const same = async () => {
    const wanted = sorted(await feed());
    return wanted.length > 0 && String(sorted(await held())) === String(wanted);
  };
  await within(async () => (await feed()).length >= hosts.length && (await same()), 'the list');
  await seed(`row-${row}`, [row]);
  await within(async () => (await held()).includes(row), 'a row');
  await server.cliJson('allow', 'add', row);
  await within(async () => !(await held()).includes(row), 'a rule');
  await server.kill();
  server = await start();
  const later = row.replace(/\d+$/, '99');
  await seed(`later-${row}`, [later]);
  await within(async () => (await held()).includes(later), 'a row after the kill');
  await within(same, 'the list after the kill');
}

async function firewall(
  context: TestContext,
  mode: 'nftables' | 'ipset',
  prepare: readonly string[][],
  lists: readonly string[][],
  row: string,
): Promise<void> {
  for (const tool of ['crowdsec-firewall-bouncer', 'nsenter', 'curl', 'ip', mode.slice(0, 5)]) {
    if (!hasTool(context, tool.replace('nftab', 'nft'))) return;
  }
  if (!hasNetworkNamespace(context)) return;
  const network = await openNetwork(socket);
  for (const words of prepare) {
    const done = await network.run(...words);
    assert.equal(done.failed, false, done.text);
  }
  const config = `${directory.path}/${mode}.yaml`;
  const text = bouncerConfig('nftables', await makeKey()).replace(
    'mode: nftables',
    `mode: ${mode}`,
  );
  writeFileSync(config, text);
  const bouncer = network.spawn('crowdsec-firewall-bouncer', '-c', config);
  let said = '';
  bouncer.stdout.on('data', (chunk) => {
    said += chunk;
  });
  bouncer.stderr.on('data', (chunk) => {
    said += chunk;
  });
  try {
    const shown = () => Promise.all(lists.map((words) => network.run(...words)));
    await follows(async () => (await shown()).flatMap(({ stdout }) => elements(stdout)), row);
    assert.equal(bouncer.exitCode, null, said);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${said}`, { cause: error });
  } finally {
    await stopChild(bouncer);
    await network.close();
  }
}

it('the firewall bouncer keeps the sets of nftables as the feed is', async (context) => {
  const lists = ['crowdsec', 'crowdsec6'].map((table) => {
    const family = table === 'crowdsec' ? 'ip' : 'ip6';
    return ['nft', 'list', 'set', family, table, `${table}-blacklists`];
  });
  await firewall(context, 'nftables', [], lists, '45.20.0.1');
});

for (const family of ['4', '6'] as const) {
  it(`the firewall bouncer takes IPv${family} alone, as its screen of /connect sets it up`, async (context) => {
    if (!hasTool(context, 'crowdsec-firewall-bouncer') || !hasTool(context, 'nft')) return;
    if (!hasNetworkNamespace(context)) return;
    await within(async () => (await feed()).length >= hosts.length, 'the list');
    await using screen = await openConnectScreen(server, 'crowdsec-firewall', {
      query: `?family=${family}`,
    });
    const settings = screen.code('crowdsec-firewall-settings');
    const network = await openNetwork(socket);
    const config = `${directory.path}/family${family}.yaml`;
    const ways = /api_url: \S+/;
    const own = settings.replace(ways, 'api_url: http://127.0.0.1:8080/');
    writeFileSync(config, own.replace('pcl_…', await makeKey()));
    const test = await network.run('crowdsec-firewall-bouncer', '-t', '-c', config);
    assert.equal(test.failed, false, test.text);
    const bouncer = network.spawn('crowdsec-firewall-bouncer', '-c', config);
    const held = async (v: '4' | '6') => {
      const table = v === '4' ? ['ip', 'crowdsec'] : ['ip6', 'crowdsec6'];
      const words = ['nft', 'list', 'set', ...table, `${table[1]}-blacklists`];
      return elements((await network.run(...words)).stdout);
    };
    try {
      const wanted = async () =>
        sorted((await feed()).filter((one) => one.includes(':') === (family === '6')));
      const same = async () => String(sorted(await held(family))) === String(await wanted());
      await within(async () => (await wanted()).length > 0 && (await same()), 'its family');
      assert.deepEqual(await held(family === '4' ? '6' : '4'), []);
      assert.equal(bouncer.exitCode, null);
    } finally {
      await stopChild(bouncer);
      await network.close();
    }
  });
}

it('the firewall bouncer keeps the sets of ipset as the feed is', async (context) => {
  const sets = [
    ['crowdsec-blacklists', 'inet'],
    ['crowdsec6-blacklists', 'inet6'],
  ];
  const prepare = sets.map(([name, family]) => [
    ...['ipset', 'create', name!, 'hash:net', 'family', family!, 'timeout', '0'],
  ]);
  const lists = sets.map(([name]) => ['ipset', 'list', name!]);
  await firewall(context, 'ipset', prepare, lists, '45.21.0.1');
});

/** Returns what a custom bouncer's program was given and not told to drop since. */
function heldIn(lines: string): Set<string> {
  const values = new Set<string>();
  // The last one may not be whole yet.
  for (const line of readFileSync(lines, 'utf8').split('\n').slice(0, -1)) {
    const { action, value } = JSON.parse(line) as { action: string; value: string };
    if (action === 'add') values.add(value);
    else values.delete(value);
  }
  return values;
}

it('the custom bouncer with filters gets what the operator says alone, countries too', async (context) => {
  if (!hasTool(context, 'crowdsec-custom-bouncer') || !hasNetworkNamespace(context)) return;
  await server.cliJson('entry', 'add', '45.23.0.1');
  await server.cliJson('entry', 'add', 'JP');
  const network = await openNetwork(socket);
  const [config, program, lines] = ['yaml', 'sh', 'out'].map(
    (end) => `${directory.path}/hand.${end}`,
  );
  writeFileSync(program!, `#!/bin/sh\nexec cat >> ${lines}\n`, { mode: 0o755 });
  writeFileSync(lines!, '');
  const text = bouncerConfig('stdin', await makeKey());
  const filters = 'scopes: [ip, country]\norigins: [cscli]\n';
  writeFileSync(config!, `${text.replace('/usr/local/bin/on-decision', program!)}${filters}`);
  const bouncer = network.spawn('crowdsec-custom-bouncer', '-c', config!);
  try {
    await within(() => heldIn(lines!).size >= 2, 'both');
    assert.deepEqual(sorted(heldIn(lines!)), ['45.23.0.1', 'JP']);
  } finally {
    await stopChild(bouncer);
    await network.close();
    await server.cliJson('entry', 'remove', 'JP');
    await server.cliJson('entry', 'remove', '45.23.0.1');
  }
});

it('the custom bouncer hands its program what the feed is', async (context) => {
  if (!hasTool(context, 'crowdsec-custom-bouncer') || !hasNetworkNamespace(context)) return;
  const network = await openNetwork(socket);
  const config = `${directory.path}/custom.yaml`;
  const program = `${directory.path}/on-decision`;
  const lines = `${directory.path}/decisions`;
  writeFileSync(program, `#!/bin/sh\nexec cat >> ${lines}\n`, { mode: 0o755 });
  writeFileSync(lines, '');
  const text = bouncerConfig('stdin', await makeKey());
  writeFileSync(config, text.replace('/usr/local/bin/on-decision', program));
  const bouncer = network.spawn('crowdsec-custom-bouncer', '-c', config);
  try {
    await follows(async () => [...heldIn(lines)], '45.22.0.1');
  } finally {
    await stopChild(bouncer);
    await network.close();
  }
});
