/**
 * How long a check takes while the same server renders CAPTCHAs with four threads, rebuilds its
 * feeds and stores 1,000 reports a second. Three phases alternate: an idle machine; all of that
 * work done by a second server beside, which is what the machine's own contention costs; and the
 * work done by the server that is asked. Latency is that of the client.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeReporters } from '../test/support/reputation/reporters.ts';
import { metric, startTestServer, type TestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { type LoadResult, openChecks } from './http-load.ts';
import { type BenchRow, besidePeer, median, ratioAtMost } from './row.ts';
import { besideLoad, inTurns } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, entries: 300, reportsPerSecond: 50 },
  full: { rounds: 5, seconds: 6, entries: 200_000, reportsPerSecond: 1_000 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const renderThreads = 4;
const goalRatio = 1.3;
/** A list that changes with each round, so that there is something to build. */
const changingEntries = 500;

interface Subject {
  readonly server: TestServer;
  readonly key: string;
}

interface Work {
  readonly pictures: number;
  readonly reports: number;
  readonly ms: number;
  readonly builds: number;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  using temp = makeTempDir('bench-combined');
  const asked = await open(join(temp.path, 'asked'), plan);
  await using _asked = asked.server;
  const other = await open(join(temp.path, 'other'), plan);
  await using _other = other.server;
  using checks = openChecks(makeCheckTable(plan.entries).hits, asked.key);
  const ask = () => checks.run(asked.server.port, plan.seconds);
  const { idle, beside, own } = await inTurns(plan.rounds, {
    idle: ask,
    beside: () => measure(ask, other, plan.reportsPerSecond),
    own: () => measure(ask, asked, plan.reportsPerSecond),
  });
  return rowsOf(idle, beside, own);
}

async function open(dataDir: string, { entries }: Plan): Promise<Subject> {
  const [reporter] = await makeReporters(dataDir, 1);
  const env = {
    LOG_LEVEL: 'info',
    CLIENT_LIMITS: 'off',
    TRUSTED_PROXIES: '127.0.0.0/8',
    CAPTCHA_THREADS: String(renderThreads),
    FEED_INTERVAL_SECONDS: '1',
  };
  const how = { threads: 1, keepsAnswers: false, demo: false };
  const server = await startTestServer({ ...how, dataDir, env });
  const { hosts } = makeCheckTable(entries);
  const list = join(dataDir, 'list.txt');
  writeFileSync(list, [...hosts].map((host) => `${hostText(host)}\n`).join(''));
  await seed(server, list, 'bench', 90);
  return { server, key: reporter!.key };
}

async function seed(server: TestServer, list: string, source: string, confidence: number) {
  const how = ['--format', 'plain', '--source', source, '--confidence', String(confidence)];
  await server.cliJson('seed', list, ...how);
}

/** So that each phase has addresses of its own. */
let phase = 0;

/** @param busy the server that works meanwhile */
async function measure(
  ask: () => Promise<LoadResult>,
  { server, key }: Subject,
  reportsPerSecond: number,
): Promise<LoadResult & { readonly work: Work }> {
  const buildsBefore = await builds(server);
  const list = join(server.dataDir, 'changing.txt');
  phase += 1;
  const lines = Array.from(
    { length: changingEntries },
    (_, i) => `77.${phase}.${i >> 8}.${i & 255}`,
  );
  writeFileSync(list, `${lines.join('\n')}\n`);
  const [latency, counted] = await besideLoad<LoadResult, Omit<Work, 'builds'>>(
    'combined-load',
    [server.port, key, reportsPerSecond, phase],
    async () => {
      await seed(server, list, 'changing', 80 + (phase >> 1));
      return ask();
    },
  );
  return { ...latency, work: { ...counted, builds: (await builds(server)) - buildsBefore } };
}

async function builds(server: TestServer): Promise<number> {
  return (await metric(server, 'portcullis_feed_builds_total')).get('') ?? 0;
}

function rowsOf(
  idle: readonly LoadResult[],
  beside: readonly LoadResult[],
  own: readonly (LoadResult & { readonly work: Work })[],
): BenchRow[] {
  const work = own.map((one) => one.work);
  const perSecond = (of: (one: Work) => number) =>
    Math.round(median(work.map((one) => (of(one) * 1_000) / one.ms)));
  const done =
    `${perSecond((one) => one.pictures)} pictures and ${perSecond((one) => one.reports)} reports a second, ` +
    `${median(work.map((one) => one.builds))} feed builds a round`;
  const p99 = (of: readonly LoadResult[]) => median(of.map((one) => one.p99));
  type All = readonly LoadResult[];
  const row = (name: string, ours: All, peerName: string, peer: All) => ({
    ...besidePeer(name, 'ms', p99(ours), peerName, p99(peer)),
    p50: median(ours.map((one) => one.p50)),
    p99: p99(ours),
  });
  const combined = row('check p99 under the combined load', own, 'idle', idle);
  const besideControl = row(`${combined.name}, beside the control`, own, 'control', beside);
  return [
    { ...combined, note: `wrk, 64 connections, one thread; ${done}` },
    {
      ...row('check p99, the load on another server', beside, 'idle', idle),
      note: 'control: what the machine gives when others work on it',
    },
    {
      ...ratioAtMost(besideControl, goalRatio, '× control'),
      note: 'what the server itself adds',
    },
  ];
}
