/**
 * The lists that the server makes: subscriptions are polled every two seconds and reported at /metrics, and so
 * are the groups of networks that the operator named.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { GeoSource } from '../../geo/sources.ts';
import { LeaseLostError, type Maintenance } from '../../storage/maintenance.ts';
import { createGroupKeeper, openExpansion } from '../ranges/groups.ts';
import { countKnownRows, createRefresher, fetchInThread } from './subscriptions/refresher.ts';
import { openCredentials, type Subscription } from './subscriptions/subscriptions.ts';

const pollMs = 2_000;

export function openSubscriptions(needs: {
  readonly state: Parameters<typeof countKnownRows>[0] & {
    readonly follower: { catchUpTo(seq: bigint): Promise<void> };
  };
  readonly maintenance: Maintenance;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  /** The compiled geo tables, and the file of autonomous systems. */
  readonly geo: SharedArrayBuffer;
  readonly systems: GeoSource | undefined;
  /** Lists may be fetched from addresses that are not public. */
  readonly allowPrivate: boolean;
}) {
  const { state, maintenance, log } = needs;
  const refresher = createRefresher({
    clock: needs.clock,
    random: needs.random,
    log,
    systems: needs.systems,
    allowPrivate: needs.allowPrivate,
    credentialsOf: (row) => openCredentials(maintenance.store, needs.masterKey, row),
    store: maintenance.store,
    isMine: maintenance.isMine,
    fetch: fetchInThread,
    countKnown: (list, batches) => countKnownRows(state, list, batches),
  });
  let rows: readonly Subscription[] = [];
  async function poll(): Promise<void> {
    if (maintenance.store.writeState().available) rows = await refresher.poll();
  }
  const loop = every(pollMs, poll, {
    isImmediate: true,
    onFailure: (err) => log.warn({ err }, 'lists: pass over sources failed, will retry'),
  });
  const expansion = openExpansion(needs.geo, needs.systems);
  const groups = createGroupKeeper({
    state,
    clock: needs.clock,
    random: needs.random,
    log,
    store: maintenance.store,
    isMine: maintenance.isMine,
    catchUpTo: state.follower.catchUpTo,
    rowsOf: expansion.rowsOf,
  });
  async function keepGroups(): Promise<void> {
    if (maintenance.store.writeState().available) await groups.poll();
  }
  const groupLoop = every(pollMs, keepGroups, {
    isImmediate: true,
    onFailure(err) {
      if (err instanceof LeaseLostError) return;
      log.warn({ err }, 'lists: pass over groups of networks failed, will retry');
    },
  });
  return {
    tables: [
      { name: 'list_sources', used: () => rows.length, limit: capacities.sources },
      { name: 'network_groups', used: groups.count, limit: 2 * capacities.networkGroups },
    ],
    metrics: (metrics: Metrics) => registerSourceMetrics(metrics, () => rows),
    async close() {
      await Promise.all([loop.stop(), expansion.close(), groupLoop.stop()]);
      await refresher.stop();
    },
  };
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
