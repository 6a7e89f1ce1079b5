/**
 * The feeds of a long list: what a build from nothing costs, how long it holds the thread that
 * answers, downloads beside a bare server that sends the same buffer, and readers that stop.
 */

import { connect } from 'node:net';
import { openFeedThread } from '../src/app/threads/feed-thread.ts';
import { packMeta, setMeta } from '../src/index/records.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { createBuilder, createFeedTable, type FeedTable, operatorTexts } from './feeds-table.ts';
import { watchPauses } from './pauses.ts';
import { atLeast, type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { feedRoute } from './servers.ts';
import { type Contender, cpuSecondsOf, inTurns, startContender } from './work.ts';

const goals = {
  buildSeconds: 3,
  changedSeconds: 0.5,
  pauseMs: 10,
  ratio: 0.9,
  grownMiB: 10,
} as const;
const stalledReaders = 100;
const changedEntries = 500;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const entries = size === 'full' ? 1_000_000 : 2_000;
  return [
    ...(await buildRows(entries, size === 'full' ? 5 : 1)),
    ...(await downloadRows(entries, size === 'full' ? 7 : 1)),
  ];
}

async function buildRows(entries: number, rounds: number): Promise<BenchRow[]> {
  const table = createFeedTable(entries);
  const pauses = await pausesOf(table, rounds);
  const seconds: number[] = [];
  const changed: number[] = [];
  const random = seededRandom(500);
  let bytes = 0;
  for (let round = 0; round < rounds; round++) {
    const builder = createBuilder(table);
    seconds.push(
      await cpuSecondsOf(async () => {
        const { stats } = (await builder.build(Date.now()))!;
        bytes = stats.textBytes + stats.gzipBytes + stats.brotliBytes;
      }),
    );
    for (let i = 0; i < changedEntries; i++) {
      const entry = 1 + Math.floor(random.next() * entries);
      setMeta(table.index.records, entry, packMeta(75 + Math.floor(random.next() * 26), 1, 0, 1));
    }
    changed.push(await cpuSecondsOf(() => builder.build(Date.now())));
  }
  const longestMs = median(pauses);
  const cpuRow = (what: string, all: readonly number[], most: number, more = '') => ({
    ...rowAtMost(`feeds: CPU of a build ${what}`, 's', median(all), most, 's of one core'),
    note: `least ${Math.min(...all).toFixed(2)} s${more}`,
  });
  const inMemory = `; ${Math.round(bytes / 2 ** 20)} MiB in memory`;
  const hold = 'feeds: longest hold of the answering thread during a build';
  return [
    cpuRow(`from nothing, ${entries} entries, all formats`, seconds, goals.buildSeconds, inMemory),
    cpuRow(`after ${changedEntries} random changes of scores`, changed, goals.changedSeconds),
    {
      ...rowAtMost(hold, 'ms', longestMs, goals.pauseMs, 'ms'),
      note: `of ${pauses.length} builds the worst ${Math.max(...pauses).toFixed(1)} ms`,
    },
  ];
}

/** Longest hold in each of several builds that make all anew: every score is another each time. */
async function pausesOf(table: FeedTable, rounds: number): Promise<number[]> {
  const { records } = table.index;
  const bounds = { operatorTexts, rowsMax: 8_000_000, entriesMax: 2_000_000 };
  const thread = openFeedThread({ ...table, ...bounds })(undefined);
  const pauses: number[] = [];
  for (let round = 0; round < rounds + 1; round++) {
    for (let entry = 1; entry <= table.index.size(); entry++) {
      setMeta(records, entry, packMeta(75 + ((entry * 7 + round) % 26), 1, 0, 1));
    }
    const { max } = await watchPauses(async () => {
      await thread.build(Date.now());
    });
    // The first one also starts the thread and compiles what it runs.
    if (round > 0) pauses.push(max);
  }
  await thread.close();
  return pauses;
}

const request = `GET ${feedRoute} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;

/** Bytes of one download, head included. */
function download(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let expected = Number.POSITIVE_INFINITY;
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      if (bytes === 0) {
        const head = chunk.toString('latin1').split('\r\n\r\n')[0]!;
        expected = head.length + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1]);
      }
      bytes += chunk.length;
      // The bare server keeps its connections.
      if (bytes >= expected) socket.destroy();
    });
    socket.on('close', () =>
      bytes === expected ? resolve(bytes) : reject(new Error('cut short')),
    );
  });
}

async function megabytesPerSecond({ port }: Contender, downloads: number): Promise<number> {
  const startMs = performance.now();
  let bytes = 0;
  for (let i = 0; i < downloads; i++) bytes += await download(port);
  return bytes / 1e6 / ((performance.now() - startMs) / 1_000);
}

async function downloadRows(entries: number, rounds: number): Promise<BenchRow[]> {
  const start = (kind: string) => startContender(kind, [entries], { execArgv: ['--expose-gc'] });
  using ours = await start('feeds');
  using bare = await start('bareFeeds');
  const rates = await inTurns(rounds, {
    ours: () => megabytesPerSecond(ours, 20),
    bare: () => megabytesPerSecond(bare, 20),
  });
  const grownMiB = await growth(ours);
  const ratio = median(rates.ours.map((value, i) => value / rates.bare[i]!));
  const [name, peer] = ['feeds: download of the .txt', 'bare uWebSockets.js, same buffer'];
  const row = besidePeer(name, 'MB/s', median(rates.ours), peer, median(rates.bare));
  return [
    { ...row, ratio, ...atLeast(ratio, goals.ratio) },
    {
      name: `feeds: memory for ${stalledReaders} readers that stop`,
      unit: 'MiB',
      ours: grownMiB,
      goal: `< ${goals.grownMiB} MiB`,
      ok: grownMiB < goals.grownMiB,
    },
  ];
}

async function growth({ usage, port }: Contender): Promise<number> {
  const before = (await usage()).rssBytes;
  const sockets = Array.from({ length: stalledReaders }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('error', () => undefined);
    socket.pause();
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const grown = (await usage()).rssBytes - before;
  for (const socket of sockets) socket.destroy();
  return Math.max(0, grown / 2 ** 20);
}
