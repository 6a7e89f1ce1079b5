/**
 * The integrations beside what others have for them. The DNS block list: processor time of an answer beside
 * rbldnsd and beside sockets that only send back, over the same hosts, asked by dnsperf. Servers run in
 * processes of their own, rounds are interleaved, the median counts. Those over HTTP: integrations-http.ts;
 * proxies that ask: integrations-proxies.ts; bouncers: integrations-bouncers.ts.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { makeCheckTable } from './check-table.ts';
import { askBouncers } from './integrations-bouncers.ts';
import { askOverHttp } from './integrations-http.ts';
import { behindHaproxy } from './integrations-proxies.ts';
import { askByDnsperf, dnsperf, openDnsPeer, zone } from './rbldnsd-peer.ts';
import { type BenchRow, median } from './row.ts';
import { forkServer, inTurns } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, entries: 1_000 },
  full: { rounds: 5, seconds: 3, entries: 1_000_000 },
} as const;

const goals = { rbldnsd: 4, echo: 1.2 } as const;
/** One in 101 hosts of the table has a score of 0, which no zone lists. */
const listedMin = 0.98;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  using temp = makeTempDir('bench-integrations');
  const folder = temp.path;
  return [
    ...(await askOverDns(size, folder)),
    ...(await askOverHttp(sizes[size], folder)),
    ...(await behindHaproxy(sizes[size], folder)),
    ...(await askBouncers(size, folder)),
  ];
}

async function askOverDns(size: 'tiny' | 'full', folder: string): Promise<BenchRow[]> {
  const { rounds, seconds, entries } = sizes[size];
  if (!existsSync(dnsperf)) {
    const note = 'dnsperf is not installed: nobody asks';
    return [{ name: 'DNS block list: CPU for an answer', unit: 'µs', ours: 0, note }];
  }
  const queries = `${folder}/names`;
  const { hits } = makeCheckTable(entries);
  const name = (address: string) => `${address.split('.').reverse().join('.')}.score.${zone} A\n`;
  writeFileSync(queries, hits.map(name).join(''));
  const start = (kind: string) => forkServer('dns-child', [kind, String(entries)]);
  const [ours, echo] = await Promise.all([start('ours'), start('echo')]);
  const peer = await openDnsPeer(entries, folder);
  const found = await inTurns(rounds, {
    ours: () => cpuUs(ours, queries, seconds),
    echo: () => cpuUs(echo, queries, seconds),
    rbldnsd: async () => peer?.cpuPerMillion(seconds),
  }).finally(() => {
    ours.child.disconnect();
    echo.child.disconnect();
    return peer?.stop();
  });
  const value = median(found.ours);
  const row = (against: readonly number[], peerName: string, ratioMax: number): BenchRow => {
    const base = { name: `DNS block list: CPU for an answer`, unit: 'µs', ours: value };
    const goal = `≤ ${ratioMax} × ${peerName}`;
    if (against.length === 0) return { ...base, goal, note: `${peerName} is not installed` };
    const peerValue = median(against);
    const ratio = value / peerValue;
    const note = 'the same hosts; dnsperf, 64 clients';
    return { ...base, peer: peerName, peerValue, ratio, goal, ok: ratio <= ratioMax, note };
  };
  return [
    row(found.rbldnsd, 'rbldnsd', goals.rbldnsd),
    row(found.echo, 'bare sockets', goals.echo),
  ];
}

type NameServer = Awaited<ReturnType<typeof forkServer>>;

async function cpuUs({ child, port }: NameServer, queries: string, seconds: number) {
  const { completed, found, cpuSeconds } = await askByDnsperf(child, port, queries, seconds);
  if (found < completed * listedMin) throw new Error(`dnsperf: ${found} of ${completed} found`);
  return (cpuSeconds * 1e6) / completed;
}
