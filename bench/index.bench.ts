/**
 * The IP index against its goals. Each section runs in a thread of its own, one at a time, with
 * one table, as a server has: many tables in one heap share V8's type feedback and its
 * collector, and would be measured instead.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type SectionTask, sections } from './index-sections.ts';
import type { BenchRow } from './row.ts';

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const section of Object.keys(sections)) {
    const task: SectionTask = { section, size };
    const worker = new Worker(new URL('./index.worker.js', import.meta.url), {
      workerData: task,
      execArgv: [],
    });
    const [made] = (await once(worker, 'message')) as [BenchRow[]];
    await worker.terminate();
    rows.push(...made);
  }
  return rows;
}
