/** The command line beside a running server, which shows each change within a second; then alone. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { forFile } from '../../support/server/for-file.ts';
import { type CliResult, runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

function assertDone(result: CliResult): void {
  assert.equal(result.code, 0, result.stderr);
}

/** Serves one text at every path. */
async function withListServer<T>(
  text: string | Buffer,
  type: string,
  run: (url: string) => Promise<T>,
): Promise<T> {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', type);
    response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

const server = forFile(await startTestServer());

describe('the command line', () => {
  const lists = forFile(makeTempDir('lists'));
  function file(name: string, content: string | Buffer): string {
    writeFileSync(`${lists.path}/${name}`, content);
    return `${lists.path}/${name}`;
  }
  const score = async (address: string) => (await server.check(address)).abuseConfidenceScore;
  const shows = (address: string, expected: number) =>
    within(async () => (await score(address)) === expected, `${address} ${expected}`);

  it('loads a list from a file, and takes back what vanished from it', async () => {
    const first = file('bad.txt', '# list\n5.0.0.1\n5.0.1.0/24\n5.0.2.1 - 5.0.2.4\nrubbish\n');
    const result = await server.cliJson('seed', first, '--format', 'plain');
    assert.equal(result.source, 'bad.txt');
    assert.equal(result.badLines, 1);
    await shows('5.0.0.1', 75);
    assert.equal(await score('5.0.1.200'), 75);
    assert.equal(await score('5.0.2.4'), 75);
    assert.equal(await score('5.0.2.5'), 0);
    file('bad.txt', '5.0.0.1\n5.0.3.1\n');
    const again = await server.cli('seed', first, '--format', 'plain', '--confidence', '90');
    assertDone(again);
    assert.match(again.stdout, /^bad\.txt: 2 rows loaded/m);
    await shows('5.0.3.1', 90);
    assert.equal(await score('5.0.0.1'), 90);
    await shows('5.0.1.200', 0);
    await shows('5.0.2.4', 0);
  });

  it('loads a packed list, a list from the web, and one from a pipe', async () => {
    const ipsum = '# ipsum\n6.0.0.1\t8\n6.0.0.2\t1\n';
    await server.cliJson(
      ...['seed', file('ipsum.gz', gzipSync(ipsum)), '--format', 'ipsum', '--source', 'packed'],
    );
    await shows('6.0.0.1', 99);
    assert.equal(await score('6.0.0.2'), 25);
    await withListServer(gzipSync('6.0.1.1,83\n'), 'application/gzip', async (url) => {
      const { source } = await server.cliJson('seed', `${url}/x/l.csv.gz?key=s`, '--format', 'csv');
      assert.equal(source, 'l.csv');
    });
    await shows('6.0.1.1', 83);
    const piped = await runCli(
      ['seed', '-', '--format', 'plain', '--source', 'pipe'],
      { DATA_DIR: server.dataDir },
      '6.0.2.1\n',
    );
    assertDone(piped);
    await shows('6.0.2.1', 75);
  });

  it('keeps lists of different names apart: the highest score holds', async () => {
    const low = file('low.txt', '7.0.0.1\n');
    await server.cliJson('seed', low, '--format', 'plain', '--confidence', '40');
    const high = file('high.txt', '7.0.0.1\n7.0.0.2\n');
    await server.cliJson('seed', high, '--format', 'plain', '--confidence', '80');
    await shows('7.0.0.1', 80);
    file('high.txt', '7.0.0.2\n');
    await server.cliJson('seed', high, '--format', 'plain', '--confidence', '80');
    await shows('7.0.0.1', 40);
  });

  it('loads anonymous exits', async () => {
    const list = file(
      'exits',
      'ExitNode AB\nPublished 2026-01-01 00:00:00\nExitAddress 9.9.9.1 2026-01-01 00:00:00\n',
    );
    await server.cliJson('anon', list);
    await within(async () => (await server.check('9.9.9.1')).isAnon, 'the exit');
    assert.equal(await score('9.9.9.1'), 0);
    file('exits', '9.9.9.2\n');
    await server.cliJson('anon', list);
    await within(async () => (await server.check('9.9.9.2')).isAnon, 'the exit');
    // Rows that vanished go when the last of the new ones is there.
    await within(async () => !(await server.check('9.9.9.1')).isAnon, 'its end');
  });

  it('lists what is allowed, and why', async () => {
    await server.cliJson('allow', 'add', '192.0.2.0/24', '--reason', 'our office');
    await shows('192.0.2.100', 0);
    const listed = await server.cli('allow', 'list');
    assertDone(listed);
    assert.match(listed.stdout, /^192\.0\.2\.0\/24 {2}\S+\+00:00 {2}our office$/m);
    const [rule, ...others] = await server.cliJson('allow', 'list');
    assert.deepEqual(others, []);
    assert.deepEqual([rule.prefix, rule.reason], ['192.0.2.0/24', 'our office']);
    await server.cliJson('allow', 'remove', '192.0.2.0/24');
    await shows('192.0.2.100', 100);
    assert.match((await server.cli('allow', 'list')).stdout, /empty/);
  });

  it('makes, lists and revokes keys, and stops an account', async () => {
    const email = 'user@portcullis.example';
    const made = await server.cliJson('account', 'create', email);
    assert.equal(made.email, email);
    const key = await server.cli('key', 'create', email);
    assertDone(key);
    const text = key.stdout.trim();
    assert.match(text, /^pcl_[0-9A-Za-z]+_[0-9A-Za-z]+$/);
    const status = async () =>
      (await server.fetch('/api/v2/check?ipAddress=1.1.1.1', { headers: { Key: text } })).status;
    const becomes = (wanted: number) =>
      within(async () => (await status()) === wanted, `status ${wanted}`);
    await becomes(200);
    const id = text.split('_')[1]!;
    const keys = (await server.cliJson('key', 'list')) as { id: string; email: string }[];
    assert.ok(keys.some((one) => one.id === id && one.email === email));
    assert.ok(!JSON.stringify(keys).includes(text), 'a list shows no secret');
    await server.cliJson('account', 'disable', email);
    await becomes(401);
    assert.equal((await server.cliJson('account', 'show', email)).disabled, true);
    await server.cliJson('account', 'enable', email);
    await becomes(200);
    await server.cliJson('key', 'revoke', id);
    await becomes(401);
    assert.match((await server.cli('account', 'show', email)).stdout, /active/);
  });

  it('makes, renames and lists a key with a name and scopes, which is for those alone', async () => {
    const email = 'named@portcullis.example';
    await server.cliJson('account', 'create', email);
    const create = ['key', 'create', email] as const;
    const made = await server.cliJson(...create, '--name', 'sensor', '--scope', 'report');
    const path = '/api/v2/check?ipAddress=1.1.1.1';
    const headers = { Key: made.text as string };
    await within(async () => (await server.fetch(path, { headers })).status === 403);
    const refused = await server.fetch(path, { headers });
    assert.match(refused.body, /lacks the scope 'check'/);
    const report = await server.report('9.9.9.10', { key: made.text });
    assert.equal(report.status, 200, report.body);
    await server.cliJson('key', 'rename', email, 'sensor', 'sensor-2');
    const keys = await server.cliJson('key', 'list');
    const own = (keys as unknown as { id: string; email: string; name: string }[]).filter(
      (one) => one.email === email,
    );
    const { id, name, scopes, lastUsedAt } = own[0] as Record<string, unknown>;
    const wanted = { id: made.id, name: 'sensor-2', scopes: ['report'], lastUsedAt: null };
    assert.deepEqual({ id, name, scopes, lastUsedAt }, wanted);
    assert.equal(own.length, 1);
    const unknown = await server.cli(...create, '--name', 'x', '--scope', 'chek');
    assert.match(unknown.stderr, /there is no scope 'chek'/);
    assert.match((await server.cli(...create, '--scope', 'check')).stderr, /goes with --name/);
  });

  it('lets a replaced key live on', async () => {
    const email = 'rotates@portcullis.example';
    await server.cliJson('account', 'create', email);
    const first = await server.cliJson('key', 'create', email);
    const second = await server.cliJson('key', 'create', email);
    assert.equal(second.replaces, first.id);
    for (const { text } of [first, second]) {
      const path = `/api/v2/check?ipAddress=1.1.1.1&key=${text}`;
      await within(async () => (await server.fetch(path)).status === 200);
    }
  });

  it('changes nothing when a list is none', async () => {
    const good = file('good.txt', '8.0.0.1\n');
    await server.cliJson('seed', good, '--format', 'plain', '--source', 'web');
    await shows('8.0.0.1', 75);
    const page = '<!doctype html><title>Sign in</title>';
    await withListServer(page, 'text/html', async (url) => {
      const result = await server.cli('seed', url, '--format', 'plain', '--source', 'web');
      assert.equal(result.code, 1);
      assert.match(result.stderr, /^portcullis: .*HTML.*\n$/);
      assert.equal(result.stdout, '');
    });
    assert.equal(await score('8.0.0.1'), 75);
  });
});

it('what is done without a server is there when one starts', async () => {
  const directory = makeTempDir('alone');
  const env = { DATA_DIR: directory.path };
  const cli = async (...args: string[]) => {
    const result = await runCli([...args, '--json'], env);
    assertDone(result);
    return JSON.parse(result.stdout);
  };
  try {
    writeFileSync(`${directory.path}/list.txt`, '5.0.0.1\n5.0.0.2\n');
    await cli('account', 'create', 'user@portcullis.example');
    const { text } = await cli('key', 'create', 'user@portcullis.example');
    const old = await cli('key', 'create', 'user@portcullis.example');
    await cli('key', 'revoke', old.id);
    await cli('seed', `${directory.path}/list.txt`, '--format', 'plain');
    await cli('allow', 'add', '5.0.0.2');
    await using server = await startTestServer({ demo: false, dataDir: directory.path });
    const ask = (address: string, key: string) =>
      server.fetch(`/api/v2/check?ipAddress=${address}`, { headers: { Key: key } });
    assert.match((await ask('5.0.0.1', text)).body, /"abuseConfidenceScore":75/);
    assert.match((await ask('5.0.0.2', text)).body, /"abuseConfidenceScore":0/);
    assert.equal((await ask('5.0.0.1', old.text)).status, 401);
  } finally {
    directory.remove();
  }
});
