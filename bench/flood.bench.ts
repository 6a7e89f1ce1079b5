/**
 * A server with two million reports, a tenth of them a flood on one address: how soon it is ready, its memory,
 * what the flood leaves in the store, and how long somebody waits who takes back what he said in it.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metric } from '../test/support/server/server.ts';
import { type KeyHolder, openCapacityStore } from './capacity-data.ts';
import { counted, flooded, isPublic, look, say, serve, sizeRows } from './capacity-look.ts';
import { hostText } from './check-table.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { starts: 1, quietMs: 100, accounts: 10, reports: 200, flood: 50 },
  full: { starts: 3, quietMs: 20_000, accounts: 50_000, reports: 2_000_000, flood: 200_000 },
} as const;
type Plan = (typeof sizes)[keyof typeof sizes];

const clearGoalMs = 1_000;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = sizes[size];
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-flood-'));
  const dataDir = join(directory, 'data');
  try {
    const keys = await report(dataDir, plan);
    const own = await look(dataDir, plan);
    return [
      ...sizeRows(`${counted(plan.reports)} reports`, dataDir, own),
      ...(await flood(dataDir, keys[0]!)),
    ];
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The flood comes among the others, from all accounts. */
async function report(dataDir: string, plan: Plan): Promise<readonly KeyHolder[]> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const every = Math.floor(plan.reports / plan.flood);
  const store = openCapacityStore(dataDir);
  const keys = await store.addAccounts(plan.accounts, plan.accounts);
  say(`${keys.length} accounts with keys made`);
  let n = 0;
  await store.addReports(plan.reports, keys, (nth) => {
    if (nth % every === 0) return flooded;
    let word: number;
    // 32.0.0.0 and on, about one in each /24.
    do word = 0x2000_0000 + ((++n * 263) & 0x1fff_ffff);
    while (!isPublic(word));
    return word;
  });
  await store.sweep();
  await store.close();
  say(`${plan.reports} reports made`);
  return keys;
}

/** Somebody who was among the first of the flood takes back what he said. */
async function flood(dataDir: string, { key }: KeyHolder): Promise<BenchRow[]> {
  await using server = await serve(dataDir);
  const ipAddress = hostText(flooded);
  const asked = `/api/v2/check?ipAddress=${ipAddress}&verbose&maxAgeInDays=365`;
  const before = await server.fetch(asked, { headers: { Key: key } });
  if (before.status !== 200) throw new Error(`check: ${before.status} ${before.body}`);
  const { data } = before.json() as { data: { totalReports: number; reports: unknown[] } };
  const startMs = performance.now();
  const cleared = await server.fetch(`/api/v2/clear-address?ipAddress=${ipAddress}`, {
    method: 'DELETE',
    headers: { Key: key },
  });
  const ms = performance.now() - startMs;
  if (cleared.status !== 200) throw new Error(`clear-address: ${cleared.status} ${cleared.body}`);
  const { numReportsDeleted: removed } = (cleared.json() as { data: { numReportsDeleted: number } })
    .data;
  const refused = (await metric(server, 'portcullis_refused_total')).get('table="reports"') ?? 0;
  await server.stop();
  return [
    {
      ...{ name: 'a flooded address: reports that a check counts', unit: 'reports' },
      ...{ ours: data.totalReports, note: `${data.reports.length} of them in full` },
    },
    {
      ...{
        name: 'a flooded address: one of the first takes back its reports',
        unit: 'ms',
        ours: ms,
      },
      ...{ goal: `≤ ${clearGoalMs} ms`, ok: ms <= clearGoalMs },
      note: `${removed} reports went; ${refused} reports had no effect because a table was full`,
    },
  ];
}
