/**
 * Opens the modules one after another: what each needs is named here, and what it gives is handed on
 * here and nowhere else: routes to the server, tables and figures to the metrics, its end to the closers.
 */

import type { DistributedLimits } from '../access/quota/distributed-limits.ts';
import { openCaptcha } from '../captcha/module.ts';
import type { BoundedTable, BoundedTables } from '../core/bounded-tables.ts';
import type { Closers } from '../core/closers.ts';
import type { Metrics } from '../core/metrics.ts';
import { createTurns } from '../core/scheduling.ts';
import type { Route } from '../http/router.ts';
import { openCrowdsec } from '../integrations/crowdsec/module.ts';
import { openDnsbl } from '../integrations/dnsbl/module.ts';
import { openDovecot } from '../integrations/dovecot/module.ts';
import { openForwardAuth } from '../integrations/forward-auth/module.ts';
import { openHaproxy } from '../integrations/haproxy/module.ts';
import { createThreadStarter } from '../integrations/thread.ts';
import type { EvidenceReader } from '../reputation/address/evidence.ts';
import { openAddressPages } from '../reputation/address/module.ts';
import { openBlocklists } from '../reputation/blocklists/module.ts';
import type { FeedPublisherOptions } from '../reputation/blocklists/publish.ts';
import { openCheckReads } from '../reputation/check/module.ts';
import { maliciousBy } from '../reputation/check/score.ts';
import { statsRoute } from '../reputation/counts/stats.route.ts';
import { openRadar } from '../reputation/radar/module.ts';
import { openReports } from '../reputation/reports/module.ts';
import { openRequests } from '../reputation/requests/module.ts';
import { openWebhooks } from '../reputation/webhooks/module.ts';
import type { SignonModule } from '../signon/module.ts';
import { isActive } from '../signon/people.ts';
import { openSite } from '../site/module.ts';
import { withHooks } from '../web/guard/hooks.ts';
import { endpoints } from './endpoints.ts';
import type { OpenFigures } from './figures/figures.ts';
import { ownAddresses } from './maintenance.ts';
import { type ConsoleSources, openConsole } from './parts/console.ts';
import type { Data } from './parts/data.ts';
import type { Opening } from './parts/dependencies.ts';
import type { ReputationParts } from './parts/reputation.ts';
import { openWeb } from './parts/web.ts';
import { openPeers } from './peers/module.ts';
import { mayReadMetrics, type Readiness, serviceRoutes } from './service.route.ts';
import type { State } from './state.ts';
import { openFeedThread } from './threads/feed-thread.ts';
import type { FrontEndMemory } from './threads/front-end.ts';

/** A module as the server holds it. */
export interface OpenModule {
  readonly routes?: readonly Route[];
  /** Its bounded tables. */
  readonly tables?: readonly BoundedTable[];
  /** Registers its figures. */
  metrics?(metrics: Metrics): void;
  close?(): Promise<void> | void;
}

/** Takes opened modules in, one after another. They close in reverse, with all others of the closers. */
function createHost(parts: {
  readonly closers: Closers;
  readonly tables: BoundedTables;
  readonly metrics: Metrics;
}) {
  const routes: Route[] = [];
  return {
    routes,
    add<Module extends OpenModule>(module: Module): Module {
      const { close } = module;
      if (close !== undefined) parts.closers.add(close);
      parts.tables.add(...(module.tables ?? []));
      module.metrics?.(parts.metrics);
      routes.push(...(module.routes ?? []));
      return module;
    },
  };
}

