/**
 * The site: home page with styles and scripts, screens to connect with, documentation, manifest, OpenAPI
 * and the kit. All that is published is made of declarations, tables and the samples of docs/.
 */

import type { ApiKeys } from '../access/keys/api-keys.ts';
import { keyScopes } from '../access/keys/key-format.ts';
import type { RefusedKeys } from '../access/keys/refused-keys.ts';
import type { SiteKeys } from '../access/keys/site-keys.ts';
import type { Sightings } from '../access/marks.ts';
import type { Voucher } from '../access/quota/points.ts';
import type { Usage } from '../access/quota/usage.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { addressRules, proxiedHost } from '../http/request/client-ip.ts';
import type { PlainRoute } from '../http/router.ts';
import type { PageBuilder } from '../signon/sessions/onward.route.ts';
import { type Assets, staticEndpoint } from '../web/assets.ts';
import type { Cookies } from '../web/guard/cookies.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import type { Guard } from '../web/guard/guard.ts';
import type { PageTools } from '../web/page-tools.ts';
import { connectScreens } from './connect/connect.page.tsx';
import { type ConnectOptions, connectEndpoints, connectRoutes } from './connect/connect.route.ts';
import { openSamples, openTargets, type TargetFacts } from './connect/targets.ts';
import { docsEndpoints } from './docs/docs.route.ts';
import { docsFolder } from './docs/library.ts';
import {
  appearanceEndpoint,
  appearanceRoute,
  faviconEndpoint,
  type HomeOptions,
  homeEndpoint,
  pageRoutes,
  staticFiles,
} from './home/home.route.ts';
import { kitEndpoint, kitPath, kitRoutes, pluginEndpoint } from './kit/kit.route.ts';
import { openKit } from './kit/open-kit.ts';
import { publishedEndpoints, publishedRoutes } from './manifest/published.route.ts';

export const siteEndpoints: readonly Endpoint[] = [
  homeEndpoint,
  staticEndpoint,
  faviconEndpoint,
  appearanceEndpoint,
  ...connectEndpoints,
  ...docsEndpoints,
  ...publishedEndpoints,
  kitEndpoint,
  pluginEndpoint,
];

export function openSite(needs: {
  readonly config: Config;
  readonly clock: Clock;
  readonly guard: Guard;
  readonly pageBuilder: PageBuilder;
  readonly cookies: Cookies;
  readonly tools: PageTools;
  readonly assets: Assets;
  /** All of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly check: HomeOptions['check'];
  readonly hasEntries: HomeOptions['hasEntries'];
  readonly radar: HomeOptions['radar'];
  /** Shown under the address box of the home page. */
  readonly exampleAddresses: readonly string[];
  readonly apiKeys: ApiKeys;
  readonly makeKey: ConnectOptions['keys']['create'];
  readonly sightings: Sightings;
  readonly siteTryOf: ConnectOptions['siteTryOf'];
  readonly refusedKeys: RefusedKeys;
  readonly siteKeys: SiteKeys;
  readonly usage: Usage;
  readonly slotOf: (accountId: string) => number | undefined;
  readonly vouchedOf: (accountId: string) => Promise<Voucher>;
  readonly demo: boolean;
  /** Resolves when the last uses of keys are known as they are, or were a few seconds ago. */
  readonly noteKeyUses: () => Promise<void>;
}) {
  const { config, clock, guard, pageBuilder, cookies, tools, assets, endpoints } = needs;
  const { apiKeys, usage, slotOf } = needs;
  const { baseUrl, secureUrl } = config;
  const kit = openKit(config);
  const facts: TargetFacts = {
    baseUrl,
    secureUrl,
    proxied: proxiedHost(config),
    trustsLoopback: addressRules(config.trustedProxies).isTrusted('127.0.0.1'),
    dnsZone: config.dnsZone,
    dnsListen: config.dnsListen,
    spoe: config.spoeListen,
    sample: openSamples(docsFolder),
  };
  const published = publishedRoutes({
    screens: (language) => connectScreens(openTargets(facts), language),
    guard,
    endpoints,
    tools,
    baseUrl,
    secureUrl,
    dnsZone: config.dnsZone,
    spoeListen: config.spoeListen,
    kit: {
      path: kitPath,
      version: kit.version,
      // Read when the manifest is asked for: a copy would make the kit.
      get sha256() {
        return kit.sha256;
      },
    },
  });
  const routes: readonly PlainRoute[] = [
    ...pageRoutes({
      guard,
      tools,
      assets,
      clock,
      secureUrl,
      exampleAddresses: needs.exampleAddresses,
      check: needs.check,
      hasEntries: needs.hasEntries,
      radar: needs.radar,
    }),
    ...published,
    ...connectRoutes({
      pageBuilder,
      ...facts,
      demo: needs.demo,
      keys: { list: apiKeys.list, reveal: apiKeys.reveal, create: needs.makeKey },
      siteKeys: needs.siteKeys,
      refusedKeys: needs.refusedKeys,
      sightings: needs.sightings,
      siteTryOf: needs.siteTryOf,
      vouchedOf: needs.vouchedOf,
      async isKeySeen(accountId, scope) {
        await needs.noteKeyUses();
        const keys = await apiKeys.list(accountId);
        const newest = keys.findLast(({ scopes }) => (scopes & keyScopes[scope]) !== 0);
        return newest?.use !== undefined;
      },
      answeredOf(accountId, kind) {
        const slot = slotOf(accountId);
        if (slot === undefined) return 0;
        if (kind === 'all') return usage.answered(slot);
        return kind === 'reports' ? usage.reported(slot) : usage.checked(slot);
      },
    }),
    ...kitRoutes(kit, guard),
    appearanceRoute({ guard, cookies, endpoints, baseUrl, withTyped: pageBuilder.withTyped }),
  ];
  return {
    routes,
    /** Answers a path of /static/, for those who show it under another one. */
    file: staticFiles(assets, tools),
    /** Work for when the server listens: the archive for sites. */
    prepare: kit.prepare,
  };
}
