/** The gate behind nginx and Caddy, with the configurations that its page shows. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import { solveGif } from '../support/captcha/solver.ts';
import { hasTool } from '../support/house/tools.ts';
import { freePort } from '../support/server/free-port.ts';
import { type Answer, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('gate-proxies');
const suspect = '45.10.0.7';
const blocked = '45.11.0.7';
const clean = '45.13.0.7';
let server: TestServer;
let app: Server;
let appPort = 0;

before(async () => {
  server = await startTestServer({
    threads: 1,
    demo: false,
    env: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  for (const [row, confidence] of [
    [suspect, '60'],
    [blocked, '90'],
  ] as const) {
    const file = `${directory.path}/${confidence}.txt`;
    writeFileSync(file, `${row}\n`);
    const words = [file, '--format', 'plain', '--confidence', confidence, '--source', confidence];
    await server.cliJson('seed', ...words);
  }
  app = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    response.end(`app ${request.method} ${request.url} ${Buffer.concat(parts)}`);
  });
  app.listen(0, '127.0.0.1');
  await once(app, 'listening');
  appPort = (app.address() as AddressInfo).port;
});

after(async () => {
  app?.close();
  app?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
  directory.remove();
});

/** A proxy's configuration as the page shows it. */
function sample(language: string, gatePort: number): string {
  const text = readFileSync('docs/GATE.md', 'utf8');
  const found = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  assert.ok(found, language);
  return found
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${gatePort}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${appPort}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}
type Ask = (address: string, path: string, options?: Asked) => Promise<Answer>;

/** Through the proxy on this port, as a visitor of site.example from this address. */
function asker(port: number): Ask {
  return async (address, path, { method = 'GET', body, headers = {} } = {}) => {
    const { request } = await import('node:http');
    const all = { Host: 'site.example', 'X-Forwarded-For': address, ...headers };
    return new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', method, path, headers: all }, (got) => {
        const parts: Buffer[] = [];
        got.on('data', (part: Buffer) => parts.push(part));
        got.on('error', reject);
        got.on('end', () => {
          const bytes = Buffer.concat(parts);
          const { statusCode: status = 0, headers: said } = got;
          resolve({ status, headers: said, bytes, body: bytes.toString() } as never);
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  };
}

const page = { Accept: 'text/html,application/xhtml+xml', 'Sec-Fetch-Mode': 'navigate' };
const formType = 'application/x-www-form-urlencoded';

/** All that a proxy shall do, from the first request to the pass. */
async function judge(ask: Ask): Promise<void> {
  await within(async () => {
    const asked = await Promise.all([clean, suspect, blocked].map((one) => status(ask, one)));
    return String(asked) === '200,302,403';
  }, 'the verdicts');
  assert.equal((await ask(clean, '/a?b=c', { headers: page })).body, 'app GET /a?b=c ');
  const posted = await ask(clean, '/form', { method: 'POST', body: 'x=1' });
  assert.equal(posted.body, 'app POST /form x=1');
  const program = await ask(suspect, '/form', { method: 'POST', body: 'x=1', headers: page });
  assert.equal(program.status, 403);
  assert.doesNotMatch(program.body, /^app/);
  assert.equal((await ask(blocked, '/form', { method: 'POST', body: 'x=1' })).status, 403);

  const shut = await ask(suspect, '/shop?item=7', { headers: page });
  assert.deepEqual([shut.status, shut.headers.location], [302, challengeOf('/shop?item=7')]);
  const shown = await ask(suspect, shut.headers.location!, { headers: page });
  assert.equal(shown.status, 403);
  const token = /name="captcha_token" value="([\w-]{48})"/.exec(shown.body)![1]!;
  const style = /href="(\/\.portcullis\/static\/app\.[^"]+)"/.exec(shown.body)![1]!;
  assert.equal((await ask(suspect, style)).status, 200);
  const picture = await ask(suspect, `/.portcullis/img/${token}.gif`);
  const captcha_answer = solveGif(new Uint8Array(picture.bytes)).word;
  const fields = { captcha_token: token, captcha_answer, rd: '/shop?item=7' };
  const body = new URLSearchParams(fields).toString();
  const headers = { ...page, 'Content-Type': formType };
  const done = await ask(suspect, '/.portcullis/challenge', { method: 'POST', body, headers });
  assert.deepEqual([done.status, done.headers.location], [303, '/shop?item=7'], done.body);
  const pass = /^(portcullis_pass=[^;]+); Path=\/; HttpOnly; SameSite=Lax; Max-Age=/.exec(
    done.headers['set-cookie']![0]!,
  )![1]!;

  const Cookie = `theme=dark; ${pass}; last=1`;
  const let_in = await ask(suspect, '/shop?item=7', { headers: { ...page, Cookie } });
  assert.deepEqual([let_in.status, let_in.body], [200, 'app GET /shop?item=7 ']);
  const send = { method: 'POST', body: 'x=1', headers: { ...page, Cookie } };
  assert.equal((await ask(suspect, '/form', send)).body, 'app POST /form x=1');
  const forged = { ...page, Cookie: `${pass.slice(0, -2)}AA` };
  assert.equal((await ask(suspect, '/', { headers: forged })).status, 302);
  assert.equal((await ask(blocked, '/', { headers: { ...page, Cookie } })).status, 403);
  const elsewhere = { ...page, Cookie, Host: 'other.example' };
  assert.notEqual((await ask(suspect, '/', { headers: elsewhere })).status, 200);
}

const challengeOf = (path: string) => `/.portcullis/challenge?rd=${encodeURIComponent(path)}`;
const status = async (ask: Ask, address: string) =>
  (await ask(address, '/', { headers: page }).catch(() => undefined))?.status ?? 0;

/** Nobody is kept out by a gate that is gone. */
async function judgeOpen(ask: Ask): Promise<void> {
  await within(async () => (await status(ask, clean)) === 200, 'the proxy');
  const answer = await ask(blocked, '/a', { headers: page });
  assert.deepEqual([answer.status, answer.body], [200, 'app GET /a ']);
}

async function startNginx(name: string, gatePort: number): Promise<[ChildProcess, Ask]> {
  const port = await freePort();
  const site = sample('nginx', gatePort).replace('listen 80;', `listen 127.0.0.1:${port};`);
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
  const site = sample('caddy', gatePort)
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
