/**
 * One server with the embedded store and a list of so many public hosts: memory an entry, how soon it is
 * ready after a stop, what a start takes of processors, the size of its store. Of some starts the quickest
 * is shown: the others hold what a busy machine did.
 */

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { specialUse } from '../src/ip/special.ts';
import { startTestServer, type TestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { cpuSeconds } from './rbldnsd-peer.ts';
import { type BenchRow, median } from './row.ts';

const sizes = {
  tiny: { starts: 1, quietMs: 100, entries: [500] },
  full: { starts: 3, quietMs: 20_000, entries: [1_000_000, 6_000_000] },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

/** As unit, image and the `portcullis` command have it. */
const env = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  CLIENT_LIMITS: 'off',
  LOG_LEVEL: 'info',
};

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const empty = await measured(0, plan);
  const rows: BenchRow[] = [];
  for (const count of plan.entries) {
    const { memory, ms, cpuMs, storeMiB, entries } = await measured(count, plan);
    const name = `${entries.toLocaleString('en-US')} entries`;
    rows.push(
      {
        name: `${name}: memory an entry`,
        unit: 'bytes',
        ours: Math.round(((memory.own - empty.memory.own) * 2 ** 20) / entries),
        note: `${Math.round(memory.own)} MiB of its own, ${Math.round(empty.memory.own)} with no entry; and ${Math.round(memory.mapped)} MiB of mapped files, which the system takes back when it needs them`,
      },
      {
        name: `${name}: start after a stop`,
        unit: 'ms',
        ours: ms,
        peer: 'no entry',
        peerValue: empty.ms,
        note: `${(cpuMs / 1_000).toFixed(1)} s of processor time, ${(empty.cpuMs / 1_000).toFixed(1)} with no entry`,
      },
      { name: `${name}: the store`, unit: 'MiB', ours: storeMiB },
    );
  }
  return rows;
}

interface Measured {
  /** Milliseconds; the quickest of some starts, and what the median one took of processors. */
  readonly ms: number;
  readonly cpuMs: number;
  /** Resident MiB; pages of files apart. */
  readonly memory: { readonly own: number; readonly mapped: number };
  readonly storeMiB: number;
  readonly entries: number;
}

async function measured(count: number, { starts, quietMs }: Plan): Promise<Measured> {
  const directory = makeTempDir('bench-capacity');
  const dataDir = directory.path;
  const serve = () => startTestServer({ threads: 1, dataDir, demo: false, env });
  try {
    await using first = await serve();
    if (count > 0) await load(first, count);
    await first.stop();
    const times: number[] = [];
    const cpuTimes: number[] = [];
    for (let i = 0; i < starts; i++) {
      const startMs = performance.now();
      await using server = await serve();
      times.push(performance.now() - startMs);
      cpuTimes.push(1_000 * cpuSeconds(server));
      await server.stop();
    }
    await using server = await serve();
    await sleep(quietMs);
    const { entries } = (await server.fetch('/readyz')).json() as { entries: number };
    return {
      ms: Math.min(...times),
      cpuMs: median(cpuTimes),
      memory: memoryOf(server.pid),
      storeMiB: (statSync(join(dataDir, 'store', 'data.mdb')).blocks * 512) / 2 ** 20,
      entries,
    };
  } finally {
    directory.remove();
  }
}

async function load(server: TestServer, count: number): Promise<void> {
  const path = join(server.dataDir, 'hosts.txt');
  // One in seven addresses is not public, and a few come twice.
  const drawn = makeCheckTable(Math.ceil(count * 1.3)).hosts;
  const isPublic = (host: number) => specialUse(4, Uint32Array.of(host, 0, 0, 0)) === undefined;
  const hosts = [...new Set(drawn.filter(isPublic))].slice(0, count);
  writeFileSync(path, Array.from(hosts, hostText).join('\n'));
  await server.cliJson('seed', path, '--format', 'plain');
  rmSync(path);
}

function memoryOf(pid: number): Measured['memory'] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1_024;
  return { own: of('VmRSS') - of('RssFile'), mapped: of('RssFile') };
}
