/**
 * The time of the last turn of the main thread's event loop, in shared memory. Front ends see by it whether
 * the thread behind them still moves, without asking it.
 */

import type { Clock } from '../clock.ts';
import { every } from './every.ts';

const beatMs = 250;

export interface Heartbeat {
  readonly buffer: SharedArrayBuffer;
  /** Beats now and from now on, in the thread that is watched. @returns a function that stops it */
  start(): () => Promise<void>;
  /** Milliseconds since the last beat. */
  silentMs(): number;
}

export function createHeartbeat(
  clock: Pick<Clock, 'monotonicMs'>,
  buffer = new SharedArrayBuffer(8),
): Heartbeat {
  // Whole milliseconds, so that no reader sees half of a number.
  const last = new BigInt64Array(buffer);
  const beat = () => Atomics.store(last, 0, BigInt(Math.floor(clock.monotonicMs())));
  return {
    buffer,
    start: () => every(beatMs, beat, { isImmediate: true }).stop,
    silentMs: () => clock.monotonicMs() - Number(Atomics.load(last, 0)),
  };
}
