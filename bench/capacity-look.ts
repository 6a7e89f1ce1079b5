/**
 * Looks at a server on a data directory that was filled: how soon it is ready, its memory, the size of its
 * store. Of some starts the quickest is shown: the others hold what a busy machine did.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { specialUse } from '../src/ip/special.ts';
import { startTestServer, type TestServer } from '../test/support/server/server.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

/** As unit, image and the `portcullis` command have it. */
const env = {
  ...{ MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '1048576' },
  ...{ CLIENT_LIMITS: 'off', LOG_LEVEL: 'info' },
};
const mib = 2 ** 20;
/** Is reported by very many: 101.0.0.1. */
export const flooded = 0x6500_0001;

export const counted = (n: number) => n.toLocaleString('en-US');

export function say(what: string): void {
  if (process.env.BENCH_VERBOSE !== undefined) {
    process.stderr.write(`${new Date().toISOString()} capacity: ${what}\n`);
  }
}

export function serve(dataDir: string): Promise<TestServer> {
  return startTestServer({ threads: 1, dataDir, demo: false, env });
}

export interface LookPlan {
  readonly starts: number;
  /** Between the start and the look at its memory. */
  readonly quietMs: number;
}

export interface Memory {
  /** Resident MiB. */
  readonly all: number;
  /** Of them pages of the store's file: the system takes them back when it needs them. */
  readonly mapped: number;
}

export interface Look {
  /** Start with nothing but the journal behind the last checkpoint, ms. */
  readonly firstMs: number;
  /** The quickest of some starts after a stop. */
  readonly ms: number;
  /** What such a start takes of processors, the median. */
  readonly cpuMs: number;
  readonly memory: Memory;
  readonly entries: number;
}

/** Starts and stops; the first start applies what was written meanwhile. */
export async function look(dataDir: string, { starts, quietMs }: LookPlan): Promise<Look> {
  const first = await timedStart(dataDir);
  await ready(first.server);
  await first.server.stop();
  const times: number[] = [];
  const cpuTimes: number[] = [];
  for (let i = 0; i < starts; i++) {
    const { server, ms } = await timedStart(dataDir);
    times.push(ms);
    cpuTimes.push(processorMs(server.pid));
    await server.stop();
  }
  await using server = await serve(dataDir);
  await sleep(quietMs);
  const memory = memoryOf(server.pid);
  const entries = await ready(server);
  await server.stop();
  say(`${dataDir}: ${JSON.stringify({ firstMs: first.ms, times, cpuTimes, memory, entries })}`);
  return { firstMs: first.ms, ms: Math.min(...times), cpuMs: median(cpuTimes), memory, entries };
}

/** @returns the entries that it has */
async function ready(server: TestServer): Promise<number> {
  const answer = await server.fetch('/readyz');
  if (answer.status !== 200) throw new Error(`/readyz: ${answer.status} ${answer.body}`);
  return (answer.json() as { entries: number }).entries;
}

async function timedStart(dataDir: string): Promise<{ server: TestServer; ms: number }> {
  const startMs = performance.now();
  const server = await serve(dataDir);
  return { server, ms: performance.now() - startMs };
}

/** Of all threads since the process began. */
function processorMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // Behind the name in brackets, from the third field on: 14 and 15 are ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

function startNote({ cpuMs }: Look): string {
  return `${(cpuMs / 1_000).toFixed(1)} s of processor time`;
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1_024;
  return { all: of('VmRSS'), mapped: of('RssFile') };
}

export function storeMiB(dataDir: string): number {
  return (statSync(join(dataDir, 'store', 'data.mdb')).blocks * 512) / mib;
}

export function mappedNote({ mapped }: Memory): string {
  return `and ${Math.round(mapped)} MiB of mapped files, which the system takes back when it needs them`;
}

export function sizeRows(what: string, dataDir: string, own: Look): BenchRow[] {
  return [
    { name: `${what}: start after a stop`, unit: 'ms', ours: own.ms, note: startNote(own) },
    { name: `${what}: start that reads what was written since`, unit: 'ms', ours: own.firstMs },
    {
      ...{ name: `${what}: memory of its own`, unit: 'MiB' },
      ...{ ours: own.memory.all - own.memory.mapped, note: mappedNote(own.memory) },
    },
    { name: `${what}: the store`, unit: 'MiB', ours: storeMiB(dataDir) },
  ];
}

/** Of addresses that a list or a report may name. */
export const isPublic = (host: number) =>
  specialUse(4, Uint32Array.of(host, 0, 0, 0)) === undefined && host !== flooded;
