/** The routes that only the main thread answers, and how its refusals look. */

import type { Accounts } from '../access/accounts/accounts.ts';
import type { DistributedLimits } from '../access/distributed-limits/distributed-limits.ts';
import type { ApiKeys } from '../access/keys/api-keys.ts';
import { bitsFor } from '../access/keys/key-scopes.ts';
import type { MasterKey } from '../access/keys/master-key.ts';
import type { SiteKeys } from '../access/keys/site-keys.ts';
import type { SpotMark } from '../access/marks/sighting-board.ts';
import type { Sightings } from '../access/marks/sightings.ts';
import { createClientLimits } from '../access/quota/client-limits.ts';
import { type QuotaGuard, quotaKind } from '../access/quota/quota-guard.ts';
import type { Usage } from '../access/quota/usage.ts';
import {
  type ChallengeRouteOptions,
  captchaMedia,
  captchaRoutes,
} from '../captcha/challenge/challenge.route.ts';
import type { Challenges } from '../captcha/challenge/challenge.ts';
import { createFormChallenges } from '../captcha/challenge/form-challenges.route.ts';
import type { Tickets } from '../captcha/challenge/ticket.ts';
import { captchaPageRoutes } from '../captcha/page/captcha-page.route.ts';
import { createCaptchaVisitors } from '../captcha/page/captcha-visitors.route.ts';
import { captchaReceiptRoutes } from '../captcha/receipt/receipt.route.ts';
import type { Receipts } from '../captcha/receipt/receipts.ts';
import { captchaWidgetRoutes } from '../captcha/receipt/widget.route.ts';
import { clientLimits } from '../config/limits.ts';
import { type Config, captchaBounds } from '../config.ts';
import { type ConsoleOf, consoleRoutes } from '../console/console.route.ts';
import type { BoundedTable, BoundedTables } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Log } from '../core/log/log.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Random } from '../core/random.ts';
import type { Preparation } from '../core/work/preparation.ts';
import { createTurns } from '../core/work/turns.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { Systems } from '../geo/systems/systems.ts';
import type { Route } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import {
  type AgentReadOptions,
  agentReadRoutes,
} from '../integrations/agents/agent-reads.route.ts';
import {
  type AgentRouteOptions,
  agentRoutes,
  createAgentCallers,
} from '../integrations/agents/agents.route.ts';
import {
  type BouncerRouteOptions,
  bouncerRoutes,
} from '../integrations/bouncers/bouncers.route.ts';
import { createLoginFailures } from '../integrations/dovecot/failures.ts';
import { policyRoute } from '../integrations/dovecot/policy.route.ts';
import { gateChallengeRoutes } from '../integrations/gate/challenge.route.ts';
import type { Passes } from '../integrations/gate/pass.ts';
import { ipPageRoutes } from '../reputation/address/address.route.ts';
import type { EvidenceReader } from '../reputation/address/evidence/evidence.ts';
import { feedRoutes } from '../reputation/blocklists/feeds.route.ts';
import { feedsPageRoutes } from '../reputation/blocklists/feeds-page.route.ts';
import type { FeedPublisher } from '../reputation/blocklists/publish.ts';
import { apiReadRoutes } from '../reputation/check/api-reads.route.ts';
import type { Check } from '../reputation/check/check.ts';
import { statsRoute } from '../reputation/counts/stats.route.ts';
import type { Sources } from '../reputation/lists/sources.ts';
import type { LatestReports } from '../reputation/radar/latest.ts';
import type { RadarMap } from '../reputation/radar/map/radar-map.ts';
import { radarRoutes } from '../reputation/radar/radar.route.ts';
import { radarNumbers } from '../reputation/radar/radar-numbers.page.ts';
import { openAlertReports } from '../reputation/reports/alert-reports.ts';
import { bulkReportRoute } from '../reputation/reports/bulk/bulk-report.route.ts';
import { reportRoute } from '../reputation/reports/report.route.ts';
import type { ReportStore } from '../reputation/reports/store/report-store.ts';
import type { AnonymousReports } from '../reputation/requests/anonymous-reports.ts';
import type { Removals } from '../reputation/requests/removals.ts';
import { requestRoutes } from '../reputation/requests/requests.route.ts';
import type { AccountAreaOptions } from '../signon/account/account-area.route.ts';
import { outboxRoute } from '../signon/mail/outbox.route.ts';
import type { Signon } from '../signon/open-signon.ts';
import type { Avatars } from '../signon/people/profile/avatars.ts';
import type { Profiles } from '../signon/people/profile/profile-store.ts';
import type { Review } from '../signon/people/review.ts';
import type { SignInLog } from '../signon/sessions/sign-in-log.ts';
import { openPageBuilder, signonEndpoints, signonRoutes } from '../signon/signon.route.ts';
import type { Authorization } from '../signon/sites/authorization.ts';
import type { Consents } from '../signon/sites/consents.ts';
import { profileExchangeRoutes } from '../signon/sites/pages/exchange.route.ts';
import { connectRoutes } from '../site/connect/connect.route.ts';
import { openSamples } from '../site/connect/samples.ts';
import { docsFolder } from '../site/docs/library.ts';
import { looksRoute } from '../site/home/appearance.route.ts';
import { pageRoutes, staticFiles } from '../site/home/home.route.ts';
import { kitPath, kitRoutes } from '../site/kit/kit.route.ts';
import { openKit } from '../site/kit/open-kit.ts';
import { publishedRoutes } from '../site/manifest/published.route.ts';
import type { Assets } from '../web/assets.ts';
import { createCallers } from '../web/guard/callers.ts';
import { createCookies } from '../web/guard/cookies.ts';
import type { FailureNotes } from '../web/guard/endpoint.ts';
import { createGuard, type Guard } from '../web/guard/guard.ts';
import { failureHooks, type Hook, withHooks } from '../web/guard/hooks.ts';
import {
  createPageTools,
  createRenderErrorPage,
  openAssets,
  siteLinks,
} from '../web/page-tools.ts';
import type { RenderErrorPage } from '../web/shape.ts';
import { endpoints } from './endpoints.ts';
import type { ConsoleFigures } from './figures/figures.ts';
import { mainHooks } from './hooks.ts';
import { firstRequests } from './parts/own/first-requests.ts';
import { isProxied, proxiedHost } from './parts/proxied.ts';
import { mayReadMetrics, type Readiness, serviceRoutes } from './service.route.ts';

