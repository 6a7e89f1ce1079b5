/**
 * The operator's orders for a list that the server fetches: now, not any more, again, or "take it
 * as it is".
 */

import type { Result } from '../../../core/result.ts';
import type { Store } from '../../../storage/store.ts';
import { changeSubscription, type Subscription } from './subscriptions.ts';

type Order = (row: Subscription, now: number) => Partial<Subscription> | string;

const orders = {
  refresh: (row, now) =>
    row.state === 'active' ? { dueAt: now } : `${row.name} is paused: resume fetches it`,
  accept: (row, now) =>
    row.heldRows === 0
      ? `${row.name} has no download that is held`
      : { acceptedRows: row.heldRows, heldRows: 0, dueAt: now },
  pause: (row) => (row.state === 'removing' ? `${row.name} is being removed` : { state: 'paused' }),
  resume: (row, now) =>
    row.state === 'removing' ? `${row.name} is being removed` : { state: 'active', dueAt: now },
} satisfies Record<string, Order>;

export type SourceOrder = keyof typeof orders;
export const sourceOrders = Object.keys(orders) as readonly SourceOrder[];

/** `conflict` says why it can't be; `not_found`. */
export function orderSource(
  store: Store,
  name: string,
  order: SourceOrder,
  now: number,
): Promise<Result<Subscription>> {
  return changeSubscription(store, name, (row) => orders[order](row, now));
}

export type SourceState = 'paused' | 'removing' | 'held' | 'failing' | 'new' | 'active';

/** In one word: a paused list stays paused whatever came of it last. */
export function sourceState({ state, heldRows, failures, triedAt }: Subscription): SourceState {
  if (state !== 'active') return state;
  if (heldRows > 0) return 'held';
  if (failures > 0) return 'failing';
  return triedAt === 0 ? 'new' : 'active';
}
