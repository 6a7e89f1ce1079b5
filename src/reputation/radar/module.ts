/** The radar: its map of the state in memory, the latest reports, its pages, and the numbers of the home page. */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Store } from '../../storage/store.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import type { Check } from '../check/check.ts';
import type { Sources } from '../lists/sources.ts';
import { newestReports } from '../reports/store/report-history.ts';
import { openLatestReports } from './latest.ts';
import { type RadarFigures, radarNumbers } from './radar.page.tsx';
import { type RadarOptions, radarRoutes } from './radar.route.ts';
import { openRadarMap } from './radar-map.ts';

export function openRadar(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: Turns;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly figures: RadarFigures;
  readonly sources: Pick<Sources, 'list'>;
  /** The journal event up to which the index is. */
  readonly position: () => bigint;
  readonly pageBuilder: RadarOptions['pageBuilder'];
  readonly mode: RadarOptions['radar']['mode'];
  readonly isOwner: RadarOptions['radar']['isOwner'];
}) {
  const { store, clock, log, turns, index, check, geo, figures, sources, position } = needs;
  const { pageBuilder, mode, isOwner } = needs;
  const map = openRadarMap({
    index,
    clock,
    position,
    onFailure: (err) => log.warn({ err }, 'radar: no map was drawn'),
  });
  const latest = openLatestReports({
    position,
    nowMs: clock.monotonicMs,
    newest: (limit) => newestReports(store, clock.now(), limit),
  });
  const radar = { mode, isOwner, map, latest };
  return {
    routes: radarRoutes({ pageBuilder, radar, index, check, geo, figures, sources, clock, turns }),
    tables: [latest.table],
    numbers: (frame: PageFrame) =>
      radarNumbers(frame, { index, figures, sources, now: clock.now(), ofIpv4: undefined }),
    /** Ends the streams of reports that are open; others get none. */
    endStreams: latest.stop,
    close: map.close,
  };
}
