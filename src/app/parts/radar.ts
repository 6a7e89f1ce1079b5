/** Opens the radar's map of the state in memory, and its latest reports. */

import type { BoundedTables } from '../../core/bounded-tables.ts';
import { type LatestReports, openLatestReports } from '../../reputation/radar/latest.ts';
import { openRadarMap, type RadarMap } from '../../reputation/radar/map/radar-map.ts';
import { newestReports } from '../../reputation/reports/store/newest-reports.ts';
import type { Store } from '../../storage/store.ts';
import type { State } from '../state.ts';
import type { Opening } from './dependencies.ts';

export function openRadar(
  { clock, closers, log }: Opening,
  { state, store, tables }: { state: State; store: Store; tables: Pick<BoundedTables, 'add'> },
): { readonly map: RadarMap; readonly latest: LatestReports } {
  const { index, follower } = state;
  const position = () => follower.appliedSeq();
  const map = openRadarMap({
    index,
    clock,
    position,
    onFailure: (err) => log.warn({ err }, 'radar: no map was drawn'),
  });
  closers.add(map.close);
  const latest = openLatestReports({
    position,
    nowMs: clock.monotonicMs,
    newest: (limit) => newestReports(store, clock.now(), limit),
  });
  tables.add(latest.table);
  return { map, latest };
}
