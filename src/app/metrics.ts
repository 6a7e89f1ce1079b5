/** Registers the metrics that /metrics shows. */

import { capacities } from '../config.ts';
import type { BoundedTable, BoundedTables } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import type { Metrics } from '../core/metrics.ts';
import { type TimedWork, type Timings, timingBounds } from '../core/timings.ts';
import type { DescriptorWatch } from '../http/limits/descriptor-watch.ts';
import type { ReportTrait } from '../reputation/counts/report-counts.ts';
import { refusalKinds } from '../reputation/reports/refusals.ts';
import type { RefusedReports } from '../reputation/reports/report-admission.ts';
import type { Store } from '../storage/store.ts';
import type { OpenFigures } from './figures/figures.ts';
import type { Opening } from './parts/dependencies.ts';
import type { Listening } from './parts/listening.ts';
import type { ReputationParts } from './parts/reputation.ts';
import type { State } from './state.ts';
import type { ThreadCounters, ThreadGauges } from './threads/thread-counters.ts';
import type { Threads } from './threads/threads.ts';
import { budgetsNearLimit } from './vote-budgets.ts';

/** Labels come from short fixed sets; networks and lists have names of others and stay out. */
const labelled: readonly ReportTrait[] = ['category', 'country', 'band'];

export function registerFigures(metrics: Metrics, { figures }: Pick<OpenFigures, 'figures'>): void {
  const { reports, tallies } = figures;
  metrics.counterBy('portcullis_reports_total', 'Reports that were applied, ever.', [], () => [
    [{}, reports.inAll().reports],
  ]);
  metrics.counterBy(
    'portcullis_reports_late_total',
    'Reports that came too late for a period in which they happened, ever.',
    [],
    () => [[{}, reports.inAll().late]],
  );
  for (const trait of labelled) {
    metrics.counterBy(
      `portcullis_reports_by_${trait}_total`,
      `Reports that were applied, ever, by ${trait}.`,
      [trait],
      () =>
        reports
          .inAll()
          .by(trait)
          .map(({ name, count }) => [{ [trait]: name }, count]),
    );
  }
  metrics.gaugeBy(
    'portcullis_entries_by_band',
    'Addresses and networks by the band of their score, of the last survey.',
    'band',
    () => Object.entries(figures.entries()?.bands ?? {}),
  );

  function tally(name: string, help: string, label: string, group: string): void {
    metrics.counterBy(name, help, [label], () =>
      tallies
        .inAll()
        .all.filter((row) => row.name.startsWith(`${group}:`))
        .map((row) => [{ [label]: row.name.slice(group.length + 1) }, row.count]),
    );
  }
  tally(
    'portcullis_challenges_total',
    'Challenges of the CAPTCHA that were given, solved and failed, ever.',
    'outcome',
    'challenges',
  );
  tally(
    'portcullis_sign_on_events_total',
    'What happened to accounts, and who was refused or held back, ever.',
    'event',
    'sign_on',
  );
  tally(
    'portcullis_consents_total',
    "Answers of people to a site's request, ever.",
    'answer',
    'consents',
  );
}

/** Metrics and bounded tables of all parts; the tables are looked at until the server stops. */
export function observe(
  { clock, closers, config, timings }: Opening,
  parts: {
    metrics: Metrics;
    tables: BoundedTables;
    data: { store: Store; state: State };
    reputation: ReputationParts;
    listening: Listening;
  },
): void {
  const { metrics, tables, listening } = parts;
  const { refusedReports } = parts.reputation;
  registerMetrics({ ...parts.data, ...listening, metrics, clock, refusedReports });
  registerTimings(metrics, timings, config.httpThreads);
  addTables(tables, {
    state: parts.data.state,
    tables: [
      ...listening.gauges.tables,
      parts.reputation.counted,
      ...parts.reputation.reports.tables,
      parts.reputation.systems.table,
      parts.reputation.sightings.table,
      ...parts.data.store.tables,
    ],
  });
  tables.register(metrics);
  closers.add(tables.watch());
}

