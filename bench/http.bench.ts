/**
 * What the transport costs: CPU time of the server process for one answer, from the process's
 * own accounting, so that the load generator on the same machine is no limit. Servers run in
 * processes of their own; rounds are interleaved, and the median counts.
 */

import { makeCheckTable } from './check-table.ts';
import { type HttpContender, startContender } from './http-contender.ts';
import { type Load, openLoad } from './http-load.ts';
import { path } from './http-server.ts';
import type { BenchRow } from './row.ts';

interface Contender {
  readonly kind: string;
  readonly server: HttpContender;
  readonly nsPerAnswer: number[];
  readonly p50: number[];
  readonly p99: number[];
}

const kinds = [
  ...['ours', 'check', 'bare', 'bareOneString', 'node', 'fastify', 'nodeCheck', 'fastifyCheck'],
] as const;

interface Peer {
  readonly kind: string;
  readonly name: string;
  readonly goal?: { readonly text: string; readonly ratioMax: number };
}

/** The floor has no goal: nobody writes headers by hand, it shows what the checks cost. */
const floor: readonly Peer[] = [
  { kind: 'bare', name: 'bare uWebSockets.js', goal: { text: '≤ 1/0.85', ratioMax: 1 / 0.85 } },
  { kind: 'bareOneString', name: 'bare, headers in one constant string' },
];
const quarter = { text: '≤ 1/4', ratioMax: 0.25 };
/** Like beside like: a constant beside constants, a check beside checks. */
const transportPeers: readonly Peer[] = [
  ...floor,
  { kind: 'node', name: 'node:http, constant', goal: quarter },
  { kind: 'fastify', name: 'Fastify, constant', goal: quarter },
];
const checkPeers: readonly Peer[] = [
  ...floor,
  { kind: 'nodeCheck', name: 'node:http, Maps, mmdb-lib', goal: quarter },
  { kind: 'fastifyCheck', name: 'Fastify, Maps, mmdb-lib', goal: quarter },
];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const rounds = size === 'full' ? 7 : 1;
  const entries = size === 'full' ? 1_000_000 : 1_000;
  const { key, hits: addresses } = makeCheckTable(entries);
  const contenders = await Promise.all(kinds.map((kind) => start(kind, entries)));
  using load = await openLoad(
    addresses.map((address) => `${path}?ipAddress=${address}`),
    { Key: key, Accept: 'application/json' },
  );
  try {
    // The first round warms up and is not counted.
    for (let round = size === 'full' ? -1 : 0; round < rounds; round++) {
      for (const contender of contenders) await measure(contender, load, round >= 0);
    }
  } finally {
    for (const { server } of contenders) server.stop();
  }
  return rowsOf(contenders, load.generator);
}

async function start(kind: string, entries: number): Promise<Contender> {
  const server = await startContender(kind, entries);
  return { kind, server, nsPerAnswer: [], p50: [], p99: [] };
}

async function measure(contender: Contender, load: Load, counts: boolean): Promise<void> {
  const { server } = contender;
  const before = await server.cpuUs();
  const result = await load.run(server.port, 1);
  const usedUs = (await server.cpuUs()) - before;
  if (!counts) return;
  contender.nsPerAnswer.push((usedUs * 1_000) / result.answers);
  contender.p50.push(result.p50);
  contender.p99.push(result.p99);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function rowsOf(contenders: readonly Contender[], generator: string): BenchRow[] {
  return [
    ...rowsFor(
      'ours',
      'http: CPU of one constant hot answer',
      transportPeers,
      contenders,
      generator,
    ),
    ...rowsFor(
      'check',
      'http: CPU of a whole check, 1M entries',
      checkPeers,
      contenders,
      generator,
    ),
  ];
}

function rowsFor(
  which: string,
  title: string,
  peers: readonly Peer[],
  contenders: readonly Contender[],
  generator: string,
): BenchRow[] {
  const ours = contenders.find(({ kind }) => kind === which)!;
  const oursNs = median(ours.nsPerAnswer);
  return peers.map(({ kind, name, goal }) => {
    const peerNs = median(contenders.find((contender) => contender.kind === kind)!.nsPerAnswer);
    const ratio = oursNs / peerNs;
    return {
      name: title,
      unit: 'ns',
      ours: oursNs,
      peer: name,
      peerValue: peerNs,
      ratio,
      ...(goal === undefined ? {} : { goal: goal.text, ok: ratio <= goal.ratioMax }),
      p50: median(ours.p50),
      p99: median(ours.p99),
      note: `${generator}, 64 connections; p50 and p99 in ms under full load`,
    };
  });
}
