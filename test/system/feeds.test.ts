/**
 * Each feed in the tool it is made for, by the very texts that the page shows: what the tool holds
 * is compared with blocklist.txt, entry for entry or address for address.
 */

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, it } from 'node:test';
import { formatIp } from '../../src/ip/address.ts';
import { parsePrefix } from '../../src/ip/prefix.ts';
import { type Machine, openMachine } from '../support/docs/paste.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasNetworkNamespace, hasTool } from '../support/house/tools.ts';
import { rangeOf, united } from '../support/reputation/address-ranges.ts';
import { seededRandom } from '../support/seeded.ts';
import { freePort } from '../support/server/free-port.ts';
import {
  fetchUnhurried,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('feeds-system');
const unlisted = '198.51.100.250';
let server: TestServer;
let feedsUrl = '';
/** The sets before the long list came. */
let shortSets = '';
let listed: string[] = [];
let four: string[] = [];
let six: string[] = [];

async function lines(path = 'blocklist.txt'): Promise<string[]> {
  const { status, body } = await fetchUnhurried(server, `/feeds/${path}`);
  assert.equal(status, 200);
  return body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

async function readLists(): Promise<void> {
  listed = await lines();
  four = listed.filter((line) => !line.includes(':'));
  six = listed.filter((line) => line.includes(':'));
}

/** More than ipset's own bound, with neighbours and entries in one another. */
function longList(): string {
  const random = seededRandom(41);
  const below = (bound: number) => Math.floor(random.next() * bound);
  const found: string[] = [];
  for (let i = 0; i < 66_000; i++) {
    found.push(`${20 + below(16)}.${below(256)}.${below(256)}.${below(256)}`);
  }
  for (let i = 0; i < 300; i++) found.push(`${20 + below(16)}.${below(256)}.${below(256)}.0/24`);
  for (let i = 0; i < 2_000; i++) {
    const words = Uint32Array.of(0x2a00_0000 + below(4_096), below(2 ** 32), 0, below(8));
    found.push(formatIp(6, words));
  }
  return `${found.join('\n')}\n45.10.0.0/15\n45.12.0.0/15\n2a10:5::/32\n2a10:5:0:1::/64\n`;
}

before(async () => {
  server = await startTestServer({
    threads: 1,
    env: { CLIENT_LIMITS: 'off', FEED_INTERVAL_SECONDS: '1' },
  });
  feedsUrl = `${server.baseUrl}/feeds`;
  await within(async () => (await lines()).length > 0, 'the first list');
  shortSets = (await server.fetch('/feeds/blocklist.ipset')).body;
  writeFileSync(`${directory.path}/list.txt`, longList());
  const seed = [`${directory.path}/list.txt`, '--format', 'plain', '--confidence', '90'];
  await server.cliJson('seed', ...seed, '--source', 'long');
  await within(async () => (await lines()).length > 66_000, 'the long list in the feed');
  await readLists();
});

after(async () => {
  await server?.stop();
  directory.remove();
});

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

it('curl with --time-cond and --compressed fetches a list once', async (context) => {
  if (!hasTool(context, 'curl')) return;
  await using machine = await openMachine(feedsUrl);
  const path = machine.at('/var/lib/portcullis/blocklist.txt');
  const present = readFileSync(path, 'utf8').split('\n');
  assert.deepEqual(
    present.filter((line) => line !== '' && !line.startsWith('#')),
    listed,
  );
  const before = statSync(path);
  const { headers } = await server.fetch('/feeds/blocklist.txt');
  assert.equal(before.mtimeMs, Date.parse(headers['last-modified']!));
  const again = `curl -sS --compressed --time-cond ${path} -o ${path}.x -w '%{http_code} %{size_download}' ${feedsUrl}/blocklist.txt`;
  assert.equal(machine.run(again), '304 0');
  const zipped = `curl -sS --compressed -o ${path}.x -w '%{http_code} %{size_download}' ${feedsUrl}/blocklist.txt`;
  const [status, bytes] = machine.run(zipped).split(' ');
  assert.equal(status, '200');
  assert.ok(Number(bytes) < before.size / 2, `${bytes} of ${before.size}`);
  machine.cron('txt');
  assert.equal(statSync(path).ino, before.ino, 'left alone');
});

it('the script tells a tool of a new list, after a start, and again if it failed', async (context) => {
  if (!hasTool(context, 'curl')) return;
  await using machine = await openMachine(feedsUrl);
  const log = machine.at('/told');
  const feed = `${machine.at('/usr/local/sbin')}/portcullis-feed blocklist.haproxy`;
  const told = () => readFileSync(log, 'utf8').length;
  writeFileSync(log, '');
  machine.replace('tool', `printf x >> ${log}; exit 1`);
  assert.throws(() => machine.run(`${feed} tool`));
  machine.replace('tool', `printf x >> ${log}`);
  machine.run(`${feed} tool`);
  assert.equal(told(), 2);
  machine.run(`${feed} tool`);
  assert.equal(told(), 2, 'nothing new');
  machine.run(`rm ${machine.at('/run')}/portcullis-*; ${feed} tool`);
  assert.equal(told(), 3, 'the machine was started anew');
  // A download that broke off is not taken for a new list.
  const place = machine.at('/var/lib/portcullis/blocklist.haproxy');
  const whole = readFileSync(place, 'utf8');
  machine.run(`echo half > ${place}.new; ${feed} tool`);
  assert.equal(readFileSync(place, 'utf8'), whole);
});

it('ipset holds the list, iptables drops by it, and a change is swapped in', async (context) => {
  if (!hasTool(context, 'ipset') || !hasTool(context, 'iptables')) return;
  if (!hasNetworkNamespace(context)) return;
  await using machine = await openMachine(feedsUrl, { network: true });
  const set = (family: 4 | 6) =>
    [...machine.run(`ipset save portcullis${family}`).matchAll(/^add portcullis[46] (\S+)$/gm)]
      .map((match) => match[1]!)
      .sort();
  // The list was short when the machine began with it.
  const short = `${directory.path}/short.ipset`;
  writeFileSync(short, shortSets);
  machine.run(`ipset restore -f ${short}`);
  assert.ok(set(4).length > 0 && set(4).length < 1_000);
  machine.paste('ipset-load');
  machine.paste('ipset-run');
  assert.deepEqual(set(4), [...four].sort());
  assert.deepEqual(set(6), [...six].sort());
  const gone = four.find((line) => !line.includes('/') && line.startsWith('2'))!;
  await server.cliJson('allow', 'add', gone);
  try {
    await within(async () => !(await lines()).includes(gone), 'the removal');
    machine.cron('ipset');
    await readLists();
    assert.deepEqual(set(4), [...four].sort());
  } finally {
    await server.cliJson('allow', 'remove', gone);
    await within(async () => (await lines()).includes(gone), 'the return');
    await readLists();
  }
  const rules = machine.run('iptables -S INPUT; ip6tables -S INPUT').split('\n');
  assert.deepEqual(
    rules.filter((line) => line.startsWith('-A')),
    [4, 6].map((v) => `-A INPUT -m set --match-set portcullis${v} src -j DROP`),
  );
  assert.equal(machine.run('ipset list -n').trim(), 'portcullis4\nportcullis6');
});

it('nft checks the feed, holds the same addresses, and drops by them', async (context) => {
  if (!hasTool(context, 'nft') || !hasNetworkNamespace(context)) return;
  await using machine = await openMachine(feedsUrl, { network: true });
  machine.paste('nftables-rules');
  machine.paste('nftables-run');
  const path = machine.at('/var/lib/portcullis/blocklist.nft');
  machine.run(`nft -c -f ${path}`);
  const written = readFileSync(path, 'utf8').match(/^[0-9a-f.:/]+,$/gm)!;
  assert.equal(written.length, listed.length);
  for (let round = 0; round < 2; round++) {
    for (const [family, wanted] of [
      [4, four],
      [6, six],
    ] as const) {
      const json = machine.run(`nft -j list set inet portcullis blocklist${family}`);
      assert.deepEqual(united(nftRanges(json)), united(wanted.map(rangeOf)));
    }
    // The same again: once in place, a load changes nothing.
    machine.run(`rm ${machine.at('/run')}/portcullis-*`);
    machine.cron('nft');
  }
  const rules = machine.run('nft list chain inet portcullis input').match(/@blocklist[46] drop/g);
  assert.deepEqual(rules, ['@blocklist4 drop', '@blocklist6 drop']);
});

type NftElement = string | { prefix: { addr: string; len: number } } | { range: [string, string] };

function nftRanges(json: string): (readonly [bigint, bigint])[] {
  const { nftables } = JSON.parse(json) as { nftables: { set?: { elem: NftElement[] } }[] };
  const elements = nftables.find((one) => one.set !== undefined)!.set!.elem;
  return elements.map((one) => {
    if (typeof one === 'string') return rangeOf(one);
    if ('prefix' in one) return rangeOf(`${one.prefix.addr}/${one.prefix.len}`);
    return [rangeOf(one.range[0])[0], rangeOf(one.range[1])[1]];
  });
}

it('HAProxy takes the list and denies who is on it', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  await using machine = await openMachine(feedsUrl);
  const port = await freePort();
  const socket = machine.at('/haproxy.sock');
  machine.replace('systemctl', `echo "$@" > ${machine.at('/reloaded')}`);
  machine.paste('haproxy-fetch');
  const rules = machine.paste('haproxy-rules');
  const config = machine.at('/etc/haproxy/haproxy.cfg');
  writeFileSync(
    config,
    `global\n  stats socket ${socket} level admin\ndefaults\n  mode http\n  timeout client 5s\n  timeout server 5s\n  timeout connect 5s\nfrontend web\n  bind 127.0.0.1:${port} accept-proxy\n${rules}  http-request return status 200\n`,
  );
  machine.paste('haproxy-run');
  assert.equal(readFileSync(machine.at('/reloaded'), 'utf8'), 'reload haproxy\n');
  const child = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' });
  try {
    const started = () => says(socket, 'show info\n').catch(() => '');
    await within(async () => (await started()).length > 0, 'the start');
    const held = [...(await says(socket, 'show acl #0\n')).matchAll(/^0x\S+ (\S+)$/gm)];
    const ranges = (texts: readonly string[]) => texts.map((text) => String(rangeOf(text))).sort();
    assert.equal(held.length, listed.length);
    assert.deepEqual(ranges(held.map((match) => match[1]!)), ranges(listed));
    const status = async (ip: string) => {
      const family = ip.includes(':') ? 'TCP6' : 'TCP4';
      const target = ip.includes(':') ? '::1' : '127.0.0.1';
      const head = `PROXY ${family} ${ip} ${target} 999 ${port}\r\n`;
      return (await says(port, `${head}GET / HTTP/1.0\r\n\r\n`)).slice(9, 12);
    };
    assert.equal(await status(four[0]!.split('/')[0]!), '403');
    assert.equal(await status('45.11.255.255'), '403', 'inside a network');
    assert.equal(await status(six[0]!.split('/')[0]!), '403');
    assert.equal(await status(unlisted), '200');
  } finally {
    await stop(child);
  }
});

/** What comes back until the other side closes. */
function says(target: string | number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = typeof target === 'string' ? connect(target) : connect(target, '127.0.0.1');
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks).toString()));
    socket.write(text);
  });
}

