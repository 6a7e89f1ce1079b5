/**
 * Opens the modules one after another: what each needs is named here, and what it gives is handed on
 * here and nowhere else: routes to the server, tables and figures to the metrics, its end to the closers.
 */

import type { AccessModule } from '../access/module.ts';
import { captchaEndpoints, openCaptcha } from '../captcha/module.ts';
import { consoleEndpoints } from '../console/console.route.ts';
import type { BoundedTable, BoundedTables } from '../core/bounded-tables.ts';
import type { Closers } from '../core/closers.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import type { OutgoingRules } from '../core/outgoing.ts';
import { createScheduler } from '../core/scheduling.ts';
import { openSystems } from '../geo/systems/systems.ts';
import type { Reply } from '../http/request/message.ts';
import { type Route, unknownPath } from '../http/router.ts';
import type { IntegrationCounters } from '../integrations/counters.ts';
import { crowdsecEndpoints, openCrowdsec } from '../integrations/crowdsec/module.ts';
import { openDnsbl } from '../integrations/dnsbl/module.ts';
import { dovecotEndpoints, openDovecot } from '../integrations/dovecot/module.ts';
import { forwardAuthEndpoints, openForwardAuth } from '../integrations/forward-auth/module.ts';
import { openHaproxy } from '../integrations/haproxy/module.ts';
import { createThreadStarter } from '../integrations/thread.ts';
import { addressEndpoints } from '../reputation/address/address.route.ts';
import type { EvidenceReader } from '../reputation/address/evidence.ts';
import { openAddressPages } from '../reputation/address/module.ts';
import { blocklistEndpoints, openBlocklists } from '../reputation/blocklists/module.ts';
import type { FeedNeeds } from '../reputation/blocklists/publish.ts';
import { checkEndpoints, openCheckReads } from '../reputation/check/module.ts';
import { allMaliciousBy, maliciousScore } from '../reputation/check/score.ts';
import { openCounts } from '../reputation/counts/module.ts';
import { statsEndpoint } from '../reputation/counts/stats.route.ts';
import { federationEndpoints } from '../reputation/federation/federation.route.ts';
import { openFederation } from '../reputation/federation/module.ts';
import type { Hostnames } from '../reputation/hostnames.ts';
import { openRadar } from '../reputation/radar/module.ts';
import { radarEndpoints } from '../reputation/radar/radar.route.ts';
import { createAllowlist, createManualEntries } from '../reputation/ranges/operator-ranges.ts';
import { openReports, reportEndpoints } from '../reputation/reports/module.ts';
import { openRequests } from '../reputation/requests/module.ts';
import { requestEndpoints } from '../reputation/requests/requests.route.ts';
import { openWebhooks } from '../reputation/webhooks/module.ts';
import { outboxEndpoint } from '../signon/mail/outbox.route.ts';
import type { SignonModule } from '../signon/module.ts';
import { signonEndpoints } from '../signon/signon.route.ts';
import {
  exchangeByFormEndpoint,
  exchangeEndpoint,
  noticeKeysEndpoint,
} from '../signon/sites/exchange.route.ts';
import { openSite, siteEndpoints } from '../site/module.ts';
import { createCallers } from '../web/guard/callers.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import { type ConsoleNeeds, openConsole } from './console.ts';
import type { Data, ServerContext } from './data.ts';
import type { Counts, Figures } from './figures.ts';
import { openNodes } from './nodes/module.ts';
import { openService, serviceEndpoints } from './service/module.ts';
import { mayReadMetrics } from './service/service.route.ts';
import type { State } from './state.ts';
import { openFeedThread } from './threads/feed-thread.ts';
import type { FrontEnd, FrontEndMemory } from './threads/front-end.ts';
import { openWeb } from './web.ts';

/** Every path of the service. What is published about paths, limits and errors is made of this list. */
export const endpoints: readonly Endpoint[] = [
  ...siteEndpoints,
  ...addressEndpoints,
  ...requestEndpoints,
  ...blocklistEndpoints,
  ...federationEndpoints,
  statsEndpoint,
  ...radarEndpoints,
  ...checkEndpoints,
  ...reportEndpoints,
  ...captchaEndpoints,
  ...forwardAuthEndpoints,
  ...crowdsecEndpoints,
  ...dovecotEndpoints,
  exchangeEndpoint,
  exchangeByFormEndpoint,
  noticeKeysEndpoint,
  outboxEndpoint,
  ...signonEndpoints,
  ...consoleEndpoints,
  ...serviceEndpoints,
];

