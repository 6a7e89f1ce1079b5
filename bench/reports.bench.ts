/**
 * What reports cost: how many a second become durable, through the report store alone and over
 * HTTP, against raw lmdb puts of the same rows with the same sync; how long the start takes with
 * 100,000 of them in the store; and what 1,000 a second do to the checks beside them, also against
 * what their sender does alone, which shares the machine. Rounds alternate; medians are shown.
 */

import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import type { Report } from '../src/reputation/reports/report.ts';
import {
  createReportStore,
  type ReportStore,
} from '../src/reputation/reports/store/report-store.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { makeReporters } from '../test/support/reputation/reporters.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { startTestServer, type TestServer } from '../test/support/server/server.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { openChecks } from './http-load.ts';
import { comment, openReportLoad } from './report-load.ts';
import { openRawPeer } from './report-peer.ts';
import { atLeast, type BenchRow, besidePeer, median, ratioAtMost, rowAtMost } from './row.ts';
import { inParallel, inTurns, perSecond } from './work.ts';

const sizes = {
  tiny: { rounds: 1, reports: 300, seconds: 1, stored: 500, starts: 1 },
  full: { rounds: 7, reports: 20_000, seconds: 2, stored: 100_000, starts: 5 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const inFlight = 128;
const rateGoal = 0.7;
const startGoalMs = 1_000;
const reportsPerSecond = 1_000;
const checksGoal = 2;
const refusedGoal = 1.2;
/** A running server begins one as often; the first takes some seconds more. */
const checkpointMs = 5_000;
const clock = systemClock();
const log = createLog('fatal');

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  using temp = makeTempDir('bench-reports');
  const directory = temp.path;
  return [
    ...(await rates(plan, directory)),
    ...(await starts(plan, join(directory, 'start'))),
    ...(await checksBeside(plan, join(directory, 'checks'))),
  ];
}

/** One report after the other through the store, none of an address of before. */
function openReports(path: string, account: string) {
  const random = seededRandom(7);
  const store = openLmdbStore({ path, clock, log });
  const reports: ReportStore = createReportStore({ store, clock, random });
  let count = 0;
  return {
    async one(): Promise<void> {
      const words = Uint32Array.of(Math.imul(++count, 0x9e37_79b1) >>> 0, 0, 0, 0);
      const reportedAt = clock.now();
      const report: Report = { family: 4, words, ip: '', categories: 6, comment, reportedAt };
      const added = await reports.add({ account, slot: 0, country: 'ZZ' }, report);
      if (!added.ok) throw new Error(added.error);
    },
    close: () => store.close(),
  };
}

async function rates(plan: Plan, directory: string): Promise<BenchRow[]> {
  const dataDir = join(directory, 'http');
  const [reporter] = await makeReporters(dataDir, 1);
  await using server = await serve(dataDir);
  using load = openReportLoad(server.port, reporter!.key);
  const own = openReports(join(directory, 'own'), 'account-of-bench');
  const raw = openRawPeer(join(directory, 'raw'), seededRandom(8), comment);
  try {
    const found = await inTurns(plan.rounds, {
      own: () => perSecond(plan.reports, inFlight, own.one),
      raw: () => perSecond(plan.reports, inFlight, raw.one),
      http: () => load.rate(plan.seconds),
    });
    return [
      compared('durable reports, report store, 128 in flight', found.own, found.raw, ''),
      compared('durable reports over HTTP, 128 in flight', found.http, found.raw, 'wrk'),
    ];
  } finally {
    await own.close();
    await raw.close();
  }
}

function compared(
  name: string,
  rates: readonly number[],
  peer: readonly number[],
  note: string,
): BenchRow {
  const ours = median(rates);
  const row = besidePeer(name, 'reports/s', ours, 'lmdb put, the same rows', median(peer));
  return { ...row, ...atLeast(row.ratio, rateGoal), note };
}

function serve(dataDir: string): Promise<TestServer> {
  const env = { LOG_LEVEL: 'info', CLIENT_LIMITS: 'off' };
  return startTestServer({ threads: 1, dataDir, demo: false, env });
}

/** From the start of the process to the line that says it listens, geo tables compiled before. */
async function starts(plan: Plan, dataDir: string): Promise<BenchRow[]> {
  const [reporter] = await makeReporters(dataDir, 1);
  await (await serve(dataDir)).stop();
  const fill = openReports(`${dataDir}/store`, reporter!.account);
  await inParallel(plan.stored, inFlight, fill.one);
  await fill.close();
  const [journal, snapshot, rebuilt]: [number[], number[], number[]] = [[], [], []];
  // Killed before its first checkpoint: each of these starts applies the whole journal.
  for (let i = 0; i < plan.starts; i++) {
    const { server, ms } = await timedStart(dataDir);
    journal.push(ms);
    await server.kill();
  }
  const kept = `${dataDir}/kept.snapshot`;
  const place = `${dataDir}/index.snapshot`;
  await stopWithSnapshot(dataDir, place);
  copyFileSync(place, kept);
  for (let i = 0; i < plan.starts; i++) {
    copyFileSync(kept, place);
    const { server, ms } = await timedStart(dataDir);
    snapshot.push(ms);
    await server.kill();
    if (existsSync(place)) throw new Error('the snapshot was not used');
    const second = await timedStart(dataDir);
    rebuilt.push(second.ms);
    await second.server.kill();
  }
  const title = `start with ${plan.stored.toLocaleString('en-US')} reports`;
  return [
    rowAtMost(`${title}, after a stop`, 'ms', median(snapshot), startGoalMs, 'ms'),
    rowAtMost(`${title}, after a kill`, 'ms', median(rebuilt), startGoalMs, 'ms'),
    { name: `${title}, no checkpoint at all`, unit: 'ms', ours: median(journal) },
  ];
}

/** A stop has a few seconds for the first checkpoint, which is the whole state: too few on some disks. */
async function stopWithSnapshot(dataDir: string, place: string): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const { server } = await timedStart(dataDir);
    await setTimeout((attempt - 1) * checkpointMs);
    await server.stop();
    if (existsSync(place)) return;
  }
  throw new Error('no stop wrote the snapshot');
}

