/** The DNS block list of a whole server: over UDP and TCP, beside checks, with strangers. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { decode, encode } from '../../support/integrations/dns.ts';
import { forFile } from '../../support/server/for-file.ts';
import { metric, runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const saboteur = new URL('../../support/server/break-thread.js', import.meta.url).href;
const directory = forFile(makeTempDir('dns'));

const server = forFile(
  await startTestServer({
    threads: 1,
    demo: false,
    withKey: true,
    nodeArguments: ['--import', saboteur],
    env: { DNS_ZONE: 'bl.test', DNS_LISTEN: '127.0.0.1:0', DNS_ALLOW: '127.0.0.1' },
  }),
);
const line = await server.child.errorLine((text) => text.includes('"msg":"dns: listening"'));
const [endpoint] = (JSON.parse(line) as { listen: string[] }).listen;
const port = Number(endpoint!.split(':')[1]);
writeFileSync(`${directory.path}/list.txt`, '45.10.0.7\n2a10:5::/32\n2400:5::7\n9.9.9.8\n');
const seed = [`${directory.path}/list.txt`, '--format', 'plain', '--confidence', '90'];
await server.cliJson('seed', ...seed, '--source', 'integrations');

/** One datagram; its answer. */
async function ask(bytes: Uint8Array, from = '127.0.0.1'): Promise<Buffer> {
  const socket = createSocket('udp4').bind(0, from);
  await once(socket, 'listening');
  try {
    const answer = once(socket, 'message');
    socket.send(bytes, port, '127.0.0.1');
    return (await answer)[0] as Buffer;
  } finally {
    socket.close();
  }
}

const query = (name: string, type = 'A') => encode({ name: `${name}.bl.test`, type });
const said = (bytes: Uint8Array) => {
  const { rcode, answers } = decode(bytes);
  return [rcode, ...answers.map(({ data }) => String(data))].join(' ');
};

it('a row of a list is listed, as the check says, and gone when the list is', async () => {
  await within(async () => said(await ask(query('7.0.10.45'))) === 'NOERROR 127.0.0.3', 'the row');
  assert.equal((await server.check('45.10.0.7')).malicious, true);
  assert.equal(said(await ask(query('7.0.10.45.score'))), 'NOERROR 127.0.1.90');
  assert.equal(said(await ask(query('2a100005000000000000000000000001.hex'))), 'NOERROR 127.0.0.3');
  assert.equal(said(await ask(query('8.0.10.45'))), 'NXDOMAIN');
  const text = decode(await ask(query('7.0.10.45', 'TXT'))).answers[0]!.data as Buffer[];
  assert.equal(String(text[0]), `score 90 of 100, http://localhost:0/ip/45.10.0.7`);
  await server.cliJson('allow', 'add', '45.10.0.7');
  await within(async () => said(await ask(query('7.0.10.45'))) === 'NXDOMAIN', 'the rule');
});

it('who is not allowed is refused, and rubbish does no harm', async () => {
  assert.equal(said(await ask(query('2.0.0.127'), '127.0.0.2')), 'REFUSED');
  const rubbish = createSocket('udp4');
  // Each answer shows that what came before is read: more at once than a socket holds would be lost.
  for (let burst = 0; burst < 10; burst++) {
    for (let i = 0; i < 50; i++) rubbish.send(Buffer.alloc(i + burst, i), port, '127.0.0.1');
    assert.equal(said(await ask(query('2.0.0.127'))), 'NOERROR 127.0.0.2');
  }
  rubbish.close();
  const counts = await metric(server, 'portcullis_dns_queries_total');
  assert.equal(counts.get('outcome="refused_client"'), 1);
  assert.ok(counts.get('outcome="listed"')! > 3);
});

it('a label lets a stranger in as soon as it is made, until its key is removed', async () => {
  const account = await server.cliJson('account', 'create', 'mx@example.org');
  const made = await server.cliJson('bouncer', 'add', account.email, 'mx-1', '--dns');
  const asked = query(`2.0.0.127.${made.label}`);
  assert.equal(said(await ask(asked, '127.0.0.2')), 'NOERROR 127.0.0.2');
  const list = await server.cliJson('bouncer', 'list', account.email);
  assert.deepEqual([list.length, list[0].name, list[0].dnsLabel], [1, 'mx-1', true]);
  assert.doesNotMatch(JSON.stringify(list), new RegExp(`${made.label}|${made.text}`));
  await server.cliJson('bouncer', 'remove', account.email, 'mx-1');
  assert.equal(said(await ask(asked, '127.0.0.2')), 'REFUSED');
});

/** Messages with their lengths before them. */
const framed = (...messages: Uint8Array[]) =>
  Buffer.concat(messages.flatMap((one) => [Buffer.of(one.length >> 8, one.length & 255), one]));

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Also by a reset. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

