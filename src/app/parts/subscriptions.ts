/** Starts the fetching of subscribed lists: polled every two seconds, reported at /metrics. */

import { capacities } from '../../config.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import { every } from '../../core/every.ts';
import type { Metrics } from '../../core/metrics.ts';
import { fetchInThread } from '../../reputation/lists/subscriptions/fetching.ts';
import { countKnownRows } from '../../reputation/lists/subscriptions/known-rows.ts';
import { createRefresher } from '../../reputation/lists/subscriptions/refresher.ts';
import type { Subscription } from '../../reputation/lists/subscriptions/subscriptions.ts';
import type { Data } from './data.ts';
import type { Opening } from './dependencies.ts';

const pollMs = 2_000;

export function startSubscriptions(
  { config, clock, random, log, closers }: Opening,
  { state, maintenance }: Pick<Data, 'state' | 'maintenance'>,
  { metrics, tables }: { metrics: Metrics; tables: BoundedTables },
): void {
  const refresher = createRefresher({
    store: maintenance.store,
    isMine: maintenance.isMine,
    clock,
    random,
    log,
    allowPrivate: config.sourceAllowPrivate,
    fetch: fetchInThread,
    countKnown: (list, batches) => countKnownRows(state, list, batches),
  });
  let rows: readonly Subscription[] = [];
  async function poll(): Promise<void> {
    if (maintenance.store.writeState().available) rows = await refresher.poll();
  }
  const loop = every(pollMs, poll, {
    isImmediate: true,
    onFailure: (err) => log.warn({ err }, 'lists: sources not looked at, tried again later'),
  });
  closers.add(async () => {
    await loop.stop();
    await refresher.stop();
  });
  registerSourceMetrics(metrics, () => rows);
  tables.add({ name: 'list_sources', used: () => rows.length, limit: capacities.sources });
}

function registerSourceMetrics(metrics: Metrics, read: () => readonly Subscription[]): void {
  const gauge = (name: string, help: string, of: (row: Subscription) => number) =>
    metrics.gaugeBy(`portcullis_source_${name}`, help, 'source', () =>
      read().map((row): [string, number] => [row.name, of(row)]),
    );
  gauge('rows', 'Rows of a list that the server fetches, by source.', ({ rows }) => rows);
  gauge(
    'fresh_timestamp_seconds',
    'When the rows were last as the source has them, seconds since 1970; 0 for never.',
    ({ freshAt }) => freshAt / 1_000,
  );
  gauge('failures', 'Failures in a row, by source.', ({ failures }) => failures);
  gauge('bad_lines', 'Lines of the last download that were no rows.', ({ badLines }) => badLines);
  gauge(
    'held_rows',
    "Rows of a download that waits for the operator's word; 0 without one.",
    ({ heldRows }) => heldRows,
  );
  metrics.counterBy(
    'portcullis_source_fetches_total',
    'Tries to fetch a list, ever, by source and result.',
    ['source', 'result'],
    function* () {
      for (const { name: source, loads, unchanged, holds, failuresEver } of read()) {
        yield [{ source, result: 'loaded' }, loads];
        yield [{ source, result: 'unchanged' }, unchanged];
        yield [{ source, result: 'held' }, holds];
        yield [{ source, result: 'failed' }, failuresEver];
      }
    },
  );
  metrics.counterBy(
    'portcullis_source_changes_total',
    'Rows that came and went with the loads of a list, ever, by source.',
    ['source', 'change'],
    function* () {
      for (const { name: source, addedEver, removedEver } of read()) {
        yield [{ source, change: 'added' }, addedEver];
        yield [{ source, change: 'removed' }, removedEver];
      }
    },
  );
}
