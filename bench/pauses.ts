/**
 * How long the event loop is held while something runs: the time between two of its turns, less
 * the time in which its thread was ready and the machine ran something else (Linux tells it in
 * schedstat; elsewhere the plain time).
 */

import { closeSync, openSync, readSync } from 'node:fs';

export interface Pauses {
  readonly max: number;
  readonly p99: number;
  readonly elapsedMs: number;
}

const bucketsPerMs = 100;
const bucketCount = 1_000 * bucketsPerMs;

export async function watchPauses(run: () => Promise<void>): Promise<Pauses> {
  const buckets = new Uint32Array(bucketCount);
  const waited = openWaitedClock();
  let turns = 0;
  let max = 0;
  let isDone = false;
  const startMs = performance.now();
  const watching = (async () => {
    let beforeMs = performance.now();
    let waitedBeforeMs = waited.ms();
    while (!isDone) {
      await new Promise(setImmediate);
      const nowMs = performance.now();
      const waitedMs = waited.ms();
      const heldMs = Math.max(0, nowMs - beforeMs - (waitedMs - waitedBeforeMs));
      if (heldMs > max) max = heldMs;
      buckets[Math.min(bucketCount - 1, Math.floor(heldMs * bucketsPerMs))]! += 1;
      turns++;
      beforeMs = nowMs;
      waitedBeforeMs = waitedMs;
    }
  })();
  await run();
  const elapsedMs = performance.now() - startMs;
  isDone = true;
  await watching;
  waited.close();
  let bucket = 0;
  for (let seen = buckets[0]!; seen < 0.99 * turns; seen += buckets[bucket]!) bucket++;
  return { max, p99: bucket / bucketsPerMs, elapsedMs };
}

/** Time that the main thread was ready to run and did not. */
function openWaitedClock(): { ms(): number; close(): void } {
  const text = Buffer.alloc(128);
  let file: number;
  try {
    file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  } catch {
    return { ms: () => 0, close: () => {} };
  }
  return {
    ms() {
      const length = readSync(file, text, 0, text.length, 0);
      // Nanoseconds on a processor, nanoseconds waiting for one, turns.
      return Number(text.toString('latin1', 0, length).split(' ')[1]) / 1e6;
    },
    close: () => closeSync(file),
  };
}
