/**
 * Time is passed in, so that rules about time can be tested without waiting.
 * `monotonicMs` is one clock for all threads of the process: CLOCK_MONOTONIC as
 * `process.hrtime` reads it. (`performance.now()` starts at another origin in each thread.)
 */

export interface Clock {
  /** Wall clock, milliseconds since 1970-01-01T00:00Z. */
  now(): number;
  /** Returns milliseconds with a fraction that never go back, with one origin for all threads of the process. */
  monotonicMs(): number;
}

const originReadingsMax = 100;
const originErrorMs = 0.002;

/**
 * Milliseconds between this thread's `performance.now()` origin and CLOCK_MONOTONIC's. A thread
 * put to sleep between the two readings would keep its error for life, so the reading with the
 * least time around it wins.
 */
function originOffsetMs(): number {
  let offsetMs = 0;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < originReadingsMax && leastMs > originErrorMs; i++) {
    const beforeMs = performance.now();
    const [seconds, nanoseconds] = process.hrtime();
    const afterMs = performance.now();
    if (afterMs - beforeMs >= leastMs) continue;
    leastMs = afterMs - beforeMs;
    offsetMs = seconds * 1_000 + nanoseconds / 1e6 - (beforeMs + afterMs) / 2;
  }
  return offsetMs;
}

export function systemClock(): Clock {
  const offsetMs = originOffsetMs();
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now() + offsetMs,
  };
}

/** A clock that stands still until it is advanced. For tests. */
export function manualClock(startMs: number): Clock & { advance(ms: number): void } {
  let elapsedMs = 0;
  return {
    now: () => startMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    advance(ms) {
      elapsedMs += ms;
    },
  };
}
