/** The response policy zone in unbound, by the texts that the page of the feeds shows. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { decode as decodeDns, encode as encodeDns } from 'dns-packet';
import { openMachine } from '../support/docs/paste.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('rpz'));
const unlisted = '198.51.100.250';
/** Runs of zeros at each place, one of equal length twice, and none. */
const six = [
  ...[
    '2a10:6::',
    '2a10:6::1',
    '2a10:6:0:1::1',
    '2a10::1:0:0:1',
    '2a10:0:0:1::1',
    '2a10:6:1:2:3:4:5:6',
  ],
  ...['2a10:6:0:2:3:4:5:6', '2a10:6:1:2:3:4::', '2a10:0:0:1:1:0:0:1'],
];
// The feed is asked again and again until it is as wanted.
const env = { CLIENT_LIMITS: 'off', FEED_INTERVAL_SECONDS: '1' };

const server = forFile(await startTestServer({ threads: 1, env }));
// As of a server to try out: the DNS has no such name.
const feedsUrl = `${server.baseUrl.replace('127.0.0.1', 'localhost')}/feeds`;
const rows = ['45.10.0.7', '45.12.0.0/15', '2a10:5::/32', ...six];
writeFileSync(`${directory.path}/list.txt`, `${rows.join('\n')}\n`);
const seed = [`${directory.path}/list.txt`, '--format', 'plain', '--confidence', '90'];
await server.cliJson('seed', ...seed, '--source', 'policy');
await within(async () => {
  const { body } = await server.fetch('/feeds/blocklist.rpz');
  return body.includes('32.7.0.10.45.rpz-ip CNAME .');
}, 'the feed');

it('unbound loads the policy, and names that lead to who is on the list are gone', async (context) => {
  if (!hasTool(context, 'unbound')) return;
  await using machine = await openMachine(feedsUrl);
  machine.replace('unbound-checkconf', 'exit 0');
  machine.replace('systemctl', 'exit 0');
  for (const folder of ['/etc/unbound/unbound.conf.d', '/var/lib/unbound']) {
    mkdirSync(machine.at(folder), { recursive: true });
  }
  machine.paste('unbound-zone');
  machine.paste('unbound-run');
  const zones = await nameServer();
  const port = await freePort();
  const config = machine.at('/etc/unbound/unbound.conf');
  const own = [
    ...['interface: 127.0.0.1', `port: ${port}`, 'chroot: ""', 'username: ""', 'pidfile: ""'],
    ...['use-syslog: no', 'do-not-query-localhost: no', 'domain-insecure: "test."'],
    'local-zone: "test." nodefault',
  ];
  writeFileSync(
    config,
    `server:\n  ${own.join('\n  ')}\nstub-zone:\n  name: "test."\n  stub-addr: 127.0.0.1@${zones.port}\ninclude: "${machine.at('/etc/unbound/unbound.conf.d/portcullis.conf')}"\n`,
  );
  const child = spawn('unbound', ['-d', '-c', config], { stdio: 'ignore' });
  try {
    const resolver = new Resolver({ timeout: 5_000, tries: 4 });
    resolver.setServers([`127.0.0.1:${port}`]);
    let asked = 0;
    /** Each under a name of its own: nothing is answered from memory. */
    const ask = (address: string) => {
      const labels = address.replaceAll(/[.:]/g, '-');
      const name = `x${labels}x.${asked++}.test`;
      const find = address.includes(':') ? resolver.resolve6(name) : resolver.resolve4(name);
      return find.then(
        () => 'there',
        (error: NodeJS.ErrnoException) => error.code!,
      );
    };
    await within(async () => (await ask(unlisted)) === 'there', 'the resolver');
    await within(async () => (await ask('45.10.0.7')) === 'ENOTFOUND', 'the zone');
    assert.equal(await ask('45.12.255.255'), 'ENOTFOUND', 'inside a network');
    for (const line of six) {
      assert.equal(await ask(line), 'ENOTFOUND', line);
    }
    assert.equal(await ask('2a10:5::1'), 'ENOTFOUND', 'inside an IPv6 network');
    assert.equal(await ask('2a10:4::1'), 'there');
    assert.equal(await ask(unlisted), 'there');
  } finally {
    child.kill('SIGTERM');
    await once(child, 'exit');
    zones.close();
  }
});

/** Answers each name with the address that is written in it. */
async function nameServer(): Promise<{ port: number; close(): void }> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  socket.on('message', (message, from) => {
    const query = decodeDns(message);
    const question = query.questions?.[0];
    if (question === undefined) return;
    const text = /^x(.*)x\./.exec(question.name)?.[1];
    const type = text?.includes('--') || text?.split('-').length === 8 ? 'AAAA' : 'A';
    const data = text?.replaceAll('-', type === 'A' ? '.' : ':');
    const answer = { type, name: question.name, ttl: 1, data } as const;
    const answers = data !== undefined && question.type === type ? [answer] : [];
    const flags = 0x0400;
    const reply = { type: 'response', id: query.id, flags, answers } as const;
    const { questions = [] } = query;
    socket.send(encodeDns({ ...reply, questions } as never), from.port, from.address);
  });
  return { port: socket.address().port, close: () => socket.close() };
}
