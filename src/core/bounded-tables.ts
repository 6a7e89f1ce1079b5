/**
 * Every table, queue and memory that has a bound, in one place: how much of it is used, at /metrics,
 * and one line in the log when four fifths are passed. The line comes again only after the table
 * has been below three quarters, so that a table at its edge does not fill the log.
 */

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
