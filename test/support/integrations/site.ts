/** A site behind a proxy that asks the gate: the site itself, its visitors, and what they shall meet. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server, request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { solveGif } from '../captcha/solver.ts';
import { type Answer, type TestServer, within } from '../server/server.ts';

export const suspect = '45.10.0.7';
export const blocked = '45.11.0.7';
export const clean = '45.13.0.7';

/** Until the lists are in, all of them are clean. */
export async function seedVisitors(server: TestServer, directory: string): Promise<void> {
  for (const [row, confidence] of [
    [suspect, '60'],
    [blocked, '90'],
  ] as const) {
    const file = `${directory}/${confidence}.txt`;
    writeFileSync(file, `${row}\n`);
    const words = [file, '--format', 'plain', '--confidence', confidence, '--source', confidence];
    await server.cliJson('seed', ...words);
  }
}

/** Tells what it was asked. */
export async function startApp(): Promise<{ server: Server; port: number }> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    response.end(`app ${request.method} ${request.url} ${Buffer.concat(parts)}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** A proxy's configuration as the page of the gate shows it, with the ports of a test. */
export function sample(language: string, ports: Readonly<Record<number, number>>): string {
  const text = readFileSync('docs/GATE.md', 'utf8');
  // The whole file is the last one: nginx’s question stands alone before it.
  let found = [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].at(
    -1,
  )?.[1];
  assert.ok(found, language);
  for (const [shown, port] of Object.entries(ports)) {
    found = found.replaceAll(`127.0.0.1:${shown}`, `127.0.0.1:${port}`);
  }
  return found;
}

export interface Asked {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}
export type Ask = (address: string, path: string, options?: Asked) => Promise<Answer>;

/**
 * Through the proxy on this port, as a visitor of site.example from this address.
 * @param opening what another proxy in front would send first, for a visitor of this address
 */
export function asker(port: number, opening?: (address: string) => string): Ask {
  return async (address, path, { method = 'GET', body, headers = {} } = {}) => {
    const told = { 'X-Forwarded-For': address, Visitor: address };
    const all = { Host: 'site.example', ...told, ...headers };
    const options = { port, host: '127.0.0.1', method, path, headers: all };
    const createConnection = () => {
      const socket = connect(port, '127.0.0.1');
      socket.write(opening!(address));
      return socket;
    };
    return new Promise((resolve, reject) => {
      const own = opening === undefined ? options : { ...options, createConnection };
      const sent = send(own, (got) => {
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

/** What a proxy in front sends first, by the protocol for it. */
export const proxyLine = (address: string) =>
  address.includes(':')
    ? `PROXY TCP6 ${address} ::1 40000 80\r\n`
    : `PROXY TCP4 ${address} 127.0.0.1 40000 80\r\n`;

export const page = { Accept: 'text/html,application/xhtml+xml', 'Sec-Fetch-Mode': 'navigate' };
const formType = 'application/x-www-form-urlencoded';

/** All that a proxy shall do, from the first request to the pass. */
export async function judge(ask: Ask): Promise<void> {
  await within(async () => {
    const asked = await Promise.all([clean, suspect, blocked].map((one) => statusOf(ask, one)));
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
  const junk = `portcullis_pass=; portcullis_pass=x; portcullis_pass=${pass.slice(16, -2)}__`;
  for (const crowd of [
    `${junk}; ${pass}`,
    `${pass}; ${junk}`,
    `${junk}; ${pass}; portcullis_pass=y`,
  ]) {
    const among = await ask(suspect, '/', { headers: { ...page, Cookie: crowd } });
    assert.equal(among.status, 200, crowd);
  }
  const send = { method: 'POST', body: 'x=1', headers: { ...page, Cookie } };
  assert.equal((await ask(suspect, '/form', send)).body, 'app POST /form x=1');
  const end = pass.endsWith('AA') ? 'AE' : 'AA';
  const forged = { ...page, Cookie: `${pass.slice(0, -2)}${end}` };
  assert.equal((await ask(suspect, '/', { headers: forged })).status, 302);
  assert.equal((await ask(blocked, '/', { headers: { ...page, Cookie } })).status, 403);
  const elsewhere = { ...page, Cookie, Host: 'other.example' };
  assert.notEqual((await ask(suspect, '/', { headers: elsewhere })).status, 200);
}

const challengeOf = (path: string) => `/.portcullis/challenge?rd=${encodeURIComponent(path)}`;
export const statusOf = async (ask: Ask, address: string) =>
  (await ask(address, '/', { headers: page }).catch(() => undefined))?.status ?? 0;

/** Nobody is kept out by a gate that is gone. */
export async function judgeOpen(ask: Ask): Promise<void> {
  await within(async () => (await statusOf(ask, clean)) === 200, 'the proxy');
  const answer = await ask(blocked, '/a', { headers: page });
  assert.deepEqual([answer.status, answer.body], [200, 'app GET /a ']);
}
