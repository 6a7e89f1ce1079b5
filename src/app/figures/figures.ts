/**
 * The operator's read: what the console shows, from counters that are there already. Asking costs no walk
 * over entries, reports or rows, so that a page may ask each time.
 */

import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import type { BandSurvey, EntryBands } from '../../reputation/counts/entry-bands.ts';
import type { ReportCounts } from '../../reputation/counts/report-counts.ts';
import type { Counted } from '../../reputation/counts/top-table.ts';
import type { Store } from '../../storage/store.ts';
import type { State } from '../state.ts';
import type { ActivityCounters, MinuteFigures } from './activity-counters.ts';
import type { HourOfErrors } from './hour-of-errors.ts';

export interface ConsoleFigures {
  /** Counts over the journal, the same on every node. */
  readonly reports: ReportCounts;
  /** Undefined in the first moments of a server. */
  entries(): EntryBands | undefined;
  /** Counts of this server by name: `checks`, `requests:2xx`, and those of `CounterName`. */
  readonly tallies: Pick<ActivityCounters, 'inAll' | 'series' | 'sum'>;
  /** Checks and how long they took, by minute, the last day. */
  minutes(): readonly MinuteFigures[];
  /** Errors of the last hour, the most frequent first. */
  errors(): {
    /** `code shape`, such as `not_found api`, as the main thread answered. */
    readonly codes: readonly Counted[];
    /** `4xx /api/v2/check`, counted over all threads. */
    readonly routes: readonly Counted[];
  };
  threads(): {
    readonly listening: number;
    readonly replaced: number;
    /** Longest pause of each event loop in the last 15 to 30 s, seconds. */
    readonly pauses: readonly (readonly [thread: string, seconds: number])[];
  };
  /** Every bounded table and queue. */
  tables(): readonly { readonly name: string; readonly used: number; readonly limit: number }[];
  store(): {
    readonly writable: boolean;
    /** Journal events. */
    readonly appliedSeq: number;
    readonly checkpointSeq: number;
    /** The size of the file or the database; undefined until it was measured. */
    readonly bytes: number | undefined;
  };
  /** Bytes. */
  memory(): { readonly resident: number; readonly heap: number; readonly index: number };
}

export interface FigureParts {
  readonly state: State;
  readonly store: Pick<Store, 'writeState'>;
  readonly survey: Pick<BandSurvey, 'latest'>;
  readonly tallies: ActivityCounters;
  readonly codes: HourOfErrors;
  readonly statuses: HourOfErrors;
  readonly tables: Pick<BoundedTables, 'read'>;
  /** Brings the counters and the errors up to date. */
  readonly collect: () => void;
  readonly storeBytes: () => number | undefined;
  /** Undefined until the server listens. */
  readonly listening: () =>
    | {
        readonly threads: { alive(): number; replaced(): number };
        readonly gauges: { pauses(): Iterable<[thread: string, seconds: number]> };
      }
    | undefined;
  readonly clock: Clock;
}

export function createFigures(parts: FigureParts): ConsoleFigures {
  const { state, store, survey, tallies, codes, statuses, tables, clock, collect } = parts;
  return {
    reports: state.counting.counts,
    entries: survey.latest,
    tallies: {
      inAll() {
        collect();
        return tallies.inAll();
      },
      series(period, nowMs) {
        collect();
        return tallies.series(period, nowMs);
      },
      sum(period, nowMs) {
        collect();
        return tallies.sum(period, nowMs);
      },
    },
    minutes: () => tallies.minutes(clock.now()),
    errors() {
      collect();
      const now = clock.now();
      return { codes: codes.read(now), routes: statuses.read(now) };
    },
    threads() {
      const now = parts.listening();
      return {
        listening: now?.threads.alive() ?? 0,
        replaced: now?.threads.replaced() ?? 0,
        pauses: [...(now?.gauges.pauses() ?? [])],
      };
    },
    tables: tables.read,
    store: () => ({
      writable: store.writeState().available,
      appliedSeq: Number(state.follower.appliedSeq()),
      checkpointSeq: Number(state.projection.checkpointSeq()),
      bytes: parts.storeBytes(),
    }),
    memory() {
      const { rss, heapUsed } = process.memoryUsage();
      const { liveBytes, recordBytes } = state.index.stats();
      return { resident: rss, heap: heapUsed, index: liveBytes + recordBytes };
    },
  };
}