interface OpenModule {
  readonly routes?: readonly Route[];
  readonly tables?: readonly BoundedTable[];
  /** Totals of what it did since the start, which the figures sample. */
  readonly counts?: Counts;
  metrics?(metrics: Metrics): void;
  close?(): Promise<void> | void;
}

/** Takes opened modules in, one after another. They close in reverse, with all others of the closers. */
export function createModuleRegistry(parts: {
  readonly closers: Closers;
  readonly tables: BoundedTables;
  readonly metrics: Metrics;
  readonly figures: Pick<Figures, 'add'>;
}) {
  const routes: Route[] = [];
  return {
    routes,
    add<Module extends OpenModule>(module: Module): Module {
      const { close, counts } = module;
      if (close !== undefined) parts.closers.add(close);
      parts.tables.add(...(module.tables ?? []));
      if (counts !== undefined) parts.figures.add(counts);
      module.metrics?.(parts.metrics);
      routes.push(...(module.routes ?? []));
      return module;
    },
  };
}

type ModuleRegistry = ReturnType<typeof createModuleRegistry>;

/** The operator's tables and acts, for integrations that may change them. */
function operatorOf(
  needs: Pick<Data, 'store'> & Pick<ServerContext, 'clock' | 'random'>,
  run: ConsoleNeeds['operations']['run'],
) {
  const [entries, allowlist] = [createManualEntries(needs), createAllowlist(needs)];
  return {
    run,
    manualEntries: entries.list,
    manualGroups: entries.groups,
    allowRules: allowlist.list,
    maliciousScore,
  };
}