it('TCP takes many queries on one connection, however they are cut', async () => {
  const socket = await open();
  const all: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => all.push(chunk));
  const names = ['2.0.0.127', '1.0.0.127', '2.0.0.127.anon'];
  for (const byte of framed(...names.map((name) => query(name)))) {
    socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  const messages = () => {
    const bytes = Buffer.concat(all);
    const found: string[] = [];
    for (let at = 0; at + 2 <= bytes.length; ) {
      const length = bytes.readUInt16BE(at);
      if (at + 2 + length > bytes.length) break;
      found.push(said(bytes.subarray(at + 2, at + 2 + length)));
      at += 2 + length;
    }
    return found;
  };
  await within(() => messages().length === 3, 'three answers');
  assert.deepEqual(messages(), ['NOERROR 127.0.0.2', 'NXDOMAIN', 'NOERROR 127.0.0.8']);
  socket.write(Buffer.of(0xff, 0xff, 1, 2));
  await closed(socket);
});

it('a client has 20 connections, and a place is free again when one ends', async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, open));
  // The kernel takes it; the server gives it back.
  await closed(await open());
  sockets[0]!.destroy();
  await within(async () => {
    const socket = await open();
    let isAnswered = false;
    socket.once('data', () => {
      isAnswered = true;
      socket.destroy();
    });
    socket.write(framed(query('2.0.0.127')));
    await closed(socket);
    return isAnswered;
  }, 'a free place');
  for (const socket of sockets) socket.destroy();
});

it('a thread that fails is replaced, on the same port', async () => {
  process.kill(server.pid, 'SIGUSR2');
  await server.child.errorLine((text) => text.includes('"msg":"dns: thread replaced"'));
  assert.equal(said(await ask(query('2.0.0.127'))), 'NOERROR 127.0.0.2');
});

it('an address that is taken stops the start with one line', async () => {
  const other = makeTempDir('dns-second');
  const listen = { DNS_ZONE: 'bl.test', DNS_LISTEN: `127.0.0.1:${port}` };
  const { code, stderr } = await runCli(['serve'], { DATA_DIR: other.path, PORT: '0', ...listen });
  other.remove();
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`DNS_LISTEN 127.0.0.1:${port}: .*EADDRINUSE`));
  assert.doesNotMatch(stderr, /\n\s+at /);
});

it('an address of four digits that is not listed is NXDOMAIN, unless something stands below its name', async () => {
  await within(async () => said(await ask(query('8.9.9.9'))) === 'NOERROR 127.0.0.3', 'the row');
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const codes = new Map<number, string>();
  socket.on('message', (bytes: Buffer) => codes.set(bytes.readUInt16BE(0), said(bytes)));
  const nameOf = (id: number) => [...String(id).padStart(4, '0')].reverse().join('.');
  try {
    // Few at a time: more than a socket holds would be lost.
    for (let at = 0; at < 10_000; at += 100) {
      for (let id = at; id < at + 100; id++) {
        const bytes = encode({ id, name: `${nameOf(id)}.bl.test`, type: 'A' });
        socket.send(bytes, port, '127.0.0.1');
      }
      await within(() => codes.size === at + 100, 'the answers');
    }
  } finally {
    socket.close();
  }
  const others = [...codes].filter(([, code]) => code !== 'NXDOMAIN');
  assert.deepEqual(Object.fromEntries(others.map(([id, code]) => [nameOf(id), code])), {
    '0.0.0.0': 'NOERROR',
    '4.6.0.0': 'NOERROR',
    '1.0.0.2': 'NOERROR',
    '2.0.0.2': 'NOERROR',
    '0.0.4.2': 'NOERROR',
    '8.9.9.9': 'NOERROR 127.0.0.3',
  });
});

it("a mail server's look at the zone finds the test points, and no error for who is not listed", async () => {
  const resolver = new Resolver({ timeout: 30_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const code = (asked: Promise<unknown>) =>
    asked.then(
      () => 'found',
      (error: NodeJS.ErrnoException) => error.code,
    );
  const nibbles = (digits: string) => [...digits].reverse().join('.');
  for (const zone of ['bl.test', 'score.bl.test', 'anon.bl.test']) {
    // RFC 5782, section 5: a zone without these is taken for a dead one.
    assert.equal(await code(resolver.resolve4(`2.0.0.127.${zone}`)), 'found', zone);
    assert.equal(await code(resolver.resolveTxt(`2.0.0.127.${zone}`)), 'found', zone);
    assert.equal(await code(resolver.resolve4(`1.0.0.127.${zone}`)), 'ENOTFOUND', zone);
    const mapped = '00000000000000000000ffff7f00000';
    assert.equal(await code(resolver.resolve4(`${nibbles(`${mapped}2`)}.${zone}`)), 'found');
    assert.equal(await code(resolver.resolve4(`${nibbles(`${mapped}1`)}.${zone}`)), 'ENOTFOUND');
    // Any other code than this one is logged as an error for each visitor.
    for (const ip of ['8.8.8.8', '8.8.4.4', '1.1.1.1', '1.0.0.1', '9.9.9.9', '8.8.8.10']) {
      const name = `${ip.split('.').reverse().join('.')}.${zone}`;
      assert.equal(await code(resolver.resolve4(name)), 'ENOTFOUND', name);
      assert.equal(await code(resolver.resolveTxt(name)), 'ENOTFOUND', name);
    }
    const six = `${nibbles('2606470000000000000000000000000b')}.${zone}`;
    assert.equal(await code(resolver.resolve4(six)), 'ENOTFOUND', six);
  }
});
