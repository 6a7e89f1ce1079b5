/** Known good stops reports, not lists; check, page, feed, bouncers, gate and DNS list say the same. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { decode, encode } from '../../support/doors/dns.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'sensor@example.org';
const reportedGood = '45.20.0.7';
const listedGood = '45.20.0.9';
const reportedOther = '45.21.0.7';

async function isOnDnsList(server: TestServer, ip: string): Promise<boolean> {
  const line = await server.child.errorLine((text) => text.includes('"msg":"dns: listening"'));
  const [endpoint] = (JSON.parse(line) as { listen: string[] }).listen;
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  try {
    const answer = once(socket, 'message');
    const name = `${ip.split('.').reverse().join('.')}.bl.test`;
    socket.send(encode({ name, type: 'A' }), Number(endpoint!.split(':')[1]), '127.0.0.1');
    return decode((await answer)[0] as Buffer).rcode === 'NOERROR';
  } finally {
    socket.close();
  }
}

/** Who calls the address bad, by name. */
async function accusersOf(server: TestServer, keys: Record<'api' | 'bouncer', string>, ip: string) {
  const json = async (path: string, headers: Record<string, string>) => {
    const answer = await server.fetch(path, { headers });
    assert.equal(answer.status, 200, `${path}: ${answer.body}`);
    return JSON.parse(answer.body);
  };
  const { data: check } = await json(`/api/v2/check?ipAddress=${ip}`, { Key: keys.api });
  const { data: page } = await json(`/ip/${ip}`, { Accept: 'application/json' });
  assert.equal(page.isWhitelisted, check.isWhitelisted, ip);
  const decisions = await json(`/v1/decisions?ip=${ip}`, { 'X-Api-Key': keys.bouncer });
  const feed = await server.fetch('/feeds/blocklist.txt');
  const gate = await server.fetch('/gate/check', { headers: { 'X-Forwarded-For': ip } });
  const said = {
    check: check.malicious,
    page: page.malicious,
    bouncer: decisions !== null && decisions.length > 0,
    feed: feed.body.split('\n').includes(ip),
    gate: gate.headers['x-portcullis-verdict'] === 'block',
    dns: await isOnDnsList(server, ip),
  };
  return Object.entries(said).flatMap(([name, is]) => (is ? name : []));
}

const all = 'check page bouncer feed gate dns';

async function proveAgreement(server: TestServer, keys: Record<'api' | 'bouncer', string>) {
  let said: unknown;
  const wanted = { [reportedGood]: '', [listedGood]: all, [reportedOther]: all };
  await within(async () => {
    const found = Object.keys(wanted).map(
      async (ip) => [ip, (await accusersOf(server, keys, ip)).join(' ')] as const,
    );
    said = Object.fromEntries(await Promise.all(found));
    return JSON.stringify(said) === JSON.stringify(wanted);
  }, 'all say the same').catch(() => assert.deepEqual(said, wanted));
}

it('reports of a service have no effect anywhere, lists have everywhere, also after a restart', async () => {
  const data = makeTempDir('known-good-data');
  const file = (name: string, text: string) => {
    writeFileSync(`${data.path}/${name}`, text);
    return `${data.path}/${name}`;
  };
  const start = () =>
    startTestServer({
      ...{ threads: 2, demo: false, dataDir: data.path },
      env: {
        FEED_INTERVAL_SECONDS: '1',
        ...{ TRUSTED_PROXIES: '127.0.0.1', CLIENT_LIMITS: 'off', REPUTATION: 'private' },
        ...{ DNS_ZONE: 'bl.test', DNS_LISTEN: '127.0.0.1:0', DNS_ALLOW: '127.0.0.1' },
      },
    });
  try {
    const keys = { api: '', bouncer: '' };
    {
      await using server = await start();
      await server.cliJson('account', 'create', email);
      keys.api = (await server.cliJson('key', 'create', email)).text;
      keys.bouncer = (await server.cliJson('bouncer', 'add', email, 'fw')).text;
      const bundle = '{"result":{"ipv4_cidrs":["45.20.0.0/24"]}}';
      const good = ['--known-good', '--format', 'cloudflare', '--source', 'edge-ranges'];
      const loaded = await server.cliJson('seed', file('good.json', bundle), ...good);
      assert.deepEqual([loaded.rows, loaded.rented], [1, 0]);
      const bad = ['--format', 'plain', '--confidence', '90', '--source', 'bad'];
      await server.cliJson('seed', file('bad.txt', `${listedGood}\n`), ...bad);
      for (const ip of [reportedGood, reportedOther]) {
        const answer = await server.fetch('/api/v2/report', {
          method: 'POST',
          headers: { Key: keys.api, 'Content-Type': 'application/x-www-form-urlencoded' },
          body: `ip=${ip}&categories=18`,
        });
        assert.equal(answer.status, 200, answer.body);
      }
      await proveAgreement(server, keys);
      const page = await server.fetch(`/ip/${reportedGood}`);
      for (const words of ['Known good', 'Content network', 'edge-ranges', '45.20.0.0/24']) {
        assert.ok(page.body.includes(words), words);
      }
      const french = await server.fetch(`/ip/${reportedGood}`, {
        headers: { 'Accept-Language': 'fr' },
      });
      assert.ok(french.body.includes('Réseau de diffusion'));
      await server.stop();
    }
    await using server = await start();
    await proveAgreement(server, keys);
  } finally {
    data.remove();
  }
});

it('the two kinds of lists have formats of their own', async () => {
  const data = makeTempDir('known-good-cli');
  try {
    await using server = await startTestServer({ threads: 1, demo: false, dataDir: data.path });
    const cases = [
      [['--format', 'google'], /--format google is of another kind of list: add --known-good/],
      [['--format', 'ipsum', '--known-good'], /with --known-good it is plain, google, amazon/],
      [['--format', 'plain', '--service', 'crawler'], /--service belongs to --known-good/],
      [['--format', 'plain', '--known-good', '--confidence', '5'], /cannot be used with/],
    ] as const;
    for (const [flags, said] of cases) {
      const { code, stderr } = await server.cli('seed', '/nowhere', ...flags);
      assert.equal(code, 1);
      assert.match(stderr, said);
    }
  } finally {
    data.remove();
  }
});
