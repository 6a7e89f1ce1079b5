/**
 * The blocklists: for whoever has a key the list of the API, for everybody the feeds, with their publisher, their
 * page, and their files as long as front ends have none.
 */

import { type Config, capacities } from '../../config.ts';
import type { Metrics } from '../../core/metrics.ts';
import { createSemaphore } from '../../core/scheduling.ts';
import { openGarbageCollection } from '../../core/threads.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { blacklistEndpoint, blacklistRoute } from './blacklist.route.ts';
import { createBlacklist, selectBetween } from './blacklist.ts';
import { type FeedRoutesOptions, feedEndpoints, feedRoutes } from './feeds.route.ts';
import { feedsPageEndpoint, feedsPageRoutes, feedsSlashEndpoint } from './feeds-page.route.ts';
import { createNamedBuilds } from './named/builds.ts';
import { namedFeedEndpoint, namedFeedRoute } from './named/named.route.ts';
import { createNamedFeedCache } from './named/named-feeds.ts';
import type { SelectSources } from './named/select.ts';
import { taxiiEndpoints, taxiiRoutes } from './named/taxii.route.ts';
import type { OperatorTexts } from './pieces/lines.ts';
import {
  createFeedPublisher,
  decisionListOf,
  type FeedNeeds,
  type FeedPublisher,
  type FeedPublisherOptions,
} from './publish.ts';

/** Replaced feeds that are worth a garbage collection. */
const releasedBytesMin = 32 * 1024 * 1024;
/** Answers of half a million rows being made, and requests that wait for their turn. */
const answersMax = { runningMax: 2, waitingMax: 16 };

export const blocklistEndpoints: readonly Endpoint[] = [
  blacklistEndpoint,
  feedsPageEndpoint,
  feedsSlashEndpoint,
  ...feedEndpoints,
  namedFeedEndpoint,
  ...Object.values(taxiiEndpoints),
];

export function openBlocklists(
  needs: FeedNeeds & {
    readonly state: {
      readonly index: IpIndex;
      readonly entries: Pick<SelectSources, 'contributions'>;
      readonly sources: SelectSources['sources'];
    };
    readonly geo: GeoReader;
    readonly config: Pick<Config, 'secureUrl' | 'feedLicence' | 'feedIntervalSeconds'>;
    readonly openThread: (bounds: {
      readonly operatorTexts: OperatorTexts;
      readonly rowsMax: number;
      readonly entriesMax: number;
    }) => FeedPublisherOptions['openThread'];
    /** Has the front ends release the memory of replaced feeds. */
    readonly release: () => void;
    readonly guard: Guard;
    readonly tools: PageTools;
    /** The guard counts, with those of front ends, the requests that come here before the first build. */
    readonly frontEnd: Pick<FeedRoutesOptions, 'guard' | 'noteMark'>;
  },
) {
  const { config, state, geo, clock, guard, tools, frontEnd } = needs;
  const { index } = state;
  const blacklist = createBlacklist({
    index,
    geo,
    clock,
    allowlistVersion: needs.allowlistVersion,
  });
  const queue = createSemaphore(answersMax);
  const feedsUrl = `${config.secureUrl}/feeds`;
  const licence = config.feedLicence;
  const collectGarbage = openGarbageCollection();
  const publisher = createFeedPublisher({
    store: needs.store,
    maintenance: needs.maintenance,
    clock,
    log: needs.log,
    hasEntries: needs.hasEntries,
    appliedSeq: needs.appliedSeq,
    allowlistVersion: needs.allowlistVersion,
    onPublished: needs.onPublished,
    openThread: needs.openThread({
      operatorTexts: { homeUrl: feedsUrl, licence },
      rowsMax: capacities.entries,
      entriesMax: capacities.feedEntries,
    }),
    intervalMs: config.feedIntervalSeconds * 1_000,
    onReplaced(bytes) {
      if (bytes < releasedBytesMin) return;
      setImmediate(collectGarbage);
      needs.release();
    },
  });
  const named = createNamedBuilds({
    store: needs.store,
    clock,
    allowlistVersion: needs.allowlistVersion,
    geo,
    index,
    sources: state.sources,
    contributions: state.entries.contributions,
    blacklist,
    operatorTexts: { homeUrl: feedsUrl, licence },
    intervalMs: config.feedIntervalSeconds * 1_000,
  });
  const namedFeeds = createNamedFeedCache(needs);
  return {
    routes: [
      blacklistRoute({ guard, geo, blacklist, queue }),
      ...feedsPageRoutes({ guard, publisher, tools, clock, feedsUrl, licence }),
      ...feedRoutes({ guard: frontEnd.guard, noteMark: frontEnd.noteMark, publisher }),
      namedFeedRoute({
        guard: frontEnd.guard,
        noteMark: frontEnd.noteMark,
        builds: named,
        find: namedFeeds.find,
      }),
      ...taxiiRoutes({
        guard: frontEnd.guard,
        clock,
        builds: named,
        feeds: namedFeeds.all,
        secureUrl: config.secureUrl,
      }),
    ],
    tables: [
      queue.table('blacklist_queue'),
      ...named.tables,
      { name: 'named_feeds', used: namedFeeds.count, limit: capacities.namedFeeds },
      {
        name: 'feed_entries',
        used: () => publisher.current()?.stats.entries ?? 0,
        limit: capacities.feedEntries,
      },
    ],
    /** For programs that follow decisions. */
    blocklist: {
      list: (waitMs: number) => decisionListOf(publisher, waitMs),
      buildImmediatelyWhile: publisher.buildImmediatelyWhile,
      /** Returns what scores from `from` on and less than `below`: the worst, at most so many. */
      async between(asked: {
        readonly from: number;
        readonly below: number;
        readonly max: number;
      }): Promise<readonly string[]> {
        return selectBetween(await blacklist.snapshot(), asked);
      },
    },
    /** Begins to build. */
    start: publisher.start,
    metrics(metrics: Metrics) {
      metrics.gauge(
        'portcullis_blacklist_entries_left_out',
        'Entries that found no room in the last blacklist that was made for the API.',
        blacklist.leftOut,
      );
      registerFeedMetrics(metrics, publisher);
      metrics.counterBy(
        'portcullis_named_feed_builds_total',
        'Choices made for named feeds.',
        [],
        () => [[{}, named.totals.builds]],
      );
      metrics.counterBy(
        'portcullis_named_feed_build_seconds_total',
        'Time of the processor that named feeds took, in seconds.',
        [],
        () => [[{}, named.totals.ms / 1_000]],
      );
    },
    close() {
      named.close();
      return publisher.stop();
    },
  };
}

function registerFeedMetrics(metrics: Metrics, feeds: FeedPublisher): void {
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
  metrics.counterBy('portcullis_feed_builds_total', 'Builds of the feeds.', [], () => [
    [{}, feeds.lastBuild.count],
  ]);
  metrics.gauge('portcullis_feed_build_seconds', 'Duration of the last build.', () => {
    return feeds.lastBuild.ms / 1_000;
  });
}
