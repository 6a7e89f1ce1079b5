/**
 * What pages cost the main thread of a server with a million entries and 100,000 reports: every page of the
 * operators' console, of the radar, of addresses, networks and systems, the home page and the account. And how
 * long a check takes while ten consoles are open, beside none. Processor time of the main thread, so other work
 * of the machine does not count; what the server does meanwhile by itself does.
 */

import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endpoints } from '../src/app/modules.ts';
import { makeReporters, type Reporter, sendReport } from '../test/support/reputation/reporters.ts';
import { startTestServer, type TestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { totpOn } from '../test/support/signon/factors.ts';
import { type OwnBrowser, openPeopleOf } from '../test/support/signon/person.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { openChecks } from './http-load.ts';
import { comment } from './report-load.ts';
import { type BenchRow, besidePeer, median, ratioAtMost, rowAtMost } from './row.ts';
import { besideLoad, inParallel, inTurns, openThreadClock } from './work.ts';

/** Long enough for a thread that has nothing to do to go to sleep: what it used is told then. */
const settleMs = 3;

/** What it used for one piece of work, and for whatever else it did meanwhile. */
async function mainThreadMsOf(pid: number, work: () => Promise<void>): Promise<number> {
  using thread = openThreadClock(pid);
  await sleep(settleMs);
  const before = thread.ranMs();
  await work();
  await sleep(settleMs);
  return thread.ranMs() - before;
}

// biome-ignore format: a table.
const sizes = {
  tiny: { rounds: 2, entries: 500, reporters: 5, reports: 200, loadRounds: 1, seconds: 1, consoles: 2, reloadMs: 200 },
  full: { rounds: 15, entries: 1_000_000, reporters: 2_000, reports: 100_000, loadRounds: 7, seconds: 6, consoles: 10, reloadMs: 2_000 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const inFlight = 128;
const pageGoalMs = 50;
const p99Goal = 1.2;
const operator = 'operator@example.org';
/** Is reported by very many: 101.0.0.1. */
const flooded = 0x6500_0001;
const env = {
  LOG_LEVEL: 'info',
  CLIENT_LIMITS: 'off',
  TRUSTED_PROXIES: '127.0.0.0/8',
  RADAR: 'operators',
};

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  using temp = makeTempDir('bench-console');
  const dataDir = temp.path;
  const reporters = await makeReporters(dataDir, plan.reporters);
  const { key } = reporters[0]!;
  const serve = () => startTestServer({ threads: 1, dataDir, demo: false, env });
  const first = await serve();
  await fill(first, reporters, plan);
  // What a start does once is done.
  await first.stop();
  await using server = await serve();
  const hosts = await list(server, plan);
  await using people = openPeopleOf(server);
  const id = await people.register(operator);
  await server.cliJson('account', 'set-role', operator, 'operator');
  const own = await people.signIn(operator);
  await totpOn(own);
  const pages = pagesOf(id, hosts);
  const watched = pages.filter(([name]) => /^\/(admin|radar)/.test(name));
  const paths = watched.map(([, pathOf]) => pathOf(0));
  return [
    ...(await pageRows(plan, server, own, pages)),
    await checksBeside(plan, server, [own.cookie, key], hosts, paths),
  ];
}

/** Every reporter reports the flooded address once, and others in turn. */
async function fill(
  { port }: TestServer,
  reporters: readonly Reporter[],
  { reports }: Plan,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  await inParallel(reports, inFlight, async (n) => {
    const ip = hostText(n < reporters.length ? flooded : reportedHost(n - reporters.length));
    const fields = new URLSearchParams({ ip, categories: '18,22', comment });
    const { key } = reporters[n % reporters.length]!;
    const { status, body } = await sendReport(port, agent, key, fields);
    if (status !== 200) throw new Error(`report ${n}: ${status} ${body}`);
  });
  agent.destroy();
}

/** 32.0.0.0 and on, one in each few /24. */
const reportedHost = (n: number) => 0x2000_0000 + ((n * 1_021) & 0x0fff_ffff);

async function list(server: TestServer, { entries }: Plan): Promise<readonly string[]> {
  const path = join(server.dataDir, 'hosts.txt');
  // One in seven addresses is not public.
  const { hosts, hits } = makeCheckTable(Math.ceil(entries * 1.17));
  writeFileSync(path, Array.from(hosts, hostText).join('\n'));
  await server.cliJson('seed', path, '--format', 'plain');
  return hits;
}

/** A name and its path: another one in each round, where answers are kept for a while. */
type Page = readonly [name: string, pathOf: (round: number) => string];

function pagesOf(operatorId: string, hosts: readonly string[]): Page[] {
  const same = (path: string): Page => [path, () => path];
  const screens = endpoints
    .filter(({ who, method }) => who === 'signed-in operator' && method === 'GET')
    .map(({ path }) => path)
    .filter((path) => !path.includes('audit.') && !path.includes(':'));
  const account = ['', '/keys', '/reports', '/webhooks', '/security', '/sites', '/data'];
  const reporter = encodeURIComponent('reporter0@example.org');
  const many = hostText(flooded);
  return [
    ...screens.map(same),
    ['/admin/people/:id', () => `/admin/people/${operatorId}`],
    ['/admin/people, a search that finds nobody', (round) => `/admin/people?q=nobody${round}`],
    ['/admin/reports of an account with many', () => `/admin/reports?reporter=${reporter}`],
    ['/admin/reports of an address with many', () => `/admin/reports?address=${many}`],
    same('/radar'),
    same('/radar/map.png'),
    ['/radar/8/:octet', (round) => `/radar/8/${32 + round}`],
    ['/radar/16/:network', (round) => `/radar/16/32.${round}`],
    ['/ip/ of a listed address', (round) => `/ip/${hosts[round]}`],
    ['/ip/ of a reported address', (round) => `/ip/${hostText(reportedHost(1 + round))}`],
    ['/ip/ of an address with many reports', () => `/ip/${many}`],
    ['/ip/ of a /24', (round) => `/ip/32.${round}.0.0/24`],
    ['/ip/ of a /16', (round) => `/ip/32.${round}.0.0/16`],
    ['/as/ of a large network', () => '/as/16509'],
    ...['/api/v2/stats', '/', '/feeds', '/connect'].map(same),
    ...account.map((part) => same(`/account${part}`)),
  ];
}

async function pageRows(
  { rounds }: Plan,
  server: TestServer,
  own: OwnBrowser,
  pages: readonly Page[],
): Promise<BenchRow[]> {
  const times = pages.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++) {
    for (const [i, [name, pathOf]] of pages.entries()) {
      const ms = await mainThreadMsOf(server.pid, async () => {
        let answer = await own.get(pathOf(round));
        // A machine that has more to do makes the tables of a start later.
        for (let again = 0; answer.status === 503 && again < 60; again++) {
          await sleep(1_000);
          answer = await own.get(pathOf(round));
        }
        if (answer.status === 200) return;
        throw new Error(`${name}: ${answer.status} ${answer.headers.location ?? answer.body}`);
      });
      times[i]!.push(ms);
    }
  }
  const row = (name: string, ms: number) =>
    rowAtMost(`main thread: ${name}`, 'ms', ms, pageGoalMs, 'ms');
  const firsts = times.map(([first]) => first!);
  const slowest = firsts.indexOf(Math.max(...firsts));
  return [
    ...pages.map(([name], i): BenchRow => {
      const [ours, p99] = [median(times[i]!), Math.max(...times[i]!)];
      const note = `the first time ${firsts[i]!.toFixed(1)} ms; beside p50 the longest of ${rounds}`;
      return { ...row(name, ours), p50: ours, p99, note };
    }),
    { ...row('the longest of all first times', firsts[slowest]!), note: pages[slowest]![0] },
  ];
}

async function checksBeside(
  plan: Plan,
  { port }: TestServer,
  [cookie, key]: readonly [cookie: string, key: string],
  hosts: readonly string[],
  paths: readonly string[],
): Promise<BenchRow> {
  using checks = openChecks(hosts.slice(0, 1_000), key);
  const p99 = () => checks.p99(port, plan.seconds);
  const shown: { pages: number; told: number }[] = [];
  const { alone, beside } = await inTurns(plan.loadRounds, {
    alone: p99,
    async beside() {
      const given = [port, cookie, key, plan.consoles, plan.reloadMs, shown.length];
      const [found, counted] = await besideLoad<number, (typeof shown)[number]>(
        'console-load',
        [...given, ...paths],
        p99,
      );
      shown.push(counted);
      return found;
    },
  });
  const [pagesShown, told] = (['pages', 'told'] as const).map((what) =>
    shown.slice(-plan.loadRounds).reduce((sum, one) => sum + one[what], 0),
  );
  const name = `check p99 with ${plan.consoles} consoles open`;
  const row = besidePeer(name, 'ms', median(beside), 'none open', median(alone));
  return {
    ...ratioAtMost(row, p99Goal, '× none'),
    note:
      `wrk, 64 connections, one thread; ${pagesShown} pages opened, ` +
      `${told} reports told in ${plan.loadRounds * plan.seconds} s`,
  };
}