/** Clients and networks that are remembered, over all limits. */
const countedClientsMax = 65_536;

export interface MainRoutes {
  /** Work for when the server listens. */
  readonly preparations: readonly Preparation[];
  readonly routes: readonly Route[];
  readonly assets: Assets;
  readonly renderPage: RenderErrorPage;
  /** For what is no route of its own: the page of an unknown path. */
  readonly hooks: readonly Hook[];
  /** Limits per client that are remembered. */
  readonly tables: readonly BoundedTable[];
}

export function mainRoutes(options: {
  log: Log;
  config: Config;
  shares: Pick<DistributedLimits, 'room'>;
  clock: Clock;
  metrics: Metrics;
  tables: Pick<BoundedTables, 'add'>;
  index: IpIndex;
  sources: Pick<Sources, 'list'>;
  radar: { readonly map: RadarMap; readonly latest: LatestReports };
  figures: ConsoleFigures;
  /** Called for each error answered by the main thread. */
  onFailure: NonNullable<FailureNotes['failed']>;
  check: Check;
  geo: GeoReader;
  gate: QuotaGuard;
  reports: ReportStore;
  random: Random;
  signon: Signon;
  feeds: FeedPublisher;
  authorization: Authorization;
  profiles: Profiles;
  accounts: Accounts;
  siteKeys: SiteKeys;
  apiKeys: ApiKeys;
  noteKeyUses: AccountAreaOptions['noteKeyUses'];
  ownReports: AccountAreaOptions['ownReports'];
  webhooks: AccountAreaOptions['webhooks'];
  avatars: Avatars;
  consents: Consents;
  review: Review;
  usage: Usage;
  /** For operators: who came in, failed or was held back. */
  signInLog: SignInLog;
  standingOf: AccountAreaOptions['standingOf'];
  catchUp: () => Promise<void>;
  receipts: Receipts;
  challenges: Challenges;
  onChallenge: ChallengeRouteOptions['onChallenge'];
  tickets: Tickets;
  evidence: EvidenceReader;
  removals: Removals;
  anonymousReports: AnonymousReports;
  networkMark: (clientIp: string) => Uint8Array;
  systems: Systems;
  accountOf: (slot: number) => string | undefined;
  passes: Pick<Passes, 'issue'>;
  bouncers: Pick<BouncerRouteOptions, 'stream' | 'uses' | 'ownOf' | 'manual' | 'entriesMaxOf'>;
  agents: Pick<AgentRouteOptions, 'tokens' | 'ban' | 'retract'> &
    Pick<AgentReadOptions, 'isAllowed'>;
  /** The guard of the front-end threads. */
  guard: Guard;
  spotMark: SpotMark;
  sightings: Sightings;
  /** Called for each report that was refused. */
  onRefused: (reason: ErrorCode) => void;
  /** Resolves when the journal event is in memory. */
  catchUpTo: (seq: bigint) => Promise<void>;
  /** See `Reducer.allowChanges`. */
  allowChanges: () => number;
  /** Documentation ranges may be reported. */
  demo: boolean;
  masterKey: MasterKey;
  /** The last part of the address of the page that shows a demo's mails. */
  outboxName: string | undefined;
  /** Canonical addresses of this machine. */
  serverAddresses: readonly string[];
  /** Shown under the address box of the home page. */
  exampleAddresses: readonly string[];
  /** The site key of the widget on the CAPTCHA page; without one the page has no widget. */
  exampleSiteKey: string | undefined;
  readiness: () => Promise<Readiness>;
  console: ConsoleOf;
}): MainRoutes {
  const { config, clock, metrics, readiness, exampleAddresses } = options;
  const limits = config.clientLimitsOn
    ? createClientLimits(clientLimits, options.shares.room('main thread', countedClientsMax))
    : undefined;
  const callers = createCallers({ limits, check: options.check, clock });
  const agents = createAgentCallers({
    gate: options.gate,
    callers,
    tokens: options.agents.tokens,
    uses: options.bouncers.uses,
  });
  const https = config.baseUrl.startsWith('https:');
  const cookies = createCookies(https);
  const captcha = {
    challenges: options.challenges,
    callers,
    visitors: createCaptchaVisitors({
      callers,
      cookies,
      tickets: options.tickets,
      clock,
      limitsOn: config.clientLimitsOn,
    }),
    receipts: options.receipts,
    lifetimeMs: captchaBounds.lifetimeMs,
    onChallenge: options.onChallenge,
  };
  const turns = createTurns(clock.monotonicMs);
  const kit = openKit();
  const assets = openAssets();
  const { outboxName } = options;
  const keepsMails = options.demo && config.smtpUrl === undefined;
  const hasOutbox = keepsMails && outboxName !== undefined && !isProxied(config);
  const radarMode = config.radar ?? (options.demo ? 'public' : 'operators');
  const links = {
    ...siteLinks,
    ...(radarMode === 'public' ? { radar: '/radar' } : {}),
  };
  const radarNow = (frame: Parameters<typeof radarNumbers>[0]) =>
    radarNumbers(frame, { ...options, now: clock.now(), ofIpv4: undefined });
  const tools = createPageTools({
    assets,
    links,
    https,
    origin: config.baseUrl,
    siteName: config.siteName,
    hasOutbox,
  });
  const renderPage = createRenderErrorPage(tools);
  const { log, profiles } = options;
  const prefersGlass = async ({ accountId }: { accountId: string }) =>
    (await profiles.load(accountId))?.liquidGlass ?? false;
  const hooks = mainHooks({
    ...options,
    cookies,
    tools,
    prefersGlass,
    signonEndpoints,
    sessions: options.signon.sessions,
  });
  const notes = {
    error: (facts: object, text: string) => log.error(facts, text),
    failed: failureHooks(hooks),
  };
  const pageBuilder = openPageBuilder({ ...options, log: notes, tools, callers, prefersGlass });
  const guard = createGuard({ gate: options.gate, callers, renderPage, log: notes });
  const challenges = createFormChallenges(captcha);
  const report = openAlertReports({ ...options, turns, allowDocumentation: options.demo });
  const failures = createLoginFailures(clock);
  options.tables.add(failures.table);
  const published = publishedRoutes({
    ...config,
    guard,
    endpoints,
    tools,
    kit: {
      path: kitPath,
      version: kit.version,
      // Read when the manifest is asked for: a copy would make the kit.
      get sha256() {
        return kit.sha256;
      },
    },
  });
  const routes: Route[] = [
    ...pageRoutes({
      guard,
      tools,
      assets,
      clock,
      exampleAddresses,
      check: options.check,
      radar: radarMode === 'public' ? radarNow : undefined,
      secureUrl: config.secureUrl,
    }),
    outboxRoute({
      guard,
      tools,
      baseUrl: config.baseUrl,
      name: outboxName,
      read: hasOutbox ? options.signon.outbox.newest : undefined,
    }),
    ...published.routes,
    ...feedsPageRoutes({
      guard,
      publisher: options.feeds,
      tools,
      feedsUrl: `${config.secureUrl}/feeds`,
      licence: config.feedLicence,
    }),
    // Asked until front ends have the first build: counted where they count.
    ...feedRoutes({ ...options, publisher: options.feeds }),
    ...profileExchangeRoutes({ authorization: options.authorization, guard }),
    statsRoute({ ...options, counts: options.figures.reports, entries: options.figures.entries }),
    ...apiReadRoutes({ ...options, guard, turns, secureUrl: config.secureUrl }),
    ...ipPageRoutes({ ...options, tools, callers, turns, secureUrl: config.secureUrl }),
    ...signonRoutes({ ...options, tools, callers, pageBuilder, challenges }),
    ...requestRoutes({
      ...options,
      pageBuilder,
      callers,
      challenges,
      allowDocumentation: options.demo,
      slotOf: (accountId) => options.standingOf(accountId)?.slot,
      spend: (slot) => options.gate.spend(slot, quotaKind.write, 1),
    }),
    ...radarRoutes({
      ...options,
      pageBuilder,
      turns,
      radar: {
        mode: radarMode,
        ...options.radar,
        isOwner: (request) => mayReadMetrics(request, config.metricsToken, isProxied(config)),
      },
    }),
    ...connectRoutes({
      ...options,
      ...config,
      pageBuilder,
      proxied: proxiedHost(config),
      spoe: config.spoeListen,
      sample: openSamples(docsFolder),
      keys: options.apiKeys,
      ...firstRequests(options),
    }),
    ...consoleRoutes({ ...options, pageBuilder }, options.console),
    ...captchaRoutes({ ...captcha, guard }),
    ...captchaPageRoutes({
      ...captcha,
      tools,
      secureUrl: config.secureUrl,
      siteKey: options.exampleSiteKey,
    }),
    ...gateChallengeRoutes({
      guard,
      challenges,
      assets,
      passes: options.passes,
      media: captchaMedia(captcha),
      asset: staticFiles(assets, tools),
    }),
    ...bouncerRoutes({ ...options, ...options.bouncers, guard, callers, agents }),
    policyRoute({ ...options, guard, failures, report }),
    ...agentRoutes({
      ...options,
      ...options.agents,
      guard,
      callers,
      turns,
      agents,
      report,
    }),
    ...agentReadRoutes({
      guard,
      clock,
      agents,
      ownOf: options.bouncers.ownOf,
      isAllowed: options.agents.isAllowed,
    }),
    reportRoute({ ...options, guard, allowDocumentation: options.demo }),
    ...captchaReceiptRoutes({ ...options, guard, callers }),
    ...captchaWidgetRoutes(guard),
    ...kitRoutes(kit, guard),
    looksRoute({
      guard,
      cookies,
      endpoints,
      baseUrl: config.baseUrl,
      withTyped: pageBuilder.withTyped,
    }),
    bulkReportRoute({
      ...options,
      guard,
      slotOf: (text) => options.gate.authenticate(text, bitsFor('write')),
      turns,
      allowDocumentation: options.demo,
    }),
    ...serviceRoutes({
      guard,
      assets,
      endpoints,
      clock,
      metrics,
      readiness,
      baseUrl: config.baseUrl,
      siteName: config.siteName,
      metricsToken: config.metricsToken,
      isProxied: isProxied(config),
    }),
  ];
  const declared = new Map(endpoints.map((one) => [`${one.method} ${one.path}`, one]));
  return {
    tables: [
      ...(limits === undefined ? [] : [limits.table('client_limits')]),
      ...captcha.visitors.tables,
    ],
    preparations: [...assets.preparations, kit.prepare, ...published.preparations],
    routes: withHooks(routes, hooks, ({ method, path }) => declared.get(`${method} ${path}`)),
    assets,
    renderPage,
    hooks,
  };
}
