/**
 * What several nodes cost and give on one PostgreSQL of this machine, asked over a unix socket, its commits on
 * disk: commits of one node, two and three; how late another node sees what was committed; how quickly the
 * journal is read; what an exchange of counts takes. Without PostgreSQL there is no row.
 */

import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { systemRandom } from '../src/core/random.ts';
import { createEventId } from '../src/storage/journal/define-event.ts';
import { createFollower } from '../src/storage/journal/follower.ts';
import { createNodeMessages } from '../src/storage/nodes/messages.ts';
import { openPostgresStore } from '../src/storage/postgres/store.ts';
import { type Store, storeLimits } from '../src/storage/store.ts';
import { fork } from '../test/support/house/spawn.ts';
import { isInstalled } from '../test/support/house/tools.ts';
import {
  postgresProgram,
  startPostgres,
  type TestPostgres,
} from '../test/support/server/postgres.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rounds: 1, ms: 200, nodes: [1, 2], events: 2_000, exchanges: 5 },
  full: { rounds: 5, ms: 3_000, nodes: [1, 2, 3], events: 200_000, exchanges: 200 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const callers = 400;
const commitGoals: Readonly<Record<number, number>> = { 1: 20_000, 2: 25_000 };
const commitsPerSecond = 1_000;
const lagGoalMs = 100;
const readGoal = 500_000;
const exchangeGoalMs = 10;
const [clock, random, log] = [systemClock(), systemRandom(), createLog('fatal')];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan: Plan = sizes[size];
  if (!isInstalled(postgresProgram)) {
    process.stderr.write('cluster: PostgreSQL 15 is not installed, nothing is measured\n');
    return [];
  }
  const database = await startPostgres({ isDurable: true });
  try {
    return [
      ...(await commitRates(plan, database)),
      await lags(plan, await database.createDatabase()),
      await readRate(plan, await database.createDatabase()),
      await exchanges(plan, await database.createDatabase()),
    ];
  } finally {
    await database.stop();
  }
}

/** @returns commits a second of all together */
async function commitsOf(nodes: number, plan: Plan, url: string): Promise<number> {
  const children = Array.from({ length: nodes }, () =>
    fork(new URL('./cluster-child.js', import.meta.url), [url, `${callers}`, `${plan.ms}`]),
  );
  const told = async <T>(child: ChildProcess) => (await once(child, 'message'))[0] as T;
  await Promise.all(children.map((child) => told(child)));
  for (const child of children) child.send('go');
  const ended = await Promise.all(
    children.map((child) => told<{ commits: number; ms: number }>(child)),
  );
  return ended.reduce((sum, { commits, ms }) => sum + (commits * 1_000) / ms, 0);
}

async function commitRates(plan: Plan, database: TestPostgres): Promise<BenchRow[]> {
  const found = new Map<number, number[]>(plan.nodes.map((nodes) => [nodes, []]));
  for (let round = 0; round < plan.rounds; round++) {
    for (const [nodes, rates] of found) {
      const url = await database.createDatabase();
      rates.push(await commitsOf(nodes, plan, url));
      await database.dropDatabase(url);
    }
  }
  return [...found].map(([nodes, rates]) => {
    const ours = Math.round(median(rates));
    const goal = commitGoals[nodes];
    return {
      name: `commits of ${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${callers} callers each`,
      unit: 'commits/s',
      ours,
      ...(goal !== undefined && { goal: `≥ ${goal}`, ok: ours >= goal }),
      note: 'a row, that it was absent, and an event; on disk',
    };
  });
}

/** How long after its acknowledgement an event was applied there, at a steady pace. */
async function lagsOf(from: Store, to: Store, ms: number): Promise<number[]> {
  const acknowledged = new Map<bigint, number>();
  const seen = new Map<bigint, number>();
  const first = await from.lastSeq();
  const follower = createFollower({
    ...{ store: to, clock, log, from: first },
    apply: ({ seq }) => void seen.set(seq, performance.now()),
  });
  follower.start();
  const waiting: Promise<void>[] = [];
  const startMs = performance.now();
  const total = Math.round((ms * commitsPerSecond) / 1_000);
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, ((performance.now() - startMs) * commitsPerSecond) / 1_000);
    for (; sent < due; sent++) {
      const id = createEventId(clock, random);
      const events = [{ id, kind: 'bench', version: 1, body: Buffer.alloc(40) }];
      waiting.push(
        from.commit({ events }).then((done) => {
          if (!done.ok) throw new Error(done.error);
          acknowledged.set(done.seq, performance.now());
        }),
      );
    }
    await delay(1);
  }
  await Promise.all(waiting);
  await follower.catchUpTo(await from.lastSeq());
  await follower.stop();
  // Another node may have it before the one that wrote it hears so.
  return [...acknowledged].map(([seq, at]) => Math.max(0, seen.get(seq)! - at));
}

