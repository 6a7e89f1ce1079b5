/**
 * The time of the main thread for the other threads of the process: where a database gives the time, the clock of this
 * machine may be a wrong one, and only the main thread knows by how much.
 *
 * Invariant: what never changes is written before a thread reads it; the rest is one whole number.
 */

import { type Clock, systemClock } from '../clock.ts';
import { every } from './every.ts';

const sendMs = 250;

export interface SharedTime {
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
  return {
    buffer,
    start: () => every(sendMs, send).stop,
  };
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
