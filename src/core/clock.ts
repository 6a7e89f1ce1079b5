/**
 * Time is passed in, so that rules about time can be tested without waiting.
 * `monotonicMs` is one clock for all threads of the process: CLOCK_MONOTONIC as
 * `process.hrtime` reads it. (`performance.now()` starts at another origin in each thread.)
 *
 * Where a database gives the time, the clock of this machine may be a wrong one, and only the main thread knows by
 * how much: it shares its time with the other threads. What never changes is written before a thread reads it; the
 * rest is one whole number.
 */

import { every } from './every.ts';
import { hourMs } from './time.ts';

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
  return { now: () => Date.now(), monotonicMs: () => performance.now() + offsetMs };
}

/** A step that time servers make; what is further is a clock that was wrong, or is now. */
const leapMsMin = hourMs;

/**
 * Tells whether what has expired may be removed for good. A clock that leapt forward may be set back, and what
 * was removed meanwhile would be lost: so nothing is, until it has shown its new time for an hour.
 * @param onLeap called once a leap, with its milliseconds
 * @param trustedMs the last time of this clock that was no leap, of a process before this one: the clock may
 *   have leapt since
 * @param waitedMs how much of the hour such processes have waited since
 */
export function createLeapGuard(
  clock: Clock,
  onLeap: (leadMs: number) => void,
  trustedMs = Number.POSITIVE_INFINITY,
  waitedMs = 0,
): () => boolean {
  let wallMs = Math.min(trustedMs, clock.now());
  let seenMs = clock.monotonicMs();
  let waitedBeforeMs = waitedMs;
  let held: { readonly sinceMs: number; readonly leadMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    const leadMs = clock.now() - wallMs - (nowMs - seenMs);
    if (leadMs > leapMsMin) {
      if (held === undefined || leadMs - held.leadMs > leapMsMin) {
        held = { sinceMs: nowMs - waitedBeforeMs, leadMs };
        onLeap(leadMs);
      }
      waitedBeforeMs = 0;
      if (nowMs - held.sinceMs < hourMs) return false;
    }
    waitedBeforeMs = 0;
    held = undefined;
    wallMs = clock.now();
    seenMs = nowMs;
    return true;
  };
}

const sendMs = 250;

interface SharedTime {
  readonly buffer: SharedArrayBuffer;
  /** Writes the time at intervals from now on. @returns a function that stops it */
  start(): () => Promise<void>;
}

/** @param clock whose time it is; its monotonic clock is that of all threads */
export function shareTime(clock: Clock): SharedTime {
  const buffer = new SharedArrayBuffer(16);
  const base = Math.floor(clock.now() - clock.monotonicMs());
  new Float64Array(buffer, 0, 1)[0] = base;
  const shift = new Int32Array(buffer, 8, 1);
  function send(): void {
    Atomics.store(shift, 0, Math.round(clock.now() - clock.monotonicMs() - base));
  }
  return { buffer, start: () => every(sendMs, send).stop };
}

/** @param buffer absent: the clock of this machine gives the time */
export function openSharedTime(
  buffer: SharedArrayBuffer | undefined,
  own: Clock = systemClock(),
): Clock {
  if (buffer === undefined) return own;
  const base = new Float64Array(buffer, 0, 1)[0]!;
  const shift = new Int32Array(buffer, 8, 1);
  const { monotonicMs } = own;
  return { now: () => Math.floor(monotonicMs() + base + Atomics.load(shift, 0)), monotonicMs };
}
