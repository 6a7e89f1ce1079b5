/** The gate behind nginx and Caddy, with the configurations that its page shows. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { after, before, it } from 'node:test';
import {
  type Ask,
  asker,
  judge,
  judgeOpen,
  sample,
  seedVisitors,
  startApp,
} from '../support/doors/site.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, type TestServer } from '../support/server/server.ts';
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

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

const portsWith = (gatePort: number) => ({ 8080: gatePort, 3000: appPort });

async function startNginx(name: string, gatePort: number): Promise<[ChildProcess, Ask]> {
  const port = await freePort();
  const site = sample('nginx', portsWith(gatePort)).replace(
    'listen 80;',
    `listen 127.0.0.1:${port};`,
  );
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = `daemon off;
master_process off;
pid ${directory.path}/${name}.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${folders.map((each) => `${each}_temp_path ${directory.path}/${name}-${each};`).join('\n  ')}
  set_real_ip_from 127.0.0.1;
  real_ip_header X-Forwarded-For;
  ${site}
}
`;
  writeFileSync(`${directory.path}/${name}.conf`, config);
  const words = ['-p', directory.path, '-c', `${directory.path}/${name}.conf`];
  return [spawn('nginx', words, { stdio: 'ignore' }), asker(port)];
}

async function startCaddy(name: string, gatePort: number): Promise<[ChildProcess, Ask]> {
  const port = await freePort();
  // The visitor's address, as another proxy in front would tell it.
  const trusting = (opening: string) => `${opening}\n\t\t\ttrusted_proxies 127.0.0.1/32\n`;
  const site = sample('caddy', portsWith(gatePort))
    .replace('http://site.example', `http://:${port}`)
    .replace(/(?:reverse_proxy|forward_auth) 127\.0\.0\.1:\d+ \{\n/g, (line) =>
      trusting(line.trimEnd()),
    );
  const options = '{\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n}\n';
  const config = `${directory.path}/${name}.caddy`;
  writeFileSync(config, options + site);
  const env = { PATH: process.env.PATH, HOME: directory.path, XDG_DATA_HOME: directory.path };
  const words = ['run', '--adapter', 'caddyfile', '--config', config];
  return [spawn('caddy', words, { stdio: 'ignore', env }), asker(port)];
}

for (const [tool, start] of [
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const) {
  it(`${tool} lets in, challenges and blocks, and takes a pass`, async (context) => {
    if (!hasTool(context, tool)) return;
    const [child, ask] = await start(tool, server.port);
    try {
      await judge(ask);
    } finally {
      await stop(child);
    }
  });

  it(`${tool} lets everybody in while the gate is away`, async (context) => {
    if (!hasTool(context, tool)) return;
    const [child, ask] = await start(`${tool}-alone`, await freePort());
    try {
      await judgeOpen(ask);
    } finally {
      await stop(child);
    }
  });
}
