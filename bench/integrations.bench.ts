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
import { type BenchRow, besideInstalled } from './row.ts';
import { cpuUsOf, inTurns, startContender } from './work.ts';

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
  using ours = await startContender('dns', [entries]);
  using echo = await startContender('echo');
  const peer = await openDnsPeer(entries, folder);
  const us = ({ child, port }: typeof ours) =>
    cpuUsOf(child, () => askByDnsperf(port, queries, seconds, listedMin));
  const found = await inTurns(rounds, {
    ours: () => us(ours),
    echo: () => us(echo),
    rbldnsd: async () => peer?.cpuPerMillion(seconds),
  }).finally(() => peer?.stop());
  const row = (values: readonly number[], name: string, ratioMax: number): BenchRow =>
    besideInstalled(
      { name: `DNS block list: CPU for an answer`, unit: 'µs', ours: found.ours },
      { name, values, missing: `${name} is not installed` },
      `≤ ${ratioMax} × ${name}`,
      (value, peerValue) => value / peerValue <= ratioMax,
      'the same hosts; dnsperf, 64 clients',
    );
  return [
    row(found.rbldnsd, 'rbldnsd', goals.rbldnsd),
    row(found.echo, 'bare sockets', goals.echo),
  ];
}
