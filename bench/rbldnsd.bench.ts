/**
 * Checks beside rbldnsd: CPU seconds of the server for a million answers about the same hosts, one
 * by one and in bulk; and how many addresses of bulk a core answers, over HTTP. Servers run in processes
 * of their own, rounds are interleaved, the median counts.
 */

import { Agent } from 'node:http';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { bytesOf, makeCheckTable } from './check-table.ts';
import { checkPath, openLoad } from './http-load.ts';
import { openDnsPeer } from './rbldnsd-peer.ts';
import { type BenchRow, besideInstalled, median } from './row.ts';
import { checkRoute } from './servers.ts';
import { inParallel, inTurns, startContender, statusOf } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, entries: 1_000, inBulk: 200_000 },
  full: { rounds: 5, seconds: 2, entries: 1_000_000, inBulk: 2_000_000 },
} as const;

const goals = { single: 1.5, bulk: 0.3 } as const;
/** Addresses of one core in a second, by the form of the body. */
const bulkGoals = { lines: 3_500_000, bytes: 8_000_000 } as const;
const bulkConnections = 4;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rounds, seconds, entries, inBulk } = sizes[size];
  using folder = makeTempDir('bench-dns');
  const { key, hits } = makeCheckTable(entries);
  using server = await startContender('check', [entries]);
  const peer = await openDnsPeer(entries, folder.path);
  const count = hits.length;
  using load = openLoad(hits.map(checkPath), { Key: key, Accept: 'application/json' });
  const bulk = (body: BulkBody) => () =>
    server.usOf(() => askInBulk(server.port, key, body, inBulk));
  try {
    // Microseconds for an answer are seconds for a million.
    const { single, lines, bytes, peers } = await inTurns(rounds, {
      single: () => server.usOf(async () => (await load.run(server.port, seconds)).answers),
      lines: bulk({ query: '', type: 'text/plain', body: Buffer.from(hits.join('\n')), count }),
      bytes: bulk({
        query: '?family=4',
        type: 'application/octet-stream',
        body: bytesOf(hits),
        count,
      }),
      peers: async () => peer?.cpuPerMillion(seconds),
    });
    return [
      row('check, one by one: CPU for a million answers', single, peers, goals.single),
      row('check-bulk: CPU for a million answers', lines, peers, goals.bulk),
      coreRow('lines', lines),
      coreRow('bytes', bytes),
    ];
  } finally {
    await peer?.stop();
  }
}

interface BulkBody {
  readonly query: string;
  readonly type: string;
  readonly body: Buffer;
  readonly count: number;
}

/**
 * Asks for a number of addresses, not for a time: those of all rounds have room in a minute of the key.
 * @returns addresses that were answered
 */
async function askInBulk(
  port: number,
  key: string,
  { query, type, body, count }: BulkBody,
  addresses: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: bulkConnections });
  const headers = { Key: key, 'Content-Type': type, 'Content-Length': body.length };
  const options = { port, path: `${checkRoute}-bulk${query}`, method: 'POST', headers, agent };
  const requests = Math.ceil(addresses / count);
  await inParallel(requests, bulkConnections, async () => {
    const status = await statusOf(options, body);
    if (status !== 200) throw new Error(`check-bulk answered ${status}`);
  });
  agent.destroy();
  return requests * count;
}

function coreRow(form: keyof typeof bulkGoals, seconds: readonly number[]): BenchRow {
  const perSecond = 1e6 / median(seconds);
  return {
    name: `check-bulk over HTTP: addresses of one core, ${form}`,
    unit: '/s',
    ours: perSecond,
    goal: `≥ ${bulkGoals[form] / 1e6}M/s`,
    ok: perSecond >= bulkGoals[form],
    note: `processor time of the whole server, ${bulkConnections} connections`,
  };
}

function row(
  name: string,
  ours: readonly number[],
  values: readonly number[],
  ratioMax: number,
): BenchRow {
  const missing = 'rbldnsd or dnsperf is not installed: nothing to compare with';
  return besideInstalled(
    { name, unit: 's', ours },
    { name: 'rbldnsd, ip4set', values, missing },
    `≤ ${ratioMax} × rbldnsd`,
    (value, peer) => value / peer <= ratioMax,
    'the same hosts; dnsperf, 64 clients; every address is listed',
  );
}
