/**
 * A server that nobody asks: how soon it is ready with an empty store, and its memory after a quiet minute,
 * with default settings, with one more front end and with lists. Redis beside it, where it is installed.
 */

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { freePort } from '../test/support/server/free-port.ts';
import { startTestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rounds: 1, quietMs: 500, entries: [1_000] },
  full: { rounds: 5, quietMs: 60_000, entries: [120_000, 1_000_000] },
} as const;
const goals = { startMs: 500, memoryMiB: 150, threadMiB: 60 } as const;
/** As unit, image and the `portcullis` command have it. */
const env = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '1048576' };

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rounds, quietMs, entries } = sizes[size];
  const [ours, redis]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ours.push(await startMs());
    const peer = await startRedis();
    if (peer === undefined) continue;
    redis.push(peer.ms);
    peer.stop();
  }
  const one = await memoryOf(1, 0, quietMs);
  const two = await memoryOf(2, 0, quietMs);
  const lists: BenchRow[] = [];
  for (const count of entries) {
    const name = `memory: idle, one front end, ${count.toLocaleString('en-US')} listed hosts`;
    lists.push({ name, unit: 'MiB', ours: await memoryOf(1, count, quietMs) });
  }
  const start = median(ours);
  const memory = `memory: idle for ${quietMs / 1_000} s`;
  return [
    {
      name: 'start: empty store to ready',
      unit: 'ms',
      ours: start,
      ...beside(median(redis), start),
      ...{ goal: `≤ ${goals.startMs} ms`, ok: start <= goals.startMs },
    },
    {
      name: `${memory}, one front end`,
      unit: 'MiB',
      ours: one,
      ...beside(await redisMemory(quietMs), one),
      ...{ goal: `≤ ${goals.memoryMiB} MiB`, ok: one <= goals.memoryMiB },
    },
    {
      name: `${memory}, each further front end`,
      unit: 'MiB',
      ours: two - one,
      ...{ goal: `≤ ${goals.threadMiB} MiB`, ok: two - one <= goals.threadMiB },
    },
    ...lists,
  ];
}

function beside(value: number, ours: number): Partial<BenchRow> {
  return Number.isNaN(value) ? {} : { peer: 'Redis', peerValue: value, ratio: ours / value };
}

async function startMs(): Promise<number> {
  const begun = performance.now();
  await using _ = await startTestServer({ threads: 1, demo: false, env });
  return performance.now() - begun;
}

async function memoryOf(threads: number, entries: number, quietMs: number): Promise<number> {
  await using server = await startTestServer({ threads, demo: false, env });
  if (entries > 0) {
    const path = `${server.dataDir}/hosts.txt`;
    writeFileSync(path, Array.from(makeCheckTable(entries).hosts, hostText).join('\n'));
    await server.cliJson('seed', path, '--format', 'plain');
  }
  await sleep(quietMs);
  return residentMiB(server.pid);
}

async function redisMemory(quietMs: number): Promise<number> {
  const peer = await startRedis();
  if (peer === undefined) return Number.NaN;
  await sleep(quietMs);
  const memory = residentMiB(peer.pid);
  peer.stop();
  return memory;
}

/** Debian's, with its defaults but the port and a folder of its own. */
async function startRedis() {
  if (spawnSync('redis-server', ['--version']).error !== undefined) return undefined;
  const folder = makeTempDir('redis');
  const port = await freePort();
  const begun = performance.now();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder.path];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  while (!(await isOpen(port))) await sleep(1);
  const ms = performance.now() - begun;
  return {
    ...{ ms, pid: child.pid! },
    stop() {
      child.kill('SIGKILL');
      folder.remove();
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