function registerMetrics(options: {
  metrics: Metrics;
  state: State;
  store: Store;
  counters: ThreadCounters;
  gauges: ThreadGauges;
  threads: Threads;
  descriptors: DescriptorWatch;
  refusedReports: RefusedReports;
  clock: Clock;
}): void {
  const { metrics, state, store, counters, gauges, threads } = options;
  const { index } = state;
  metrics.counterBy(
    'portcullis_http_requests_total',
    'Requests answered, by front-end thread, route and status class.',
    ['thread', 'route', 'status'],
    () => counters.read(),
  );
  metrics.gauge('portcullis_http_threads', 'Front-end threads that listen.', threads.alive);
  metrics.counterBy(
    'portcullis_http_threads_replaced_total',
    'Front-end threads started in place of one that died.',
    [],
    () => [[{}, threads.replaced()]],
  );
  const { descriptors } = options;
  metrics.gauge(
    'portcullis_accept_paused',
    '1 while no connection is taken because nearly all open files are in use.',
    () => (descriptors.isPaused() ? 1 : 0),
  );
  metrics.counterBy(
    'portcullis_accept_pauses_total',
    'How often no connection was taken because nearly all open files were in use.',
    [],
    () => [[{}, descriptors.pauses()]],
  );
  metrics.gaugeBy(
    'portcullis_event_loop_pause_seconds',
    'Longest pause of the event loop in the last 15 to 30 s, by front-end thread and of the main one.',
    'thread',
    gauges.pauses,
  );
  metrics.gauge('portcullis_index_entries', 'Addresses and prefixes in the index.', () =>
    index.size(),
  );
  metrics.gaugeBy('portcullis_index_bytes', 'Memory of the index, by part.', 'part', () => {
    const stats = index.stats();
    return [
      ['live', stats.liveBytes],
      ['touched', stats.touchedBytes],
      ['records', stats.recordBytes],
    ];
  });
  metrics.counterBy(
    'portcullis_refused_total',
    'What was let in and had no effect because a table was full, ever, by kind.',
    ['kind'],
    function* () {
      for (const kind of refusalKinds) yield [{ kind }, state.refusals.of(kind)];
      yield [{ kind: 'keys' }, state.access.refused()];
    },
  );
  metrics.counterBy(
    'portcullis_reports_refused_total',
    'Reports that were not taken, rows of bulk reports among them, by reason.',
    ['reason'],
    function* () {
      for (const [reason, count] of options.refusedReports.read()) yield [{ reason }, count];
    },
  );
  metrics.counterBy(
    'portcullis_voices_refused_total',
    "Reports whose voice did not count because their account's budget was used up, since the start.",
    [],
    function* () {
      yield [{}, state.reducer.refusedVotes()];
    },
  );
  metrics.gauge(
    'portcullis_voice_budgets_near_limit',
    'Accounts that have used four fifths of their budget of open voices.',
    () => budgetsNearLimit(state, options.clock.now()),
  );
  metrics.gauge('portcullis_journal_applied_seq', 'Last journal event in memory.', () =>
    Number(state.follower.appliedSeq()),
  );
  metrics.gauge('portcullis_checkpoint_seq', 'Last journal event in a checkpoint.', () =>
    Number(state.projection.checkpointSeq()),
  );
  metrics.gauge('portcullis_store_writable', '1 while the store can write.', () =>
    store.writeState().available ? 1 : 0,
  );
}

const timedWork: readonly [kind: TimedWork, help: string][] = [
  ['check', 'One check in 64, from its request to the handing over of its answer.'],
  ['forward', 'Requests that a front end sends to the main thread, until the answer is back.'],
  ['commit', 'Commits of the store, from the call until they are on disk.'],
  ['render', 'Batches of images and clips of the CAPTCHA, the wait for a thread included.'],
];

/** @param main row of the main thread */
function registerTimings(metrics: Metrics, timings: Timings, main: number): void {
  for (const [kind, help] of timedWork) {
    metrics.histogram(`portcullis_${kind}_duration_seconds`, help, timingBounds, () =>
      timings.read(kind),
    );
  }
  function* byThread(what: 'seconds' | 'runs'): Iterable<[{ thread: string }, number]> {
    for (let row = 0; row <= main; row++) {
      yield [{ thread: row === main ? 'main' : String(row) }, timings.garbage(row)[what]];
    }
  }
  metrics.counterBy(
    'portcullis_gc_seconds_total',
    'Time of the garbage collection, by thread.',
    ['thread'],
    () => byThread('seconds'),
  );
  metrics.counterBy(
    'portcullis_gc_runs_total',
    'Runs of the garbage collection, by thread.',
    ['thread'],
    () => byThread('runs'),
  );
}

/** All tables that have a bound, as far as the process can see them. */
function addTables(
  tables: BoundedTables,
  parts: {
    state: State;
    /** Bounded tables of the parts. */
    tables: readonly BoundedTable[];
  },
): void {
  const { state } = parts;
  const { entries } = capacities;
  tables.add(
    { name: 'accounts', used: state.access.used, limit: capacities.accounts },
    { name: 'keys', used: state.access.keys, limit: capacities.keys },
    { name: 'entries', used: state.index.size, limit: entries },
    {
      name: 'contributions',
      used: state.entries.contributions.count,
      limit: entries * capacities.contributionsPerEntry,
    },
    { name: 'lists', used: () => state.sources.list().length, limit: capacities.sources },
    { name: 'allow_rules', used: state.entries.contributions.rules, limit: capacities.allowRules },
    {
      name: 'own_entries',
      used: () => state.entries.contributions.own.size,
      limit: capacities.ownEntries,
    },
    ...parts.tables,
  );
}
