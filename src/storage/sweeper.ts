/**
 * Removes expired rows in the background. Expiry itself does not depend on it: an expired entry
 * counts as absent before it is swept. A failed sweep is tried again at the next turn.
 */

import { every, type Run } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import { type Store, StoreUnavailableError } from './store.ts';

export interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  readonly log: Log;
  readonly intervalMs?: number;
  /** Rows in one transaction: about 5 ms of the event loop at the default. */
  readonly rowsMax?: number;
}

export function startSweeper({ store, log, intervalMs = 1_000, rowsMax = 500 }: SweeperOptions) {
  async function sweepOnce({ wait }: Run): Promise<void> {
    // A full slice: more is due, but commits that arrived meanwhile go first.
    if ((await store.sweep(rowsMax)) === rowsMax) wait(0);
  }
  return every(intervalMs, sweepOnce, {
    onFailure(err) {
      // A store that can't be reached is reported by the follower, once.
      const level = err instanceof StoreUnavailableError ? 'debug' : 'warn';
      log[level]({ err }, 'sweeper: could not remove expired rows');
    },
  });
}
