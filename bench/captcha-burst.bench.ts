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
import { metric, startTestServer, type TestServer, within } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { forged, solutionFor, type WorkKeys, workKeysOf } from './captcha-solutions.ts';
import { addressOf, visit } from './captcha-visit.ts';
import {
  atLeast,
  type BenchRow,
  besidePeer,
  median,
  percentile,
  ratioAtMost,
  round,
} from './row.ts';
import { besideLoad, cpuUsOf, inTurns, perSecond, startContender, statusOf } from './work.ts';

// biome-ignore format: a table.
const sizes = {
  tiny: { rounds: 1, silentRounds: 1, challenges: 20, idleMs: 200, verifies: 50, solutions: 400, hasStock: false },
  full: { rounds: 5, silentRounds: 9, challenges: 1_000, idleMs: 3_000, verifies: 5_000, solutions: 20_000, hasStock: true },
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

/** About the middle of the default and the economy picture: a burst gets both. */
const bareImageBytes = 22_000;

interface Target {
  readonly port: number;
  readonly key: string;
}

/** Milliseconds of each check on an idle server, and beside a child that does what it is told, and what that says. */
interface Round<Said = unknown> {
  readonly idle: number[];
  readonly busy: number[];
  readonly said: Said;
}

interface Burst {
  readonly given: number;
  readonly refused: number;
  readonly ms: number;
}

const env = { TRUSTED_PROXIES: '127.0.0.0/8' };
const serve = (more = {}) =>
  startTestServer({ threads: 1, keepsAnswers: false, env: { ...env, ...more } });

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  await using server = await serve({ CLIENT_LIMITS: 'off', CAPTCHA_THREADS: '2' });
  using bareServer = await startContender('bareCaptcha', [bareImageBytes]);
  const bare = { port: bareServer.port, key: '' };
  using directory = makeTempDir('captcha-burst');
  const file = `${directory.path}/solutions.json`;
  // A server renders nothing ahead before somebody asked for a challenge.
  if ((await visit(`${server.port}`, 0)) !== 200) throw new Error('no picture was given');
  await server.fetch('/captcha/start');
  const burst = (target: Target, ...works: string[]): Promise<Round<Burst>> =>
    besideChild(target, plan, 'captcha-burst-child', [target.port, plan.challenges, ...works]);
  const { ours, control } = await inTurns(plan.rounds, {
    async control() {
      // It waits for it as well: else the threads would render ahead beside it.
      await fullStock(server, plan);
      return burst(bare);
    },
    ours: () => burst(server),
  });
  const silent = await inTurns(plan.silentRounds, {
    async control() {
      const works = await solutionsOfAll(workKeysOf(server.dataDir), plan.challenges);
      writeFileSync(file, JSON.stringify(works));
      await fullStock(server, plan);
      return burst(bare, file);
    },
    ours: () => burst(server, file),
  });
  const flood = await floodRows(bare, plan, file);
  const passed = median(silent.ours.map(({ said }) => said.given));
  const spreads = `${spread(silent.ours)} a round, bare ${spread(silent.control)}`;
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
      ours: Math.round(median(ours.map(({ said }) => (said.given * 1_000) / said.ms))),
      note: `${median(ours.map(({ said }) => said.refused))} refused with 503`,
    },
    {
      ...besideBare(
        'check while nine of ten visitors do work',
        silent.ours,
        silent.control,
        silentGoal,
      ),
      note: `${passed} of ${plan.challenges} passed or saw a picture; ${spreads}`,
    },
    ...flood,
    {
      name: `verify over HTTP, ${verifyConnections} connections`,
      unit: '/s',
      ours: Math.round(await verifiesPerSecond(server, plan)),
    },
  ];
}

async function besideChild<Said>(
  target: Target,
  plan: Plan,
  name: string,
  args: readonly (string | number)[],
): Promise<Round<Said>> {
  const idle = await checksUntil(target, sleep(plan.idleMs));
  const [busy, said] = await besideLoad<number[], Said>(name, args, (end) =>
    checksUntil(target, end),
  );
  return { idle, busy, said };
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

interface Flooded {
  readonly statuses: Readonly<Record<number, number>>;
  readonly ms: number;
}

/** With the limits on: of one address's solutions few are looked at, and the rest is refused. */
async function floodRows(bare: Target, plan: Plan, file: string): Promise<BenchRow[]> {
  await using server = await serve();
  const keys = workKeysOf(server.dataDir);
  const child = 'captcha-solutions-child';
  let from = 500;
  let given: (string | number)[] = [];
  /** From another address each time, since limits last a minute. */
  async function prepare(): Promise<void> {
    const client = addressOf(from++);
    writeFileSync(file, JSON.stringify(await floodOf(keys, client, plan.solutions)));
    given = [plan.solutions, solutionsPerSecond, client, file];
  }
  const { ours, control, costs } = await inTurns(plan.rounds, {
    async control() {
      await prepare();
      return besideChild(bare, plan, child, [bare.port, ...given]);
    },
    ours: () => besideChild<Flooded>(server, plan, child, [server.port, ...given]),
    /** Once more without checks beside them. */
    async costs() {
      await prepare();
      return cpuUsOf(server, async () => {
        await besideLoad(child, [server.port, ...given], (end) => end);
        return plan.solutions;
      });
    },
  });
  const rate = median(ours.map(({ said }) => (plan.solutions * 1_000) / said.ms));
  const { 200: looked = 0, 429: refused = 0 } = ours.at(-1)!.said.statuses;
  const name = `check beside ${solutionsPerSecond} solutions a second from one address`;
  return [
    {
      ...besideBare(name, ours, control, bareGoal),
      note: `${looked} looked at, ${refused} refused with 429`,
    },
    {
      name: 'solutions from one address, good, used, forged, malformed and too long',
      unit: '/s',
      ours: Math.round(rate),
      ...atLeast(rate, solutionsGoal, '/s'),
      note: `${round(median(costs))} µs of the server's processor time each`,
    },
  ];
}

function p99(rounds: readonly Round[], which: 'idle' | 'busy' = 'busy'): number {
  return median(rounds.map((one) => percentile(one[which], 99)));
}

/** The lowest and the highest p99 of a round: few checks decide it. */
function spread(rounds: readonly Round[]): string {
  const each = rounds.map(({ busy }) => percentile(busy, 99));
  return `${round(Math.min(...each))} to ${round(Math.max(...each))} ms`;
}

/** What the work itself adds: visitors that come all at once are the same for both. */
function besideBare(what: string, ours: readonly Round[], bare: readonly Round[], goal: number) {
  const name = `${what}, beside the bare library, p99`;
  const row = besidePeer(name, 'ms', p99(ours), 'bare library', p99(bare));
  return ratioAtMost(row, goal, '× the bare library');
}

function latencyRow(rounds: readonly Round[], plan: Plan): BenchRow {
  const name = `check during a burst of ${plan.challenges} challenges, p99`;
  return {
    ...besidePeer(name, 'ms', p99(rounds), 'idle', p99(rounds, 'idle')),
    p50: median(rounds.map(({ busy }) => percentile(busy, 50))),
    p99: p99(rounds),
  };
}

async function fullStock(server: TestServer, { hasStock }: Plan): Promise<void> {
  for (const [name, wanted] of hasStock ? Object.entries(stocksWanted) : []) {
    const stock = async () => (await metric(server, `portcullis_captcha_${name}`)).get('') ?? 0;
    await within(async () => (await stock()) >= wanted, `a full ${name}`, stockMsMax);
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
