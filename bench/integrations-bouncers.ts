/**
 * What bouncers ask, of this server and of the local API of Debian's CrowdSec 1.4.6 with the same bans: the
 * look-up of one address, a poll that brings nothing new, and the whole list. Both are whole programs in
 * processes of their own; rounds are interleaved, the median counts.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { unpackDebian } from '../test/support/house/debian-packages.ts';
import { spawn, stopChild } from '../test/support/house/spawn.ts';
import { freePort } from '../test/support/server/free-port.ts';
import { startTestServer, within } from '../test/support/server/server.ts';
import { type Load, openLoad } from './http-load.ts';
import { writeCrowdsecSettings } from './idle-peers.ts';
import { type BenchRow, besideInstalled } from './row.ts';
import { cpuUsOf, inTurns } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, bans: 1_000 },
  full: { rounds: 5, seconds: 3, bans: 50_000 },
} as const;
type Size = (typeof sizes)[keyof typeof sizes];

const goals = { fullMs: 50, pollUs: 15, timesPeer: 300 } as const;
const agent = { 'User-Agent': 'bench/1.0' };
/** Asked in turn by the load generator, which has each request ready. */
const askedFor = 2_000;

interface Asked {
  readonly port: number;
  readonly key: string;
  readonly process: { readonly pid?: number | undefined };
  /** That poll: beside others, some polls of the peer wait for longer than the load generator does. */
  readonly connections: number;
}

export async function askBouncers(name: 'tiny' | 'full', folder: string): Promise<BenchRow[]> {
  const size = sizes[name];
  const bans = Array.from(
    { length: size.bans },
    (_, i) => `45.${i >> 14}.${(i >> 6) & 255}.${i & 63}`,
  );
  const env = { LOG_LEVEL: 'info', CLIENT_LIMITS: 'off' };
  await using server = await startTestServer({ threads: 1, demo: false, env });
  const list = `${folder}/bans.txt`;
  writeFileSync(list, `${bans.join('\n')}\n`);
  await server.cliJson('account', 'create', 'owner@example.org');
  const { text } = await server.cliJson(
    ...['bouncer', 'add', 'owner@example.org', 'bench', '--limit', String(size.bans)],
  );
  const source = ['--format', 'plain', '--source', 'bench', '--confidence', '100'];
  await server.cliJson('seed', list, ...source);
  const ours: Asked = { port: server.port, key: text, process: server, connections: 64 };
  await within(
    // It answers 503 while the first list is being built.
    async () => (await readAll(ours, 'startup=true').catch(() => undefined))?.rows === size.bans,
    'the whole list',
  );
  const peer = await startCrowdsec(folder, bans);
  const { ours: found, peer: peerFound } = await inTurns(size.rounds, {
    ours: () => measure(ours, bans, size),
    peer: async () => peer && measure(peer, bans, size),
  }).finally(() => peer?.stop());
  return rowsOf(found, peerFound, size);
}

/** Microseconds of the processor, and of the whole list milliseconds from the request to the last byte. */
async function measure(asked: Asked, bans: readonly string[], { seconds }: Size) {
  const step = Math.max(1, Math.floor(bans.length / askedFor));
  const headers = { 'X-Api-Key': asked.key, ...agent };
  const targets = bans.filter((_, i) => i % step === 0).map((ip) => `/v1/decisions?ip=${ip}`);
  const us = (load: Load) =>
    cpuUsOf(asked.process, async () => (await load.run(asked.port, seconds)).answers);
  using load = openLoad(targets, headers);
  const live = await us(load);
  const { rows, ms: full } = await readAll(asked, 'startup=true');
  if (rows !== bans.length) throw new Error(`${rows} of ${bans.length} bans in the whole list`);
  using polls = openLoad(['/v1/decisions/stream?startup=false'], headers, asked);
  await readAll(asked, 'startup=false');
  return { live, full, poll: await us(polls) };
}

/** How many decisions there are, and the milliseconds from the request to the last byte. */
async function readAll({ port, key }: Asked, query: string): Promise<{ rows: number; ms: number }> {
  const path = `/v1/decisions/stream?${query}`;
  const begun = performance.now();
  const asking = request({ port, path, headers: { 'X-Api-Key': key, ...agent } }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part);
  const ms = performance.now() - begun;
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
  // Counted without parsing: the client shares the machine.
  const bytes = Buffer.concat(parts);
  const mark = '"scenario"';
  let rows = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) rows++;
  return { rows, ms };
}

/** Undefined where Debian's package can't be fetched. */
async function startCrowdsec(
  folder: string,
  bans: readonly string[],
): Promise<(Asked & { stop(): Promise<void> }) | undefined> {
  const kept = resolve('test/system/node_modules/.crowdsec');
  if (!existsSync('/usr/bin/dpkg-deb')) return undefined;
  const programs = `${unpackDebian(kept, 'bookworm', ['crowdsec'])}/usr/bin`;
  const place = `${folder}/crowdsec`;
  mkdirSync(place);
  const port = await freePort();
  writeCrowdsecSettings(place, port);
  const config = ['-c', `${place}/config.yaml`];
  const cscli = (...words: readonly string[]) =>
    promisify(execFile)(`${programs}/cscli`, [...config, ...words]);
  const url = ['--url', `http://127.0.0.1:${port}`];
  const key = 'bench';
  const client = ['-f', `${place}/client.yaml`, ...url];
  await cscli('machines', 'add', 'bench', '--password', key, ...client);
  await cscli('bouncers', 'add', 'bench', '-k', key);
  const child = spawn(`${programs}/crowdsec`, [...config, '-no-cs'], { stdio: 'ignore' });
  const stop = () => stopChild(child, 'SIGKILL');
  const asked = { port, key, process: child, connections: 1, stop };
  try {
    const list = () => readAll(asked, 'startup=true').catch(() => undefined);
    await within(async () => (await list()) !== undefined, "CrowdSec's local API");
    const rows = bans.map((ip) => `400h,ip,${ip}`);
    writeFileSync(`${place}/bans.csv`, `duration,scope,value\n${rows.join('\n')}\n`);
    await cscli('decisions', 'import', '-i', `${place}/bans.csv`);
    return asked;
  } catch (error) {
    await stop();
    throw error;
  }
}

type Found = Awaited<ReturnType<typeof measure>>;

function rowsOf(found: readonly Found[], peerFound: readonly Found[], { bans }: Size): BenchRow[] {
  const missing = `${bans} bans; CrowdSec's package can't be fetched`;
  const row = (
    name: string,
    unit: string,
    figure: keyof Found,
    goal: string,
    isMet: (ours: number, peer: number) => boolean,
  ): BenchRow => {
    const ours = found.map((one) => one[figure]);
    const values = peerFound.map((one) => one[figure]);
    const peer = { name: "CrowdSec's local API", values, missing };
    return besideInstalled(
      { name: `bouncers: ${name}`, unit, ours },
      peer,
      goal,
      isMet,
      `${bans} bans`,
    );
  };
  const { timesPeer, pollUs, fullMs } = goals;
  const fewer = `≥ ${timesPeer} × fewer than CrowdSec`;
  return [
    row('CPU of a look-up, whole server', 'µs', 'live', fewer, (a, b) => b / a >= timesPeer),
    row('CPU of a poll without news', 'µs', 'poll', `≤ ${pollUs} µs`, (a) => a <= pollUs),
    row('the whole list', 'ms', 'full', `≤ ${fullMs} ms`, (a) => a <= fullMs),
  ];
}
