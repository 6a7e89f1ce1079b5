/**
 * What whole nodes give on one PostgreSQL of this machine, its commits on disk: reports a second over HTTP;
 * how quickly a node that was away applies the journal; when a new node listens; and for how long writes are away when the primary dies and its
 * synchronous standby is promoted. Without PostgreSQL there is no row.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isInstalled } from '../test/support/house/tools.ts';
import { sendReport } from '../test/support/reputation/reporters.ts';
import {
  postgresProgram,
  startPostgres,
  type TestPostgres,
} from '../test/support/server/postgres.ts';
import {
  demoEmail,
  type Environment,
  plenty,
  startTestServer,
  type TestServer,
  within,
} from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { comment, openReportLoad, type ReportLoad } from './report-load.ts';
import { type BenchRow, besidePeer, median, rowAtLeast, rowAtMost } from './row.ts';
import { inTurns } from './work.ts';

const sizes = {
  tiny: { rounds: 1, seconds: 1, reports: 20, starts: 1 },
  full: { rounds: 5, seconds: 5, reports: 100_000, starts: 3 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const [rateGoal, foldGoal, gapGoalMs] = [10_000, 100_000, 5_000];

interface Nodes {
  readonly directory: string;
  readonly env: Environment;
  readonly one: TestServer;
  readonly two: TestServer;
  readonly key: string;
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  if (!isInstalled(postgresProgram)) {
    process.stderr.write('nodes: PostgreSQL 15 is not installed, nothing is measured\n');
    return [];
  }
  const primary = await startPostgres({ isDurable: true });
  using temp = makeTempDir('bench-nodes');
  const directory = temp.path;
  try {
    const name = /\/(t\d+)\?/.exec(await primary.createDatabase())![1]!;
    const nodes = await open(directory, [primary], name);
    await using _one = nodes.one;
    await using _two = nodes.two;
    using load = openReportLoad(nodes.one.port, nodes.key);
    return [
      await reportRate(plan, load),
      ...(await starts(plan, nodes, load)),
      await failover(directory),
    ];
  } finally {
    await primary.stop();
  }
}

const urlOf = (servers: readonly TestPostgres[], name: string) =>
  `postgres://postgres@${servers.map((one) => encodeURIComponent(one.directory))}/${name}`;

async function open(
  directory: string,
  servers: readonly TestPostgres[],
  name: string,
): Promise<Nodes> {
  mkdirSync(directory, { recursive: true });
  const masterKey = join(directory, 'master.key');
  writeFileSync(masterKey, randomBytes(32).toString('hex'), { mode: 0o600 });
  const env: Environment = {
    DATABASE_URL: urlOf(servers, name),
    MASTER_KEY_FILE: masterKey,
    LOG_LEVEL: 'info',
    CLIENT_LIMITS: 'off',
    SMTP_URL: 'smtp://127.0.0.1:9',
  };
  const one = await startNode(directory, env, 'one');
  const two = await startNode(directory, env, 'two');
  await one.cliJson('account', 'create', demoEmail);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', `${plenty}`];
  const { text } = await one.cliJson('key', 'create', demoEmail, ...quotas);
  const check = ['/api/v2/check?ipAddress=9.9.9.9', { headers: { Key: text } }] as const;
  for (const node of [one, two])
    await within(async () => (await node.fetch(...check)).status === 200);
  return { directory, env, one, two, key: text };
}

function startNode(directory: string, env: Environment, name: string): Promise<TestServer> {
  return startTestServer({ threads: 1, demo: false, dataDir: join(directory, name), env });
}

async function reportRate(plan: Plan, load: ReportLoad): Promise<BenchRow> {
  const { rates } = await inTurns(plan.rounds, { rates: () => load.rate(plan.seconds) });
  const name = 'durable reports over HTTP of one of two nodes, 128 in flight';
  return {
    ...rowAtLeast(name, 'reports/s', Math.round(median(rates)), rateGoal),
    note: `wrk; the sender, both nodes and PostgreSQL share the cores`,
  };
}

/** Until a node listens, which it does at the end of the journal. */
async function timedStart(nodes: Nodes, name: string): Promise<{ node: TestServer; ms: number }> {
  const startMs = performance.now();
  const node = await startNode(nodes.directory, nodes.env, name);
  return { node, ms: performance.now() - startMs };
}

