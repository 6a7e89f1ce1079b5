/** The gate behind nginx and Caddy, with the configurations that its page shows. */

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import { spawn, stopChild } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { refusesHostileHeads, startCredulousApp } from '../support/integrations/hostile-heads.ts';
import {
  type Ask,
  asker,
  clean,
  judge,
  judgeOpen,
  page,
  proxyLine,
  sample,
  seedVisitors,
  startApp,
  statusOf,
} from '../support/integrations/site.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('gate-proxies');
let server: TestServer;
let app: Server;
let appPort = 0;

before(async () => {
  server = await startTestServer({
    threads: 1,
    demo: false,
    env: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  await seedVisitors(server, directory.path);
  ({ server: app, port: appPort } = await startApp());
});

after(async () => {
  app?.close();
  app?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
  directory.remove();
});

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly ask: Ask;
}

const portsWith = (gatePort: number, behind: number) => ({ 8080: gatePort, 3000: behind });

/** A machine that has much to do must not let anybody in. */
const patient = (text: string) =>
  text
    .replace(/(proxy_(?:connect|read)_timeout) \ds;/g, '$1 60s;')
    .replace(/(dial_timeout|response_header_timeout) \ds$/gm, '$1 60s');

/** Another proxy in front says by its own protocol who a visitor is. */
async function startNginx(name: string, gatePort: number, behind = appPort): Promise<Started> {
  const port = await freePort();
  const site = patient(sample('nginx', portsWith(gatePort, behind))).replace(
    'listen 80;',
    `listen 127.0.0.1:${port} proxy_protocol;`,
  );
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `daemon off;
master_process off;
pid ${directory.path}/${name}.pid;
error_log ${directory.path}/${name}.log;
events {}
http {
  access_log off;
  ${folders.map((each) => `${each}_temp_path ${directory.path}/${name}-${each};`).join('\n  ')}
  set_real_ip_from 127.0.0.1;
  real_ip_header proxy_protocol;
  ${site}
}
`;
  writeFileSync(`${directory.path}/${name}.conf`, config);
  const words = ['-p', directory.path, '-c', `${directory.path}/${name}.conf`];
  const child = spawn('nginx', words, { stdio: 'ignore' });
  return { child, port, ask: asker(port, proxyLine) };
}

/** Another proxy in front says by a header who a visitor is. */
async function startCaddy(name: string, gatePort: number, behind = appPort): Promise<Started> {
  const port = await freePort();
  const inner = await freePort();
  const site = patient(sample('caddy', portsWith(gatePort, behind)))
    .replaceAll(':2015', `:${inner}`)
    .replace('http://site.example', `http://:${port}`)
    .replaceAll('{remote_host}', '{header.Visitor}');
  const options = '{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n';
  const config = `${directory.path}/${name}.caddy`;
  writeFileSync(config, options + site);
  const env = { PATH: process.env.PATH, HOME: directory.path, XDG_DATA_HOME: directory.path };
  const words = ['run', '--adapter', 'caddyfile', '--config', config];
  return { child: spawn('caddy', words, { stdio: 'ignore', env }), port, ask: asker(port) };
}

for (const [tool, start] of [
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const) {
  it(`${tool} lets in, challenges and blocks, and takes a pass`, async (context) => {
    if (!hasTool(context, tool)) return;
    const { child, ask } = await start(tool, server.port);
    try {
      await judge(ask);
    } finally {
      await stopChild(child);
    }
  });

  it(`${tool} lets everybody in while the gate is away`, async (context) => {
    if (!hasTool(context, tool)) return;
    const { child, ask } = await start(`${tool}-alone`, await freePort());
    try {
      await judgeOpen(ask);
    } finally {
      await stopChild(child);
    }
  });

  it(`${tool} lets nobody in by a gate that refuses or fails`, async (context) => {
    if (!hasTool(context, tool)) return;
    let status = 200;
    const gate = createServer((_, response) => response.writeHead(status).end());
    gate.listen(0, '127.0.0.1');
    await once(gate, 'listening');
    const { child, ask } = await start(`${tool}-refused`, (gate.address() as AddressInfo).port);
    try {
      await within(async () => (await statusOf(ask, clean)) === 200, 'the proxy');
      for (status of [400, 404, 405, 408, 413, 414, 422, 429, 431, 500, 501, 503, 505]) {
        for (const method of ['GET', 'POST']) {
          const answer = await ask(clean, '/', { method, headers: page });
          assert.ok(answer.status >= 400, `${status}: ${answer.status}`);
          assert.doesNotMatch(answer.body, /^app/);
        }
      }
    } finally {
      await stopChild(child);
      gate.close();
    }
  });

  it(`${tool} lets no head of a blocked visitor by`, async (context) => {
    if (!hasTool(context, tool)) return;
    await using credulous = await startCredulousApp();
    const { child, port, ask } = await start(`${tool}-held`, server.port, credulous.port);
    try {
      await refusesHostileHeads({
        ask,
        port,
        credulous,
        ...(tool === 'nginx' ? { opening: proxyLine } : {}),
      });
    } finally {
      await stopChild(child);
    }
  });
}
