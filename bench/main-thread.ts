/** What the main thread of another process has used of a processor; Linux tells it in schedstat. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a thread that has nothing to do to go to sleep: what it used is told then. */
const settleMs = 3;

/** Milliseconds since the process began. */
export function mainThreadMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1');
  // Nanoseconds on a processor, nanoseconds waiting for one, turns.
  return Number(text.split(' ')[0]) / 1e6;
}

/** What it used for one piece of work, and for whatever else it did meanwhile. */
export async function mainThreadMsOf(pid: number, work: () => Promise<void>): Promise<number> {
  await sleep(settleMs);
  const before = mainThreadMs(pid);
  await work();
  await sleep(settleMs);
  return mainThreadMs(pid) - before;
}
