/** A data directory that takes no more: checks go on, /readyz says so, and it heals by itself. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limitFileSize } from '../../support/house/processes.ts';
import { startCommand } from '../../support/server/child.ts';
import { metric, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));

describe('a full disk', () => {
  it('stops writes, not checks, and is over when there is room again', async () => {
    await using server = await startTestServer();
    const ready = async () => (await server.fetch('/readyz')).status === 200;
    assert.ok(await ready());
    limitFileSize(server.pid, '4096:unlimited');
    const refused = await server.cli('allow', 'add', '192.0.2.100');
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^portcullis: .*(written|unavailable)/);
    await within(async () => !(await ready()), 'not ready');
    const answer = await server.fetch('/readyz');
    assert.equal(answer.status, 503);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
    assert.deepEqual((answer.json() as { writable: boolean }).writable, false);
    assert.equal((await metric(server, 'portcullis_store_writable')).get(''), 0);
    for (let i = 0; i < 20; i++) assert.ok((await server.check('192.0.2.75')).malicious);
    assert.ok((await server.check('192.0.2.100')).abuseConfidenceScore > 0, 'not allowed');
    assert.equal((await server.fetch('/healthz')).status, 200);
    limitFileSize(server.pid, 'unlimited:unlimited');
    await within(ready, 'ready again');
    await server.cliJson('allow', 'add', '192.0.2.100');
    assert.equal((await server.check('192.0.2.100')).abuseConfidenceScore, 0);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    const log = server.stderr();
    assert.doesNotMatch(log, /Write error/, 'LMDB met the limit itself');
    assert.match(log, /writes unavailable/);
    assert.match(log, /writes work again/);
  });

  it('stops no start of a demo that ran before, and the start behind it takes its operator back once there is room', async () => {
    const directory = makeTempDir('full');
    /** A start on a full disk. */
    const startFull = (...words: string[]) => {
      const env = { PATH: process.env.PATH!, DATA_DIR: directory.path, PORT: '0' };
      const limit = ['--fsize=4096:unlimited', process.execPath, entry, 'serve', ...words];
      return startCommand('prlimit', limit, env);
    };
    try {
      await using first = await startTestServer({ threads: 1, dataDir: directory.path });
      await first.stop();
      const demo = startFull('--demo');
      const home = await demo.line((text) => text.startsWith('  Home:'));
      const statusOf = async (path: string) => (await fetch(home.split(/ +/)[2]! + path)).status;
      assert.deepEqual([await statusOf('readyz'), await statusOf('ip/198.51.100.7')], [503, 200]);
      demo.process.kill('SIGTERM');
      assert.equal((await demo.ended).code, 0, demo.stderr());
      const server = startFull();
      await server.errorLine((text) => text.includes('its account is an operator as long as'));
      limitFileSize(server.process.pid!, 'unlimited:unlimited');
      await server.errorLine((text) => text.includes('its account is no longer an operator'));
      server.process.kill('SIGTERM');
      assert.equal((await server.ended).code, 0, server.stderr());
    } finally {
      directory.remove();
    }
  });
});
