/** HAProxy's integration of a whole server, asked by its protocol: verdicts, failures, stop. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { address, ask, hello, readFrames, type Said } from '../../support/integrations/spoe.ts';
import { forFile } from '../../support/server/for-file.ts';
import { metric, runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const saboteur = new URL('../../support/server/break-thread.js', import.meta.url).href;
const directory = forFile(makeTempDir('spoe'));

const server = forFile(
  await startTestServer({
    threads: 1,
    nodeArguments: ['--import', saboteur],
    env: { SPOE_LISTEN: '127.0.0.1:0', DRAIN_MS: '10000' },
  }),
);
const line = await server.child.errorLine((text) => text.includes('"msg":"spoe: listening"'));
const [endpoint] = (JSON.parse(line) as { listen: string[] }).listen;
const port = Number(endpoint!.split(':')[1]);
for (const [row, confidence] of [
  ['45.10.0.7', '60'],
  ['45.11.0.7', '90'],
] as const) {
  writeFileSync(`${directory.path}/${confidence}.txt`, `${row}\n`);
  const words = ['--format', 'plain', '--confidence', confidence, '--source', confidence];
  await server.cliJson('seed', `${directory.path}/${confidence}.txt`, ...words);
}

/** A connection that is read until it ends. */
async function open(): Promise<{ socket: Socket; frames: () => Said[] }> {
  const parts: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.on('data', (part: Buffer) => parts.push(part));
  await once(socket, 'connect');
  socket.on('error', () => {});
  return { socket, frames: () => readFrames(Buffer.concat(parts)) };
}

/** `block 90` for one question on a connection of its own; empty when nobody answers. */
async function judged(ip: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => {
    parts.push(part);
    if (readFrames(Buffer.concat(parts)).length === 2) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(Buffer.concat([hello(), ask({ ip: address(ip) })]));
  await new Promise((resolve) => socket.once('close', resolve));
  const { verdict, score } = readFrames(Buffer.concat(parts))[1]?.values ?? {};
  return verdict === undefined ? '' : `${verdict} ${score}`;
}

it('a row of a list is blocked or challenged by its score, and gone when it is allowed', async () => {
  await within(async () => (await judged('45.11.0.7')) === 'block 90', 'the row');
  await within(async () => (await judged('45.10.0.7')) === 'challenge 60', 'the other row');
  assert.equal(await judged('45.12.0.7'), 'allow 0');
  await server.cliJson('allow', 'add', '45.11.0.7');
  await within(async () => (await judged('45.11.0.7')) === 'allow 0', 'the rule');
  await server.cliJson('allow', 'remove', '45.11.0.7');
  await within(async () => (await judged('45.11.0.7')) === 'block 90', 'the row again');
});

it('questions, connections and their ends are counted', async () => {
  const { socket } = await open();
  socket.write(Buffer.of(0xff, 0xff, 0xff, 0xff));
  await once(socket, 'close');
  const stays = await open();
  await within(async () => {
    const ends = await metric(server, 'portcullis_spoe_connections_ended_total');
    const asked = await metric(server, 'portcullis_spoe_requests_total');
    const held = await metric(server, 'portcullis_spoe_connections');
    const isCounted = asked.get('outcome="block"')! > 0 && asked.get('outcome="challenge"')! > 0;
    return isCounted && ends.get('reason="too_big"') === 1 && [...held.values()][0]! >= 1;
  }, 'the counts');
  stays.socket.destroy();
});

it('a thread that fails is replaced, on the same port, and says no verdict meanwhile', async () => {
  process.kill(server.pid, 'SIGUSR2');
  const seen = new Set<string>();
  await server.child.errorLine((text) => text.includes('"msg":"spoe: thread replaced"'));
  await within(async () => {
    const said = await judged('45.12.0.7');
    seen.add(said);
    return said === 'allow 0';
  }, 'it answers again');
  seen.delete('');
  assert.deepEqual([...seen], ['allow 0']);
  assert.equal(await judged('45.11.0.7'), 'block 90');
});

it('an address that is taken stops the start with one line', async () => {
  const other = makeTempDir('spoe-second');
  const env = { DATA_DIR: other.path, PORT: '0', SPOE_LISTEN: `127.0.0.1:${port}` };
  const { code, stderr } = await runCli(['serve'], env);
  other.remove();
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`SPOE_LISTEN 127.0.0.1:${port}: .*EADDRINUSE`));
  assert.doesNotMatch(stderr, /\n\s+at /);
});

it('while it drains checks of health are sent away, and at the stop everybody is told', async () => {
  const { socket, frames } = await open();
  socket.write(Buffer.concat([hello(), ask({ ip: address('45.11.0.7') })]));
  await within(() => frames().length === 2, 'it is served');
  const gone = once(socket, 'close');
  const ended = server.stop();
  await within(async () => {
    const check = await open();
    const over = new Promise((resolve) => check.socket.once('close', resolve));
    check.socket.write(hello({ healthcheck: true }));
    await over;
    return check.frames()[0]?.type === 102;
  }, 'a check of health is sent away');
  assert.equal(frames().length, 2, 'who is there is served on');
  await gone;
  assert.deepEqual([frames()[2]?.type, frames()[2]?.values['status-code']], [102, 0]);
  assert.deepEqual(await ended, { code: 0, signal: null });
});
