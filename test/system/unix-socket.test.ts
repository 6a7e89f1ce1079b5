/** nginx and HAProxy in front of a Unix-domain socket, with the configurations that the page shows. */

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { it } from 'node:test';
import { samplesIn } from '../support/docs/doc-samples.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('unix-proxies'));
const socketPath = `${directory.path}/portcullis.sock`;
const accessLog = `${directory.path}/access.log`;

const env = { LISTEN_UNIX: socketPath, TRUSTED_PROXIES: 'unix', ACCESS_LOG: accessLog };
const server = forFile(
  await startTestServer({ threads: 1, env: { ...env, LISTEN_UNIX_MODE: '666' } }),
);

function sample(language: string, port: number): string {
  const file = 'docs/site/high-rates.md';
  const found = samplesIn(file, readFileSync(file, 'utf8')).filter(
    (one) => one.language === language,
  );
  assert.equal(found.length, 1, language);
  return found[0]!.code
    .replace('/run/portcullis/portcullis.sock', socketPath)
    .replace(/(listen|bind) :?80\b/, `$1 127.0.0.1:${port}`);
}

function startNginx(port: number): ChildProcess {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `daemon off;
master_process off;
pid ${directory.path}/nginx.pid;
error_log ${directory.path}/nginx.log;
events {}
http {
  access_log off;
  ${folders.map((each) => `${each}_temp_path ${directory.path}/${each};`).join('\n  ')}
  ${sample('nginx', port)}
}
`;
  writeFileSync(`${directory.path}/nginx.conf`, config);
  const words = ['-p', directory.path, '-c', `${directory.path}/nginx.conf`];
  return spawn('nginx', words, { stdio: 'ignore' });
}

function startHaproxy(port: number): ChildProcess {
  const times = ['connect 60s', 'client 120s', 'server 120s'].map((one) => `    timeout ${one}\n`);
  const config = `${directory.path}/haproxy.cfg`;
  writeFileSync(config, `defaults\n${times.join('')}\n${sample('haproxy', port)}`);
  return spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' });
}

function statusOf(port: number, path: string, localAddress: string): Promise<number> {
  // What a visitor claims does not count.
  const headers = {
    Key: server.key,
    'X-Forwarded-For': '198.51.100.1',
    Forwarded: 'for=198.51.100.2',
  };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, localAddress, agent: false };
    request(options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    })
      .on('error', reject)
      .end();
  });
}

for (const [tool, start] of [
  ['nginx', startNginx],
  ['haproxy', startHaproxy],
] as const) {
  it(`${tool} asks over the socket, and says who asks`, async (context) => {
    if (!hasTool(context, tool)) return;
    const port = await freePort();
    const child = start(port);
    try {
      const check = '/api/v2/check?ipAddress=198.51.100.7';
      const isUp = () =>
        statusOf(port, check, '127.0.0.1').then(
          (status) => status === 200,
          () => false,
        );
      await within(isUp, tool);
      for (let i = 2; i < 10; i++) {
        assert.equal(await statusOf(port, `/nowhere-${tool}`, `127.0.0.${i}`), 404);
      }
      const clients = () =>
        readFileSync(accessLog, 'utf8')
          .split('\n')
          .filter((line) => line.includes('"status":404'))
          .map((line) => (JSON.parse(line) as { client: string }).client)
          .slice(-8);
      const expected = Array.from({ length: 8 }, (_, i) => `127.0.0.${i + 2}`);
      await within(() => String(clients()) === String(expected), 'the visitors');

      // Questions that come ahead of their answers are answered in order.
      const asked = connect(port, '127.0.0.1').setEncoding('latin1');
      const addresses = Array.from({ length: 20 }, (_, i) => `198.51.100.${i}`);
      const heads = addresses.map(
        (address) =>
          `GET /api/v2/check?ipAddress=${address} HTTP/1.1\r\nHost: x\r\nKey: ${server.key}\r\n\r\n`,
      );
      let text = '';
      asked.on('data', (part) => {
        text += part;
      });
      asked.write(heads.join(''));
      const seen = () => [...text.matchAll(/"ipAddress":"([^"]+)"/g)].map(([, address]) => address);
      await within(() => seen().length === addresses.length, 'the answers');
      assert.deepEqual(seen(), addresses);
      asked.destroy();
    } finally {
      if (child.exitCode === null && child.pid !== undefined) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
    }
  });
}
