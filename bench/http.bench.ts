/**
 * What the transport costs: CPU time of the server process for one answer, from the process's
 * own accounting, so that the load generator on the same machine is no limit. Servers run in
 * processes of their own; rounds are interleaved, and the median counts.
 */

import { formatIp } from '../src/ip/address.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { checkPath, type HttpContender, type Load, openLoad, startContender } from './http-load.ts';
import { runWays } from './http-ways.ts';
import { type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { cpuSecondsSince, inTurns } from './work.ts';

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
  const server = await startContender('check', entries, `${folder.path}/socket`);
  const servers = await Promise.all(kinds.map((kind) => startContender(kind, entries)));
  const found = (of: HttpContender, load: Load) => async (): Promise<Found> => {
    const before = await of.cpuUs();
    const { answers, p50, p99 } = await load.run(of.port, 1);
    return { ns: (1_000 * ((await of.cpuUs()) - before)) / answers, p50, p99 };
  };
  try {
    const all = await inTurns<Record<string, Found>>(rounds, {
      check: found(server, listed),
      random: found(server, any4),
      six: found(server, any6),
      ...Object.fromEntries(servers.map((one) => [one.kind, found(one, listed)])),
    });
    const asked = { key, addresses: hits, entries };
    const ways = await runWays(server, asked, { rounds, seconds: full ? 1 : 0.1 });
    const calls = Array.from({ length: rounds }, () => systemCallNs(full ? 200_000 : 1_000));
    return [...rowsOf(all), ...ways, callRow(median(calls))];
  } finally {
    for (const each of [server, ...servers]) each.stop();
  }
}

/** Somewhere in 2000::/3. */
function text6(high: number, low: number): string {
  const words = Uint32Array.of(0x2000_0000 + (high >>> 3), low, 0, 1);
  return formatIp(6, words);
}

/** Processor time of `getppid`, which Linux keeps no copy of: from JavaScript, as `process.ppid`. */
function systemCallNs(calls: number): number {
  const before = process.cpuUsage();
  let sum = 0;
  for (let i = 0; i < calls; i++) sum += process.ppid;
  const seconds = cpuSecondsSince(before);
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
