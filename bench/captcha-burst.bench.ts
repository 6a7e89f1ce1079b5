/**
 * A whole server under a burst of challenges, of visitors of whom nine in ten do silent work, and of solutions
 * from one address: how long a check takes meanwhile beside one on an idle server, rounds alternating; and
 * verifying over HTTP. Latency is that of the client, on two
 * connections that ask one check after the other with a pause between. The same is measured on
 * the bare library, which tells what no server on this machine could avoid.
 */

import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { payloadOf } from '../test/support/captcha/solution.ts';
import { type LineChild, startChild } from '../test/support/server/child.ts';
import { metric, startTestServer, type TestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { forged, solutionFor, type WorkKeys, workKeysOf } from './captcha-solutions.ts';
import { addressOf, visit } from './captcha-visit.ts';
import { cpuSeconds } from './rbldnsd-peer.ts';
import { atLeast, atMost, type BenchRow, besidePeer, median, percentile, round } from './row.ts';
import { perSecond, statusOf } from './work.ts';

const sizes = {
  tiny: { rounds: 1, silentRounds: 1, challenges: 20, idleMs: 200, verifies: 50, solutions: 400 },
  full: {
    rounds: 5,
    silentRounds: 9,
    challenges: 1_000,
    idleMs: 3_000,
    verifies: 5_000,
    solutions: 20_000,
  },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const connections = 2;
const pauseMs = 2;
const bareGoal = 1.5;
const silentGoal = 1.2;
const verifyConnections = 32;
/** As many as are sent from one address; near the end of a round some are late. */
const solutionsPerSecond = 10_000;
const solutionsGoal = 9_500;
/** Before each burst, so that all begin with the same stock: of pictures, and of keys for work. */
const stocksWanted = { stock: 240, work_stock: 1_000 };
const stockMsMax = 60_000;

interface Burst {
  readonly given: number;
  readonly refused: number;
  readonly ms: number;
}

/** About the middle of the default and the economy picture: a burst gets both. */
const bareImageBytes = 22_000;

interface Target {
  readonly port: number;
  readonly key: string;
}

interface Times {
  readonly idle: number[][];
  readonly busy: number[][];
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const env = { TRUSTED_PROXIES: '127.0.0.0/8', CLIENT_LIMITS: 'off', CAPTCHA_THREADS: '2' };
  await using server = await startTestServer({ threads: 1, keepsAnswers: false, env });
  const bare = startChild(new URL('./captcha-bare-child.js', import.meta.url), [
    String(bareImageBytes),
  ]);
  const bareTarget = { port: Number(await bare.line((line) => /^\d+$/.test(line))), key: '' };
  using directory = makeTempDir('captcha-burst');
  const ours: Times = { idle: [], busy: [] };
  const control: Times = { idle: [], busy: [] };
  const silent: Times = { idle: [], busy: [] };
  const silentControl: Times = { idle: [], busy: [] };
  const bursts: Burst[] = [];
  const silentBursts: Burst[] = [];
  let flood: BenchRow[] = [];
  try {
    // A server renders nothing ahead before somebody asked for a challenge.
    if ((await visit(`${server.port}`, 0)) !== 200) throw new Error('no picture was given');
    await server.fetch('/captcha/start');
    for (let round = 0; round < plan.rounds; round++) {
      // The control waits for it as well: else the threads would render ahead beside it.
      if (size === 'full') await fullStock(server);
      await oneRound(bareTarget, plan, control);
      bursts.push(await oneRound(server, plan, ours));
    }
    for (let round = 0; round < plan.silentRounds; round++) {
      const works = await solutionsOfAll(workKeysOf(server.dataDir), plan.challenges);
      const file = `${directory.path}/${round}.json`;
      writeFileSync(file, JSON.stringify(works));
      if (size === 'full') await fullStock(server);
      await oneRound(bareTarget, plan, silentControl, file);
      silentBursts.push(await oneRound(server, plan, silent, file));
    }
    flood = await floodRows(bareTarget, plan, `${directory.path}/flood.json`);
  } finally {
    bare.process.kill('SIGKILL');
  }
  const givenPerSecond = bursts.map(({ given, ms }) => (given * 1_000) / ms);
  const refused = median(bursts.map((burst) => burst.refused));
  return [
    latencyRow(ours, plan),
    {
      ...latencyRow(control, plan),
      name: 'the same asked of the bare library, which answers constants, p99',
      note: 'renders nothing: the least on this machine',
    },
    besideBare('check during a burst', ours, control, bareGoal),
    {
      name: `pictures given in a burst of ${plan.challenges}`,
      unit: 'GIFs/s',
      ours: Math.round(median(givenPerSecond)),
      note: `${refused} refused with 503`,
    },
    {
      ...besideBare('check while nine of ten visitors do work', silent, silentControl, silentGoal),
      note: `${median(silentBursts.map(({ given }) => given))} of ${plan.challenges} passed or saw a picture; ${spread(silent)} a round, bare ${spread(silentControl)}`,
    },
    ...flood,
    {
      name: `verify over HTTP, ${verifyConnections} connections`,
      unit: '/s',
      ours: Math.round(await verifiesPerSecond(server, plan)),
    },
  ];
}

/** @param file of solutions: then nine of ten visitors do work */
async function oneRound(
  target: Target,
  plan: Plan,
  times: Times,
  ...file: string[]
): Promise<Burst> {
  const given = [target.port, plan.challenges, ...file];
  return (await besideChild(target, plan, times, 'captcha-burst-child', given)) as Burst;
}

/** Measures checks on an idle server, and beside a child that does what it is told. @returns what the child says */
async function besideChild(
  target: Target,
  plan: Plan,
  times: Times,
  name: string,
  given: readonly (string | number)[],
): Promise<unknown> {
  times.idle.push(await checksUntil(target, sleep(plan.idleMs)));
  const file = new URL(`./${name}.js`, import.meta.url);
  const child: LineChild = startChild(file, given.map(String));
  await child.line((line) => line === 'begun');
  times.busy.push(await checksUntil(target, child.ended));
  return JSON.parse(child.lines.at(-1)!);
}

async function solutionsOfAll(keys: WorkKeys, count: number): Promise<string[]> {
  const works: string[] = [];
  for (let i = 0; i < count; i++) works.push(payloadOf(await solutionFor(keys, addressOf(i))));
  return works;
}

/** A fifth each: good, the same again, forged, malformed, too long. */
async function floodOf(keys: WorkKeys, client: string, count: number): Promise<string[]> {
  const works: string[] = [];
  const first = await solutionFor(keys, client);
  for (let i = 0; i < count / 5; i++) {
    // Refused long before the thousandth.
    const good = i < 200 ? payloadOf(await solutionFor(keys, client)) : payloadOf(first);
    works.push(good, payloadOf(first), forged(first), 'e30=', 'x'.repeat(3_000));
  }
  return works;
}

/** With the limits on: of one address's solutions few are looked at, and the rest is refused. */
async function floodRows(bare: Target, plan: Plan, file: string): Promise<BenchRow[]> {
  await using server = await startTestServer({
    threads: 1,
    keepsAnswers: false,
    env: { TRUSTED_PROXIES: '127.0.0.0/8' },
  });
  const [ours, control]: Times[] = [1, 2].map(() => ({ idle: [], busy: [] }));
  const keys = workKeysOf(server.dataDir);
  const [costs, rates, notes]: [number[], number[], string[]] = [[], [], []];
  /** From another address each time, since limits last a minute. */
  async function floodFrom(i: number) {
    const client = addressOf(500 + i);
    writeFileSync(file, JSON.stringify(await floodOf(keys, client, plan.solutions)));
    return [plan.solutions, solutionsPerSecond, client, file];
  }
  const child = 'captcha-solutions-child';
  for (let round = 0; round < plan.rounds; round++) {
    const given = await floodFrom(2 * round);
    await besideChild(bare, plan, control!, child, [bare.port, ...given]);
    const told = await besideChild(server, plan, ours!, child, [server.port, ...given]);
    const { statuses, ms } = told as { statuses: Record<number, number>; ms: number };
    rates.push((plan.solutions * 1_000) / ms);
    const { 200: looked = 0, 429: refused = 0 } = statuses;
    notes.push(`${looked} looked at, ${refused} refused with 429`);
    // Once more without checks beside them.
    const alone = [server.port, ...(await floodFrom(2 * round + 1))].map(String);
    const before = cpuSeconds(server);
    await startChild(new URL(`./${child}.js`, import.meta.url), alone).ended;
    costs.push(((cpuSeconds(server) - before) * 1e6) / plan.solutions);
  }
  const name = `check beside ${solutionsPerSecond} solutions a second from one address`;
  return [
    { ...besideBare(name, ours!, control!, bareGoal), note: notes.at(-1)! },
    {
      name: 'solutions from one address, good, used, forged, malformed and too long',
      unit: '/s',
      ours: Math.round(median(rates)),
      ...atLeast(median(rates), solutionsGoal, '/s'),
      note: `${round(median(costs))} µs of the server's processor time each`,
    },
  ];
}

function p99(rounds: readonly number[][]): number {
  return median(rounds.map((times) => percentile(times, 99)));
}

/** The lowest and the highest p99 of a round: few checks decide it. */
function spread({ busy }: Times): string {
  const each = busy.map((times) => percentile(times, 99));
  return `${round(Math.min(...each))} to ${round(Math.max(...each))} ms`;
}

/** What the work itself adds: visitors that come all at once are the same for both. */
function besideBare(what: string, ours: Times, bare: Times, goal: number): BenchRow {
  const name = `${what}, beside the bare library, p99`;
  const row = besidePeer(name, 'ms', p99(ours.busy), 'bare library', p99(bare.busy));
  return { ...row, ...atMost(row.ratio, goal, '× the bare library') };
}

function latencyRow(times: Times, plan: Plan): BenchRow {
  const name = `check during a burst of ${plan.challenges} challenges, p99`;
  return {
    ...besidePeer(name, 'ms', p99(times.busy), 'idle', p99(times.idle)),
    p50: median(times.busy.map((round) => percentile(round, 50))),
    p99: p99(times.busy),
  };
}

async function fullStock(server: TestServer): Promise<void> {
  const endMs = performance.now() + stockMsMax;
  for (const [name, wanted] of Object.entries(stocksWanted)) {
    const stock = async () => (await metric(server, `portcullis_captcha_${name}`)).get('') ?? 0;
    while ((await stock()) < wanted) {
      if (performance.now() > endMs) throw new Error(`${name} does not fill`);
      await sleep(100);
    }
  }
}

/** Milliseconds of each check until `end` settles. */
async function checksUntil({ port, key }: Target, end: Promise<unknown>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  let over = false;
  const ended = end.finally(() => {
    over = true;
  });
  async function askOn(): Promise<void> {
    while (!over) {
      const startMs = performance.now();
      const path = '/api/v2/check?ipAddress=198.51.100.7';
      const status = await statusOf({ port, path, headers: { Key: key }, agent });
      times.push(performance.now() - startMs);
      if (status !== 200) throw new Error(`a check was answered with ${status}`);
      await sleep(pauseMs);
    }
  }
  await Promise.all([ended, ...Array.from({ length: connections }, askOn)]);
  agent.destroy();
  return times;
}

async function verifiesPerSecond(server: TestServer, plan: Plan): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: verifyConnections });
  const body = JSON.stringify({ token: 'AAAAAAAAAAAAAAAAAAAAAA', answer: 'KX7RM' });
  const headers = { 'Content-Type': 'application/json' };
  const options = { port: server.port, path: '/captcha/verify', method: 'POST', headers, agent };
  const rate = await perSecond(plan.verifies, verifyConnections, async () => {
    const status = await statusOf(options, body);
    if (status !== 200) throw new Error(`verify was answered with ${status}`);
  });
  agent.destroy();
  return rate;
}
