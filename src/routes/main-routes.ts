/** The routes that only the main thread answers, and how its refusals look. */

import type { Accounts } from '../access/accounts.ts';
import { createClientLimits } from '../access/client-limits.ts';
import type { Gate } from '../access/gate.ts';
import type { OwnKeys } from '../access/own-keys.ts';
import type { SiteKeys } from '../access/site-keys.ts';
import type { Usage } from '../access/usage.ts';
import type { Challenges } from '../captcha/challenge.ts';
import type { Receipts } from '../captcha/receipts.ts';
import { type Config, captchaBounds, clientLimits } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Preparation } from '../core/preparation.ts';
import type { Random } from '../core/random.ts';
import { createTurns } from '../core/turns.ts';
import type { FeedPublisher } from '../feeds/publish.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { RenderProblem } from '../http/message.ts';
import type { Route } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { openKit } from '../kit/open.ts';
import type { Check } from '../reputation/check.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import type { Authorization } from '../signon/authorization.ts';
import type { Avatars } from '../signon/avatars.ts';
import type { Consents } from '../signon/consents.ts';
import type { Signon } from '../signon/open.ts';
import type { Profiles } from '../signon/profile-store.ts';
import type { SpaceOptions } from './account/space.ts';
import { apiReadRoutes } from './api-reads.ts';
import { bulkReportRoute } from './bulk-report.ts';
import { createCallers } from './callers.ts';
import { captchaRoutes } from './captcha.ts';
import { captchaPageRoutes } from './captcha-page.ts';
import { captchaReceiptRoutes } from './captcha-receipt.ts';
import { captchaWidgetRoutes } from './captcha-widget.ts';
import { feedRoutes } from './feeds.ts';
import { feedsPageRoutes } from './feeds-page.ts';
import { ipPageRoutes } from './ip-page.ts';
import { kitPath, kitRoutes } from './kit.ts';
import {
  createPageTools,
  createRenderErrorPage,
  openAssets,
  pageRoutes,
  siteLinks,
} from './pages.ts';
import { createRenderProblem } from './problem.ts';
import { profileExchangeRoutes } from './profile-exchange.ts';
import { publishedRoutes } from './published/routes.ts';
import { reportRoute } from './report.ts';
import { type Readiness, serviceRoutes } from './service.ts';
import { signonRoutes } from './signon/routes.ts';

export interface MainRoutes {
  /** For when the server listens. */
  readonly preparations: readonly Preparation[];
  readonly routes: readonly Route[];
  readonly renderProblem: RenderProblem;
}

export function mainRoutes(options: {
  config: Config;
  clock: Clock;
  metrics: Metrics;
  index: IpIndex;
  check: Check;
  geo: GeoReader;
  gate: Gate;
  reports: ReportStore;
  random: Random;
  signon: Signon;
  feeds: FeedPublisher;
  authorization: Authorization;
  profiles: Profiles;
  accounts: Accounts;
  siteKeys: SiteKeys;
  ownKeys: OwnKeys;
  avatars: Avatars;
  consents: Consents;
  usage: Usage;
  standingOf: SpaceOptions['standingOf'];
  settle: () => Promise<void>;
  receipts: Receipts;
  challenges: Challenges;
  accountOf: (slot: number) => string | undefined;
  /** Told of each report that was not taken. */
  onRefused: (reason: ErrorCode) => void;
  /** Resolves when the journal event is in memory. */
  catchUpTo: (seq: bigint) => Promise<void>;
  /** See `Fold.allowChanges`. */
  allowChanges: () => number;
  /** Documentation ranges may be reported. */
  demo: boolean;
  /** Canonical addresses of this machine. */
  serverAddresses: readonly string[];
  /** Shown under the address box of the home page. */
  exampleAddresses: readonly string[];
  /** Of the widget on the CAPTCHA page, which has none without it. */
  exampleSiteKey: string | undefined;
  readiness: () => Promise<Readiness>;
}): MainRoutes {
  const { config, clock, metrics, readiness, exampleAddresses } = options;
  const limits = config.clientLimitsOn ? createClientLimits(clientLimits) : undefined;
  const callers = createCallers({ limits, check: options.check, clock });
  const captcha = {
    challenges: options.challenges,
    callers,
    receipts: options.receipts,
    lifetimeMs: captchaBounds.lifetimeMs,
  };
  const turns = createTurns(clock.monotonicMs);
  const kit = openKit();
  const assets = openAssets();
  const https = config.baseUrl.startsWith('https:');
  const tools = createPageTools({ assets, links: siteLinks, https });
  return {
    preparations: [...assets.preparations, kit.prepare],
    renderProblem: createRenderProblem(createRenderErrorPage(tools)),
    routes: [
      ...pageRoutes({ tools, assets, secureUrl: config.secureUrl, exampleAddresses }),
      ...publishedRoutes({
        ...config,
        tools,
        limits: clientLimits,
        kit: {
          path: kitPath,
          version: kit.version,
          // Read when the manifest is asked for: a copy would make the kit.
          get sha256() {
            return kit.sha256;
          },
        },
      }),
      ...feedsPageRoutes({
        publisher: options.feeds,
        tools,
        feedsUrl: `${config.secureUrl}/feeds`,
        licence: config.feedLicence,
      }),
      ...feedRoutes({ publisher: options.feeds, callers }),
      ...profileExchangeRoutes({ authorization: options.authorization, callers }),
      ...apiReadRoutes({ ...options, turns, secureUrl: config.secureUrl }),
      ...ipPageRoutes({ ...options, tools, callers, secureUrl: config.secureUrl }),
      ...signonRoutes({ ...options, tools, callers, captcha }),
      ...captchaRoutes(captcha),
      ...captchaPageRoutes({
        ...captcha,
        tools,
        secureUrl: config.secureUrl,
        siteKey: options.exampleSiteKey,
      }),
      reportRoute({ ...options, allowDocumentation: options.demo }),
      ...captchaReceiptRoutes(options),
      ...captchaWidgetRoutes(),
      ...kitRoutes(kit),
      bulkReportRoute({ ...options, turns, allowDocumentation: options.demo }),
      ...serviceRoutes({
        clock,
        metrics,
        metricsToken: config.metricsToken,
        baseUrl: config.baseUrl,
        readiness,
      }),
    ],
  };
}
