/** How long the event loop is held: the time between two of its turns, while something runs. */

export interface Pauses {
  /** Milliseconds. */
  readonly max: number;
  readonly p99: number;
  readonly elapsedMs: number;
}

const bucketsPerMs = 100;
const bucketCount = 1_000 * bucketsPerMs;

export async function watchPauses(run: () => Promise<void>): Promise<Pauses> {
  const buckets = new Uint32Array(bucketCount);
  let turns = 0;
  let max = 0;
  let isDone = false;
  const startMs = performance.now();
  const watching = (async () => {
    let before = performance.now();
    while (!isDone) {
      await new Promise(setImmediate);
      const now = performance.now();
      const gapMs = now - before;
      if (gapMs > max) max = gapMs;
      buckets[Math.min(bucketCount - 1, Math.floor(gapMs * bucketsPerMs))]! += 1;
      turns++;
      before = now;
    }
  })();
  await run();
  const elapsedMs = performance.now() - startMs;
  isDone = true;
  await watching;
  let bucket = 0;
  for (let seen = buckets[0]!; seen < 0.99 * turns; seen += buckets[bucket]!) bucket++;
  return { max, p99: bucket / bucketsPerMs, elapsedMs };
}
