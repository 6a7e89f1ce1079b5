/**
 * How long the event loop is held while something runs: the time between two of its turns, less
 * the time in which its thread was ready and the machine ran something else (elsewhere than on Linux the plain time).
 */

import { createHistogram } from 'node:perf_hooks';
import { openThreadClock } from './work.ts';

export interface Pauses {
  readonly max: number;
  readonly p99: number;
  readonly elapsedMs: number;
}

export async function watchPauses(run: () => Promise<void>): Promise<Pauses> {
  /** Of hundredths of a millisecond; one is added, since the least that it takes is 1. */
  const held = createHistogram();
  using thread = openThreadClock();
  let max = 0;
  let isDone = false;
  const startMs = performance.now();
  const watching = (async () => {
    let [beforeMs, waitedBeforeMs] = [performance.now(), thread.waitedMs()];
    while (!isDone) {
      await new Promise(setImmediate);
      const [nowMs, waitedMs] = [performance.now(), thread.waitedMs()];
      const heldMs = Math.max(0, nowMs - beforeMs - (waitedMs - waitedBeforeMs));
      max = Math.max(max, heldMs);
      held.record(1 + Math.floor(heldMs * 100));
      [beforeMs, waitedBeforeMs] = [nowMs, waitedMs];
    }
  })();
  await run();
  const elapsedMs = performance.now() - startMs;
  isDone = true;
  await watching;
  return { max, p99: (held.percentile(99) - 1) / 100, elapsedMs };
}