async function timedStart(dataDir: string): Promise<{ server: TestServer; ms: number }> {
  const startMs = performance.now();
  const server = await serve(dataDir);
  return { server, ms: performance.now() - startMs };
}

/** Checks at a steady pace on 64 connections, alone and while reports arrive. */
async function checksBeside(plan: Plan, dataDir: string): Promise<BenchRow[]> {
  const [reporter] = await makeReporters(dataDir, 1);
  await using server = await serve(dataDir);
  using reports = openReportLoad(server.port, reporter!.key);
  const addresses = Array.from({ length: 1_000 }, (_, i) => `32.1.1.${i & 255}`);
  using checks = openChecks(addresses, reporter!.key);
  const p99 = () => checks.p99(server.port, plan.seconds);
  let reported = 0;
  let busyMs = 0;
  const { idle, refused, busy } = await inTurns(plan.rounds, {
    idle: p99,
    async refused() {
      const control = reports.paceRefused(reportsPerSecond);
      const beside = await p99();
      await control.stop();
      return beside;
    },
    async busy() {
      const startMs = performance.now();
      const stream = reports.pace(reportsPerSecond);
      const beside = await p99();
      reported += await stream.stop();
      busyMs += performance.now() - startMs;
      return beside;
    },
  });
  const note = `one thread, 64 connections, ${Math.round((reported * 1_000) / busyMs)} reports/s`;
  const row = (name: string, peer: string, values: readonly number[], goal: number): BenchRow => {
    return {
      ...ratioAtMost(besidePeer(name, 'ms', median(busy), peer, median(values)), goal),
      note,
    };
  };
  const sameSender = 'the same sender and bytes, a wrong key';
  return [
    row('check p99 while 1,000 reports/s arrive', 'without reports', idle, checksGoal),
    row('the same, beside as many that the quota guard refuses', sameSender, refused, refusedGoal),
  ];
}
