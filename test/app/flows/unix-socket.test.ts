/** LISTEN_UNIX of a whole server: the same routes beside the port, whose address counts, and the file itself. */

import assert from 'node:assert/strict';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, createServer } from 'node:net';
import { after, it } from 'node:test';
import { checkSocketPath } from '../../../src/http/unix-socket.ts';
import {
  type Answer,
  answersByThread,
  type Environment,
  type FetchOptions,
  metricsHeaders,
  runCli,
  startTestServer,
  threadCounts,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('unix');
after(() => directory.remove());
let named = 0;
const newPath = () => `${directory.path}/${named++}.sock`;

function ask(socketPath: string, path: string, options: FetchOptions = {}) {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise<Pick<Answer, 'status' | 'headers' | 'body'>>((resolve, reject) => {
    const asked = httpRequest({ socketPath, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.on('error', reject);
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: text }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const start = (path: string, env: Environment = {}, threads = 1) =>
  startTestServer({ threads, demo: false, env: { LISTEN_UNIX: path, ...env } });

/** One line of a start that fails. */
async function failure(env: Environment): Promise<string> {
  const data = `${directory.path}/data${named++}`;
  const all = { DATA_DIR: data, PORT: '0', LOG_LEVEL: 'fatal', ...env };
  const { code, stderr } = await runCli(['serve'], all);
  assert.equal(code, 1, stderr);
  return stderr.trim();
}

for (const threads of threadCounts) {
  it(`serves what the port serves, ${threads} threads`, async () => {
    const [first, second] = [newPath(), newPath()];
    const env = { LISTEN_UNIX: `${first},${second}` };
    await using server = await startTestServer({ threads, env });
    const key = { Key: server.key };
    // The page of feeds shows what the first build gave.
    await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200);
    for (const path of [first, second]) {
      assert.equal(lstatSync(path).mode & 0o7777, 0o660);
      for (const [target, options] of [
        ['/api/v2/check?ipAddress=198.51.100.7', { headers: key }],
        ['/api/v2/check?ipAddress=198.51.100.7&verbose', { headers: key }],
        ['/api/v2/check?ipAddress=198.51.100.7', {}],
        ['/api/v2/check-bulk', { method: 'POST', body: '198.51.100.7\nx', headers: key }],
        ['/healthz', {}],
        ['/nowhere', {}],
        ['/api/v2/check', { method: 'PUT' }],
        ['/feeds', {}],
      ] as const) {
        const [here, there] = [
          await ask(path, target, options),
          await server.fetch(target, options),
        ];
        assert.deepEqual(
          [here.status, here.body.length],
          [there.status, there.body.length],
          target,
        );
        if (!/x-request-id/i.test(Object.keys(there.headers).join())) {
          assert.equal(here.body, there.body, target);
        }
      }
    }
    // Each socket belongs to one thread.
    const route = '/api/v2/check';
    const before = await answersByThread(server, route);
    for (let i = 0; i < 8; i++) {
      await ask(second, `${route}?ipAddress=8.8.8.8`, { headers: key });
    }
    const more = (await answersByThread(server, route)).map((count, i) => count - before[i]!);
    assert.deepEqual(
      more,
      more.map((_, i) => (i === 1 % threads ? 8 : 0)),
    );
    const { code } = await server.stop();
    assert.equal(code, 0);
    assert.deepEqual([first, second].filter(existsSync), []);
  });
}

const visitor = '203.0.113.9';
const forwarded = { 'X-Forwarded-For': visitor };

it('believes a header by TRUSTED_PROXIES=unix alone, and takes nobody for this machine', async () => {
  for (const [trusted, believed] of [
    ['', { socket: false, port: false }],
    ['0.0.0.0/0,::/0', { socket: false, port: true }],
    ['unix', { socket: true, port: false }],
    ['unix,127.0.0.1', { socket: true, port: true }],
  ] as const) {
    const [path, file] = [newPath(), `${directory.path}/access${named}`];
    await using server = await start(path, { TRUSTED_PROXIES: trusted, ACCESS_LOG: file });
    await ask(path, '/nowhere?1', { headers: forwarded });
    await server.fetch('/nowhere?2', { headers: forwarded });
    for (const hop of ['', 'unix', 'unix:', `${visitor}, unix:`, `unix, ${visitor} x`]) {
      await ask(path, '/nowhere?3', { headers: { 'X-Forwarded-For': hop } });
    }
    await ask(path, '/nowhere?3', { headers: { Forwarded: 'for=unix' } });
    await ask(path, '/nowhere?3');
    await ask(path, '/nowhere?3', { headers: { ...forwarded, Forwarded: 'for=203.0.113.8' } });
    const lines = () =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { client: string; path: string; query: string })
        .filter(({ query }) => query !== undefined);
    await within(() => readFileSync(file, 'utf8').split('\n').length > 10);
    const clients = lines().map(({ client }) => client);
    const [overSocket, overPort, ...unnamed] = clients;
    assert.equal(overSocket, believed.socket ? visitor : 'unix', trusted);
    assert.equal(overPort, believed.port ? visitor : '127.0.0.1', trusted);
    assert.deepEqual(new Set(unnamed), new Set(['unix']), trusted);
    const metrics = await ask(path, '/metrics');
    assert.ok(metrics.status === 401 || metrics.status === 403, `${metrics.status}`);
    const claimed = await ask(path, '/metrics', { headers: { 'X-Forwarded-For': '127.0.0.1' } });
    assert.equal(claimed.status, metrics.status);
    assert.equal((await server.fetch('/metrics', { headers: metricsHeaders })).status, 200);
    const gate = await ask(path, '/gate/check', { headers: forwarded });
    assert.equal(gate.status === 422, !believed.socket, gate.body);
  }
});

it('has mode and group before anybody can connect; a stop ends connections, and answers what is on its way', async () => {
  const path = newPath();
  const group = process.getuid?.() === 0 ? 65_534 : process.getgroups!()[0]!;
  const env = { LISTEN_UNIX_MODE: '606', LISTEN_UNIX_GROUP: String(group) };
  await using server = await start(path, env);
  const { mode, gid } = lstatSync(path);
  assert.deepEqual([mode & 0o7777, gid], [0o606, group]);
  const socket = connect(path);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  const [{ code }] = await Promise.all([server.stop(), closed]);
  assert.equal(code, 0);
  const none = await failure({ LISTEN_UNIX: newPath(), LISTEN_UNIX_GROUP: 'nobody-has-this' });
  assert.match(none, /^portcullis: setting LISTEN_UNIX_GROUP holds 'nobody-has-this'/);
});

it('replaces the file of a killed server, and none of a live one; a stop leaves what another put there', async () => {
  const path = newPath();
  const killed = await start(path);
  await killed.kill();
  assert.ok(lstatSync(path).isSocket());
  await using server = await start(path);
  assert.equal((await ask(path, '/healthz')).status, 200);
  assert.match(
    await failure({ LISTEN_UNIX: path }),
    /cannot listen at .*: another program or another Portcullis listens there$/,
  );
  assert.equal((await ask(path, '/healthz')).status, 200);
  await rm(path);
  writeFileSync(path, 'mine');
  await server.stop();
  assert.equal(readFileSync(path, 'utf8'), 'mine');
  await killed[Symbol.asyncDispose]();
});

it('refuses what it may not remove, and a path that cannot be', async () => {
  const file = newPath();
  writeFileSync(file, 'mine');
  const folder = newPath();
  mkdirSync(folder);
  const link = newPath();
  symlinkSync(newPath(), link);
  assert.match(await failure({ LISTEN_UNIX: file }), /: it is there and is no socket$/);
  for (const path of [folder, link]) {
    await assert.rejects(checkSocketPath(path), /: it is there and is no socket$/, path);
  }
  assert.equal(readFileSync(file, 'utf8'), 'mine');
  assert.ok(lstatSync(folder).isDirectory() && lstatSync(link).isSymbolicLink());
  const nowhere = `${directory.path}/nowhere/a.sock`;
  for (const path of [nowhere, `${file}/a.sock`]) {
    await assert.rejects(checkSocketPath(path), /: its folder is not there$/);
  }
  // Nobody can bind there, the superuser neither.
  for (const path of ['/proc/a.sock', '/proc/self/a.sock']) {
    assert.match(
      await failure({ LISTEN_UNIX: path }),
      /: (its file system takes no sockets|this user may not write to its folder)$/,
    );
  }
  const long = `${directory.path}/${'x'.repeat(108)}`;
  assert.match(await failure({ LISTEN_UNIX: long }), /LISTEN_UNIX must list paths of at most 107/);
  // What another program listens at is left alone, whatever it speaks.
  const taken = newPath();
  const other = createServer((socket) => socket.destroy()).listen(taken);
  await assert.rejects(checkSocketPath(taken), /another program or another Portcullis/);
  assert.ok(lstatSync(taken).isSocket());
  other.close();
});

it('answers 64 checks that come ahead of their answers, while nobody reads', async () => {
  const path = newPath();
  await using server = await startTestServer({ threads: 1, env: { LISTEN_UNIX: path } });
  const heads = Array.from(
    { length: 64 },
    (_, i) =>
      `GET /api/v2/check?ipAddress=198.51.100.${i} HTTP/1.1\r\nHost: x\r\nKey: ${server.key}\r\n\r\n`,
  );
  // One answer in some shows whether the client takes it: of so many some do.
  for (let round = 0; round < 20; round++) {
    const socket = connect(path).setEncoding('latin1').pause();
    try {
      socket.write(heads.join(''));
      // All are read and answered when another connection has its answer.
      await ask(path, '/healthz');
      let text = '';
      const asked = () => [...text.matchAll(/"ipAddress":"198.51.100.(\d+)"/g)].map(([, i]) => i);
      socket.on('data', (part) => {
        text += part;
      });
      socket.resume();
      await within(() => socket.destroyed || asked().length === heads.length);
      assert.deepEqual(
        asked(),
        heads.map((_, i) => `${i}`),
      );
    } finally {
      socket.destroy();
    }
  }
});