export async function openModules(
  opening: Opening,
  parts: {
    readonly data: Data;
    readonly shares: DistributedLimits;
    readonly reputation: ReputationParts;
    readonly signon: SignonModule;
    readonly counted: OpenFigures;
    readonly metrics: Metrics;
    readonly tables: BoundedTables;
    readonly evidence: EvidenceReader;
    readonly publishFeeds: FeedPublisherOptions['onPublished'];
    readonly releaseFeeds: () => void;
    /** Runs an operator's act. */
    readonly onConsole: ConsoleSources['operations'];
    readonly readiness: () => Promise<Readiness>;
    /** Milliseconds since 1970; 0: there is none. */
    readonly newestBackupAt: () => number;
  },
) {
  const { config, clock, random, log, masterKey, demo = false, closers, timings } = opening;
  const { data, shares, reputation, signon, counted, evidence, metrics, tables, readiness } = parts;
  const { figures } = counted;
  const { store, state, maintenance } = data;
  const { access, follower } = state;
  const { frontEnd } = reputation;
  const { gate, check, geo } = frontEnd;
  const { outboxName } = opening;
  const host = createHost({ closers, tables, metrics });
  const turns = createTurns(clock.monotonicMs);
  const serverAddresses = ownAddresses();
  /** Yields the entries that the operator made by hand. */
  function* manualEntries() {
    const { own, owner } = state.entries.contributions;
    for (const node of own) yield owner[node]!;
  }
  const slotOf = (account: string) => access.standingOf(account)?.slot;

  const web = openWeb({
    config,
    clock,
    random,
    log,
    masterKey,
    demo,
    shares,
    check,
    geo,
    gate,
    signon,
    outboxName,
    onFailure: counted.onFailure,
  });
  tables.add(...web.tables);
  const { guard, callers, cookies, tools, assets, pageBuilder, radarMode } = web;

  const captcha = host.add(
    await openCaptcha({
      store,
      clock,
      random,
      log,
      masterKey,
      siteKeys: signon.siteKeys,
      gate,
      guard,
      callers,
      cookies,
      tools,
      config,
      accountOf: access.idOf,
      node: data.member?.id ?? 0,
      throughNodes: (own) => openPeers(opening, own, { member: data.member, tables }),
      exampleSiteKey: opening.exampleSiteKey?.(),
      onChallenge: counted.onChallenge,
      onRendered: (ms) => timings.recorder(config.httpThreads)('render', ms),
    }),
  );
  const webhooks = host.add(
    openWebhooks({
      store,
      maintenance,
      clock,
      random,
      masterKey,
      log,
      index: state.index,
      judge: check.judge,
      async isActive(account) {
        const person = await signon.signon.people.byId(account);
        return person !== undefined && isActive(person);
      },
      allowPrivateTargets: config.sourceAllowPrivate,
    }),
  );
  const radar = host.add(
    openRadar({
      store,
      clock,
      log,
      turns,
      index: state.index,
      check,
      geo,
      figures: counted.figures,
      sources: state.sources,
      position: state.follower.appliedSeq,
      pageBuilder,
      mode: radarMode,
      isOwner: (request) => mayReadMetrics(request, config),
    }),
  );
  const { secureUrl } = config;
  const { reports, systems } = reputation;
  const { idOf: accountOf } = access;
  const { catchUpTo } = follower;
  const { allowChanges } = state.reducer;
  const reads = { check, index: state.index, geo, clock, turns, reports, evidence, secureUrl };
  host.add(openCheckReads({ ...reads, guard, accountOf, catchUpTo }));
  host.add(openAddressPages({ ...reads, tools, callers, systems }));
  const reported = {
    store,
    clock,
    gate,
    check,
    geo,
    reports,
    slotOf,
    catchUpTo,
    serverAddresses,
    allowDocumentation: demo,
  };
  const reporting = host.add(
    openReports({
      ...reported,
      turns,
      guard,
      accountOf,
      onRefused: reputation.refusedReports.count,
    }),
  );
  const { forms: challenges } = captcha;
  host.add(openRequests({ ...reported, masterKey, pageBuilder, challenges, callers }));
  const site = host.add(
    openSite({
      config,
      clock,
      guard,
      pageBuilder,
      cookies,
      tools,
      assets,
      endpoints,
      check,
      radar: radarMode === 'public' ? radar.numbers : undefined,
      exampleAddresses: opening.exampleAddresses ?? [],
      apiKeys: signon.apiKeys,
      sightings: reputation.sightings,
      usage: reputation.usage,
      slotOf,
      noteKeyUses: data.noteKeyUses,
    }),
  );
  const feeds = host.add(
    openBlocklists({
      index: state.index,
      geo,
      store,
      maintenance,
      clock,
      log,
      config,
      guard,
      tools,
      frontEnd,
      openThread: (setup) => openFeedThread({ ...setup, index: state.index, geo: data.geo }),
      position: follower.appliedSeq,
      urgent: allowChanges,
      onPublished: parts.publishFeeds,
      release: parts.releaseFeeds,
    }),
  );
  host.add(
    await openCrowdsec({
      store,
      clock,
      random,
      log,
      masterKey,
      gate,
      guard,
      callers,
      turns,
      index: state.index,
      judge: check.judge,
      maliciousBy: (entry) => maliciousBy(state.index, entry),
      manualEntries,
      bans: data.bans,
      counters: reputation.integrationCounters,
      blocklist: feeds.blocklist,
      accountOf: access.idOf,
      slotOf,
      catchUpTo: follower.catchUpTo,
      allowChanges: state.reducer.allowChanges,
      report: reporting.sendAlerts,
      serverAddresses,
    }),
  );
  host.add(
    openForwardAuth({
      clock,
      random,
      guard,
      assets,
      asset: site.file,
      challenges,
      media: captcha.media,
      passKey: reputation.memory.gate.passKey,
      counters: reputation.integrationCounters,
    }),
  );
  host.add(
    openDovecot({
      clock,
      gate,
      guard,
      judge: check.judge,
      counters: reputation.integrationCounters,
      accountOf: access.idOf,
      report: reporting.sendAlerts,
    }),
  );
  const catchUp = async () => catchUpTo(await store.lastSeq());
  host.add(
    openConsole(opening, {
      operations: parts.onConsole,
      store,
      state,
      signon,
      pageBuilder,
      catchUp,
      ownReports: reporting,
      figures: counted.figures,
      newestBackupAt: parts.newestBackupAt,
    }),
  );
  host.add({
    tables: signon.tables,
    metrics: signon.metrics,
    routes: signon.routes({
      guard,
      gate,
      tools,
      callers,
      pageBuilder,
      challenges,
      outboxName: web.hasOutbox ? outboxName : undefined,
      usage: reputation.usage,
      ownReports: reporting.own,
      webhooks: webhooks.account,
      standingOf: access.standingOf,
      noteKeyUses: data.noteKeyUses,
      catchUp,
    }),
  });
  const routes: Route[] = [
    statsRoute({ guard: frontEnd.guard, clock, counts: figures.reports, entries: figures.entries }),
    ...serviceRoutes({ guard, assets, endpoints, clock, metrics, config, readiness }),
  ];
  const declared = new Map(endpoints.map((one) => [`${one.method} ${one.path}`, one]));
  const all = [...host.routes, ...routes];
  return {
    routes: withHooks(all, web.hooks, ({ method, path }) => declared.get(`${method} ${path}`)),
    /** For what is no route of its own: the page of an unknown path. */
    hooks: web.hooks,
    assets,
    renderPage: web.renderPage,
    /** Work for when the server listens. */
    preparations: [...assets.preparations, ...site.preparations],
    endStreams: radar.endStreams,
    closeCaptcha: captcha.close,
    startFeeds: feeds.start,
    /** Takes in a module without routes that opens when the server listens. */
    add: (module: Omit<OpenModule, 'routes'>) => host.add(module),
  };
}

/** Opens the integrations that listen themselves, which are off until configured. Returns what drains them. */
export async function openIntegrationThreads(
  { config, random, log }: Opening,
  { memory, index }: { readonly memory: FrontEndMemory; readonly index: State['index'] },
  add: (module: Omit<OpenModule, 'routes'>) => void,
): Promise<() => void> {
  const startThread = createThreadStarter({
    script: new URL('./threads/integration.worker.js', import.meta.url),
    setup: { memory, logLevel: config.logLevel },
    index,
    log,
  });
  add(await openDnsbl({ config, random, startThread }));
  const haproxy = await openHaproxy({ config, startThread });
  add(haproxy);
  return haproxy.drain;
}
