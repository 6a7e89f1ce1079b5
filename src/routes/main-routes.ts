/** The routes that only the main thread answers, and how its refusals look. */

import { createClientLimits } from '../access/client-limits.ts';
import type { Gate } from '../access/gate.ts';
import { type Config, clientLimits } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Metrics } from '../core/metrics.ts';
import type { FeedPublisher } from '../feeds/publish.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { RenderProblem } from '../http/message.ts';
import type { Route } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import type { Check } from '../reputation/check.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { feedRoutes } from './feeds.ts';
import { ipPageRoutes } from './ip-page.ts';
import { createPageTools, createRenderErrorPage, openAssets, pageRoutes } from './pages.ts';
import { createRenderProblem } from './problem.ts';
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
  feeds: FeedPublisher;
  accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  catchUpTo: (seq: bigint) => Promise<void>;
  /** Documentation ranges may be reported. */
  demo: boolean;
  /** Canonical addresses of this machine. */
  serverAddresses: readonly string[];
  /** Shown under the address box of the home page. */
  exampleAddresses: readonly string[];
  readiness: () => Promise<Readiness>;
}): MainRoutes {
  const { config, clock, metrics, readiness, exampleAddresses } = options;
  const limits = config.clientLimitsOn ? createClientLimits(clientLimits) : undefined;
  const assets = openAssets();
  const https = config.baseUrl.startsWith('https:');
  const tools = createPageTools({ assets, links: {}, https });
  return {
    renderProblem: createRenderProblem(createRenderErrorPage(tools)),
    routes: [
      ...pageRoutes({ tools, assets, secureUrl: config.secureUrl, exampleAddresses }),
      ...ipPageRoutes({ ...options, tools, limits }),
      ...feedRoutes({ publisher: options.feeds, clock, limits }),
      reportRoute({ ...options, allowDocumentation: options.demo }),
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