export async function openModules(
  opening: ServerContext,
  parts: {
    readonly registry: ModuleRegistry;
    readonly tables: BoundedTables;
    readonly metrics: Metrics;
    readonly figures: Figures;
    readonly data: Data;
    readonly access: AccessModule;
    readonly signon: SignonModule;
    readonly memory: FrontEndMemory;
    readonly integrationCounters: IntegrationCounters;
    /** The readers that front ends hold, for the main thread's own look-ups. */
    readonly frontEnd: FrontEnd;
    readonly evidence: EvidenceReader;
    readonly hostnames: Hostnames;
    /** The hosts that webhooks may go to. */
    readonly destinations: OutgoingRules;
    readonly publishFeeds: FeedNeeds['onPublished'];
    readonly releaseFeeds: () => void;
    readonly onConsole: ConsoleNeeds['operations'];
    readonly threads: ConsoleNeeds['threads'];
    /** Milliseconds since 1970; 0: there is none. */
    readonly newestBackupAt: () => number;
  },
) {
  const { config, clock, random, log, masterKey, demo = false, timings, outboxName } = opening;
  const { registry, tables, metrics, figures, data, access, signon, memory, frontEnd } = parts;
  const { store, state, maintenance, geolocate, geoMadeAt } = data;
  const { index } = state;
  const { quotaGuard, check, geo } = frontEnd;
  const { idOf: accountOf, newAddresses, generationOf, standingOf } = state.accountsInMemory;
  const { catchUpTo } = state.follower;
  const { serverAddresses } = memory.reports;
  const scheduler = createScheduler(clock.monotonicMs);
  const slotOf = (account: string) => standingOf(account)?.slot;
  const catchUp = async () => catchUpTo(await store.lastSeq());
  /** Yields the entries that the operator made by hand. */
  function* manualEntries() {
    const { manualNodes, owner } = state.entries.contributions;
    for (const node of manualNodes) yield owner[node]!;
  }

  const web = openWeb({
    clock,
    random,
    log,
    masterKey,
    config,
    demo,
    limits: access.clientLimits,
    check,
    geo,
    quotaGuard,
    signon,
    waiting: () => consoleModule.waiting(),
    outboxName,
    recordRefusal: frontEnd.recordRefusal,
    onFailure: figures.onFailure,
  });
  const { guard, callers, cookies, tools, assets, links, pageBuilder, radarMode } = web;

  const captcha = registry.add(
    await openCaptcha({
      store,
      clock,
      random,
      log,
      masterKey,
      config,
      geo,
      guard,
      quotaGuard,
      callers,
      tools,
      siteKeys: signon.siteKeys,
      cookies,
      accountOf,
      node: data.member?.id ?? 0,
      throughNodes: (own) => openNodes(opening, own, { member: data.member, tables }),
      exampleSiteKey: opening.exampleSiteKey?.(),
      onRendered: (ms) => timings.recorder(config.httpThreads)('render', ms),
    }),
  );
  const counts = registry.add(
    openCounts({ clock, guard: frontEnd.guard, index, reports: state.counting.counts }),
  );
  const webhooks = registry.add(
    openWebhooks({
      store,
      maintenance,
      clock,
      random,
      log,
      masterKey,
      index,
      check,
      isActiveAccount: signon.service.people.isActiveAccount,
      destinations: parts.destinations,
    }),
  );
  const radar = registry.add(
    openRadar({
      store,
      clock,
      log,
      scheduler,
      index,
      check,
      geo,
      pageBuilder,
      figures: { reports: counts.reports, entries: counts.entries, minutes: figures.minutes },
      sources: state.sources,
      appliedSeq: state.follower.appliedSeq,
      mode: radarMode,
      isOwner: (request) => mayReadMetrics(request, config),
    }),
  );
  const reporting = registry.add(
    openReports({
      store,
      maintenance,
      clock,
      random,
      log,
      scheduler,
      check,
      geo,
      guard,
      quotaGuard,
      slotOf,
      catchUpTo,
      allowDocumentation: demo,
      serverAddresses,
      accountOf,
      entries: state.entries,
      newAddresses,
      generationOf,
      onSurvey: counts.onSurvey,
      recordRefusal: frontEnd.recordRefusal,
    }),
  );
  const { reports } = reporting;
  const { evidence, hostnames } = parts;
  const { secureUrl } = config;
  registry.add(
    openCheckReads({
      clock,
      scheduler,
      index,
      check,
      geo,
      guard,
      evidence,
      hostnames,
      reports,
      secureUrl,
      accountOf,
      catchUpTo,
    }),
  );
  const systems = openSystems({
    clock,
    asnMmdbPath: config.geoAsnMmdb,
    onFailure: (err) => log.warn({ err }, 'geo: a network was not looked up'),
  });
  registry.add({ tables: [systems.table], close: () => systems.close() });
  const consoleModule = registry.add(
    openConsole({
      store,
      clock,
      random,
      config,
      state,
      check,
      pageBuilder,
      showAddress: (context, form): Promise<Reply> => addressPages.showOperator(context, form),
      geolocate,
      geoMadeAt,
      operations: parts.onConsole,
      signon,
      catchUp,
      reportCounts: counts.reports,
      figures,
      evidence,
      tables,
      threads: parts.threads,
      accountReports: reporting,
      newestBackupAt: parts.newestBackupAt,
    }),
  );
  const addressPages = registry.add(
    openAddressPages({
      clock,
      scheduler,
      index,
      check,
      geo,
      callers,
      pageBuilder,
      tools,
      evidence,
      hostnames,
      reports,
      secureUrl,
      isOperator: web.isOperator,
      systems,
      geoMadeAt,
      operatorBar: consoleModule.operatorBar,
    }),
  );
  registry.add(
    openRequests({
      store,
      clock,
      masterKey,
      check,
      geo,
      quotaGuard,
      callers,
      pageBuilder,
      slotOf,
      catchUpTo,
      allowDocumentation: demo,
      serverAddresses,
      reports,
      formChallenges: captcha.forms,
    }),
  );
  const hasEntries = () =>
    state.sources.list().some(({ list }) => list === 'seed' || list === 'anon') ||
    state.counting.counts.inAll().reports > 0;
  const site = registry.add(
    openSite({
      clock,
      config,
      check,
      guard,
      pageBuilder,
      tools,
      cookies,
      assets,
      endpoints,
      hasEntries,
      radar: radarMode === 'public' ? radar.numbers : undefined,
      exampleAddresses: opening.exampleAddresses ?? [],
      apiKeys: signon.apiKeys,
      makeKey: (request) => signon.makeKey(request, catchUp),
      sightings: access.sightings,
      siteTryOf: signon.tries.of,
      refusedKeys: access.refusedKeys,
      siteKeys: signon.siteKeys,
      usage: access.usage,
      slotOf,
      vouchedOf: signon.accounts.vouchedOf,
      demo,
      noteKeyUses: access.noteKeyUses,
    }),
  );
  const feeds = registry.add(
    openBlocklists({
      store,
      maintenance,
      clock,
      log,
      config,
      state,
      geo,
      guard,
      tools,
      frontEnd,
      openThread: (setup) =>
        openFeedThread({
          operatorTexts: setup.operatorTexts,
          rowsMax: setup.rowsMax,
          entriesMax: setup.entriesMax,
          index,
          geo: data.geo,
        }),
      hasEntries,
      appliedSeq: state.follower.appliedSeq,
      allowlistVersion: state.reducer.allowlistVersion,
      onPublished: parts.publishFeeds,
      release: parts.releaseFeeds,
    }),
  );
  registry.add(
    openFederation({ store, maintenance, clock, random, log, masterKey, config, guard, state }),
  );
  // Counts in the memory that front ends count in: agents are answered in both places.
  const frontEndCallers = createCallers({ limits: access.frontEndLimits, check, clock });
  registry.add(
    await openCrowdsec({
      store,
      clock,
      random,
      log,
      masterKey,
      config,
      scheduler,
      index,
      guard,
      quotaGuard,
      serverAddresses,
      callers: frontEndCallers,
      judge: check.judge,
      maliciousBy: (entry) =>
        allMaliciousBy(index, state.entries.contributions.handle, entry, clock.now()),
      manualEntries,
      bans: data.bans,
      counters: parts.integrationCounters,
      settled: memory.integrations.settled,
      blocklist: feeds.blocklist,
      accountOf,
      slotOf,
      catchUpTo,
      allowlistVersion: state.reducer.allowlistVersion,
      sendReports: reporting.sendReports,
      operator: operatorOf({ store, clock, random }, parts.onConsole.run),
    }),
  );
  registry.add(
    openForwardAuth({
      clock,
      random,
      guard,
      assets,
      asset: site.file,
      challenges: captcha.forms,
      media: captcha.media,
      passKey: memory.integrations.passKey,
      baseUrl: memory.integrations.baseUrl,
      counters: parts.integrationCounters,
    }),
  );
  registry.add(
    openDovecot({
      clock,
      guard,
      quotaGuard,
      judge: check.judge,
      counters: parts.integrationCounters,
      accountOf,
      sendReports: reporting.sendReports,
    }),
  );
  registry.add(
    signon.openRoutes({
      guard,
      quotaGuard,
      tools,
      callers,
      pageBuilder,
      formChallenges: captcha.forms,
      outboxName: web.hasOutbox ? outboxName : undefined,
      usage: access.usage,
      accountAreaReports: reporting.accountAreaReports,
      webhooks: webhooks.account,
      standingOf,
      noteKeyUses: access.noteKeyUses,
      catchUp,
    }),
  );
  const service = registry.add(
    openService({
      store,
      clock,
      log,
      config,
      state,
      guard,
      assets,
      metrics,
      member: data.member,
      endpoints,
      frontEndRoutes: frontEnd.routes,
    }),
  );
  const routes = web.withHooksAndNotFound(registry.routes, frontEnd.routes, endpoints);
  checkTable([...frontEnd.routes, ...routes], log);
  return {
    /** The main thread's, each with its hooks. */
    routes,
    assets,
    links,
    service,
    /** Work for when the server listens. */
    preparations: [...reporting.preparations, ...assets.preparations, site.prepare],
    prepareSystems: systems.prepare,
    endStreams: radar.endStreams,
    closeCaptcha: captcha.close,
    startFeeds: feeds.start,
  };
}

