/**
 * A table in memory whose values expire, each under a name that its owner holds. At the bound the oldest is evicted,
 * so whoever fills the table costs others a second try and no more.
 */

import type { Clock } from './clock.ts';

export function createBriefTable<T>(options: {
  /** The label in the metrics. */
  readonly kind: string;
  readonly clock: Clock;
  readonly lifeMs: number;
  readonly max: number;
}) {
  const { kind, clock, lifeMs, max } = options;
  /** The rows in the order in which they expire. */
  const rows = new Map<string, { readonly value: T; readonly endsAt: number }>();

  function prune(): void {
    for (const [name, { endsAt }] of rows) {
      if (endsAt > clock.monotonicMs()) return;
      rows.delete(name);
    }
  }

  function get(name: string): T | undefined {
    prune();
    return rows.get(name)?.value;
  }

  return {
    set(name: string, value: T): void {
      prune();
      if (!rows.delete(name) && rows.size >= max) rows.delete(rows.keys().next().value!);
      rows.set(name, { value, endsAt: clock.monotonicMs() + lifeMs });
    },
    get,
    /** Returns the value and removes it, so that one caller alone gets it. */
    take(name: string): T | undefined {
      const value = get(name);
      rows.delete(name);
      return value;
    },
    table: { name: kind, used: () => rows.size, limit: max },
  };
}

export type BriefTable<T> = ReturnType<typeof createBriefTable<T>>;
