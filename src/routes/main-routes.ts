/** The routes that only the main thread answers, and how its refusals look. */

import { createClientLimits } from '../access/client-limits.ts';
import type { Gate } from '../access/gate.ts';
import type { Challenges } from '../captcha/challenge.ts';
import type { Receipts } from '../captcha/receipts.ts';
import { type Config, captchaBounds, clientLimits } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Metrics } from '../core/metrics.ts';
import { createTurns } from '../core/turns.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { RenderProblem } from '../http/message.ts';
import type { Route } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { createBlockCheck } from '../reputation/block-check.ts';
import type { Check } from '../reputation/check.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import type { Authorization } from '../signon/authorization.ts';
import { apiReadRoutes } from './api-reads.ts';
import { bulkReportRoute } from './bulk-report.ts';
import { createCallers } from './callers.ts';
import { captchaRoutes } from './captcha.ts';
import { captchaPageRoutes } from './captcha-page.ts';
import { captchaReceiptRoutes } from './captcha-receipt.ts';
import { captchaWidgetRoutes } from './captcha-widget.ts';
import { checkBlockRoute } from './check-block.ts';
import { clearAddressRoute } from './clear-address.ts';
import { ipPageRoutes } from './ip-page.ts';
import {
  createPageTools,
  createRenderErrorPage,
  openAssets,
  pageRoutes,
  siteLinks,
} from './pages.ts';
import { createRenderProblem } from './problem.ts';
import { profileExchangeRoutes } from './profile-exchange.ts';
import { reportRoute } from './report.ts';
import { type Readiness, serviceRoutes } from './service.ts';

export interface MainRoutes {
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
  authorization: Authorization;
  receipts: Receipts;
  challenges: Challenges;
  accountOf: (slot: number) => string | undefined;
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
  const turns = createTurns(clock);
  const assets = openAssets();
  const https = config.baseUrl.startsWith('https:');
  const tools = createPageTools({ assets, links: siteLinks, https });
  return {
    renderProblem: createRenderProblem(createRenderErrorPage(tools)),
    routes: [
      ...pageRoutes({ tools, assets, secureUrl: config.secureUrl, exampleAddresses }),
      ...profileExchangeRoutes({ authorization: options.authorization, callers }),
      ...apiReadRoutes({ ...options, secureUrl: config.secureUrl }),
      clearAddressRoute(options),
      ...ipPageRoutes({ ...options, tools, callers, secureUrl: config.secureUrl }),
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
      bulkReportRoute({ ...options, turns, allowDocumentation: options.demo }),
      checkBlockRoute({ ...options, turns, blockCheck: createBlockCheck({ ...options, turns }) }),
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
