/**
 * A read-check-write on the store: one commit whose checks name what was read. When somebody
 * else was faster nothing is changed, and the caller reads again or gives up.
 */

import { fail, ok, type Result } from '../core/result.ts';
import type { Commit, Store } from './store.ts';

const triesMax = 8;

/** `lost`: a check failed, nothing was written. */
export type Change<T> = Result<T> | 'lost';

export async function commitOnce(store: Store, commit: Commit): Promise<Change<void>> {
  const done = await store.commit(commit);
  if (done.ok) return ok(undefined);
  return done.error === 'check_failed' ? 'lost' : fail('store_unavailable', done.detail);
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
  }
  return fail('store_unavailable', 'the record is being changed by others all the time');
}
