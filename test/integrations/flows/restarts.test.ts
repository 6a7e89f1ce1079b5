/**
 * Every integration of a server that is stopped, killed and started again while it is asked: an address that
 * is on no list is never listed, and one that is on a list is listed again afterwards.
 */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, it } from 'node:test';
import { decode, encode } from '../../support/integrations/dns.ts';
import { address, ask, hello, readFrames } from '../../support/integrations/spoe.ts';
import {
  demoEmail,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const listed = '45.10.0.7';
const stranger = '45.13.0.7';
const directory = makeTempDir('restarts');
const data = makeTempDir('restarts-data');
let running: Running;
let key = '';

interface Running {
  readonly server: TestServer;
  readonly dns: number;
  readonly spoe: number;
}

const env = {
  CLIENT_LIMITS: 'off',
  TRUSTED_PROXIES: '127.0.0.1',
  DNS_ZONE: 'bl.test',
  DNS_LISTEN: '127.0.0.1:0',
  DNS_ALLOW: '127.0.0.1',
  SPOE_LISTEN: '127.0.0.1:0',
};

async function start(): Promise<Running> {
  const server = await startTestServer({ threads: 2, demo: false, dataDir: data.path, env });
  const portOf = async (integration: string) => {
    const line = await server.child.errorLine((text) =>
      text.includes(`"msg":"${integration}: listening"`),
    );
    return Number((JSON.parse(line) as { listen: string[] }).listen[0]!.split(':')[1]);
  };
  return { server, dns: await portOf('dns'), spoe: await portOf('spoe') };
}

before(async () => {
  running = await start();
  const { server } = running;
  await server.cliJson('account', 'create', demoEmail, '--standing', 'staff');
  key = (await server.cliJson('bouncer', 'add', demoEmail, 'fw-1')).text;
  writeFileSync(`${directory.path}/list.txt`, `${listed}\n`);
  const seed = [`${directory.path}/list.txt`, '--format', 'plain', '--confidence', '90'];
  await server.cliJson('seed', ...seed, '--source', 'integrations');
});

after(async () => {
  await running?.server[Symbol.asyncDispose]();
  directory.remove();
  data.remove();
});

/** What an integration says of an address: true for listed. It throws when nobody answers. */
type Integration = (of: Running, ip: string) => Promise<boolean>;

const integrations: Readonly<Record<string, Integration>> = {
  async 'live look-up'({ server }, ip) {
    const { body } = await server.fetch(`/v1/decisions?ip=${ip}`, {
      headers: { 'X-Api-Key': key },
    });
    return body.includes('"type"');
  },
  async stream({ server }, ip) {
    const path = '/v1/decisions/stream?startup=true';
    const { body } = await server.fetch(path, { headers: { 'X-Api-Key': key } });
    return body.includes(`"${ip}"`);
  },
  async gate({ server }, ip) {
    const headers = { 'X-Forwarded-For': ip, 'X-Forwarded-Host': 'site.example' };
    return (await server.fetch('/gate/check', { headers })).status === 403;
  },
  async 'mail server'({ server }, ip) {
    const { body } = await server.fetch('/policy/dovecot?command=allow', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': key },
      body: JSON.stringify({ login: 'ada', protocol: 'imap', pwhash: '0a76', remote: ip }),
    });
    return (JSON.parse(body) as { status: number }).status !== 0;
  },
  async dns({ dns }, ip) {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    try {
      const answer = once(socket, 'message', { signal: AbortSignal.timeout(2_000) });
      const name = `${ip.split('.').reverse().join('.')}.bl.test`;
      socket.send(encode({ name, type: 'A' }), dns, '127.0.0.1');
      return decode((await answer)[0] as Buffer).answers.length > 0;
    } finally {
      socket.close();
    }
  },
  async haproxy({ spoe }, ip) {
    const parts: Buffer[] = [];
    const socket = connect(spoe, '127.0.0.1');
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      if (readFrames(Buffer.concat(parts)).length === 2) socket.destroy();
    });
    socket.on('error', () => {});
    socket.write(Buffer.concat([hello(), ask({ ip: address(ip) })]));
    await new Promise((resolve) => socket.once('close', resolve));
    const said = readFrames(Buffer.concat(parts))[1]?.values;
    if (said === undefined) throw new Error('nobody answered');
    return said.verdict !== 'allow';
  },
};
const names = Object.keys(integrations);

/** Each integration is asked about the stranger without a pause, until told. */
function keepAsking(of: Running) {
  let isOver = false;
  const answers = names.map(() => 0);
  const listing = new Set<string>();
  const askers = names.map(async (name, i) => {
    while (!isOver) {
      const isListed = await integrations[name]!(of, stranger).catch(() => undefined);
      if (isListed) listing.add(name);
      if (isListed === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
      else answers[i]!++;
    }
  });
  return {
    allAnswered: () =>
      within(() => answers.every((count) => count > 0), 'an answer of each integration'),
    /** @returns integrations that listed the stranger */
    async end() {
      isOver = true;
      await Promise.all(askers);
      return [...listing];
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await Promise.all(askers);
    },
  };
}

const listingDoors = async (of: Running, ip: string) => {
  const found = await Promise.all(
    names.map((name) => integrations[name]!(of, ip).catch((error: Error) => String(error))),
  );
  return names.filter((_, i) => found[i] === true);
};

for (const end of ['stop', 'kill'] as const) {
  it(`${end}: no integration lists a stranger, and each lists what is on the list again`, async () => {
    const former = running;
    await within(
      async () => (await listingDoors(former, listed)).length === names.length,
      'the list',
    );
    await using earlier = keepAsking(former);
    await earlier.allAnswered();
    await former.server[end]();
    assert.deepEqual(await earlier.end(), []);
    running = await start();
    await using later = keepAsking(running);
    await within(
      async () => (await listingDoors(running, listed)).length === names.length,
      'again',
    );
    await later.allAnswered();
    assert.deepEqual(await later.end(), []);
    assert.deepEqual(await listingDoors(running, stranger), []);
  });
}
