/**
 * Maintenance, the work that one server does for all: what has expired is ended, removed, swept and
 * reported. Alone on a store it is always this one's. Of several nodes the one that holds the lease
 * does it (nodes/lease.ts), and one that was overtaken while it slept can't go on: each of its
 * commits names the lease under which it is made, and has no effect under another one.
 */

import type { Clock } from '../core/clock.ts';
import { every, type Run } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import { minuteMs } from '../core/time.ts';
import { createWriter, decode } from './codec.ts';
import { trustedTimeKey } from './keys.ts';
import { type Store, StoreUnavailableError } from './store.ts';

export interface Maintenance {
  /** False: another node does it, as far as this one knows. Ask before what no commit would undo. */
  isMine(): boolean;
  /** Other servers work on the same store, and what is young may be under way on one of them. */
  readonly isShared: boolean;
  /** False: the clock has leapt (core/clock.ts), and nothing that expires is removed for good. Absent: it may be. */
  readonly mayRemove?: () => boolean;
  /** The work writes to it. A commit throws LeaseLostError when the work is another node's. */
  readonly store: Store;
}

/** Another node does the work now; nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

export function localMaintenance(store: Store): Maintenance {
  return { isMine: () => true, isShared: false, store };
}

/** Works when that is this one's to do. What another node took over meanwhile ends in silence. */
export async function asMaintenance(
  maintenance: Pick<Maintenance, 'isMine'>,
  work: () => Promise<unknown>,
): Promise<void> {
  if (!maintenance.isMine()) return;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
  }
}

/** The same for what removes because a time has come: not while the clock may be a wrong one. */
export async function asRemoval(
  maintenance: Pick<Maintenance, 'isMine' | 'mayRemove'>,
  work: () => Promise<unknown>,
): Promise<void> {
  if (maintenance.mayRemove?.() !== false) await asMaintenance(maintenance, work);
}

const trustedEveryMs = 10 * minuteMs;

/** The last time that a clock was trusted, and for how long processes have waited since to trust theirs. */
interface TrustedTime {
  /** Ms since 1970. */
  readonly trustedMs: number;
  readonly waitedMs: number;
}

/** Returns undefined in a new store. */
export async function readTrustedTime(store: Pick<Store, 'get'>): Promise<TrustedTime | undefined> {
  const row = await store.get(trustedTimeKey());
  return (
    row &&
    decode(row.value, (input) => ({
      trustedMs: Number(input.u64()),
      waitedMs: Number(input.u64()),
    }))
  );
}

/**
 * Keeps that time for the next start: a clock that leapt while the server was off is known by it. A clock that is not
 * trusted yet leaves the time as it is and adds what it has waited, so that starts in a row come to an end of it.
 */
export function keepTrustedTime(
  maintenance: Maintenance,
  { clock, log, before }: { clock: Clock; log: Log; before: TrustedTime | undefined },
) {
  let known = before;
  let seenMs = clock.monotonicMs();
  const write = () =>
    asMaintenance(maintenance, () => {
      const nowMs = clock.monotonicMs();
      const waitedMs = (known?.waitedMs ?? 0) + nowMs - seenMs;
      seenMs = nowMs;
      known =
        known === undefined || maintenance.mayRemove?.() !== false
          ? { trustedMs: clock.now(), waitedMs: 0 }
          : { ...known, waitedMs };
      const value = createWriter()
        .u64(BigInt(Math.trunc(known.trustedMs)))
        .u64(BigInt(Math.trunc(known.waitedMs)))
        .finish();
      return maintenance.store.commit({ set: [{ key: trustedTimeKey(), value }] });
    });
  return every(trustedEveryMs, write, {
    isImmediate: true,
    onFailure: (err) => log.debug({ err }, 'clock: its time is not kept'),
  });
}

interface SweeperOptions {
  readonly store: Pick<Store, 'sweep'>;
  readonly mayRemove?: Maintenance['mayRemove'];
  readonly log: Log;
  readonly intervalMs?: number;
  /** Rows in one transaction: about 5 ms of the event loop at the default. */
  readonly rowsMax?: number;
}

/**
 * Removes expired rows in the background. Expiry itself does not depend on it: an expired entry
 * counts as absent before it is swept. A failed sweep is tried again at the next turn.
 */
export function startSweeper(options: SweeperOptions) {
  const { store, mayRemove, log, intervalMs = 1_000, rowsMax = 500 } = options;
  let lastError: string | undefined;
  async function sweepOnce({ wait }: Run): Promise<void> {
    if (mayRemove?.() === false) return;
    const swept = await store.sweep(rowsMax);
    lastError = undefined;
    // A full slice: more is due, but commits that arrived meanwhile go first.
    if (swept === rowsMax) wait(0);
  }
  return every(intervalMs, sweepOnce, {
    onFailure(err) {
      // A store that can't be reached or written is reported by others, once; any other failure here, once.
      const isNews =
        !(err instanceof StoreUnavailableError) && lastError !== (err as Error).message;
      if (isNews) lastError = (err as Error).message;
      log[isNews ? 'warn' : 'debug']({ err }, 'sweeper: could not remove expired rows');
    },
  });
}
