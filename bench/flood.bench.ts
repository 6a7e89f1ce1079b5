/**
 * A server with two million reports, a tenth of them a flood on one address that a thousand accounts send, and
 * one address that 10,000 accounts reported: how soon it is ready, its memory, what the flood leaves in the
 * store, how long somebody waits who takes back what he said in it, and what one more report costs.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { capacities } from '../src/config.ts';
import { addressBytes } from '../src/reputation/reports/store/report-rows.ts';
import { reportByAddressPrefix } from '../src/storage/keys.ts';
import { pagesUnder, type Store, storeLimits } from '../src/storage/store.ts';
import { sendReport } from '../test/support/reputation/reporters.ts';
import type { TestServer } from '../test/support/server/server.ts';
import { openStoreBeside } from '../test/support/server/shared-store.ts';
import { type KeyHolder, openCapacityStore, type ReportOf } from './capacity-data.ts';
import { counted, flooded, isPublic, look, say, serve, sizeRows } from './capacity-look.ts';
import { hostText } from './check-table.ts';
import { openJournalStore } from './journal-data.ts';
import { mainThreadMsOf } from './main-thread.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: {
    ...{ starts: 1, quietMs: 100, accounts: 20, reports: 400, flood: 100, flooders: 10 },
    ...{ crowd: 15, more: 3, settleMs: 10 },
  },
  full: {
    ...{ starts: 2, quietMs: 20_000, accounts: 50_000, reports: 2_000_000, flood: 200_000 },
    ...{ flooders: 1_000, crowd: 10_000, more: 50, settleMs: 40_000 },
  },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const goals = { clearMs: 1_000, keptInFull: 10_000 } as const;
/** Is reported once by each of many accounts: 102.0.0.1. */
const crowded = 0x6600_0001;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-flood-'));
  const dataDir = join(directory, 'data');
  try {
    const keys = await report(dataDir, plan);
    const rows = [await applyRow(dataDir, plan)];
    const own = await look(dataDir, plan);
    rows.push(...sizeRows(`${counted(plan.reports)} reports`, dataDir, own));
    await using server = await serve(dataDir);
    rows.push(await keptRow(dataDir, plan), await clearRow(server, keys[0]!));
    rows.push(await reportRow(server, plan, keys, { word: 0x6700_0001, accounts: 0 }));
    rows.push(await reportRow(server, plan, keys, { word: flooded, accounts: plan.flooders }));
    rows.push(await reportRow(server, plan, keys, { word: crowded, accounts: plan.crowd }));
    await server.stop();
    return rows;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Flood and crowd come among the others. */
async function report(dataDir: string, plan: Plan): Promise<readonly KeyHolder[]> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const store = openCapacityStore(dataDir);
  const keys = await store.addAccounts(plan.accounts, plan.accounts);
  say(`${keys.length} accounts with keys made`);
  await store.addReports(plan.reports, keys, reportsOf(plan));
  await store.sweep();
  await store.close();
  say(`${plan.reports} reports made`);
  return keys;
}

/** All of the journal at once: a start that finds no checkpoint. The next one finds it. */
async function applyRow(dataDir: string, { reports }: Plan): Promise<BenchRow> {
  const journal = openJournalStore(capacities.entries, dataDir);
  const before = process.cpuUsage();
  const state = await journal.open({ snapshot: true });
  state.start();
  const events = await journal.store.lastSeq();
  await state.follower.catchUpTo(events);
  const { user, system } = process.cpuUsage(before);
  await state.stop();
  await journal.close();
  const ours = (user + system) / 1e6;
  say(`the journal of ${events} events: ${ours} s of processor time`);
  return {
    ...{ name: `${counted(reports)} reports: reading all of the journal`, unit: 's', ours },
    note: `${counted(Number(events))} events; processor time`,
  };
}

function reportsOf({ reports, flood, flooders, crowd, accounts }: Plan): ReportOf {
  const [everyFlood, everyCrowd] = [reports / flood, Math.floor(reports / crowd)];
  let n = 0;
  return (nth) => {
    if (nth % everyFlood === 0) return { word: flooded, slot: (nth / everyFlood) % flooders };
    const place = Math.floor(nth / everyCrowd);
    if (nth % everyCrowd === 1 && place < crowd) return { word: crowded, slot: place };
    let word: number;
    // 32.0.0.0 and on, about one in each /24.
    do word = 0x2000_0000 + ((++n * 263) & 0x1fff_ffff);
    while (!isPublic(word));
    return { word, slot: nth % accounts };
  };
}

/** What lies in the store of each report in the flood, once the server has folded what is too much. */
async function keptRow(dataDir: string, { settleMs }: Plan): Promise<BenchRow> {
  const startMs = performance.now();
  const store = openStoreBeside(dataDir);
  let ours = await keptIn(store);
  let settledMs = startMs;
  for (let before = -1; ours !== before; ) {
    settledMs = performance.now();
    before = ours;
    await sleep(settleMs);
    ours = await keptIn(store);
  }
  await store.close();
  return {
    ...{ name: 'a flooded address: reports kept in full', unit: 'reports', ours },
    ...{ goal: `≤ ${counted(goals.keptInFull)}`, ok: ours <= goals.keptInFull },
    note: `${((settledMs - startMs) / 1_000).toFixed(0)} s after the server listened`,
  };
}

async function keptIn(store: Store): Promise<number> {
  const prefix = reportByAddressPrefix(addressBytes(4, Uint32Array.of(flooded, 0, 0, 0)));
  let rows = 0;
  for await (const page of pagesUnder(store, prefix, { limit: storeLimits.scanLimitMax })) {
    rows += page.length;
  }
  return rows;
}

/** One of the first of the flood takes back what he said. */
async function clearRow(server: TestServer, { key }: KeyHolder): Promise<BenchRow> {
  const startMs = performance.now();
  const path = `/api/v2/clear-address?ipAddress=${hostText(flooded)}`;
  const cleared = await server.fetch(path, { method: 'DELETE', headers: { Key: key } });
  const ours = performance.now() - startMs;
  if (cleared.status !== 200) throw new Error(`clear-address: ${cleared.status} ${cleared.body}`);
  const { data } = cleared.json() as { data: { numReportsDeleted: number } };
  return {
    ...{ name: 'a flooded address: one of the first takes back its reports', unit: 'ms', ours },
    ...{ goal: `≤ ${counted(goals.clearMs)} ms`, ok: ours <= goals.clearMs },
    note: `${data.numReportsDeleted} reports went`,
  };
}

/** One after the other, of accounts that have not said anything of the address lately. */
async function reportRow(
  server: TestServer,
  { more, accounts }: Plan,
  keys: readonly KeyHolder[],
  of: { readonly word: number; readonly accounts: number },
): Promise<BenchRow> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (const { key } of keys.slice(accounts - more)) {
    const fields = new URLSearchParams({ ip: hostText(of.word), categories: '18', comment: 'x' });
    const ms = await mainThreadMsOf(server.pid, async () => {
      const { status, body } = await sendReport(server.port, agent, key, fields);
      if (status !== 200) throw new Error(`a report was answered with ${status} ${body}`);
    });
    times.push(ms);
  }
  agent.destroy();
  const ours = median(times);
  say(`a report where ${of.accounts} had reported: ${ours} ms`);
  const whom = of.accounts === 0 ? 'nobody' : `${counted(of.accounts)} accounts`;
  return {
    ...{ name: `a report of an address that ${whom} reported: main thread`, unit: 'ms', ours },
    ...{ p50: ours, p99: Math.max(...times), note: `beside p50 the longest of ${more}` },
  };
}
