/** The radar: its map of the state in memory, the latest reports, its pages, and the numbers of the home page. */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { openLoneThread } from '../../core/lone-thread.ts';
import { hourMs } from '../../core/time.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Store } from '../../storage/store.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { newestReports } from '../reports/store/report-history.ts';
import { openLatestReports } from './latest.ts';
import type { DrawnMap } from './map.ts';
import type { MapJob } from './map.worker.ts';
import { radarNumbers } from './radar.page.tsx';
import { type RadarNeeds, radarRoutes } from './radar.route.ts';

export function openRadar(
  needs: RadarNeeds & {
    readonly store: Store;
    readonly log: Log;
    /** The journal event up to which the index is. */
    readonly appliedSeq: () => bigint;
  },
) {
  const { store, clock, log, index, figures, sources, appliedSeq } = needs;
  const onFailure = (err: unknown) => log.warn({ err }, 'radar: map not drawn');
  const map = openRadarMap({ index, clock, appliedSeq, onFailure });
  const latest = openLatestReports({
    appliedSeq,
    nowMs: clock.monotonicMs,
    newest: (limit) => newestReports(store, clock.now(), limit),
  });
  return {
    routes: radarRoutes({
      pageBuilder: needs.pageBuilder,
      mode: needs.mode,
      isOwner: needs.isOwner,
      index,
      check: needs.check,
      geo: needs.geo,
      figures,
      sources,
      clock,
      scheduler: needs.scheduler,
      latest,
      map: map.current,
    }),
    tables: [latest.table],
    numbers: (frame: PageFrame) =>
      radarNumbers(frame, { index, figures, sources, now: clock.now(), ofIpv4: undefined }),
    /** Ends the streams of reports that are open; others get none. */
    endStreams: latest.stop,
    close: map.close,
  };
}

/** Least time between two maps. */
const restMs = 10_000;
/** Scores sink without an event: the map is drawn anew after this in any case. */
const keepMs = hourMs;
/** One job at most waits: requests share the map that is being drawn. */
const waitingMax = 1;

/**
 * Draws the map of IPv4 in a thread of its own, when it is requested, the index has changed and the last map is
 * some seconds old. Requests meanwhile get the last map. The thread ends after a quiet minute.
 */
export function openRadarMap(options: {
  readonly index: Pick<IpIndex, 'openReader' | 'closeReader' | 'reclaim'>;
  readonly clock: Clock;
  /** Grows with everything that may change the map. */
  readonly appliedSeq: () => bigint;
  readonly onFailure: (error: unknown) => void;
}) {
  const { index, clock, appliedSeq, onFailure } = options;
  const worker = new URL('./map.worker.js', import.meta.url);
  const thread = openLoneThread<MapJob, DrawnMap>(worker, waitingMax);
  let last: DrawnMap | undefined;
  let drawnAt = 0n;
  let drawing: Promise<void> | undefined;

  async function draw(): Promise<void> {
    const reader = index.openReader();
    if (reader === undefined) return onFailure(new Error('no reader is left in the index'));
    const at = appliedSeq();
    // Removed entries must not be counted any more.
    index.reclaim();
    try {
      last = await thread.run({ reader, nowMs: clock.now() });
      drawnAt = at;
    } catch (error) {
      if (!thread.isClosed()) onFailure(error);
    } finally {
      index.closeReader(reader);
    }
  }

  function isDue(): boolean {
    if (last === undefined) return true;
    const age = clock.now() - last.at;
    if (age < 0 || age >= keepMs) return true;
    return age >= restMs && appliedSeq() !== drawnAt;
  }

  /** Returns the last map; waits for the first. Undefined when none could be drawn. */
  async function current(): Promise<DrawnMap | undefined> {
    if (drawing === undefined && isDue()) {
      drawing = draw().finally(() => {
        drawing = undefined;
      });
    }
    if (last === undefined) await drawing;
    return last;
  }

  return { current, close: thread.close };
}
