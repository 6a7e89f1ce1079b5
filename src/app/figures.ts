/**
 * What this server did, for the console, the metrics and commands: what each module counted since the start is
 * sampled into the activity counters, which are kept. Asking costs no walk over entries, reports or rows, so
 * that a page may ask each time.
 */

import type { ChallengeEvent } from '../captcha/challenge/challenge.route.ts';
import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import { every } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { minuteMs } from '../core/time.ts';
import { type Histogram, type Timings, timingBounds } from '../core/timings.ts';
import type { IntegrationOutcome } from '../integrations/counters.ts';
import type { CountPeriod } from '../reputation/counts/report-counts.ts';
import type { SignOnEvent } from '../signon/sessions/sign-in-log.ts';
import type { ConsentOutcome } from '../signon/sites/authorization.ts';
import { activityKey } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import {
  type ActivityCounters,
  createActivityCounters,
  createHourOfErrors,
  type HourOfErrors,
} from './activity-counters.ts';
import type { ThreadCounters } from './threads/thread-counters.ts';

/** Names of what modules count. The console has words for each (console/service/system.page.tsx). */
export type CounterName =
  | `challenges:${ChallengeEvent}`
  | `consents:${ConsentOutcome}`
  | `sign_on:${SignOnEvent}`
  | `reports_refused:${ErrorCode}`
  | `gate:${IntegrationOutcome<'gate'>}`;

/** Totals since the start, by group and name. */
export type Counts = Readonly<
  Record<string, () => Iterable<readonly [name: string, total: number]>>
>;

export async function openFigures(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly timings: Timings;
}) {
  const { store, clock, log } = needs;
  const activity = createActivityCounters(clock.now());
  if (!(await loadActivityCounters(store, activity))) log.debug('figures: starting anew');
  const codes = createHourOfErrors();
  const statuses = createHourOfErrors();
  const counted: Counts[] = [];
  let requests: Pick<ThreadCounters, 'read'> = { read: () => [] };
  function* others(): Iterable<readonly [string, number]> {
    for (const counts of counted) {
      for (const [group, read] of Object.entries(counts)) {
        for (const [name, total] of read()) yield [`${group}:${name}`, total];
      }
    }
  }
  const counters = { read: () => requests.read() };
  const sampling = startSampling({ ...needs, activity, statuses, counters, others });
  function upToDate(): ActivityCounters {
    sampling.collect();
    return activity;
  }
  return {
    /** Counts of this server by name: `checks`, `requests:2xx`, and those of `CounterName`. */
    activity: {
      inAll: () => upToDate().inAll(),
      series: (period: CountPeriod, nowMs: number) => upToDate().series(period, nowMs),
      sum: (period: CountPeriod, nowMs: number) => upToDate().sum(period, nowMs),
    },
    /** Returns checks and how long they took, by minute, the last day. */
    minutes: () => activity.minutes(clock.now()),
    /**
     * Returns the errors of the last hour, the most frequent first: `code shape`, such as `not_found api`, as the
     * main thread answered, and `4xx /api/v2/check`, counted over all threads.
     */
    errors() {
      sampling.collect();
      const now = clock.now();
      return { codes: codes.read(now), routes: statuses.read(now) };
    },
    /** Counts an error answered by the main thread. */
    onFailure: (code: ErrorCode, { shape }: Endpoint): void =>
      codes.add(`${code} ${shape}`, 1, clock.now()),
    /** From now on what a module counts is sampled. */
    add: (counts: Counts): void => void counted.push(counts),
    /** From now on what the front ends count is sampled. */
    follow(counters: Pick<ThreadCounters, 'read'>): void {
      requests = counters;
    },
    metrics(metrics: Metrics): void {
      function activityCounter(name: string, help: string, label: string, group: string): void {
        metrics.counterBy(name, help, [label], () =>
          upToDate()
            .inAll()
            .all.filter((row) => row.name.startsWith(`${group}:`))
            .map((row) => [{ [label]: row.name.slice(group.length + 1) }, row.count]),
        );
      }
      activityCounter(
        'portcullis_challenges_total',
        'Challenges of the CAPTCHA that were given, solved and failed, ever.',
        'outcome',
        'challenges',
      );
      activityCounter(
        'portcullis_sign_on_events_total',
        'What happened to accounts, and who was refused or held back, ever.',
        'event',
        'sign_on',
      );
      activityCounter(
        'portcullis_consents_total',
        "Answers of people to a site's request, ever.",
        'answer',
        'consents',
      );
    },
    close: sampling.stop,
  };
}

