/** What is said of addresses: geo tables, the check, reports, feeds and the use of accounts. */

import { secondsLeftOfDay } from '../../access/quota/points.ts';
import { createUsage, type Usage } from '../../access/quota/usage.ts';
import { capacities } from '../../config.ts';
import { openGarbageCollection } from '../../core/garbage.ts';
import { createHeartbeat } from '../../core/work/heartbeat.ts';
import { openGeo } from '../../geo/open-geo.ts';
import { createFeedPublisher, type FeedPublisher } from '../../reputation/blocklists/publish.ts';
import {
  createRefusedReports,
  createReportAdmission,
  type RefusedReports,
} from '../../reputation/reports/report-admission.ts';
import {
  createReportStore,
  type ReportStore,
} from '../../reputation/reports/store/report-store.ts';
import type { Store } from '../../store/store.ts';
import type { State } from '../state.ts';
import { openFeedThread } from '../threads/feed-thread.ts';
import { createFrontEnd, type FrontEnd, type FrontEndMemory } from '../threads/front-end.ts';
import { startExpiry, startSampling } from '../upkeep.ts';
import type { Opening } from './dependencies.ts';

export interface ReputationParts {
  /** What each front-end thread reads. */
  readonly memory: FrontEndMemory;
  readonly frontEnd: FrontEnd;
  readonly reports: ReportStore;
  readonly refusedReports: RefusedReports;
  readonly feeds: FeedPublisher;
  readonly usage: Usage;
}

/** Replaced feeds that are worth a garbage collection. */
const releasedBytesMin = 32 * 1024 * 1024;

/** @param onReleased the bytes of feeds that were replaced can be given back, in all threads */
export function openReputation(
  opening: Opening,
  { store, state }: { store: Store; state: State },
  onReleased: () => void,
): ReputationParts {
  const { config, clock, random, log, closers } = opening;
  const { dataDir, geoCountryMmdb: countryMmdbPath, geoAsnMmdb: asnMmdbPath } = config;
  const geo = openGeo({ dataDir, countryMmdbPath, asnMmdbPath, log });
  for (const { kind, origin, path, note } of geo.sources)
    log.info({ kind, origin, path, note }, 'geo');

  const { index, entries, access, follower } = state;
  const { newAddresses, generationOf } = access;
  const heartbeat = createHeartbeat(clock);
  closers.add(heartbeat.start());
  const memory: FrontEndMemory = {
    ...state.shared,
    geo: geo.shared,
    heartbeat: heartbeat.buffer,
  };
  const frontEnd = createFrontEnd({ memory, index, clock, log });
  const { catchUpTo } = follower;
  const counted = { newAddresses, secondsLeftOfDay, catchUpTo };
  const admission = createReportAdmission({ entries, clock, ...counted });
  const reports = createReportStore({ store, clock, random, admission, generationOf });
  closers.add(startExpiry(reports, store, log));
  const collectGarbage = openGarbageCollection();
  const feeds = openFeeds(opening, state, store, memory.geo, (bytes) => {
    if (bytes < releasedBytesMin) return;
    setImmediate(collectGarbage);
    onReleased();
  });
  closers.add(() => feeds.stop());
  const { quotas } = state.shared;
  const usage = createUsage({ handle: quotas, accountCount: access.count, generationOf, clock });
  closers.add(startSampling(usage));
  return { memory, frontEnd, reports, refusedReports: createRefusedReports(), feeds, usage };
}

function openFeeds(
  { config, clock, log }: Opening,
  state: State,
  store: Store,
  geo: SharedArrayBuffer,
  onReplaced: (bytes: number) => void,
): FeedPublisher {
  const openThread = openFeedThread({
    index: state.index,
    geo,
    imprint: { homeUrl: `${config.secureUrl}/feeds`, licence: config.feedLicence },
    rowsMax: capacities.entries,
    entriesMax: capacities.feedEntries,
  });
  return createFeedPublisher({
    store,
    clock,
    log,
    openThread,
    position: () => state.follower.appliedSeq(),
    urgent: () => state.fold.allowChanges(),
    intervalMs: config.feedIntervalSeconds * 1_000,
    onReplaced,
  });
}
