/**
 * What the transport costs: CPU time of the server process for one answer, from the process's
 * own accounting, so that the load generator on the same machine is no limit. Servers run in
 * processes of their own; rounds are interleaved, and the median counts.
 */

import { formatIp } from '../src/ip/address.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { checkPath, type Load, openLoad } from './http-load.ts';
import { runWays } from './http-ways.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { type Contender, cpuSecondsOf, inTurns, startContender } from './work.ts';

/** Of one round. */
interface Found {
  readonly ns: number;
  readonly p50: number;
  readonly p99: number;
}

type AllFound = Readonly<Record<string, readonly Found[]>>;

/** Each is asked for addresses that are listed, but the check also for others. */
const kinds = ['ours', 'bare', 'nodeCheck', 'fastifyCheck'];

interface Peer {
  readonly kind: string;
  readonly name: string;
  readonly goal: string;
  readonly ratioMax: number;
}

const bare = (ratioMax: number, goal = `≤ ${ratioMax}`): Peer => ({
  kind: 'bare',
  name: 'bare uWebSockets.js',
  goal,
  ratioMax,
});
const quarter = { goal: '≤ 1/4', ratioMax: 0.25 };
const checkPeers = (ratioMax: number): readonly Peer[] => [
  bare(ratioMax),
  { kind: 'nodeCheck', name: 'node:http, Maps, mmdb-lib', ...quarter },
  { kind: 'fastifyCheck', name: 'Fastify, Maps, mmdb-lib', ...quarter },
];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const full = size === 'full';
  const rounds = full ? 7 : 1;
  const entries = full ? 1_000_000 : 1_000;
  const { key, hits } = makeCheckTable(entries);
  const dice = seededRandom(5);
  const random = Uint32Array.from({ length: 2 * hits.length }, () => dice.next() * 2 ** 32);
  const asking = (addresses: readonly string[]) =>
    openLoad(addresses.map(checkPath), { Key: key, Accept: 'application/json' });
  using listed = await asking(hits);
  using any4 = await asking(hits.map((_, i) => hostText(random[i]!)));
  using any6 = await asking(hits.map((_, i) => text6(random[2 * i]!, random[2 * i + 1]!)));
  using folder = makeTempDir('bench-http');
  const socket = `${folder.path}/socket`;
  using server = await startContender('check', [entries, socket]);
  const servers = await Promise.all(kinds.map((kind) => startContender(kind, [entries])));
  const found = (of: Contender, load: Load) => async (): Promise<Found> => {
    let latency = { p50: 0, p99: 0 };
    const us = await of.usOf(async () => {
      const { answers, ...told } = await load.run(of.port, 1);
      latency = told;
      return answers;
    });
    return { ns: 1_000 * us, ...latency };
  };
  try {
    const all = await inTurns<Record<string, Found>>(rounds, {
      check: found(server, listed),
      random: found(server, any4),
      six: found(server, any6),
      ...Object.fromEntries(servers.map((one) => [one.kind, found(one, listed)])),
    });
    const ways = await runWays(server, socket, entries, { rounds, seconds: full ? 1 : 0.1 });
    const { calls } = await inTurns(rounds, { calls: () => systemCallNs(full ? 200_000 : 1_000) });
    return [...rowsOf(all), ...ways, callRow(median(calls))];
  } finally {
    for (const each of servers) each[Symbol.dispose]();
  }
}

/** Somewhere in 2000::/3. */
function text6(high: number, low: number): string {
  const words = Uint32Array.of(0x2000_0000 + (high >>> 3), low, 0, 1);
  return formatIp(6, words);
}

/** Processor time of `getppid`, which Linux keeps no copy of: from JavaScript, as `process.ppid`. */
async function systemCallNs(calls: number): Promise<number> {
  let sum = 0;
  const seconds = await cpuSecondsOf(() => {
    for (let i = 0; i < calls; i++) sum += process.ppid;
  });
  if (sum === 0) throw new Error('no parent');
  return (1e9 * seconds) / calls;
}

function callRow(ns: number): BenchRow {
  return {
    name: 'http: a system call of this machine',
    unit: 'ns',
    ours: ns,
    note: 'getppid, called from JavaScript; an answer takes two or three, so ratios to a bare server depend on it',
  };
}

function rowsOf(found: AllFound): BenchRow[] {
  const medianOf = (which: string, figure: keyof Found) =>
    median(found[which]!.map((one) => one[figure]));
  const rows = (which: string, title: string, peers: readonly Peer[]): BenchRow[] =>
    peers.map(({ kind, name, goal, ratioMax }) => {
      const peerNs = medianOf(kind, 'ns');
      const row = besidePeer(`http: CPU of ${title}`, 'ns', medianOf(which, 'ns'), name, peerNs);
      return {
        ...row,
        goal,
        ok: row.ratio <= ratioMax,
        p50: medianOf(which, 'p50'),
        p99: medianOf(which, 'p99'),
        note: `wrk, 64 connections; p50 and p99 in ms under full load`,
      };
    });
  const more = medianOf('six', 'ns') - medianOf('random', 'ns');
  return [
    ...rows('ours', 'one constant hot answer', [bare(1 / 0.85, '≤ 1/0.85')]),
    ...rows('random', 'a whole check, 1M entries, random addresses', checkPeers(1.2)),
    ...rows('check', 'a whole check, 1M entries, hits', checkPeers(1.3)),
    rowAtMost('http: CPU that IPv6 takes more than IPv4, random addresses', 'ns', more, 300, 'ns'),
  ];
}
