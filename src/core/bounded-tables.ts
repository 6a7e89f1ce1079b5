/**
 * Every table, queue and memory that has a bound, in one place: how much of it is used, at /metrics,
 * and one line in the log when four fifths are passed. The line comes again only after the table
 * has been below three quarters, so that a table at its edge does not fill the log.
 */

import type { Clock } from './clock.ts';
import { every } from './every.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export interface BoundedTable {
  /** Label in metrics and in the log: lower case, `_` between words. */
  readonly name: string;
  readonly used: () => number;
  /** At this count something is refused, or the oldest is removed. */
  readonly limit: number;
}

const warnAt = 0.8;
const calmBelow = 0.75;
const pollMs = 10_000;

export function createBoundedTables(log: Pick<Log, 'warn'>) {
  const tables: BoundedTable[] = [];
  const warned = new Set<string>();

  function poll(): void {
    for (const { name, used, limit } of tables) {
      const now = used();
      if (now < limit * calmBelow) warned.delete(name);
      if (now < limit * warnAt || warned.has(name)) continue;
      warned.add(name);
      log.warn({ table: name, used: now, limit }, 'bounds: a table is four fifths full');
    }
  }

  return {
    add: (...more: readonly BoundedTable[]) => void tables.push(...more),
    poll,
    read: () => tables.map(({ name, used, limit }) => ({ name, used: used(), limit })),
    register(metrics: Metrics): void {
      metrics.gaugeBy('portcullis_table_used', 'Places taken, by bounded table.', 'table', () =>
        tables.map(({ name, used }) => [name, used()]),
      );
      metrics.gaugeBy(
        'portcullis_table_limit',
        'Places there are, by bounded table.',
        'table',
        () => tables.map(({ name, limit }) => [name, limit]),
      );
    },
    /** Polls at intervals, until the result is called. */
    watch: () => every(pollMs, poll, { isImmediate: true }).stop,
  };
}

export type BoundedTables = ReturnType<typeof createBoundedTables>;

// A table in memory whose values expire, each under a name that its owner holds. At the bound the oldest is evicted,
// so whoever fills the table costs others a second try and no more.

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
