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
import { type Load, type LoadResult, openChecks } from './http-load.ts';
import { atMost, type BenchRow, besidePeer, median } from './row.ts';
import { besideLoad } from './work.ts';

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

const phases = ['idle', 'beside', 'own'] as const;
type Phase = (typeof phases)[number];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  using temp = makeTempDir('bench-combined');
  const directory = temp.path;
  const asked = await open(join(directory, 'asked'), plan);
  await using _asked = asked.server;
  const other = await open(join(directory, 'other'), plan);
  await using _other = other.server;
  using checks = await openChecks(makeCheckTable(plan.entries).hits, asked.key);
  const p50: Record<Phase, number[]> = { idle: [], beside: [], own: [] };
  const p99: Record<Phase, number[]> = { idle: [], beside: [], own: [] };
  const work: Work[] = [];
  // The first round warms up and is not counted.
  for (let round = plan.rounds > 1 ? -1 : 0; round < plan.rounds; round++) {
    for (const phase of phases) {
      const busy = phase === 'idle' ? undefined : phase === 'own' ? asked : other;
      const measured = await measure({ checks, asked, busy, plan, round, directory });
      if (round < 0) continue;
      p50[phase].push(measured.p50);
      p99[phase].push(measured.p99);
      if (phase === 'own') work.push(measured.work!);
    }
  }
  return rowsOf(p50, p99, work, checks.generator);
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
  const server = await startTestServer({
    threads: 1,
    keepsAnswers: false,
    dataDir,
    demo: false,
    env,
  });
  const { hosts } = makeCheckTable(entries);
  const list = join(dataDir, 'list.txt');
  writeFileSync(list, [...hosts].map((host) => `${hostText(host)}\n`).join(''));
  await seed(server, list, 'bench', 90);
  return { server, key: reporter!.key };
}

async function seed(server: TestServer, list: string, source: string, confidence: number) {
  const how = ['--format', 'plain', '--source', source, '--confidence', String(confidence)];
  const done = await server.cli('seed', list, ...how);
  if (done.code !== 0) throw new Error(done.stderr);
}

interface PhaseOptions {
  readonly checks: Load;
  readonly asked: Subject;
  /** The server that works meanwhile. */
  readonly busy: Subject | undefined;
  readonly plan: Plan;
  readonly round: number;
  readonly directory: string;
}

async function measure(options: PhaseOptions): Promise<LoadResult & { work?: Work }> {
  const { checks, asked, busy, plan, round, directory } = options;
  if (busy === undefined) return checks.run(asked.server.port, plan.seconds);
  const { server, key } = busy;
  const buildsBefore = await builds(server);
  const list = join(directory, 'changing.txt');
  const lines = Array.from(
    { length: changingEntries },
    (_, i) => `77.${round + 1}.${i >> 8}.${i & 255}`,
  );
  writeFileSync(list, `${lines.join('\n')}\n`);
  const given = [server.port, key, plan.reportsPerSecond, round + 1];
  const [latency, counted] = await besideLoad<LoadResult, Omit<Work, 'builds'>>(
    'combined-load',
    given,
    async () => {
      await seed(server, list, 'changing', 80 + round);
      return checks.run(asked.server.port, plan.seconds);
    },
  );
  return { ...latency, work: { ...counted, builds: (await builds(server)) - buildsBefore } };
}

async function builds(server: TestServer): Promise<number> {
  return (await metric(server, 'portcullis_feed_builds_total')).get('') ?? 0;
}

function rowsOf(
  p50: Record<Phase, number[]>,
  p99: Record<Phase, number[]>,
  work: readonly Work[],
  generator: string,
): BenchRow[] {
  const perSecond = (of: (one: Work) => number) =>
    Math.round(median(work.map((one) => (of(one) * 1_000) / one.ms)));
  const done =
    `${perSecond((one) => one.pictures)} pictures and ${perSecond((one) => one.reports)} reports a second, ` +
    `${median(work.map((one) => one.builds))} feed builds a round`;
  const row = (name: string, ours: Phase, peer: Phase, peerName: string): BenchRow => ({
    ...besidePeer(name, 'ms', median(p99[ours]), peerName, median(p99[peer])),
    p50: median(p50[ours]),
    p99: median(p99[ours]),
  });
  const combined = row('check p99 under the combined load', 'own', 'idle', 'idle');
  const title = `${combined.name}, beside the control`;
  const besideControl = row(title, 'own', 'beside', 'control');
  return [
    { ...combined, note: `${generator}, 64 connections, one thread; ${done}` },
    {
      ...row('check p99, the load on another server', 'beside', 'idle', 'idle'),
      note: 'control: what the machine gives when others work on it',
    },
    {
      ...besideControl,
      ...atMost(besideControl.ratio!, goalRatio, '× control'),
      note: 'what the server itself adds',
    },
  ];
}