it('nginx takes the list in place while it runs, and denies who is on it', async (context) => {
  if (!hasTool(context, 'nginx')) return;
  await using machine = await openMachine(feedsUrl);
  const port = await freePort();
  const root = machine.at('/www');
  mkdirSync(root);
  writeFileSync(`${root}/index.html`, 'in');
  const config = machine.at('/etc/nginx/nginx.conf');
  writeFileSync(
    config,
    `user root;\ndaemon off;\npid ${root}/pid;\nerror_log ${root}/error.log;\nevents {}\nhttp {\n  access_log off;\n  include ${machine.at('/etc/nginx/conf.d')}/*.conf;\n  server {\n    listen 127.0.0.1:${port};\n    set_real_ip_from 127.0.0.1;\n    real_ip_header X-Real-IP;\n    root ${root};\n  }\n}\n`,
  );
  machine.replace('nginx', `exec /usr/sbin/nginx -c ${config} "$@"`);
  const status = async (ip: string) => {
    const request = `GET / HTTP/1.0\r\nX-Real-IP: ${ip}\r\n\r\n`;
    return (await says(port, request).catch(() => '')).slice(9, 12);
  };
  const bad = [four[0]!, '45.11.255.255', six[0]!].map((text) => text.split('/')[0]!);
  /** The last process with the old configuration answers for a moment more. */
  async function proveRefused(code: string): Promise<void> {
    for (const ip of bad)
      await within(async () => (await status(ip)) === code, `${code} for ${ip}`);
    assert.equal(await status(unlisted), '200');
  }
  const child = spawn('/usr/sbin/nginx', ['-c', config], { stdio: 'ignore' });
  try {
    await within(async () => (await status(bad[0]!)) === '200', 'the start');
    machine.paste('nginx-run');
    await proveRefused('403');
    const written = readFileSync(machine.at('/var/lib/portcullis/blocklist.nginx'), 'utf8');
    const denied = [...written.matchAll(/^deny (\S+);$/gm)].map((match) => match[1]);
    assert.deepEqual(denied, listed);
    // The geo block sets a variable, which is looked at before any deny.
    const rule = 'if ($portcullis) { return 418; }\n    root ';
    writeFileSync(config, readFileSync(config, 'utf8').replace('root /', `${rule}/`));
    machine.paste('nginx-geo');
    machine.paste('nginx-geo-run');
    await proveRefused('418');
  } finally {
    await stop(child);
  }
});

