/** How long the event loop is held: the time between two of its turns, while something runs. */

export interface Pauses {
  /** Milliseconds. */
  readonly max: number;
  readonly p99: number;
  readonly elapsedMs: number;
}

export async function watchPauses(run: () => Promise<void>): Promise<Pauses> {
  const gaps: number[] = [];
  let isDone = false;
  const startMs = performance.now();
  const watching = (async () => {
    let before = performance.now();
    while (!isDone) {
      await new Promise(setImmediate);
      const now = performance.now();
      gaps.push(now - before);
      before = now;
    }
  })();
  await run();
  const elapsedMs = performance.now() - startMs;
  isDone = true;
  await watching;
  gaps.sort((a, b) => a - b);
  return { max: gaps.at(-1)!, p99: gaps[Math.floor(gaps.length * 0.99)]!, elapsedMs };
}
