/**
 * rbldnsd over the same hosts, asked by dnsperf: what mail servers use for such questions. Both
 * are Debian packages; without them there is no peer. The hosts are an `ip4set`, its fastest form.
 */

import { type ChildProcess, execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { spawn } from '../test/support/house/spawn.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { cpuUsOf } from './work.ts';

interface DnsPeer {
  /** CPU seconds of the server for a million answers, which are microseconds for one, over so many seconds of load. */
  cpuPerMillion(seconds: number): Promise<number>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const rbldnsd = '/usr/sbin/rbldnsd';
export const dnsperf = '/usr/bin/dnsperf';
export const zone = 'bl.example.net';
const startMsMax = 60_000;

/** Undefined when one of the two programs is missing. */
export async function openDnsPeer(entries: number, folder: string): Promise<DnsPeer | undefined> {
  if (!existsSync(rbldnsd) || !existsSync(dnsperf)) return undefined;
  const { hosts, hits } = makeCheckTable(entries);
  // Started by root, it reads its zone as a user of its own.
  chmodSync(folder, 0o755);
  const file = `${folder}/zone`;
  const lines = [...hosts].map((host) => `${hostText(host)}\n`).join('');
  writeFileSync(
    file,
    `$SOA 3600 ns.${zone} admin.${zone} 0 600 300 86400 300\n:127.0.0.2:listed\n${lines}`,
  );
  const queries = `${folder}/queries`;
  const names = hits.map((address) => `${address.split('.').reverse().join('.')}.${zone}`);
  writeFileSync(queries, names.map((name) => `${name} A\n`).join(''));
  const port = await freeUdpPort();
  const child = spawn(rbldnsd, ['-n', '-b', `127.0.0.1/${port}`, `${zone}:ip4set:${file}`], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await answers(names[0]!, port, child);
  return {
    async cpuPerMillion(seconds) {
      // Every name is on the list.
      return cpuUsOf(child, () => askByDnsperf(port, queries, seconds, 1));
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Asks from 64 clients, one query after the other; a server that found none would be fast for nothing.
 * @param queries file of names and types
 * @param listedMin the least share of names that must have an answer that is no error
 * @returns how many queries were answered
 */
export async function askByDnsperf(
  port: number,
  queries: string,
  seconds: number,
  listedMin: number,
): Promise<number> {
  const args = ['-s', '127.0.0.1', '-p', String(port), '-d', queries];
  const { stdout } = await run(dnsperf, [...args, '-l', String(seconds), '-c', '64']);
  const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1]);
  const found = Number(/NOERROR (\d+)/.exec(stdout)?.[1]);
  if (!(completed > 0 && found >= listedMin * completed)) throw new Error(`dnsperf: ${stdout}`);
  return completed;
}

async function freeUdpPort(): Promise<number> {
  const probe = createSocket('udp4').bind(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

/** Waits until it has read its zone. */
async function answers(name: string, port: number, child: ChildProcess): Promise<void> {
  const resolver = new Resolver({ timeout: 250, tries: 1 });
  resolver.setServers([`127.0.0.1:${port}`]);
  const endMs = performance.now() + startMsMax;
  while (performance.now() < endMs && child.exitCode === null) {
    const found = await resolver.resolve4(name).catch(() => []);
    if (found[0] === '127.0.0.2') return;
  }
  child.kill('SIGKILL');
  throw new Error('rbldnsd does not answer');
}
