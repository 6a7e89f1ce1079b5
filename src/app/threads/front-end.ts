/**
 * Builds what every front-end thread holds: readers of the shared memory and the routes answered
 * from it alone. The main thread builds the same from the same handles for its own look-ups.
 */

import { openAccountsTable } from '../../access/accounts/accounts-table.ts';
import { createKeyCache, openKeyTableReader } from '../../access/keys/key-table.ts';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import { createRefusalRecorder } from '../../access/keys/refused-keys.ts';
import { createMarkNoter, type MarkMemory } from '../../access/marks.ts';
import type { ClientLimits, LimitMemory } from '../../access/quota/client-limits.ts';
import { createQuotaGuard, openQuotas } from '../../access/quota/quota.ts';
import type { ClientLimitName } from '../../config/limits.ts';
import type { Config } from '../../config.ts';
import { entryFlags } from '../../contracts/reputation.ts';
import type { Accent } from '../../core/accent.ts';
import { type Clock, shareTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { systemRandom } from '../../core/random.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { createHeartbeat } from '../../core/threads.ts';
import { createGeoFragments, openGeoReader } from '../../geo/reader.ts';
import { negotiate } from '../../http/answer/negotiate.ts';
import { machineAddresses } from '../../http/request/client-ip.ts';
import type { Route } from '../../http/router.ts';
import type { IndexRead, IndexView } from '../../index/reader.ts';
import { flagsOf, metaOf } from '../../index/records.ts';
import { createIntegrationCounters } from '../../integrations/counters.ts';
import { openBanReader } from '../../integrations/crowdsec/ban-table.ts';
import { pollRoute } from '../../integrations/crowdsec/bouncers.route.ts';
import { liveRoute, upRoute } from '../../integrations/crowdsec/live.route.ts';
import {
  createSettledMemory,
  openSettledPolls,
} from '../../integrations/crowdsec/settled-polls.ts';
import {
  createLoginFairShare,
  createPolicyIntegration,
  policyEndpoint,
  policyHook,
} from '../../integrations/dovecot/policy.route.ts';
import { createBlockedPage } from '../../integrations/forward-auth/blocked.page.ts';
import { gateRoutes } from '../../integrations/forward-auth/check.route.ts';
import { createPasses, passKeyPurpose } from '../../integrations/forward-auth/pass.ts';
import { feedRoutes } from '../../reputation/blocklists/feeds.route.ts';
import type { PublishedFeeds } from '../../reputation/blocklists/publish.ts';
import { checkRoute } from '../../reputation/check/check.route.ts';
import { openCheck } from '../../reputation/check/check.ts';
import {
  checkBulkEndpoint,
  checkBulkRoute,
  openBulkChecks,
} from '../../reputation/check/check-bulk.route.ts';
import { allMaliciousBy } from '../../reputation/check/score.ts';
import { reportHook, type SharedReportRules } from '../../reputation/reports/report.route.ts';
import { type SharedAssets, staticEndpoint } from '../../web/assets.ts';
import { createCallers } from '../../web/guard/callers.ts';
import { createGuard } from '../../web/guard/guard.ts';
import { type Hook, refusedKeys } from '../../web/guard/hooks.ts';
import { healthRoute } from '../service/health.route.ts';
import type { SharedState } from '../state.ts';

export interface FrontEndMemory extends SharedState {
  readonly geo: SharedArrayBuffer;
  /** Bans of agents: see integrations/crowdsec/ban-table.ts. */
  readonly bans: SharedArrayBuffer;
  /** Heartbeat of the main thread: see core/threads.ts. */
  readonly heartbeat: SharedArrayBuffer;
  /** The database's time, which nodes of a cluster use: see core/clock.ts. */
  readonly time: SharedArrayBuffer | undefined;
  /** Limits per client, counted by all front ends together. */
  readonly limits: LimitMemory;
  readonly integrations: IntegrationMemory;
  readonly marks: MarkMemory;
  /** Board of refused keys: see access/keys/refused-keys.ts. */
  readonly refusals: SharedArrayBuffer;
  readonly reports: SharedReportRules;
}

interface IntegrationMemory {
  /** Memory of `createIntegrationCounters`: a row for each front end. */
  readonly counters: SharedArrayBuffer;
  readonly threads: number;
  /** See integrations/crowdsec/settled-polls.ts. */
  readonly settled: SharedArrayBuffer;
  /** 32 bytes that passes are signed with. Secret. */
  readonly passKey: Uint8Array;
  /** True if TRUSTED_PROXIES names any address. */
  readonly hasProxies: boolean;
  readonly baseUrl: string;
  readonly siteName: string | undefined;
  readonly accent: Accent | undefined;
  /** See `LiveOptions`. */
  readonly captchaFrom: number;
}

/**
 * Opens the memory that front ends read; the main thread's heartbeat and the shared time go on in it until the
 * end.
 */
export function openFrontEndMemory(needs: {
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  readonly config: Pick<
    Config,
    | 'httpThreads'
    | 'trustedProxies'
    | 'baseUrl'
    | 'siteName'
    | 'siteAccent'
    | 'decisionsCaptchaFrom'
  >;
  readonly shared: SharedState;
  readonly geo: SharedArrayBuffer;
  readonly bans: SharedArrayBuffer;
  readonly access: Pick<FrontEndMemory, 'limits' | 'marks' | 'refusals'>;
  /** True if other nodes share the store. */
  readonly isShared: boolean;
  readonly demo: boolean;
}) {
  const { clock, masterKey, config, shared, geo, bans, access, demo } = needs;
  const heartbeat = createHeartbeat(clock);
  const endings = [heartbeat.start()];
  const time = needs.isShared ? shareTime(clock) : undefined;
  if (time !== undefined) endings.push(time.start());
  const integrationCounters = createIntegrationCounters(config.httpThreads);
  const memory: FrontEndMemory = {
    ...shared,
    ...access,
    geo,
    bans,
    heartbeat: heartbeat.buffer,
    time: time?.buffer,
    reports: { allowDocumentation: demo, serverAddresses: machineAddresses() },
    integrations: {
      counters: integrationCounters.buffer,
      threads: config.httpThreads,
      settled: createSettledMemory(),
      passKey: deriveKey(masterKey, passKeyPurpose),
      hasProxies: config.trustedProxies.length > 0,
      baseUrl: config.baseUrl,
      siteName: config.siteName,
      accent: config.siteAccent,
      captchaFrom: config.decisionsCaptchaFrom,
    },
  };
  return {
    memory,
    integrationCounters,
    close(): void {
      for (const end of endings.reverse()) end();
    },
  };
}

export function createFrontEnd(options: {
  memory: FrontEndMemory;
  index: Parameters<typeof openCheck>[0]['index'] &
    Pick<IndexView, 'readPrefix' | 'walk' | 'listNames' | 'sole4'>;
  clock: Clock;
  log: Log;
  /** Left out: nobody is limited. */
  limits?: ClientLimits<ClientLimitName> | undefined;
  /** The number of the front end. The main thread uses 0: it answers no request of these routes. */
  thread?: number;
  /** Returns the version of the list of feeds that the thread serves; left out: it serves none. */
  feedVersion?: () => number | undefined;
  inIndexRead?: IndexRead | undefined;
}) {
  const { memory, index, clock, log } = options;
  const accounts = openAccountsTable(memory.accounts);
  const quotaGuard = createQuotaGuard({
    keys: createKeyCache(openKeyTableReader(memory.keys)),
    accounts,
    quotas: openQuotas({ handle: memory.quotas, accounts, clock }),
    clock,
  });
  const geo = openGeoReader(memory.geo);
  const check = openCheck({ index, geo: createGeoFragments(geo) });
  const callers = createCallers({ limits: options.limits, check, clock });
  const { counters, threads, passKey, hasProxies, baseUrl, siteName, accent } = memory.integrations;
  const counted = createIntegrationCounters(threads, counters);
  const thread = options.thread ?? 0;
  const random = systemRandom();
  const passes = createPasses({ key: passKey, clock, random });
  const admitQuestion = (keyId: string) => callers.takeOrWaitFor('decisions', keyId) === 0;
  // Nothing of what they answer is a page.
  const guard = createGuard({
    quotaGuard,
    callers,
    log,
    renderPage: () => ({ html: '', headers: [] }),
    inIndexRead: options.inIndexRead,
  });
  const count = counted.recorder('dovecot', thread);
  const bans = openBanReader(memory.bans);
  const noteMark = createMarkNoter(memory.marks, clock);
  const recordRefusal = createRefusalRecorder(memory.refusals, clock);
  const shares = createLoginFairShare(clock, Buffer.from(random.bytes(4)).readUInt32BE(0));
  return {
    policy: createPolicyIntegration({ quotaGuard, check, clock, admitQuestion, shares, count }),
    quotaGuard,
    check,
    geo,
    reports: { ...memory.reports, quotaGuard, check, geo, clock },
    guard,
    noteMark,
    recordRefusal,
    /** Answered by front ends; all other routes belong to the main thread. */
    routes: [
      checkRoute({ quotaGuard, check, clock, recordRefusal }),
      checkBulkRoute({
        guard,
        bulkChecks: openBulkChecks({ check, index, geo }),
        clock,
        scheduler: createScheduler(),
        inIndexRead: options.inIndexRead,
      }),
      liveRoute({
        quotaGuard,
        check,
        index,
        clock,
        log,
        bans,
        captchaFrom: memory.integrations.captchaFrom,
        maliciousBy: (entry) => allMaliciousBy(index, memory.contributions, entry, clock.now()),
        isExempt: (entry) =>
          (flagsOf(metaOf(index.records, entry)) &
            (entryFlags.allowlisted | entryFlags.knownGood)) !==
          0,
        admitQuestion,
        recordRefusal,
        count: counted.recorder('decisions', thread),
      }),
      pollRoute({
        quotaGuard,
        callers,
        settled: openSettledPolls(memory.integrations.settled, clock),
        bans,
        version: options.feedVersion ?? (() => undefined),
      }),
      ...gateRoutes({
        check,
        passes,
        clock,
        log,
        blocked: createBlockedPage({ baseUrl, siteName, accent }),
        hasProxies,
        noteMark,
        count: counted.recorder('gate', thread),
      }),
      upRoute(),
      healthRoute(createHeartbeat(clock, memory.heartbeat).silentMs),
    ],
  };
}

export type FrontEnd = ReturnType<typeof createFrontEnd>;

/** This thread refuses keys there, outside of a hot route. */
const withOwnRefusals: ReadonlySet<string> = new Set([checkBulkEndpoint.path, policyEndpoint.path]);

/**
 * Returns the hooks of a front end in their order, the outermost first: what it answers itself, before the main
 * thread is asked.
 * @param inIndexRead for reads that come later than their request
 */
export function frontEndHooks(
  frontEnd: FrontEnd,
  served: () => SharedFiles,
  inIndexRead: IndexRead,
): Hook<Route>[] {
  const own = new Set<Route>(frontEnd.routes);
  const nothing = () => undefined;
  return [
    {
      name: 'index reads',
      appliesTo: (route) => own.has(route),
      onArrival: () => inIndexRead(nothing),
    },
    servedFiles(served),
    ...servedFeeds(served, frontEnd),
    refusedKeys(({ path }) => withOwnRefusals.has(path), frontEnd.recordRefusal),
    policyHook(frontEnd, inIndexRead),
    reportHook(frontEnd.reports, inIndexRead),
  ];
}

// Serves feeds and static files in front ends, from memory that the main thread has filled and
// shares with them. Until it has, and for all that is not there, the main thread is asked.

/** Each part replaces the former. */
export interface SharedFiles {
  readonly feeds?: PublishedFeeds;
  readonly assets?: SharedAssets;
}

function servedFiles(served: () => SharedFiles): Hook<Route> {
  return {
    name: 'static files',
    appliesTo: ({ path }) => path === staticEndpoint.path,
    onRequest(request) {
      const found = served().assets?.get(request.path);
      return found && negotiate(request, found);
    },
  };
}

/** Returns a hook for each feed: its answer is made as in the main thread. */
function servedFeeds(
  served: () => SharedFiles,
  { guard, noteMark }: Pick<FrontEnd, 'guard' | 'noteMark'>,
): Hook<Route>[] {
  const current = () => served().feeds;
  const publisher = { current, first: async () => current() };
  return feedRoutes({ publisher, guard, noteMark }).map((feed) => ({
    name: `feed ${feed.path}`,
    appliesTo: ({ path }) => path === feed.path,
    onRequest: (request, caller) =>
      current() === undefined ? undefined : feed.handle(request, caller),
  }));
}
