/** The ground of all routes: the guard, the page builder, the tools of pages and the hooks. */

import type { MasterKey } from '../../access/keys/master-key.ts';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import { clientLimits } from '../../config/limits.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { isProxied } from '../../http/request/client-ip.ts';
import type { Check } from '../../reputation/check/check.ts';
import type { SignonModule } from '../../signon/module.ts';
import { openPageBuilder } from '../../signon/signon.route.ts';
import { createCallers } from '../../web/guard/callers.ts';
import { createCookies } from '../../web/guard/cookies.ts';
import type { FailureNotes } from '../../web/guard/endpoint.ts';
import { createGuard } from '../../web/guard/guard.ts';
import { failureHooks } from '../../web/guard/hooks.ts';
import {
  createPageTools,
  createRenderErrorPage,
  openAssets,
  siteLinks,
} from '../../web/page-tools.ts';
import { mainHooks } from '../hooks.ts';

/** Clients and networks that are remembered, over all limits. */
const countedClientsMax = 65_536;

export function openWeb(needs: {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  readonly demo: boolean;
  readonly shares: Pick<DistributedLimits, 'room'>;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly gate: QuotaGuard;
  readonly signon: SignonModule;
  /** The last part of the address of the page that shows a demo's mails. */
  readonly outboxName: string | undefined;
  /** Called for each error answered by the main thread. */
  readonly onFailure: NonNullable<FailureNotes['failed']>;
}) {
  const { config, clock, random, log, masterKey, demo, geo } = needs;
  const { signon, profiles, signInLog } = needs.signon;
  const limits = config.clientLimitsOn
    ? createClientLimits(clientLimits, needs.shares.room('main thread', countedClientsMax))
    : undefined;
  const callers = createCallers({ limits, check: needs.check, clock });
  const https = config.baseUrl.startsWith('https:');
  const cookies = createCookies(https);
  const assets = openAssets();
  const keepsMails = demo && config.smtpUrl === undefined;
  const hasOutbox = keepsMails && needs.outboxName !== undefined && !isProxied(config);
  const radarMode = config.radar ?? (demo ? 'public' : 'operators');
  const tools = createPageTools({
    assets,
    links: radarMode === 'public' ? { ...siteLinks, radar: '/radar' } : siteLinks,
    https,
    origin: config.baseUrl,
    siteName: config.siteName,
    hasOutbox,
  });
  const renderPage = createRenderErrorPage(tools);
  const prefersGlass = async ({ accountId }: { accountId: string }) =>
    (await profiles.load(accountId))?.liquidGlass ?? false;
  const hooks = mainHooks({
    demo,
    config,
    cookies,
    tools,
    prefersGlass,
    signInLog,
    sessions: signon.sessions,
    onFailure: needs.onFailure,
  });
  const notes = {
    error: (facts: object, text: string) => log.error(facts, text),
    failed: failureHooks(hooks),
  };
  return {
    callers,
    cookies,
    assets,
    tools,
    renderPage,
    hooks,
    hasOutbox,
    radarMode,
    guard: createGuard({ gate: needs.gate, callers, renderPage, log: notes }),
    pageBuilder: openPageBuilder({
      config,
      log: notes,
      random,
      clock,
      masterKey,
      tools,
      callers,
      geo,
      signon,
      prefersGlass,
    }),
    /** Limits per client that are remembered. */
    tables: limits === undefined ? [] : [limits.table('client_limits')],
  } as const;
}

export type Web = ReturnType<typeof openWeb>;
