/** What a first user does on the command line, and what the pages say when something is wrong. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { claimDataDir } from '../../../src/storage/lmdb/claim.ts';
import { runCli, startCli, startTestServer, type TestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'ada@mail.example';

describe('first use', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ demo: false });
    await server.cliJson('account', 'create', email);
  });
  after(() => server[Symbol.asyncDispose]());

  const check = (key: string) =>
    server.fetch('/api/v2/check?ipAddress=8.8.4.4', { headers: { Key: key } });

  it('a key, a revocation and a list are honoured when the command returns', async () => {
    for (let round = 0; round < 4; round++) {
      const { text, id } = await server.cliJson('key', 'create', email);
      for (let i = 0; i < 6; i++) assert.equal((await check(text)).status, 200);
      await server.cliJson('key', 'revoke', id);
      for (let i = 0; i < 6; i++) assert.equal((await check(text)).status, 401);
    }
    const { text } = await server.cliJson('key', 'create', email);
    const directory = makeTempDir('first-use');
    writeFileSync(`${directory.path}/one.txt`, '8.8.4.4\n');
    const seed = ['seed', `${directory.path}/one.txt`, '--format', 'plain', '--confidence', '80'];
    const loaded = await server.cli(...seed);
    const { data } = (await check(text)).json() as { data: { abuseConfidenceScore: number } };
    assert.equal(data.abuseConfidenceScore, 80);
    assert.match(loaded.stdout, /: 1 row loaded in /);
    directory.remove();
  });

  it('the command tells its version', async () => {
    for (const flag of ['--version', '-V']) {
      const told = await server.cli(flag);
      assert.equal(told.code, 0);
      assert.match(told.stdout, /^\d+\.\d+\.\d+\n$/);
      assert.equal(told.stderr, '');
    }
  });

  it('a page that is not there says so in the language of its reader', async () => {
    for (const path of ['/nothing', '/docs/nothing', '/static/nothing.css', '/account/nothing']) {
      const french = await server.fetch(path, { headers: { 'Accept-Language': 'fr-FR,fr' } });
      assert.equal(french.status, 404);
      assert.equal(french.headers['content-language'], 'fr', path);
      assert.match(french.body, /<html lang="fr">/, path);
      assert.doesNotMatch(french.body, /There is nothing/, path);
      const english = await server.fetch(path, { headers: { 'Accept-Language': 'de' } });
      assert.match(english.body, /<html lang="en">/, path);
    }
  });

  it('a page of too many requests tells the wait', async () => {
    let last = await server.fetch('/ip/192.0.2.1');
    for (let i = 0; i < 70 && last.status === 200; i++) last = await server.fetch('/ip/192.0.2.1');
    assert.equal(last.status, 429);
    const seconds = last.headers['retry-after'];
    assert.ok(last.body.includes(`Try again in ${seconds} second`), last.body);
    const french = await server.fetch('/ip/192.0.2.1', { headers: { 'Accept-Language': 'fr' } });
    assert.match(french.body, /Réessayez dans \d+ seconde/);
    let feed = await server.fetch('/feeds');
    for (let i = 0; i < 70 && feed.status === 200; i++) feed = await server.fetch('/feeds');
    if (feed.status === 429) assert.match(feed.body, /Try again in \d+ second/);
  });
});

it('a key that is made while the server starts anew is honoured by the new one', async () => {
  const directory = makeTempDir('first-use-restart');
  let server = await startTestServer({ threads: 1, demo: false, dataDir: directory.path });
  await server.cliJson('account', 'create', email);
  try {
    for (const end of ['stop', 'kill'] as const) {
      const ending = server[end]();
      const making = server.cliJson('key', 'create', email);
      await ending;
      // It waits for as long as the command has the directory for itself.
      server = await startTestServer({ threads: 1, demo: false, dataDir: directory.path });
      const { text, id } = await making;
      const headers = { Key: text };
      const answer = await server.fetch('/api/v2/check?ipAddress=8.8.4.4', { headers });
      assert.equal(answer.status, 200, end);
      await server.cliJson('key', 'revoke', id);
    }
  } finally {
    await server.kill();
    directory.remove();
  }
});

it('a start waits for a command that has the directory, refuses beside a server, and ends with a signal', async () => {
  const directory = makeTempDir('first-use-claimed');
  const env = { DATA_DIR: directory.path, PORT: '0', HTTP_THREADS: '1' };
  const waits = (line: string) => line.includes('start: waits for the data directory');
  const listens = (line: string) => line.includes('"listening"');
  const claimed = claimDataDir(directory.path, 'a command (backup)');
  const stopped = startCli(['serve'], env);
  const started = startCli(['serve'], env);
  try {
    assert.match(await stopped.errorLine(waits), /in use by a command \(backup\)/);
    stopped.process.kill('SIGTERM');
    assert.deepEqual(await stopped.ended, { code: 0, signal: null });
    await started.errorLine(waits);
    claimed.release();
    await started.errorLine(listens);
    const refused = await runCli(['serve'], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /another Portcullis server \(pid \d+\) is running on /);
  } finally {
    claimed.release();
    started.process.kill('SIGTERM');
    await started.ended;
    directory.remove();
  }
});

for (const setting of ['GEO_ASN_MMDB', 'GEO_COUNTRY_MMDB']) {
  it(`a wrong ${setting} stops the start with a line that names it`, async () => {
    const started = startTestServer({
      threads: 1,
      demo: false,
      env: { [setting]: '/nonexistent.mmdb' },
    });
    await assert.rejects(
      started.then((server) => server[Symbol.asyncDispose]()),
      new RegExp(`portcullis: ${setting}`),
    );
  });
}