/** Opens the integrations that listen themselves, which are off until configured. Returns what drains them. */
export async function openIntegrationThreads(
  { config, random, log }: ServerContext,
  {
    registry,
    memory,
    index,
  }: { registry: ModuleRegistry; memory: FrontEndMemory; index: State['index'] },
): Promise<() => void> {
  const startThread = createThreadStarter({
    script: new URL('./threads/integration.worker.js', import.meta.url),
    setup: { memory, logLevel: config.logLevel },
    index,
    log,
  });
  registry.add(await openDnsbl({ config, random, startThread }));
  return registry.add(await openHaproxy({ config, startThread })).drain;
}

/**
 * Compares the table of routes with the declarations at every start. Throws (it is a bug) if a route is not declared,
 * or a declared endpoint has no route.
 */
export function checkTable(table: readonly Route[], log: Pick<Log, 'debug'>): void {
  log.debug({ routes: table.map(({ method, path }) => `${method} ${path}`) }, 'routes');
  const lineOf = ({ who, method, path }: Route | Endpoint) => `${who} ${method} ${path}`;
  const listed = new Set(endpoints.map(lineOf));
  // The route for unknown paths is declared by no endpoint.
  const own = table.filter(({ path }) => path !== unknownPath);
  const served = new Set(own.map(lineOf));
  const unlisted = [...served].filter((line) => !listed.has(line));
  const unserved = [...listed].filter((line) => !served.has(line));
  if (unlisted.length + unserved.length === 0) return;
  throw new Error(`routes not listed: ${unlisted.join(', ')}; not served: ${unserved.join(', ')}`);
}
