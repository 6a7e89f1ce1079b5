/**
 * One server with the embedded store that is full: two million accounts, of which 50,000 have API keys; then
 * five million entries of a list as well. How soon it is ready, its memory, how long a sign-in takes. Bench
 * flood has the reports.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { webVisitor } from '../test/support/browser/web-visitor.ts';
import type { TestServer } from '../test/support/server/server.ts';
import { benchPassword, emailOf, openCapacityStore } from './capacity-data.ts';
import {
  counted,
  isPublic,
  type Look,
  look,
  mappedNote,
  say,
  serve,
  sizeRows,
  storeMiB,
} from './capacity-look.ts';
import { hostText, makeCheckTable } from './check-table.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: {
    ...{ starts: 1, quietMs: 100, few: 20, accounts: 400, withKeys: 10, signIns: 3 },
    ...{ entries: 500 },
  },
  full: {
    ...{ starts: 3, quietMs: 20_000, few: 1_000, accounts: 2_000_000, withKeys: 50_000 },
    ...{ signIns: 200, entries: 5_000_000 },
  },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const goals = { startRatio: 2, accountsMiB: 100, signInRatio: 1.2 } as const;
export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-capacity-'));
  const few = join(directory, 'few');
  const many = join(directory, 'many');
  try {
    await fill(few, plan.few, Math.min(plan.few, 10));
    await fill(many, plan.accounts, plan.withKeys);
    const beside = await look(few, plan);
    const rows = await accountRows(plan, { many, few, beside });
    await list(many, plan);
    const entries = await look(many, plan);
    rows.push(...sizeRows(`and ${counted(entries.entries)} entries`, many, entries));
    return rows;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fill(dataDir: string, accounts: number, withKeys: number): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const store = openCapacityStore(dataDir);
  await store.addAccounts(accounts, withKeys);
  await store.close();
  say(`${accounts} accounts made`);
}

interface Accounts {
  readonly many: string;
  readonly few: string;
  readonly beside: Look;
}

async function accountRows(plan: Plan, { many, few, beside }: Accounts): Promise<BenchRow[]> {
  const own = await look(many, plan);
  const [signIns, besideSignIns] = await signInTimes(plan, many, few);
  const title = `${counted(plan.accounts)} accounts, ${counted(plan.withKeys)} with keys`;
  const peer = `${counted(plan.few)} accounts`;
  const more = own.memory.all - own.memory.mapped - (beside.memory.all - beside.memory.mapped);
  const ratio = own.cpuMs / beside.cpuMs;
  const signInRatio = signIns.p50 / besideSignIns.p50;
  return [
    {
      ...{ name: `${title}: processor time of a start`, unit: 'ms', ours: own.cpuMs },
      ...{ peer, peerValue: beside.cpuMs, ratio },
      ...{ goal: `≤ ${goals.startRatio} × ${peer}`, ok: ratio <= goals.startRatio },
      note: `after a stop; ready after ${Math.round(own.ms)} ms, beside ${Math.round(beside.ms)}`,
    },
    { name: `${title}: start that reads all of the journal`, unit: 'ms', ours: own.firstMs },
    {
      ...{ name: `${title}: memory of its own`, unit: 'MiB' },
      ...{ ours: own.memory.all - own.memory.mapped, peer },
      ...{ peerValue: beside.memory.all - beside.memory.mapped },
      ...{ goal: `≤ ${goals.accountsMiB} MiB more`, ok: more <= goals.accountsMiB },
      note: mappedNote(own.memory),
    },
    {
      ...{ name: `${title}: sign-in, p50`, unit: 'ms', ours: signIns.p50, peer },
      ...{ peerValue: besideSignIns.p50, ratio: signInRatio, p50: signIns.p50, p99: signIns.p99 },
      ...{ goal: `≤ ${goals.signInRatio} × ${peer}`, ok: signInRatio <= goals.signInRatio },
      note: `one after the other, over HTTP; p99 with ${peer} ${besideSignIns.p99.toFixed(0)} ms`,
    },
    { name: `${title}: the store`, unit: 'MiB', ours: storeMiB(many) },
  ];
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** Of random people of both servers, in turns. */
async function signInTimes(plan: Plan, many: string, few: string): Promise<[Latency, Latency]> {
  await using large = await serve(many);
  await using small = await serve(few);
  const times: [number[], number[]] = [[], []];
  for (let i = 0; i < plan.signIns; i++) {
    // Spread over all; none of them twice.
    times[0].push(await signIn(large, Math.floor((i * plan.accounts) / plan.signIns)));
    times[1].push(await signIn(small, Math.floor((i * plan.few) / plan.signIns)));
  }
  await Promise.all([large.stop(), small.stop()]);
  return [latencyOf(times[0]), latencyOf(times[1])];
}

async function signIn(server: TestServer, n: number): Promise<number> {
  const visitor = webVisitor(server);
  const page = await visitor.get('/signin');
  const fields = { email: emailOf(n), password: benchPassword };
  const startMs = performance.now();
  const answer = await visitor.submit(page, '/signin', fields);
  const ms = performance.now() - startMs;
  if (answer.headers.location !== '/account') throw new Error(`no sign-in: ${answer.status}`);
  return ms;
}

function latencyOf(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  return { p50: median(sorted), p99: sorted[Math.floor(sorted.length * 0.99)]! };
}

/** Loads a list of so many public addresses. */
async function list(dataDir: string, { entries }: Plan): Promise<void> {
  const path = join(dataDir, 'hosts.txt');
  // One in seven addresses is not public, and a few come twice.
  const drawn = makeCheckTable(Math.ceil(entries * 1.3)).hosts;
  const hosts = [...new Set(drawn.filter(isPublic))].slice(0, entries);
  writeFileSync(path, Array.from(hosts, hostText).join('\n'));
  await using server = await serve(dataDir);
  await server.cliJson('seed', path, '--format', 'plain');
  await server.stop();
  rmSync(path);
  say(`${hosts.length} hosts loaded`);
}