it('iprange counts the same addresses and finds the same fewest prefixes', async (context) => {
  if (!hasTool(context, 'iprange')) return;
  await using machine = await openMachine(feedsUrl);
  const path = machine.at('/four.txt');
  machine.run(`curl -fsS -o ${path} '${feedsUrl}/blocklist.txt?ipVersion=4'`);
  const [, unique] = machine.run(`iprange -C ${path}`).trim().split(',');
  const wanted = united(four.map(rangeOf)).reduce((sum, [a, b]) => sum + (b - a + 1n), 0n);
  assert.equal(BigInt(unique!), wanted);
  const fewest = machine.run(`iprange ${path}`).trim().split('\n');
  assert.deepEqual(fewest, await lines('blocklist.txt?ipVersion=4&aggregate=1'));
});

it('rbldnsd answers for who is on the list', async (context) => {
  if (!hasTool(context, 'rbldnsd')) return;
  await using machine = await openMachine(feedsUrl);
  machine.paste('rbldnsd-run');
  machine.paste('rbldnsd-options');
  const port = await freePort();
  const options = /^RBLDNSD="portcullis (.*)"\n$/
    .exec(readFileSync(machine.at('/etc/default/rbldnsd'), 'utf8'))![1]!
    .replace('/5300', `/${port}`);
  const child = spawn('/usr/sbin/rbldnsd', ['-n', ...options.split(' ')]);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  try {
    const resolver = new Resolver({ timeout: 5_000, tries: 4 });
    resolver.setServers([`127.0.0.1:${port}`]);
    const ask = (name: string) =>
      resolver.resolve4(`${name}.bl.example.net`).then(
        (found) => found.join(),
        (error: NodeJS.ErrnoException) => error.code,
      );
    const host = four.find((line) => !line.includes('/'))!;
    await within(async () => (await ask(reversed(host))) === '127.0.0.2', 'an answer');
    assert.equal(await ask(reversed('45.11.255.255')), '127.0.0.2', 'inside a network');
    assert.equal(await ask(reversed(six.find((line) => !line.includes('/'))!)), '127.0.0.2');
    assert.equal(await ask(reversed(unlisted)), 'ENOTFOUND');
    assert.equal(await ask('2.0.0.127'), '127.0.0.2', 'the test point of RFC 5782');
    assert.equal(await ask('1.0.0.127'), 'ENOTFOUND');
    const mapped = [...'7f000002'].reverse().join('.');
    assert.equal(await ask(`${mapped}.f.f.f.f${'.0'.repeat(20)}`), '127.0.0.2');
    const text = await resolver.resolveTxt(`${reversed(host)}.bl.example.net`);
    assert.match(text[0]!.join(''), new RegExp(`/ip/${host.replaceAll('.', '\\.')}$`));
    const held = [...said.matchAll(/ip[46]trie:blocklist\.(zone6?): .*\bents=(\d+)/g)];
    assert.deepEqual(
      held.map(([, zone, count]) => `${zone} ${count}`),
      [`zone ${four.length + 1}`, `zone6 ${six.length + 1}`],
    );
  } finally {
    await stop(child);
  }
  const zone = await lines('blocklist.zone');
  const zone6 = await lines('blocklist.zone6');
  assert.deepEqual(zone.slice(2), ['127.0.0.2', ...four]);
  assert.deepEqual(zone6.slice(2), ['::ffff:7f00:2', ...six]);
});

function reversed(address: string): string {
  const prefix = parsePrefix(address);
  assert.ok(prefix.ok);
  const { family, words } = prefix.value;
  if (family === 4) return address.split('.').reverse().join('.');
  const digits = [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
  return [...digits].reverse().join('.');
}

it("FireHOL's definition has the fields that update-ipsets asks for", async (context) => {
  if (!hasTool(context, 'bash')) return;
  await using machine: Machine = await openMachine(feedsUrl);
  machine.paste('firehol-list');
  const conf = machine.at('/etc/firehol/ipsets.d/portcullis.conf');
  const fields = machine
    .run(`bash -c 'update() { printf "%s\\n" "$@"; }; . ${conf}'`)
    .trimEnd()
    .split('\n');
  assert.equal(fields.length, 11);
  assert.deepEqual(fields.slice(0, 5), ['portcullis', '10', '0', 'ipv4', 'both']);
  const given = machine.run(`curl -fsS --compressed '${fields[5]}'`).split('\n');
  assert.deepEqual(
    given.filter((line) => line !== '' && !line.startsWith('#')),
    four,
  );
});