async function lags(plan: Plan, url: string): Promise<BenchRow> {
  const open = () => openPostgresStore({ url, clock, log });
  const [writer, other] = [await open(), await open()];
  try {
    const found: number[] = [];
    for (let round = 0; round < plan.rounds; round++) {
      found.push(...(await lagsOf(writer, other, plan.ms)));
    }
    return lagRow('another node', found);
  } finally {
    await Promise.all([writer.close(), other.close()]);
  }
}

const histogramMs = [1, 2, 5, 10, 20, 50, 100, 200, 500];

function lagRow(where: string, found: readonly number[]): BenchRow {
  const sorted = found.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  const p99 = at(0.99);
  const below = histogramMs.map((ms) => {
    const share = sorted.filter((lag) => lag <= ms).length / sorted.length;
    return `${ms} ms: ${(share * 100).toFixed(1)} %`;
  });
  return {
    name: `from a commit's answer to ${where}, p99 at ${commitsPerSecond}/s`,
    unit: 'ms',
    ours: p99,
    goal: `≤ ${lagGoalMs}`,
    ok: p99 <= lagGoalMs,
    p50: at(0.5),
    p99,
    note: `both in one process; within ${below.join(', ')}`,
  };
}

async function readRate(plan: Plan, url: string): Promise<BenchRow> {
  const store = await openPostgresStore({ url, clock, log });
  try {
    for (let made = 0; made < plan.events; made += 1_000) {
      const events = Array.from({ length: 1_000 }, () => {
        return {
          id: createEventId(clock, random),
          kind: 'bench',
          version: 1,
          body: Buffer.alloc(40),
        };
      });
      const done = await store.commit({ events });
      if (!done.ok) throw new Error(done.error);
    }
    const rates: number[] = [];
    for (let round = 0; round < plan.rounds; round++) {
      const startMs = performance.now();
      let last = 0n;
      for (;;) {
        const page = await store.read(last, storeLimits.readLimitMax);
        if (page.length === 0) break;
        last = page.at(-1)!.seq;
      }
      rates.push((Number(last) * 1_000) / (performance.now() - startMs));
    }
    const ours = Math.round(median(rates));
    return {
      name: `the journal read, ${plan.events.toLocaleString('en-US')} events`,
      unit: 'events/s',
      ours,
      goal: `≥ ${readGoal}`,
      ok: ours >= readGoal,
    };
  } finally {
    await store.close();
  }
}

/** Two nodes that each tell a hundred counts and hear the other one's. */
async function exchanges(plan: Plan, url: string): Promise<BenchRow> {
  const stores = [
    await openPostgresStore({ url, clock, log }),
    await openPostgresStore({ url, clock, log }),
  ];
  const nodes = stores.map((store) => createNodeMessages(store.session, randomUUID()));
  const bytes = Buffer.alloc(4_000, 7);
  const heard = nodes.map(() => new Map<string, number>());
  const took: number[] = [];
  try {
    for (let seq = 1; seq <= plan.exchanges; seq++) {
      for (const [i, node] of nodes.entries()) {
        const startMs = performance.now();
        await node.send(seq, bytes);
        for (const told of (await node.receive(heard[i]!)).messages)
          heard[i]!.set(told.from, told.seq);
        took.push(performance.now() - startMs);
      }
    }
  } finally {
    for (const store of stores) await store.close();
  }
  took.sort((a, b) => a - b);
  const p99 = took[Math.floor(took.length * 0.99)]!;
  return {
    name: 'an exchange of counts, told and heard, p99',
    unit: 'ms',
    ours: p99,
    goal: `≤ ${exchangeGoalMs}`,
    ok: p99 <= exchangeGoalMs,
    p50: median(took),
    p99,
    note: '4,000 bytes told by each of two nodes; no network between',
  };
}
