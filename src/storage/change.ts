/**
 * A read-check-write on the store: one commit whose checks name what was read. When somebody
 * else was faster nothing is changed, and the caller reads again or gives up.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { fail, ok, type Result } from '../core/result.ts';
import type { Commit, RowCheck, SetRow, Store } from './store.ts';

const triesMax = 8;
/** Tries of a change that waits for its turn: only other processes interfere, each with one change. */
const turnTriesMax = 250;
const pauseMsMax = 50;

/** `lost`: a check failed, nothing was written. */
export type Change<T> = Result<T> | 'lost';

export async function commitOnce(store: Store, commit: Commit): Promise<Change<void>> {
  const done = await store.commit(commit);
  if (done.ok) return ok(undefined);
  return done.error === 'check_failed' ? 'lost' : fail('store_unavailable', done.detail);
}

/** Checks and rows that a caller adds to the commit of another module's change. */
export interface Also {
  /** Returns checks, read anew for each attempt; a failure ends the change. */
  readonly check?: () => Promise<Result<readonly RowCheck[]>>;
  readonly set?: readonly SetRow[];
}

export async function checksOf({ check }: Also): Promise<Result<readonly RowCheck[]>> {
  return check === undefined ? ok([]) : check();
}

/** The value that a commit stands for, once it is written. */
export function written<T>(done: Change<void>, value: T): Change<T> {
  if (done === 'lost' || !done.ok) return done;
  return ok(value);
}

/**
 * Runs an attempt until nobody interfered. For changes that are right whoever was first.
 *
 * @param tries more where many are expected to interfere
 */
export async function untilUndisturbed<T>(
  attempt: () => Promise<Change<T>>,
  tries = triesMax,
): Promise<Result<T>> {
  for (let i = 0; i < tries; i++) {
    const result = await attempt();
    if (result !== 'lost') return result;
    // A random pause keeps those who lost one race from meeting again at once.
    if (i > 0) await delay(Math.random() * Math.min(i, pauseMsMax));
  }
  return fail('store_unavailable', 'the record is being changed by others all the time');
}

const turns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * As `untilUndisturbed`, for changes that all write one row, such as a count of all: those of this process
 * come one after the other, in order. Side by side only one of them would succeed at a time, and the
 * others lose their tries to each other. Who waits is bounded by the requests that may be under way.
 *
 * @param row names what they all write
 */
export function inTurn<T>(
  store: object,
  attempt: () => Promise<Change<T>>,
  row = 'account slots',
): Promise<Result<T>> {
  const queues = turns.get(store) ?? new Map<string, Promise<unknown>>();
  turns.set(store, queues);
  const before = queues.get(row) ?? Promise.resolve();
  const done = before.then(() => untilUndisturbed(attempt, turnTriesMax));
  const settled = done
    .catch(() => undefined)
    .then(() => {
      if (queues.get(row) === settled) queues.delete(row);
    });
  queues.set(row, settled);
  return done;
}
