/**
 * Removes expired rows in the background. Expiry itself does not depend on it: an expired entry
 * counts as absent before it is swept. A failed sweep is tried again at the next turn.
 */

import type { Log } from '../core/log/log.ts';
import { type Store, StoreUnavailableError } from './store.ts';

export interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  readonly log: Log;
  readonly intervalMs?: number;
  /** Rows in one transaction: about 5 ms of the event loop at the default. */
  readonly rowsMax?: number;
}

export function startSweeper({ store, log, intervalMs = 1_000, rowsMax = 500 }: SweeperOptions) {
  let stopped = false;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout;

  function schedule(waitMs: number): void {
    if (stopped) return;
    timer = setTimeout(() => {
      running = sweepOnce();
    }, waitMs);
    timer.unref();
  }

  async function sweepOnce(): Promise<void> {
    let waitMs = intervalMs;
    try {
      // A full slice: more is due, but commits that arrived meanwhile go first.
      if ((await store.sweep(rowsMax)) === rowsMax) waitMs = 0;
    } catch (error) {
      // A store that can't be reached is reported by the follower, once.
      const level = error instanceof StoreUnavailableError ? 'debug' : 'warn';
      log[level]({ err: error }, 'sweeper: could not remove expired rows');
    }
    schedule(waitMs);
  }

  schedule(intervalMs);
  return {
    /** Resolves when no sweep is under way. */
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

export type Sweeper = ReturnType<typeof startSweeper>;
