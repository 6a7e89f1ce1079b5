/** A request's id in every thread's answers, in errors that people and programs read, in the access log. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { metricsHeaders, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('access-log'));
const file = join(directory.path, 'access.log');
const env = { TRUSTED_PROXIES: '127.0.0.1', ACCESS_LOG: file };
const server = forFile(await startTestServer({ threads: 2, env }));

const from = { 'X-Forwarded-For': '198.51.100.20' };

test('an error quotes the id that its answer has, on pages of both languages', async () => {
  const own = { ...from, 'X-Request-Id': 'proxy:1/a' };
  const verbose = '/api/v2/check?ipAddress=1.1.1.1&verbose';
  for (const [path, headers, status, quoted] of [
    // Programs compare these bodies: the head has it.
    [verbose, own, 401, '{"errors":[{"detail":"'],
    ['/api/v2/nothing', own, 404, '{"errors":[{"detail":"'],
    ['/api.php?code=x', own, 400, '{"error":"'],
    ['/nothing', own, 404, 'Request id <code>proxy:1/a</code>'],
    ['/docs/nothing', own, 404, 'Request id <code>proxy:1/a</code>'],
    [
      '/ip/nothing',
      { ...own, 'Accept-Language': 'fr' },
      400,
      'Identifiant de requête <code>proxy:1/a</code>',
    ],
  ] as const) {
    const answer = await server.fetch(path, { headers });
    assert.equal(answer.status, status, path);
    assert.equal(answer.headers['x-request-id'], 'proxy:1/a', path);
    assert.ok(answer.body.includes(quoted), `${path}: ${answer.body.slice(-600)}`);
    assert.ok(!answer.body.includes('{{'), path);
  }
  const form = await server.fetch('/sign-in', { method: 'POST', headers: from, body: 'token=x' });
  const id = String(form.headers['x-request-id']);
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.ok(form.status >= 400 && form.body.includes(`<code>${id}</code>`), form.body.slice(-600));
});

test('a check from memory has no id, what it leaves to the main thread has one', async () => {
  const headers = { ...from, Key: server.key, 'X-Request-Id': 'a' };
  const quick = await server.fetch('/api/v2/check?ipAddress=1.1.1.1', { headers });
  assert.equal(quick.headers['x-request-id'], undefined);
  const long = await server.fetch('/api/v2/check?ipAddress=1.1.1.1&verbose', { headers });
  assert.equal(long.headers['x-request-id'], 'a');
  assert.deepEqual([quick.status, long.status], [200, 200]);
});

test('the access log of a server has its answers and none of its secrets', async () => {
  const code = 'A'.repeat(43);
  await server.fetch(`/api/v2/check?ipAddress=1.1.1.2&key=${server.key}`, { headers: from });
  await server.fetch(`/api.php?code=${code}&client_id=a.example`, { headers: from });
  await server.fetch(`/captcha/img/${code}.gif`, { headers: from });
  await server.fetch('/metrics', { headers: metricsHeaders });
  const lines = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const find = (path: string) => lines().findLast((line) => line.path === path);
  await within(() => find('/metrics') !== undefined, 'the last line');
  await within(() => find('/captcha/img/:file') !== undefined, 'the line before it');
  await within(() => find('/api.php')?.query === '…', 'the line of the exchange');
  await within(() => find('/api/v2/check')?.query === 'ipAddress=1.1.1.2&…', 'the check');
  const { client, method, status, request } = find('/api.php')!;
  assert.deepEqual([client, method, status], ['198.51.100.20', 'GET', 400]);
  assert.match(String(request), /^[0-9a-f]{16}$/);
  const text = readFileSync(file, 'utf8');
  for (const secret of [server.key, code, metricsHeaders.Authorization.slice(7)]) {
    assert.ok(!text.includes(secret.slice(4, 20)), 'a secret is in the log');
  }
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('SIGHUP opens the file of the access log anew in each thread, for who moved it away', async () => {
  const { pid } = server.child.process;
  const folder = `/proc/${pid}/fd`;
  const open = (name: string) => readdirSync(folder).filter((fd) => leadsTo(fd) === name).length;
  function leadsTo(fd: string): string | undefined {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return undefined; // Closed since.
    }
  }
  assert.equal(open(file), 2);
  const moved = `${file}.1`;
  renameSync(file, moved);
  assert.equal(open(moved), 2);
  server.child.process.kill('SIGHUP');
  await within(() => open(file) === 2 && open(moved) === 0, 'the new file in both threads');
  const size = statSync(moved).size;
  await server.fetch('/healthz', { headers: from });
  await within(() => readFileSync(file, 'utf8').includes('"path":"/healthz"'), 'a line in it');
  assert.equal(statSync(moved).size, size);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  server.child.process.kill('SIGHUP');
  await server.child.errorLine((line) => line.includes('"access log: opened anew"'));
  assert.equal((await server.fetch('/healthz')).status, 200);
});
