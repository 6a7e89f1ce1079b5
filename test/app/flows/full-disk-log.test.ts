/** The log lies on the disk that is full: reports are refused, checks go on, and all of it heals. */

import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { limitFileSize } from '../../support/house/processes.ts';
import { spawn } from '../../support/house/spawn.ts';
import { within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));

it("a log that can't be written stops nothing", async () => {
  const directory = makeTempDir('full-disk-log');
  const logPath = join(directory.path, 'log');
  // Already longer than what may be written later.
  writeFileSync(logPath, '\n'.repeat(8_192));
  const log = openSync(logPath, 'a');
  const env = {
    PATH: process.env.PATH ?? '',
    DATA_DIR: join(directory.path, 'data'),
    PORT: '0',
    HTTP_THREADS: '3',
    CAPTCHA_THREADS: '1',
    LOG_LEVEL: 'debug',
  };
  const child = spawn(process.execPath, [entry, 'serve', '--demo'], {
    stdio: ['ignore', 'pipe', log],
    env,
  });
  closeSync(log);
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  try {
    let welcome = '';
    child.stdout!.on('data', (chunk) => {
      welcome += String(chunk);
    });
    await within(() => welcome.includes('Stop with Ctrl-C.'), 'listening');
    const base = `http://127.0.0.1:${/http:\/\/localhost:(\d+)/.exec(welcome)![1]}`;
    const headers = { Key: /pcl_\w+/.exec(welcome)![0] };
    const get = (path: string) => fetch(`${base}${path}`, { headers });
    const report = () =>
      fetch(`${base}/api/v2/report?ip=9.9.9.9&categories=18`, { method: 'POST', headers });
    limitFileSize(child.pid!, '4096:unlimited');
    for (let i = 0; i < 3; i++) assert.equal((await report()).status, 503);
    for (let i = 0; i < 10; i++) {
      assert.equal((await get('/api/v2/check?ipAddress=9.9.9.9')).status, 200);
    }
    limitFileSize(child.pid!, 'unlimited:unlimited');
    await within(async () => (await get('/readyz')).status === 200, 'ready again');
    assert.equal((await report()).status, 200);
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
    assert.match(readFileSync(logPath, 'utf8'), /"msg":"stopped"\}\n$/);
  } finally {
    child.kill('SIGKILL');
    await ended;
    directory.remove();
  }
});