/** The second node is away for so many reports, and starts again; then a third starts with nothing. */
async function starts(plan: Plan, nodes: Nodes, load: ReportLoad): Promise<BenchRow[]> {
  const [plain, behind, anew]: [number[], number[], number[]] = [[], [], []];
  let events = 0;
  await nodes.two.stop();
  for (let round = 0; round < plan.starts; round++) {
    const before = await timedStart(nodes, 'two');
    await before.node.stop();
    events = 0;
    while (events < plan.reports) {
      const seconds = plan.rounds === 1 ? 1 : 5;
      events += Math.round((await load.rate(seconds)) * seconds);
    }
    const after = await timedStart(nodes, 'two');
    await after.node.stop();
    const third = await timedStart(nodes, `new-${round}`);
    await third.node.stop();
    plain.push(before.ms);
    behind.push((events * 1_000) / Math.max(1, after.ms - before.ms));
    anew.push(third.ms);
  }
  const count = plan.reports.toLocaleString('en-US');
  const awayName = `a node that was away for ${count} reports reads and applies them`;
  const anewName = `a new node beside ${(plan.starts * plan.reports).toLocaleString('en-US')} reports listens`;
  return [
    {
      ...rowAtLeast(awayName, 'events/s', Math.round(median(behind)), foldGoal),
      note: 'by how much later it listens',
    },
    {
      ...besidePeer(anewName, 'ms', median(anew), 'a node that missed nothing', median(plain)),
      note: 'the last of them; the newest checkpoint and the journal behind it',
    },
  ];
}

/** Reports at both nodes, one after the other; the primary dies, and its standby is promoted a second later. */
async function failover(directory: string): Promise<BenchRow> {
  const primary = await startPostgres({ isDurable: true });
  const name = /\/(t\d+)\?/.exec(await primary.createDatabase())![1]!;
  const standby = await primary.startSynchronousStandby();
  const agent = new Agent({ keepAlive: true });
  try {
    const nodes = await open(join(directory, 'failover'), [primary, standby], name);
    await using _one = nodes.one;
    await using _two = nodes.two;
    const servers = [nodes.one, nodes.two];
    const last = servers.map(() => 0);
    const lost = { from: 0, until: servers.map(() => 0) };
    let isOver = false;
    const senders = servers.map(async ({ port }, i) => {
      for (let n = 0; !isOver; n++) {
        const ip = `33.${i}.${(n >> 8) & 255}.${n & 255}`;
        const fields = new URLSearchParams({ ip, categories: '18', comment });
        const { status } = await sendReport(port, agent, nodes.key, fields);
        if (status !== 200) {
          await delay(10);
          continue;
        }
        last[i] = performance.now();
        if (lost.from > 0 && lost.until[i] === 0) lost.until[i] = last[i]!;
      }
    });
    await within(() => last.every((at) => at > 0), 'reports at both nodes');
    await primary.kill();
    const killedMs = performance.now();
    await delay(1_000);
    await standby.ask(urlOf([standby], name), 'select pg_promote()');
    lost.from = performance.now();
    await within(() => lost.until.every((at) => at > 0), 'reports at both nodes again');
    isOver = true;
    await Promise.all(senders);
    const gapMs = Math.max(...lost.until) - lost.from;
    return {
      ...rowAtMost('writes are away after a promotion', 'ms', gapMs, gapGoalMs),
      note: `the later of two nodes; promoted ${Math.round(lost.from - killedMs)} ms after the primary died`,
    };
  } finally {
    agent.destroy();
    await standby.stop();
    await primary.stop();
  }
}
