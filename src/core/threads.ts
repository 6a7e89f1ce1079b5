/** Threads of the process owe each other a sign of life, the processor, and memory that nobody uses. */

import { readdirSync, readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from './clock.ts';
import { every } from './every.ts';

const beatMs = 250;

/**
 * Keeps the time of the main thread's last event-loop turn in shared memory. Front ends see there whether the main
 * thread still runs, without asking it.
 */
export function createHeartbeat(
  clock: Pick<Clock, 'monotonicMs'>,
  buffer = new SharedArrayBuffer(8),
) {
  // Whole milliseconds, so that no reader sees half of a number.
  const last = new BigInt64Array(buffer);
  const beat = () => Atomics.store(last, 0, BigInt(Math.floor(clock.monotonicMs())));
  return {
    buffer,
    /** Beats now and from now on, in the thread that is watched. @returns a function that stops it */
    start: () => every(beatMs, beat, { isImmediate: true }).stop,
    /** Milliseconds since the last beat. */
    silentMs: () => clock.monotonicMs() - Number(Atomics.load(last, 0)),
  };
}

/**
 * Returns a full garbage collection, on purpose. V8 doesn't count shared buffers as memory of a thread: a
 * thread that makes little garbage would keep hundreds of megabytes of buffers nobody uses.
 * Costs a few milliseconds on a heap as small as a thread's here. V8 is asked for it by the first one: a thread that
 * starts later compiles Node's own modules anew, since the code of them that Node brings is of other flags.
 */
export function openGarbageCollection(): () => void {
  let collect: (() => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
    }
    collect();
  };
}

/**
 * Has each thread collect its young garbage alone; to be called before the threads start. A collection that
 * is shared ends when the last of V8's helpers does, and where processors are few a helper waits for one.
 */
export function collectAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

/** The threads' niceness above the process: a tenth of its weight when both want the processor. */
export const backgroundNiceness = 10;
const nicest = 19;

/**
 * Lets threads that answer requests go first: to be called by the thread that steps back, which has no way up again
 * without privileges. On Linux a priority belongs to a thread, and "process 0" is the calling one; elsewhere it would
 * slow the whole process, so nothing is done there.
 */
export function yieldToRequests(): void {
  if (process.platform !== 'linux') return;
  setPriority(0, Math.min(nicest, getPriority(0) + backgroundNiceness));
}

/**
 * Niceness: threads that answer requests go this far ahead of the process where the system allows it; elsewhere the
 * other threads go this far back.
 */
const niceAnswering = { before: 10, behind: 5 } as const;
const leastNice = -20;

/** A thread that answers says this of itself: its id of the system, and whether it could go before all others. */
export interface AnsweringThread {
  readonly id: number;
  readonly isFirst: boolean;
}

/**
 * Takes the calling thread before all others: a check that arrives while every core is taken else waits behind
 * whatever the process itself does. Linux allows it with RLIMIT_NICE or CAP_SYS_NICE.
 * @returns undefined where threads have no priority of their own
 */
export function raiseThreadPriority(): AnsweringThread | undefined {
  const id = threadId();
  if (id === undefined) return undefined;
  try {
    setPriority(0, Math.max(leastNice, getPriority(0) - niceAnswering.before));
    return { id, isFirst: true };
  } catch {
    return { id, isFirst: false };
  }
}

/** Returns the id of the calling thread; undefined where it can't be known, as without /proc. */
function threadId(): number | undefined {
  try {
    // <process>/task/<thread>, of the thread that reads it.
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return undefined;
  }
}

/**
 * Puts all threads of the process behind those that answer, where these may not go before it: those of V8 and of the
 * store as well. Threads that start later are behind like the one that starts them.
 */
export function lowerOtherThreads(answering: readonly AnsweringThread[]): void {
  if (answering.length === 0 || answering.some(({ isFirst }) => isFirst)) return;
  for (const id of readdirSync('/proc/self/task').map(Number)) {
    if (answering.some((one) => one.id === id)) continue;
    try {
      setPriority(id, Math.min(nicest, getPriority(id) + niceAnswering.behind));
    } catch {
      // It ended meanwhile.
    }
  }
}
