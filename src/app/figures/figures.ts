/**
 * The operator's read: what the console shows, from counters that are there already. Asking costs no walk
 * over entries, reports or rows, so that a page may ask each time.
 */

import { stat } from 'node:fs/promises';
import type { ChallengeEvent } from '../../captcha/challenge/challenge.route.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import { minuteMs } from '../../core/time.ts';
import type { BandSurvey, EntryBands } from '../../reputation/counts/entry-bands.ts';
import type { ReportCounts } from '../../reputation/counts/report-counts.ts';
import type { Counted } from '../../reputation/counts/top-table.ts';
import type { RefusedReports } from '../../reputation/reports/report-admission.ts';
import type { SignOnEvent } from '../../signon/sessions/sign-in-log.ts';
import type { ConsentOutcome } from '../../signon/sites/authorization.ts';
import { storePath } from '../../storage/lmdb/presence.ts';
import type { Store } from '../../storage/store.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Opening } from '../parts/dependencies.ts';
import type { Listening } from '../parts/listening.ts';
import type { State } from '../state.ts';
import {
  type ActivityCounters,
  createActivityCounters,
  createHourOfErrors,
  type HourOfErrors,
  type MinuteFigures,
} from './activity-counters.ts';
import { loadActivityCounters, type Sampling, startSampling } from './sampling.ts';

/** Names of what a server counts. The console has words for each (console/service/overview.page.tsx). */
export type CounterName =
  | `challenges:${ChallengeEvent}`
  | `consents:${ConsentOutcome}`
  | `sign_on:${SignOnEvent}`
  | `reports_refused:${ErrorCode}`;

const measureMs = minuteMs;

export async function openFigures(
  { clock, closers, config, log, timings }: Opening,
  {
    state,
    store,
    survey,
    tables,
  }: { state: State; store: Store; survey: BandSurvey; tables: BoundedTables },
) {
  const tallies = createActivityCounters(clock.now());
  if (!(await loadActivityCounters(store, tallies))) log.debug('figures: they begin now');
  const codes = createHourOfErrors();
  const statuses = createHourOfErrors();
  let listening: Listening | undefined;
  let sampling: Sampling | undefined;
  const isEmbedded = config.databaseUrl === undefined;
  const storeBytes = isEmbedded ? measured(`${storePath(config.dataDir)}/data.mdb`) : undefined;
  closers.add(() => storeBytes?.stop());
  const figures = createFigures({
    state,
    store,
    survey,
    tallies,
    codes,
    statuses,
    tables,
    clock,
    storeBytes: () => storeBytes?.latest(),
    listening: () => listening,
    collect: () => sampling?.collect(),
  });
  const count = (name: CounterName) => tallies.add(name, 1, clock.now());
  return {
    figures,
    tallies,
    survey,
    onSignOn: (event: SignOnEvent): void => count(`sign_on:${event}`),
    onFailure: (code: ErrorCode, { shape }: Endpoint): void =>
      codes.add(`${code} ${shape}`, 1, clock.now()),
    onChallenge: (event: ChallengeEvent): void => count(`challenges:${event}`),
    onConsent: (outcome: ConsentOutcome): void => count(`consents:${outcome}`),
    /** From now on what the threads count is sampled. */
    follow(now: Listening, refused: Pick<RefusedReports, 'read'>): void {
      listening = now;
      const { counters } = now;
      const others = function* (): Iterable<[CounterName, number]> {
        for (const [code, total] of refused.read()) yield [`reports_refused:${code}`, total];
      };
      sampling = startSampling({
        tallies,
        statuses,
        store,
        counters,
        timings,
        others,
        clock,
        log,
      });
      closers.add(sampling.stop);
    },
  };
}

export type OpenFigures = Awaited<ReturnType<typeof openFigures>>;

/** Bytes of a file, measured now and then. */
function measured(path: string): { latest(): number | undefined; stop(): void } {
  let bytes: number | undefined;
  const measure = async () => {
    bytes = (await stat(path)).size;
  };
  // The last figure stays while the file can't be read.
  const loop = every(measureMs, measure, { isImmediate: true, onFailure: () => {} });
  return { latest: () => bytes, stop: loop.stop };
}

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

function createFigures(parts: FigureParts): ConsoleFigures {
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
