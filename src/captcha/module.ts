/**
 * The CAPTCHA: challenges that people solve, the pages and calls around them, and receipts that a site
 * redeems. The first challenge has the stock rendered and the voices made, in the background: a server
 * that gives none has neither threads nor pictures.
 */

import { deriveKey, type MasterKey } from '../access/keys/master-key.ts';
import { allowsHost, type SiteKeys } from '../access/keys/site-keys.ts';
import type { QuotaGuard } from '../access/quota/quota.ts';
import { captchaBounds } from '../config.ts';
import type { AccountOf } from '../contracts/reputation.ts';
import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { createTotals, type Metrics } from '../core/metrics.ts';
import type { Random } from '../core/random.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { PlainRoute } from '../http/router.ts';
import { restoredKey } from '../storage/keys.ts';
import type { Store } from '../storage/store.ts';
import type { Callers } from '../web/guard/callers.ts';
import type { Cookies } from '../web/guard/cookies.ts';
import type { Endpoint } from '../web/guard/endpoint.ts';
import type { Guard } from '../web/guard/guard.ts';
import type { PageTools } from '../web/page-tools.ts';
import * as challenge from './challenge/challenge.route.ts';
import {
  type ChallengeEvent,
  captchaMedia,
  captchaRoutes,
  createFormChallenges,
} from './challenge/challenge.route.ts';
import { type Challenges, createChallenges } from './challenge/challenge.ts';
import { createTickets } from './challenge/ticket.ts';
import * as page from './page/captcha-page.route.ts';
import { createCaptchaVisitors } from './page/captcha-visitors.route.ts';
import * as receipt from './receipt.route.ts';
import { createReceipts, receiptKeyPurpose } from './receipts.ts';
import { createRenderPool, openRenderThreads, type Renderer } from './render-pool.ts';
import { createLevels } from './work/levels.ts';
import * as work from './work/work.route.ts';
import { createWork, workKeyPurposes } from './work/work.ts';

export const captchaEndpoints: readonly Endpoint[] = [
  page.captchaMovedEndpoint,
  page.captchaPageEndpoint,
  page.captchaAnswerEndpoint,
  challenge.newChallenge,
  challenge.challengePicture,
  challenge.challengeSound,
  challenge.verifyChallenge,
  work.startEndpoint,
  work.workEndpoint,
  work.altchaEndpoint,
  page.widgetEndpoint,
  page.namesEndpoint,
  page.workFileEndpoint,
  receipt.receiptEndpoint,
  receipt.siteverifyEndpoint,
  receipt.siteverifyByQueryEndpoint,
];

