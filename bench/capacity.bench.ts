/**
 * One server with the embedded store and lists of so many public hosts: memory an entry, what their import takes of the
 * server and of the command, how soon the server is ready after a stop, what a start takes of processors, what a check
 * does, how long its feeds take, the size of its store. Of some starts the quickest is shown: the others hold what a busy
 * machine did.
 */

import { once } from 'node:events';
import { createWriteStream, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { specialUse } from '../src/ip/special.ts';
import {
  metric,
  startCli,
  startTestServer,
  type TestServer,
  within,
} from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText } from './check-table.ts';
import { checkPath, openChecks, openLoad } from './http-load.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { cpuSeconds, cpuUsOf } from './work.ts';

// Services that are known good have entries as well.
// biome-ignore format: a table.
const sizes = {
  tiny: { starts: 1, quietMs: 100, checkSeconds: 1, entries: [500] },
  full: { starts: 3, quietMs: 20_000, checkSeconds: 3, entries: [1_000_000, 8_000_000, 31_900_000] },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

/** Of one list; a list may have 20 million. */
const rowsMax = 8_000_000;
const lineRows = 50_000;
const watchMs = 50;
const feedsMs = 300_000;
const duringImport = 'memory of the server during the import, beyond what it takes after';
const goals = { bytesAnEntry: 55, serverMiB: 400, commandMiB: 150, checks: 2 } as const;

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
  for (const count of plan.entries) rows.push(...rowsOf(await measured(count, plan), empty, plan));
  return rows;
}

type Measured = Awaited<ReturnType<typeof measured>>;

function rowsOf(found: Measured, empty: Measured, { checkSeconds }: Plan): BenchRow[] {
  const { memory, imported, entries, feeds } = found;
  const name = `${entries.toLocaleString('en-US')} entries`;
  const beyond = Math.round(imported.serverMiB - memory.own);
  const [command, commandMiB] = ['memory of the command during the import', imported.commandMiB];
  const [index, anEntry] = ['memory of the index, an entry', found.indexBytes / entries];
  const { p99, p99Before, p99Worst } = imported;
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  return [
    {
      ...rowAtMost(`${name}: ${duringImport}`, 'MiB', beyond, goals.serverMiB),
      note: `${imported.seconds.toFixed(0)} s, in lists of at most ${rowsMax.toLocaleString('en-US')}`,
    },
    {
      ...besidePeer(`${name}: check p99 during the import`, 'ms', p99, 'before it', p99Before),
      goal: `≤ ${goals.checks} × before`,
      ok: p99 <= goals.checks * p99Before,
      note: `the median of every ${checkSeconds} s, the worst ${p99Worst.toFixed(2)} ms; 64 connections`,
    },
    rowAtMost(`${name}: ${command}`, 'MiB', Math.round(commandMiB), goals.commandMiB),
    rowAtMost(`${name}: ${index}`, 'bytes', anEntry, goals.bytesAnEntry),
    {
      name: `${name}: memory in all, feeds included`,
      unit: 'MiB',
      ours: Math.round(memory.own),
      note: `${Math.round(empty.memory.own)} with no entry; and ${Math.round(memory.mapped)} MiB of mapped files, which the system takes back when it needs them`,
    },
    {
      name: `${name}: start after a stop`,
      unit: 'ms',
      ours: found.ms,
      peer: 'no entry',
      peerValue: empty.ms,
      note: `${seconds(found.cpuMs)} s of processor time, ${seconds(empty.cpuMs)} with no entry`,
    },
    {
      ...besidePeer(`${name}: CPU of a check`, 'ns', found.checkNs, 'no entry', empty.checkNs),
      note: 'of all threads; 64 connections, 4,000 of the hosts',
    },
    {
      name: `${name}: a build of all feeds from nothing`,
      unit: 's',
      ours: feeds.seconds,
      note: `${feeds.entries.toLocaleString('en-US')} entries in them`,
    },
    { name: `${name}: the store`, unit: 'MiB', ours: found.storeMiB },
  ];
}