export type Figures = Awaited<ReturnType<typeof openFigures>>;

// Adds what the threads counted in shared memory since the last time to the counters, once a minute
// and whenever the figures are read, and writes the changed counters to the store each minute. It
// runs on the main thread, and no request waits for it.

/** Verdicts over HTTP: of the API, of the gate and of bouncers. */
const checkRoutes: ReadonlySet<string> = new Set([
  '/api/v2/check',
  '/api/v2/check-bulk',
  '/api/v2/check-block',
  '/gate/check',
  '/gate/envoy/*',
  '/v1/decisions',
]);

interface SamplingOptions {
  readonly activity: ActivityCounters;
  readonly statuses: HourOfErrors;
  readonly store: Pick<Store, 'commit' | 'writeState'>;
  readonly counters: Pick<ThreadCounters, 'read'>;
  readonly timings: Pick<Timings, 'read'>;
  /** Totals since the start that somebody else counts, by name. */
  readonly others: () => Iterable<readonly [string, number]>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Loads the counters as they were last written. False: none are stored, or they can't be read. */
export async function loadActivityCounters(
  store: Pick<Store, 'get'>,
  activity: ActivityCounters,
): Promise<boolean> {
  const row = await store.get(activityKey());
  return row !== undefined && activity.load(row.value);
}

export function startSampling(options: SamplingOptions) {
  const { activity, statuses, store, counters, timings, clock, log } = options;
  const last = new Map<string, number>();
  let lastChecks: Histogram = timings.read('check');
  let checksInMinute = 0;
  let written = activity.changes();
  let writing = Promise.resolve();

  /** Since the last look. */
  function grown(name: string, total: number): number {
    const by = total - (last.get(name) ?? 0);
    last.set(name, total);
    return Math.max(0, by);
  }

  function collect(): void {
    const now = clock.now();
    let checks = 0;
    for (const [{ thread, route, status }, total] of counters.read()) {
      const by = grown(`${thread} ${status} ${route}`, total);
      if (by === 0) continue;
      activity.add(`requests:${status}`, by, now);
      if (status === '2xx' && checkRoutes.has(route)) checks += by;
      if (status !== '2xx' && status !== '3xx') statuses.add(`${status} ${route}`, by, now);
    }
    checksInMinute += checks;
    activity.add('checks', checks, now);
    for (const [name, total] of options.others()) activity.add(name, grown(name, total), now);
  }

  function sample(): void {
    collect();
    const histogram = timings.read('check');
    const timed = histogramDifference(histogram, lastChecks);
    lastChecks = histogram;
    // It is of the minute that ends.
    const startMs = clock.now() - minuteMs / 2;
    const checks = checksInMinute;
    checksInMinute = 0;
    activity.addMinute({
      startMs,
      checks,
      p50: quantileOf(timed, 0.5),
      p99: quantileOf(timed, 0.99),
    });
  }

  async function save(): Promise<void> {
    const changes = activity.changes();
    if (changes === written || !store.writeState().available) return;
    const done = await store.commit({ set: [{ key: activityKey(), value: activity.encode() }] });
    if (!done.ok) throw new Error(done.error);
    written = changes;
  }

  function write(): Promise<void> {
    writing = writing.then(save).catch((error) => {
      log.warn({ err: error }, 'figures: not written, will retry');
    });
    return writing;
  }

  const loop = every(minuteMs, () => {
    sample();
    void write();
  });

  return {
    collect,
    sample,
    async stop(): Promise<void> {
      await loop.stop();
      sample();
      await write();
    },
  };
}

export function histogramDifference(now: Histogram, then: Histogram): Histogram {
  const cumulative = now.cumulative.map((count, i) => count - then.cumulative[i]!);
  return { cumulative, sum: now.sum - then.sum };
}

/**
 * Seconds, on a line between the two bounds around it; the last bound for what is above all of them.
 * @param share 0 to 1
 * @returns undefined when nothing was counted
 */
export function quantileOf({ cumulative }: Histogram, share: number): number | undefined {
  const count = cumulative.at(-1)!;
  if (count <= 0) return undefined;
  const wanted = share * count;
  const bucket = cumulative.findIndex((below) => below >= wanted);
  if (bucket >= timingBounds.length) return timingBounds.at(-1)!;
  const before = bucket === 0 ? 0 : cumulative[bucket - 1]!;
  const from = bucket === 0 ? 0 : timingBounds[bucket - 1]!;
  return (
    from + ((wanted - before) / (cumulative[bucket]! - before)) * (timingBounds[bucket]! - from)
  );
}
