/**
 * Maintenance, the work that one server does for all: what has expired is ended, removed, swept and
 * reported. Alone on a store it is always this one's. Of several nodes the one that holds the lease
 * does it (nodes/lease.ts), and one that was overtaken while it slept can't go on: each of its
 * commits names the lease under which it is made, and has no effect under another one.
 */

import type { Store } from './store.ts';

export interface Maintenance {
  /** False: another node does it, as far as this one knows. Ask before what no commit would undo. */
  isMine(): boolean;
  /** Other servers work on the same store, and what is young may be under way on one of them. */
  readonly isShared: boolean;
  /** For what the work writes. A commit throws LeaseLostError when the work is another node's. */
  readonly store: Store;
}

/** Another node does the work now; nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

export function localMaintenance(store: Store): Maintenance {
  return { isMine: () => true, isShared: false, store };
}

/** Does it when it is this one's to do. What another node took over meanwhile ends in silence. */
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