async function measured(count: number, { starts, quietMs, checkSeconds }: Plan) {
  using directory = makeTempDir('bench-capacity');
  const dataDir = directory.path;
  const serve = (withKey = false) =>
    startTestServer({ threads: 1, dataDir, demo: false, withKey, env });
  await using first = await serve(true);
  const imported = await load(first, count, checkSeconds);
  await first.stop();
  const [times, cpuTimes]: [number[], number[]] = [[], []];
  for (let i = 0; i < starts; i++) {
    const startMs = performance.now();
    await using server = await serve();
    times.push(performance.now() - startMs);
    cpuTimes.push(1_000 * cpuSeconds(server));
    await server.stop();
  }
  await using server = await serve();
  // Nobody builds feeds of nothing.
  const feeds = count === 0 ? { seconds: 0, entries: 0 } : await feedsOf(server);
  await sleep(quietMs);
  const memory = memoryOf(server.pid);
  const { entries } = (await server.fetch('/readyz')).json() as { entries: number };
  const parts = await metric(server, 'portcullis_index_bytes');
  using checks = openLoad(checkedHosts().map(checkPath), { Key: first.key });
  const ask = async () => (await checks.run(server.port, checkSeconds)).answers;
  return {
    /** The quickest of some starts, and what the median one took of processors. */
    ms: Math.min(...times),
    cpuMs: median(cpuTimes),
    memory,
    storeMiB: (statSync(join(dataDir, 'store', 'data.mdb')).blocks * 512) / 2 ** 20,
    entries,
    imported,
    /** Nodes and records. */
    indexBytes: parts.get('part="touched"')! + parts.get('part="records"')!,
    checkNs: 1_000 * (await cpuUsOf(server, ask)),
    feeds,
  };
}

/** Waits for the first build behind a start. */
async function feedsOf(server: TestServer) {
  const one = async (name: string) =>
    (await metric(server, `portcullis_feed_${name}`)).get('') ?? 0;
  await within(async () => (await one('builds_total')) > 0, 'the feeds', feedsMs);
  return { seconds: await one('build_seconds'), entries: await one('entries') };
}

/** Most memory of their own that the server and the command had; p99 of checks, in ms. */
async function load(server: TestServer, count: number, seconds: number) {
  const path = join(server.dataDir, 'hosts.txt');
  const next = publicHosts();
  const most = { serverMiB: 0, commandMiB: 0 };
  using checks = openChecks(checkedHosts(), server.key);
  const p99 = () => checks.p99(server.port, seconds);
  const p99Before = await p99();
  const beside: number[] = [];
  const startMs = performance.now();
  for (let left = count, list = 1; left > 0; left -= rowsMax, list++) {
    await writeHosts(path, next, Math.min(left, rowsMax));
    const seed = ['seed', path, '--format', 'plain', '--source', `hosts${list}`];
    const command = startCli(seed, { DATA_DIR: server.dataDir });
    const watch = setInterval(() => {
      most.serverMiB = Math.max(most.serverMiB, memoryOf(server.pid).own);
      most.commandMiB = Math.max(most.commandMiB, memoryOf(command.process.pid!).own);
    }, watchMs);
    let isOver = false;
    const ended = command.ended.finally(() => {
      isOver = true;
      clearInterval(watch);
    });
    while (!isOver) beside.push(await p99());
    const { code } = await ended;
    if (code !== 0) throw new Error(`an import ended with ${code}: ${command.stderr()}`);
    rmSync(path);
  }
  const took = (performance.now() - startMs) / 1_000;
  const p99s = { p99Before, p99: median(beside), p99Worst: Math.max(0, ...beside) };
  return { ...most, ...p99s, seconds: took };
}

/** What is checked: the first of the hosts. */
function checkedHosts(): string[] {
  const next = publicHosts();
  return Array.from({ length: 4_000 }, () => hostText(next()));
}

/** Public hosts all over the address space, none twice. */
function publicHosts(): () => number {
  let n = 0;
  return () => {
    for (;;) {
      // An odd factor takes each number to another one.
      const host = Math.imul(++n, 0x9e37_79b1) >>> 0;
      if (specialUse(4, Uint32Array.of(host, 0, 0, 0)) === undefined) return host;
    }
  };
}

async function writeHosts(path: string, next: () => number, count: number): Promise<void> {
  const file = createWriteStream(path);
  for (let left = count; left > 0; left -= lineRows) {
    const hosts = Array.from({ length: Math.min(left, lineRows) }, () => hostText(next()));
    if (!file.write(`${hosts.join('\n')}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
}

/** Resident MiB; pages of files apart. It is nothing of a process that has just ended. */
function memoryOf(pid: number): { readonly own: number; readonly mapped: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => {
    return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
  };
  return { own: of('VmRSS') - of('RssFile'), mapped: of('RssFile') };
}
