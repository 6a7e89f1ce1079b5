/**
 * Lets so many pieces of heavy work run at a time and so many wait, in order. Whoever comes
 * beyond that is refused at once with `overloaded`, instead of making everybody slower.
 */

import type { BoundedTable } from '../bounded-tables.ts';
import { fail, ok, type Result } from '../result.ts';

export interface Semaphore {
  /** Runs `work` when there is room. Fails with `overloaded`; an error of `work` is thrown on. */
  run<T>(work: () => Promise<T>): Promise<Result<T>>;
  /** Returns the table of the jobs that run or wait, for metrics. */
  table(name: string): BoundedTable;
}

export function createSemaphore(options: { runningMax: number; waitingMax: number }): Semaphore {
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
    async run(work) {
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
    table: (name) => ({
      name,
      used: () => running + waiting.length,
      limit: runningMax + waitingMax,
    }),
  };
}
