/**
 * A read-check-write on the store: one commit whose checks name what was read. When somebody
 * else was faster nothing is changed, and the caller reads again or gives up.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { fail, ok, type Result } from '../core/result.ts';
import { boundKey, type Key } from './keys.ts';
import type { Commit, RowCheck, SetRow, Store } from './store.ts';

const triesMax = 8;
/** Tries of a change that waits for its turn: only other processes interfere, each with one change. */
const turnTriesMax = 250;
const pauseMsMax = 50;

/** `conflict`: a check failed, nothing was written. */
export type Change<T> = Result<T> | 'conflict';

export async function commitOnce(store: Store, commit: Commit): Promise<Change<void>> {
  const done = await store.commit(commit);
  if (done.ok) return ok(undefined);
  return done.error === 'check_failed' ? 'conflict' : fail('store_unavailable', done.detail);
}

/** Checks and rows that a caller adds to the commit of another module's change. */
export interface CommitAddition {
  /** Returns checks, which are read again for each attempt; a failure ends the change. */
  readonly check?: () => Promise<Result<readonly RowCheck[]>>;
  readonly set?: readonly SetRow[];
}

export async function checksOf({ check }: CommitAddition): Promise<Result<readonly RowCheck[]>> {
  return check === undefined ? ok([]) : check();
}

/** The value that a commit stands for, once it is written. */
export function withValue<T>(done: Change<void>, value: T): Change<T> {
  if (done === 'conflict' || !done.ok) return done;
  return ok(value);
}

/**
 * Runs an attempt until nobody interfered. For changes that are right whoever was first.
 *
 * @param tries more where many are expected to interfere
 */
export async function retryOnConflict<T>(
  attempt: () => Promise<Change<T>>,
  tries = triesMax,
): Promise<Result<T>> {
  for (let i = 0; i < tries; i++) {
    const result = await attempt();
    if (result !== 'conflict') return result;
    // A random pause keeps those who lost one race from meeting again at once.
    if (i > 0) await delay(Math.random() * Math.min(i, pauseMsMax));
  }
  return fail('store_unavailable', 'the record is being changed by others all the time');
}

const turns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Does the same as `retryOnConflict` for changes that all write one row, such as a total: those of this process run
 * one after the other. In parallel only one of them would succeed at a time and the others would use up their tries.
 * The queue is bounded by the requests that may be under way.
 *
 * @param row names the row
 */
export function commitInOrder<T>(
  store: object,
  attempt: () => Promise<Change<T>>,
  row = 'account slots',
): Promise<Result<T>> {
  const queues = turns.get(store) ?? new Map<string, Promise<unknown>>();
  turns.set(store, queues);
  const before = queues.get(row) ?? Promise.resolve();
  const done = before.then(() => retryOnConflict(attempt, turnTriesMax));
  const settled = done
    .catch(() => undefined)
    .then(() => {
      if (queues.get(row) === settled) queues.delete(row);
    });
  queues.set(row, settled);
  return done;
}

// Bounds on how many rows there are, held by the commit that adds one. Each bound has a row without a value,
// which such a commit changes under a check of what it was before the rows were counted: of two that add at
// the same time, in one process or two, the second one counts again.
//
// Invariant: who adds a row reads the bound's row first, counts then, and commits both. Who removes one
// need not: that only makes room.

const tables = [
  'consents',
  'feeds',
  'named_keys',
  'peers',
  'removals',
  'site_keys',
  'sources',
  'tips',
  'webhooks',
] as const;
export type BoundedRows = (typeof tables)[number];

interface Bound {
  readonly rows: BoundedRows;
  /** The account whose rows are counted; without one all rows are. */
  readonly account?: string;
}

/** Checks and rows for the commit that adds a row. */
export interface HeldBounds {
  readonly check: readonly RowCheck[];
  readonly set: readonly SetRow[];
}

const nothing = new Uint8Array();

/** Call it before the rows are counted. */
export async function holdBounds(
  store: Pick<Store, 'get'>,
  bounds: readonly Bound[],
): Promise<HeldBounds> {
  const keys = bounds.map(({ rows, account }) => boundKey(rows, account));
  const found = await Promise.all(keys.map((key) => store.get(key)));
  return {
    check: keys.map((key, i) => ({ key, version: found[i]?.version ?? null })),
    set: keys.map((key) => ({ key, value: nothing })),
  };
}

/**
 * Runs an attempt that counts and adds a row, until nobody interfered. Those of this process that add to
 * the same rows come one after the other.
 */
export function addWithinBounds<T>(
  store: Pick<Store, 'get'>,
  bounds: readonly Bound[],
  attempt: (held: HeldBounds) => Promise<Change<T>>,
): Promise<Result<T>> {
  // All that share a row share a turn, when the widest bound comes last.
  const { rows, account = '' } = bounds.at(-1)!;
  return commitInOrder(
    store,
    async () => attempt(await holdBounds(store, bounds)),
    `${rows} ${account}`,
  );
}

/** The bounds' rows of an account, for the commit that removes it. */
export function boundKeysOf(accountId: string): Key[] {
  return tables.map((rows) => boundKey(rows, accountId));
}
