/**
 * Bounds on how many rows there are, held by the commit that adds one. Each bound has a row without a value,
 * which such a commit changes under a check of what it was before the rows were counted: of two that add at
 * the same time, in one process or two, the second one counts again.
 *
 * Invariant: who adds a row reads the bound's row first, counts then, and commits both. Who removes one
 * need not: that only makes room.
 */

import type { Result } from '../core/result.ts';
import { type Change, inTurn } from './change.ts';
import { boundKey, type Key } from './keys.ts';
import type { RowCheck, SetRow, Store } from './store.ts';

const tables = [
  'consents',
  'named_keys',
  'removals',
  'site_keys',
  'sources',
  'tips',
  'webhooks',
] as const;
export type BoundedRows = (typeof tables)[number];

export interface Bound {
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
export function addWithin<T>(
  store: Pick<Store, 'get'>,
  bounds: readonly Bound[],
  attempt: (held: HeldBounds) => Promise<Change<T>>,
): Promise<Result<T>> {
  // All that share a row share a turn, when the widest bound comes last.
  const { rows, account = '' } = bounds.at(-1)!;
  return inTurn(store, async () => attempt(await holdBounds(store, bounds)), `${rows} ${account}`);
}

/** The bounds' rows of an account, for the commit that removes it. */
export function boundKeysOf(accountId: string): Key[] {
  return tables.map((rows) => boundKey(rows, accountId));
}
