/**
 * Cooperative scheduling of long work: it runs in slices, so that other work of the event loop gets
 * its turn after a few milliseconds. The work asks now and then whether its turn is over, and if so
 * awaits the next one.
 *
 * Jobs that share one `Turns` get one slice of all of them per turn of the loop. (Callbacks of
 * `setImmediate` that wait together run together: a hundred jobs that each yielded by themselves
 * would still hold the loop for a hundred slices.)
 *
 * Of heavy work so many pieces run at a time and so many wait, in order (`createSemaphore`). Whoever comes beyond that
 * is refused at once with `overloaded`, instead of making everybody slower.
 */

import type { BoundedTable } from './bounded-tables.ts';
import { fail, ok, type Result } from './result.ts';

export type Turns = ReturnType<typeof createTurns>;

/** The part of `Turns` that sliced work uses. `next` may reject to stop the work. */
export type Pace = Pick<Turns, 'next' | 'isOver'>;

/** Length of one turn. It leaves room below the 10 ms for which the loop may be held at most. */
const turnMs = 3;

/** The first turn begins at once. @param nowMs a clock that never goes back */
export function createTurns(nowMs: () => number = () => performance.now()) {
  const waiting: (() => void)[] = [];
  let startMs = nowMs();
  let beforeMs = 0;

  function give(): void {
    startMs = nowMs();
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(give);
  }

  return {
    /** Resolves when it is this job's turn. First come, first served. */
    next(): Promise<void> {
      beforeMs += nowMs() - startMs;
      return new Promise((resolve) => {
        if (waiting.push(resolve) === 1) setImmediate(give);
      });
    },
    /**
     * Returns true when the turn that was given last has lasted long enough: ask for the next one. Costs a
     * tenth of a microsecond: in a tight loop, ask once in many rounds.
     */
    isOver: () => nowMs() - startMs >= turnMs,
    /** Returns the milliseconds within turns, without those between; only right for a single job. */
    workedMs: () => beforeMs + nowMs() - startMs,
  };
}

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
