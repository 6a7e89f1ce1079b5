/**
 * Cooperative scheduling of long work: it runs in slices of a few milliseconds and yields between them, so that other
 * work of the event loop is not held up: `if (scheduler.shouldYield()) await scheduler.yield()`.
 *
 * Jobs that share one scheduler get one slice for all of them per turn of the loop. (Callbacks of `setImmediate` that
 * wait together run together: a hundred jobs that each yield on their own would still hold the loop for a hundred
 * slices.)
 *
 * Heavy work goes through a semaphore (`createSemaphore`): a limited number runs, a limited number waits in order,
 * and further work is refused at once with `overloaded` instead of slowing everybody down. Background work that a
 * poll starts is one job for each key at a time (`createJobs`).
 */

import type { BoundedTable } from './bounded-tables.ts';
import { fail, ok, type Result } from './result.ts';

export type SliceScheduler = ReturnType<typeof createScheduler>;

/** The part of `SliceScheduler` that work in slices uses. `yield` may reject to stop the work. */
export type Scheduler = Pick<SliceScheduler, 'yield' | 'shouldYield'>;

/** Length of one slice. It leaves room below the 10 ms for which the loop may be held at most. */
const sliceMs = 3;

/** A job of the background rests so many times as long as its slice was, up to a bound: a stop waits for it. */
const restShare = 4;
const restMsMax = 200;

/**
 * The first slice begins at once. @param nowMs a clock that never goes back
 * @param isRestful the thread rests after each slice, which leaves processors and their caches to others
 */
export function createScheduler(nowMs: () => number = () => performance.now(), isRestful = false) {
  const waiting: (() => void)[] = [];
  let startMs = nowMs();
  let beforeMs = 0;
  let isBegun = false;

  function resumeNext(): void {
    startMs = nowMs();
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(resumeNext);
  }

  return {
    /**
     * Begins the slice of a job that arrived on its own, such as a request. The first one in a turn of the loop gets
     * the whole slice unless others wait; later ones share it.
     */
    beginSlice(): void {
      if (isBegun || waiting.length > 0) return;
      isBegun = true;
      startMs = nowMs();
      setImmediate(() => {
        isBegun = false;
      });
    },
    /** Resolves when this job's next slice begins. First come, first served. */
    yield(): Promise<void> {
      const lastedMs = nowMs() - startMs;
      beforeMs += lastedMs;
      return new Promise((resolve) => {
        if (waiting.push(resolve) > 1) return;
        if (isRestful) setTimeout(resumeNext, Math.min(restMsMax, restShare * lastedMs));
        else setImmediate(resumeNext);
      });
    },
    /**
     * Returns true when the slice that began last has lasted long enough. Costs a tenth of a microsecond: in a tight
     * loop, ask once in many rounds.
     */
    shouldYield: () => nowMs() - startMs >= sliceMs,
    /** Returns the milliseconds within slices, without those between; only right for a single job. */
    workedMs: () => beforeMs + nowMs() - startMs,
  };
}

/** Returns the scheduler of a long job of the background, which rests between its slices. */
export const backgroundScheduler = (): SliceScheduler => createScheduler(undefined, true);

export function createSemaphore(options: { runningMax: number; waitingMax: number }) {
  const { runningMax, waitingMax } = options;
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Whoever is woken takes over the place of the one that left: `running` stays. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }

  return {
    /** Runs `work` when there is room. Fails with `overloaded`; an error of `work` is thrown on. */
    async run<T>(work: () => Promise<T>): Promise<Result<T>> {
      if (running >= runningMax) {
        if (waiting.length >= waitingMax) return fail('overloaded');
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else running++;
      try {
        return ok(await work());
      } finally {
        leave();
      }
    },
    /** Returns the table of the jobs that run or wait, for metrics. */
    table: (name: string): BoundedTable => ({
      name,
      used: () => running + waiting.length,
      limit: runningMax + waitingMax,
    }),
  };
}

export type Semaphore = ReturnType<typeof createSemaphore>;

/**
 * Runs jobs in the background: at most one for each key, and a limited number at a time. A job that finds no place is
 * started by a later poll.
 * @param onFailure called with what a job threw
 */
export function createJobs<Id extends string | number>(
  runningMax: number,
  onFailure: (error: unknown, id: Id) => void,
) {
  const running = new Map<Id, Promise<void>>();
  const stopping = new AbortController();
  const { signal } = stopping;

  /** Resolves when nothing is under way. */
  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running.values());
  }

  return {
    /** Aborts when the jobs are stopped. */
    signal,
    has: (id: Id) => running.has(id),
    count: () => running.size,
    isFull: () => running.size >= runningMax,
    /** Begins the work, unless it is under way, no more may run, or all is stopped. @returns whether it began */
    begin(id: Id, work: () => Promise<void>): boolean {
      // Work that begins after a stop would find a store that is closed.
      if (signal.aborted || running.size >= runningMax || running.has(id)) return false;
      const job = work()
        .catch((error: unknown) => onFailure(error, id))
        .finally(() => running.delete(id));
      running.set(id, job);
      return true;
    },
    idle,
    /** Cuts short what is under way, as far as it heeds the signal, and waits for its end. */
    async stop(): Promise<void> {
      stopping.abort();
      await idle();
    },
  };
}
