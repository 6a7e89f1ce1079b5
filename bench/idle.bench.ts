/**
 * A server that nobody asks: how soon it is ready with an empty store, and its memory after a quiet minute,
 * with default settings, with one more front end and with lists. Beside it, where they are installed, Redis
 * and the local API of CrowdSec.
 */

import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from '../test/support/server/server.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { type IdlePeerKind, idlePeers, privateMiB, residentMiB } from './idle-peers.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { cpuSeconds } from './work.ts';

const sizes = {
  tiny: { rounds: 1, quietMs: 500, entries: [1_000] },
  full: { rounds: 5, quietMs: 60_000, entries: [120_000, 1_000_000, 8_000_000] },
} as const;
const goals = { startMs: 500, startCpuMs: 520, memoryMiB: 150, privateMiB: 85, threadMiB: 60 };
/** As unit, image and the `portcullis` command have it. */
const env = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '1048576' };
const usual = { demo: false, keepsAnswers: false, env };

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rounds, quietMs, entries } = sizes[size];
  const [ours, cpu]: [number[], number[]] = [[], []];
  const peers = idlePeers.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++) {
    const { ms, cpuMs } = await startOnce();
    ours.push(ms);
    cpu.push(cpuMs);
    for (const [i, peer] of idlePeers.entries()) peers[i]!.push(...(await peerStartMs(peer)));
  }
  const [one, two, ...peerMemory] = (await Promise.all([
    memoryOf(1, 0, quietMs),
    memoryOf(2, 0, quietMs),
    ...idlePeers.map((peer) => peerMemoryOf(peer, quietMs)),
  ])) as [Memory, Memory, ...(number | undefined)[]];
  const lists: BenchRow[] = [];
  for (const count of entries) {
    const { mib, listed } = await memoryOf(1, count, quietMs);
    const name = `memory: idle, one front end, ${count.toLocaleString('en-US')} random hosts loaded`;
    const note = `${listed.toLocaleString('en-US')} entries: addresses that are not public are left out`;
    lists.push({ name, unit: 'MiB', ours: mib, note });
  }
  const start = median(ours);
  const memory = `memory: idle for ${quietMs / 1_000} s`;
  const atMostMiB = (of: string, mib: number, most: number) =>
    rowAtMost(`${memory}${of}`, 'MiB', mib, most, 'MiB');
  return [
    rowAtMost('start: empty store to ready', 'ms', start, goals.startMs, 'ms'),
    ...beside('start: empty store to ready', 'ms', start, peers.map(median)),
    {
      ...rowAtMost('start: processor time', 'ms', median(cpu), goals.startCpuMs, 'ms'),
      note: 'of all threads, until it is ready',
    },
    atMostMiB(', one front end', one.mib, goals.memoryMiB),
    ...beside(`${memory}, one front end`, 'MiB', one.mib, peerMemory),
    {
      ...atMostMiB(', one front end: private', one.privateMib, goals.privateMiB),
      note: 'without what the process shares with others',
    },
    atMostMiB(', each further front end', two.mib - one.mib, goals.threadMiB),
    ...lists,
  ];
}

/** A row for each peer that is there. */
function beside(
  name: string,
  unit: string,
  ours: number,
  values: readonly (number | undefined)[],
): BenchRow[] {
  return idlePeers.flatMap(({ name: peer }, i) => {
    const peerValue = values[i] ?? Number.NaN;
    return Number.isNaN(peerValue) ? [] : [besidePeer(name, unit, ours, peer, peerValue)];
  });
}

async function startOnce(): Promise<{ ms: number; cpuMs: number }> {
  const begun = performance.now();
  await using server = await startTestServer({ ...usual, threads: 1 });
  return { ms: performance.now() - begun, cpuMs: 1_000 * cpuSeconds(server) };
}

async function peerStartMs(kind: IdlePeerKind): Promise<number[]> {
  const peer = await kind.start();
  peer?.stop();
  return peer === undefined ? [] : [peer.ms];
}

type Memory = Awaited<ReturnType<typeof memoryOf>>;

async function memoryOf(threads: number, entries: number, quietMs: number) {
  await using server = await startTestServer({ ...usual, threads });
  if (entries > 0) {
    const path = `${server.dataDir}/hosts.txt`;
    writeFileSync(path, Array.from(makeCheckTable(entries).hosts, hostText).join('\n'));
    await server.cliJson('seed', path, '--format', 'plain');
  }
  await sleep(quietMs);
  const { entries: listed } = (await server.fetch('/readyz')).json() as { entries: number };
  const { pid } = server;
  return { mib: residentMiB(pid), privateMib: privateMiB(pid), listed };
}

async function peerMemoryOf(kind: IdlePeerKind, quietMs: number): Promise<number | undefined> {
  const peer = await kind.start();
  if (peer === undefined) return undefined;
  await sleep(quietMs);
  const memory = residentMiB(peer.pid);
  peer.stop();
  return memory;
}
