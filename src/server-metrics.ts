/** What the server tells of itself at /metrics and /readyz. */

import type { Captcha } from './captcha/open.ts';
import type { Clock } from './core/clock.ts';
import type { Metrics } from './core/metrics.ts';
import type { FeedPublisher } from './feeds/publish.ts';
import type { RefusedReports } from './reputation/report-admission.ts';
import type { Readiness } from './routes/service.ts';
import type { State } from './state.ts';
import type { Store } from './store/store.ts';
import type { ThreadCounters } from './thread-counters.ts';
import type { Threads } from './threads.ts';

export function registerMetrics(options: {
  metrics: Metrics;
  state: State;
  store: Store;
  counters: ThreadCounters;
  threads: Threads;
  captcha: Pick<Captcha, 'stats'>;
  refusedReports: RefusedReports;
}): void {
  const { metrics, state, store, counters, threads } = options;
  registerCaptchaMetrics(metrics, options.captcha);
  const { index } = state;
  metrics.counterBy(
    'portcullis_http_requests_total',
    'Requests answered, by front-end thread, route and status class.',
    ['thread', 'route', 'status'],
    () => counters.read(),
  );
  metrics.gauge(
    'portcullis_http_threads',
    'Front-end threads that listen.',
    () => threads.alive() + 1,
  );
  metrics.gauge(
    'portcullis_http_threads_replaced',
    'Front-end threads started in place of one that died.',
    () => threads.replaced(),
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
  metrics.gauge('portcullis_rows_refused', 'List rows refused because a table was full.', () =>
    state.fold.refusedRows(),
  );
  metrics.counterBy(
    'portcullis_reports_refused_total',
    'Reports that were not taken, rows of bulk reports among them, by reason.',
    ['reason'],
    function* () {
      for (const [reason, count] of options.refusedReports.read()) yield [{ reason }, count];
    },
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

export function registerFeedMetrics(metrics: Metrics, feeds: FeedPublisher): void {
  metrics.gauge('portcullis_feed_entries', 'Entries of the blocklist feed.', () => {
    return feeds.current()?.stats.entries ?? 0;
  });
  metrics.gauge(
    'portcullis_feed_entries_dropped',
    'Malicious entries for which the feeds have no room.',
    () => feeds.current()?.stats.dropped ?? 0,
  );
  metrics.gauge('portcullis_feed_variants', 'Feeds ready to be served, variants counted.', () => {
    return feeds.current()?.files.size ?? 0;
  });
  metrics.gaugeBy('portcullis_feed_bytes', 'Memory of the feeds, by encoding.', 'encoding', () => {
    const now = feeds.current();
    if (now === undefined) return [];
    const { stats, changes } = now;
    return [
      ['identity', stats.textBytes],
      ['gzip', stats.gzipBytes],
      ['br', stats.brotliBytes],
      ['changes', changes.added.length + changes.removed.length],
    ];
  });
  metrics.gauge('portcullis_feed_version', 'Version of the blocklist, ms since 1970.', () => {
    return feeds.current()?.changes.version ?? 0;
  });
  metrics.gauge('portcullis_feed_builds', 'Builds of the feeds since the start.', () => {
    return feeds.lastBuild.count;
  });
  metrics.gauge('portcullis_feed_build_seconds', 'Duration of the last build.', () => {
    return feeds.lastBuild.ms / 1_000;
  });
}

function registerCaptchaMetrics(metrics: Metrics, captcha: Pick<Captcha, 'stats'>): void {
  type Stats = ReturnType<Captcha['stats']>;
  const gauge = (name: string, help: string, read: (stats: Stats) => number) =>
    metrics.gauge(`portcullis_captcha_${name}`, help, () => read(captcha.stats()));
  const counter = (name: string, help: string, read: (stats: Stats) => number) =>
    metrics.counterBy(`portcullis_captcha_${name}_total`, help, [], () => [
      [{}, read(captcha.stats())],
    ]);
  gauge('stock', 'Images rendered ahead.', ({ stock }) => stock);
  gauge('stock_bytes', 'Bytes of the images rendered ahead.', ({ stockBytes }) => stockBytes);
  gauge('waiting', 'Images and clips being waited for.', ({ waiting }) => waiting);
  gauge('open', 'Challenges that can still be answered.', ({ open }) => open);
  gauge('held_bytes', 'Images and clips of open challenges.', ({ heldBytes }) => heldBytes);
  counter('served', 'Images and clips given to a challenge.', ({ served }) => served);
  counter('refused', 'Images and clips refused because too many waited.', (s) => s.refused);
  counter('evicted', 'Challenges taken out before their time by a cap.', (s) => s.evicted);
}

export async function readinessOf(state: State, store: Store, clock: Clock): Promise<Readiness> {
  const behind = Number((await store.lastSeq()) - state.follower.appliedSeq());
  const newest = Math.max(...state.sources.list().map((source) => source.refreshedAtMs));
  return {
    indexLoaded: true,
    writable: store.writeState().available,
    entries: state.index.size(),
    behind: Math.max(0, behind),
    newestListAgeSeconds: Number.isFinite(newest)
      ? Math.max(0, Math.round((clock.now() - newest) / 1_000))
      : null,
  };
}