export async function openCaptcha(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly masterKey: MasterKey;
  readonly siteKeys: SiteKeys;
  readonly quotaGuard: QuotaGuard;
  readonly guard: Guard;
  readonly geo: GeoReader;
  readonly callers: Callers;
  readonly cookies: Cookies;
  readonly tools: PageTools;
  readonly accountOf: AccountOf;
  readonly config: {
    readonly captchaThreads: number;
    readonly clientLimits: boolean;
    readonly secureUrl: string;
  };
  /** The number of this node where several share a store; tickets carry it. */
  readonly node: number;
  /** Returns the challenges of all nodes, with this node's own among them. */
  readonly throughNodes: (own: Challenges) => Promise<Challenges>;
  /** With it the page shows the widget live. */
  readonly exampleSiteKey: string | undefined;
  /** Called for each batch of images and each clip: milliseconds from the request to the result. */
  readonly onRendered: (ms: number) => void;
}) {
  const { store, clock, random, log, masterKey, siteKeys, guard, callers, cookies } = needs;
  const { captchaThreads: threads, clientLimits: limitsOn, secureUrl } = needs.config;
  // Waiting requests and a batch for the stock on each thread, and one more as it is replaced.
  const queueMax = captchaBounds.waitingMax + 2 * threads;
  const renderer = timed(openRenderThreads({ threads, queueMax }), needs.onRendered);
  const pool = createRenderPool({ renderer, random, log, ...captchaBounds });
  const tickets = createTickets({ clock, random, node: needs.node });
  const sharesOn = limitsOn;
  const own = createChallenges({ pool, tickets, random, sharesOn, ...captchaBounds });
  const stats = () => ({ ...own.stats(), ...pool.stats() });
  let closing: Promise<void> | undefined;
  let isWarm = false;

  /** Voices take a second of work: made for the first who may listen, not for who never does. */
  function warmUp(): void {
    if (isWarm) return;
    isWarm = true;
    pool.fill();
    renderer.warmUp().catch((error: unknown) => {
      if (!closing)
        log.warn({ err: error }, 'captcha: voices not loaded, will retry with the next clip');
    });
  }

  const challenges = await needs.throughNodes({
    ...own,
    issue(request) {
      warmUp();
      return own.issue(request);
    },
  });
  const { lifetimeMs } = captchaBounds;
  // A restored store does not know what was used since its backup: what was signed before has another key.
  const restored = (await store.get(restoredKey()))?.value;
  const since = restored === undefined ? '' : ` ${Buffer.from(restored).toString('hex')}`;
  const keyFor = (purpose: string) => deriveKey(masterKey, `${purpose}${since}`);
  const [workKey, workAnswerKey] = workKeyPurposes;
  const proofOfWork = createWork({
    store,
    clock,
    random,
    keys: [keyFor(workKey), keyFor(workAnswerKey)],
    lifetimeMs,
  });
  const levels = createLevels({ callers, geo: needs.geo, clock, limitsOn });
  const receipts = createReceipts({
    store,
    clock,
    random,
    signingKey: keyFor(receiptKeyPurpose),
    site: siteKeys.find,
    allows: allowsHost,
    sitesOf: siteKeys.ofAccount,
    work: proofOfWork,
  });
  const visitors = createCaptchaVisitors({ callers, cookies, tickets, clock, limitsOn });
  const challengeCounts = createTotals<ChallengeEvent>();
  const parts = {
    challenges,
    callers,
    visitors,
    receipts,
    levels,
    work: proofOfWork,
    findSite: siteKeys.find,
    lifetimeMs,
    onChallenge: challengeCounts.count,
  };
  const routes: readonly PlainRoute[] = [
    ...captchaRoutes({ ...parts, guard }),
    ...work.workRoutes({ ...parts, guard }),
    ...page.captchaPageRoutes({
      ...parts,
      tools: needs.tools,
      secureUrl,
      siteKey: needs.exampleSiteKey,
    }),
    ...receipt.captchaReceiptRoutes({
      quotaGuard: needs.quotaGuard,
      guard,
      receipts,
      callers,
      accountOf: needs.accountOf,
    }),
    ...page.captchaWidgetRoutes(guard),
  ];
  const { openMax, heldBytesMax, tokensMax, waitingMax } = captchaBounds;
  const tables: readonly BoundedTable[] = [
    { name: 'captcha_open', used: () => stats().open, limit: openMax },
    { name: 'captcha_bytes', used: () => stats().heldBytes, limit: heldBytesMax },
    { name: 'captcha_tokens', used: () => stats().tokens, limit: tokensMax },
    { name: 'captcha_waiting', used: () => stats().waiting, limit: waitingMax },
    ...visitors.tables,
    levels.table,
    proofOfWork.table,
  ];
  return {
    routes,
    tables,
    counts: { challenges: challengeCounts.read },
    forms: createFormChallenges(parts),
    /** Picture and sound, for those who show challenges under other paths. */
    media: captchaMedia(parts),
    metrics: (metrics: Metrics) =>
      registerMetrics(metrics, () => ({ ...stats(), workStock: proofOfWork.stock() })),
    /** Refuses the requests that still wait for an image or a clip. A second call waits for the first. */
    close(): Promise<void> {
      closing ??= pool.close();
      return closing;
    },
  };
}

function timed<T extends Renderer>(renderer: T, onRendered: (ms: number) => void): T {
  async function time<T>(work: Promise<T>): Promise<T> {
    const startMs = performance.now();
    const done = await work;
    onRendered(performance.now() - startMs);
    return done;
  }
  return {
    ...renderer,
    images: (profile, seeds) => time(renderer.images(profile, seeds)),
    clip: (seed, language) => time(renderer.clip(seed, language)),
  };
}

type Stats = ReturnType<Challenges['stats']> &
  ReturnType<ReturnType<typeof createRenderPool>['stats']> & { readonly workStock: number };

function registerMetrics(metrics: Metrics, stats: () => Stats): void {
  const gauge = (name: string, help: string, read: (stats: Stats) => number) =>
    metrics.gauge(`portcullis_captcha_${name}`, help, () => read(stats()));
  const counter = (name: string, help: string, read: (stats: Stats) => number) =>
    metrics.counterBy(`portcullis_captcha_${name}_total`, help, [], () => [[{}, read(stats())]]);
  gauge('stock', 'Images rendered ahead.', ({ stock }) => stock);
  gauge('stock_bytes', 'Bytes of the images rendered ahead.', ({ stockBytes }) => stockBytes);
  gauge('work_stock', 'Keys of proof of work derived ahead.', ({ workStock }) => workStock);
  gauge('waiting', 'Images and clips being waited for.', ({ waiting }) => waiting);
  gauge('open', 'Challenges that can still be answered.', ({ open }) => open);
  gauge('tokens', 'Tokens remembered, the used ones included.', ({ tokens }) => tokens);
  gauge('held_bytes', 'Images and clips of open challenges.', ({ heldBytes }) => heldBytes);
  counter('served', 'Images and clips given to a challenge.', ({ served }) => served);
  counter('refused', 'Images and clips refused because too many waited.', (s) => s.refused);
  counter('evicted', 'Challenges taken out before their time by a cap.', (s) => s.evicted);
  counter('over_share', "Requests refused because their network's share was full.", (s) => {
    return s.overShare;
  });
}
