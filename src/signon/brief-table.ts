/**
 * A table in memory whose values expire, each under a name that its owner holds. At the bound the oldest
 * is evicted, so whoever fills the table costs others a second try and no more.
 */

import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';

export interface BriefTable<T> {
  /** Replaces the value of this name. */
  set(name: string, value: T): void;
  get(name: string): T | undefined;
  /** Returns the value and removes it, so that one caller alone gets it. */
  take(name: string): T | undefined;
  readonly table: BoundedTable;
}

export function createBriefTable<T>(options: {
  /** The label in the metrics. */
  readonly kind: string;
  readonly clock: Clock;
  readonly lifeMs: number;
  readonly max: number;
}): BriefTable<T> {
  const { kind, clock, lifeMs, max } = options;
  /** The rows in the order in which they expire. */
  const rows = new Map<string, { readonly value: T; readonly endsAt: number }>();

  function prune(): void {
    for (const [name, { endsAt }] of rows) {
      if (endsAt > clock.monotonicMs()) return;
      rows.delete(name);
    }
  }

  const get = (name: string) => {
    prune();
    return rows.get(name)?.value;
  };
  return {
    set(name, value) {
      prune();
      if (!rows.delete(name) && rows.size >= max) rows.delete(rows.keys().next().value!);
      rows.set(name, { value, endsAt: clock.monotonicMs() + lifeMs });
    },
    get,
    take(name) {
      const value = get(name);
      rows.delete(name);
      return value;
    },
    table: { name: kind, used: () => rows.size, limit: max },
  };
}
