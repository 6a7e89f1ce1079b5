/**
 * The IP index against its goals. Each section runs in a thread of its own, one at a time, with
 * one table, as a server has: many tables in one heap share V8's type feedback and its
 * collector, and would be measured instead.
 */

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { changes, heap } from './index-changes.ts';
import { blockList, lookups4, lookups6, memory } from './index-lookups.ts';
import { type IndexPlan, indexPlans } from './index-table.ts';
import type { BenchRow } from './row.ts';

const sections: Readonly<Record<string, (plan: IndexPlan) => BenchRow[] | Promise<BenchRow[]>>> = {
  lookups4,
  blockList,
  lookups6,
  memory,
  changes,
  heap,
};

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const section of Object.keys(sections)) {
    const options = { workerData: { section, size }, execArgv: [] };
    const worker = new Worker(new URL(import.meta.url), options);
    const [made] = (await once(worker, 'message')) as [BenchRow[]];
    await worker.terminate();
    rows.push(...made);
  }
  return rows;
}

if (!isMainThread && workerData?.section !== undefined) {
  const { section, size } = workerData as { section: string; size: 'tiny' | 'full' };
  parentPort!.postMessage(await sections[section]!(indexPlans[size]));
}
