/** Who calls an address bad: check, page, feed, bouncers, gate and DNS list of one server. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseIp } from '../../../src/ip/address.ts';
import { type TestServer, within } from '../server/server.ts';
import { decode, encode } from './dns.ts';

/** With these, feeds are made quickly, and all integrations are open. */
export const accuserSettings = {
  FEED_INTERVAL_SECONDS: '1',
  TRUSTED_PROXIES: '127.0.0.1',
  CLIENT_LIMITS: 'off',
  REPUTATION: 'private',
  DNS_ZONE: 'bl.test',
  DNS_LISTEN: '127.0.0.1:0',
  DNS_ALLOW: '127.0.0.1',
} as const;

export interface AccuserKeys {
  readonly api: string;
  readonly bouncer: string;
}

export async function accuserKeys(server: TestServer, email: string): Promise<AccuserKeys> {
  return {
    api: (await server.cliJson('key', 'create', email)).text,
    bouncer: (await server.cliJson('bouncer', 'add', email, 'fw')).text,
  };
}

/** Octets, or nibbles. */
function reversed(ip: string): string {
  if (!ip.includes(':')) return ip.split('.').reverse().join('.');
  const words = new Uint32Array(4);
  assert.equal(parseIp(ip, words), 6, ip);
  const digits = Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
  return Array.from(digits).reverse().join('.');
}

async function isOnDnsList(server: TestServer, ip: string): Promise<boolean> {
  const line = await server.child.errorLine((text) => text.includes('"msg":"dns: listening"'));
  const [endpoint] = (JSON.parse(line) as { listen: string[] }).listen;
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  try {
    const answer = once(socket, 'message');
    const name = `${reversed(ip)}.bl.test`;
    socket.send(encode({ name, type: 'A' }), Number(endpoint!.split(':')[1]), '127.0.0.1');
    return decode((await answer)[0] as Buffer).rcode === 'NOERROR';
  } finally {
    socket.close();
  }
}

/** Who calls the address bad, by name. */
async function accusersOf(server: TestServer, keys: AccuserKeys, ip: string) {
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

export const allAccusers = 'check page bouncer feed gate dns';

/** @param wanted who calls each address bad */
export async function proveAgreement(
  server: TestServer,
  keys: AccuserKeys,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  let said: unknown;
  await within(async () => {
    const found = Object.keys(wanted).map(
      async (ip) => [ip, (await accusersOf(server, keys, ip)).join(' ')] as const,
    );
    said = Object.fromEntries(await Promise.all(found));
    return JSON.stringify(said) === JSON.stringify(wanted);
  }, 'all say the same').catch(() => assert.deepEqual(said, wanted));
}
