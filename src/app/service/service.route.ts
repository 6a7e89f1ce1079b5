/**
 * Answers what operators, crawlers and browsers ask of the service itself: readiness, metrics,
 * robots, security.txt, the page to change a password, the web app manifest.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { logoName } from '../../config/logo.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import { fail } from '../../core/result.ts';
import { count } from '../../core/schema.ts';
import { dayMs } from '../../core/time.ts';
import { forwardingHeaders, isFromThisMachine, isProxied } from '../../http/request/client-ip.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { groupOfList } from '../../reputation/lists/sources.ts';
import { type MemoryVerdict, memoryVerdicts } from '../../storage/nodes/digests.ts';
import type { Membership } from '../../storage/nodes/nodes.ts';
import { type Store, StoreUnavailableError } from '../../storage/store.ts';
import type { Assets } from '../../web/assets.ts';
import { type Endpoint, publicFileEndpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { translationsFor } from '../../web/language.ts';
import { webManifestPath } from '../../web/layout/layout.tsx';
import { errorSchemas, jsonAnswer, media } from '../../web/openapi.ts';
import { failureBody, jsonReplyOf, jsonType, noStore, textType } from '../../web/shape.ts';
import type { State } from '../state.ts';

/** Load balancers wait a few seconds for /readyz, so a store that takes longer counts as out of reach. */
const headMsMax = 1_000;

export async function readinessOf(
  state: Pick<State, 'follower' | 'sources' | 'index'>,
  store: Pick<Store, 'lastSeq' | 'writeState'>,
  clock: Clock,
  isDraining: boolean,
  member?: Pick<Membership, 'memory' | 'isOutdated'>,
): Promise<Readiness> {
  const { follower } = state;
  const found = store.lastSeq().catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) return undefined;
    throw error;
  });
  // A database may hold its connections and say nothing, as behind a network that drops what is sent.
  const lastSeq = await Promise.race([found, sleep(headMsMax, undefined, { ref: false })]);
  const staleMs = lastSeq === undefined ? Math.max(1, follower.staleMs()) : 0;
  const behind = Number((lastSeq ?? 0n) - follower.appliedSeq());
  // Lists of good addresses, and groups of networks that the operator named, say nothing about the age of the
  // lists of bad ones.
  const lists = state.sources
    .list()
    .filter((one) => one.list !== 'good' && groupOfList(one) === undefined);
  const newest = Math.max(...lists.map((source) => source.refreshedAtMs));
  return {
    // A start waits until memory holds what the snapshot or the checkpoint has.
    indexLoaded: follower.isFollowing(),
    writable:
      store.writeState().available && lastSeq !== undefined && member?.isOutdated() !== true,
    draining: isDraining,
    entries: state.index.size(),
    behind: Math.max(0, behind),
    newestListAgeSeconds: Number.isFinite(newest)
      ? Math.max(0, Math.round((clock.now() - newest) / 1_000))
      : null,
    ...(member && {
      staleSeconds: Math.ceil(staleMs / 1_000),
      memory: member.memory(),
      outdated: member.isOutdated(),
    }),
  };
}

/**
 * The facts that /readyz reports. Ready means loaded, writable and not about to stop. A node with a
 * shared database is ready without it for a while: else all nodes would be taken out at once, while
 * their checks go on.
 */
export interface Readiness {
  readonly indexLoaded: boolean;
  readonly writable: boolean;
  /** The server was asked to stop. */
  readonly draining: boolean;
  readonly entries: number;
  /** Journal events not yet in memory. */
  readonly behind: number;
  /** Age of the newest list, seconds; null when no list is loaded. */
  readonly newestListAgeSeconds: number | null;
  /** Seconds for which the shared database has been out of reach; only on a node of a cluster. */
  readonly staleSeconds?: number;
  /** This node's memory compared with the others'. A node that is outvoted is not ready. */
  readonly memory?: MemoryVerdict;
  /** True if this node's program is too old for what the other nodes write: it will not be ready again. */
  readonly outdated?: boolean;
}

/** Beyond it a node's memory is too old to be asked. */
const staleSecondsMax = 15 * 60;

const readinessBody = v.strictObject({
  ready: v.boolean(),
  indexLoaded: v.boolean(),
  writable: v.boolean(),
  draining: v.boolean(),
  entries: count,
  behind: count,
  newestListAgeSeconds: v.nullable(v.pipe(v.number(), v.minValue(0))),
  staleSeconds: v.optional(count),
  memory: v.optional(v.picklist(memoryVerdicts)),
  outdated: v.optional(v.boolean()),
});

export const readinessEndpoint = publicFileEndpoint('/readyz', {
  isProbe: true,
  shape: 'api',
  errors: ['store_unavailable'],
  docs: {
    id: 'readiness',
    tag: 'Service',
    summary: 'Whether the service is up to date, can write and is not about to stop; 503 when not.',
    answers: { 200: jsonAnswer('Ready.', readinessBody) },
    refusals: media(v.union([readinessBody, errorSchemas.Errors])),
    schemas: { Readiness: readinessBody },
  },
});
export const metricsEndpoint = publicFileEndpoint('/metrics', {
  isProbe: true,
  who: 'operator',
  headers: ['authorization', ...forwardingHeaders],
  robots: 'disallow',
  docs: 'text',
});
export const robotsEndpoint = publicFileEndpoint('/robots.txt', { docs: 'text' });
export const securityTxtEndpoint = publicFileEndpoint('/.well-known/security.txt', {
  docs: 'text',
});
/** Password managers ask here (W3C, A Well-Known URL for Changing Passwords). */
export const changePasswordEndpoint = publicFileEndpoint('/.well-known/change-password', {
  docs: 'text',
});
/**
 * Password managers ask here where passkeys are made and managed (W3C, A Well-Known URL for Relying Party
 * Passkey Endpoints).
 */
export const passkeyEndpointsEndpoint = publicFileEndpoint('/.well-known/passkey-endpoints', {
  docs: 'text',
});
export const webManifestEndpoint = publicFileEndpoint(webManifestPath, { docs: 'text' });

export function serviceRoutes(options: {
  guard: Guard;
  assets: Pick<Assets, 'url' | 'brand'>;
  /** All of the service, for robots.txt. */
  endpoints: readonly Endpoint[];
  clock: Clock;
  metrics: Metrics;
  config: MetricsReaders;
  readiness: () => Promise<Readiness>;
}): PlainRoute[] {
  const { guard, clock, metrics, config } = options;
  const { baseUrl } = config;

  async function ready(): Promise<Reply> {
    const state = await options.readiness();
    const { staleSeconds, writable } = state;
    const ok =
      state.indexLoaded &&
      !state.draining &&
      state.memory !== 'outvoted' &&
      state.outdated !== true &&
      (staleSeconds === undefined ? writable : staleSeconds <= staleSecondsMax);
    const retry: Header[] = ok ? [] : [['Retry-After', '5']];
    return jsonReplyOf({ ready: ok, ...state }, retry, ok ? 200 : 503);
  }

  async function showMetrics(request: Request): Promise<Reply> {
    if (!mayReadMetrics(request, config)) {
      const failure = fail(
        'unauthenticated',
        'Send the token of METRICS_TOKEN as Authorization: Bearer.',
      );
      return failureBody('api', failure, [['WWW-Authenticate', 'Bearer realm="metrics"']]);
    }
    const body = await metrics.render();
    return { status: 200, headers: [['Content-Type', metrics.contentType], noStore], body };
  }

  function securityTxt(): Reply {
    // RFC 9116 wants a date less than a year ahead.
    const expires = new Date(clock.now() + 180 * dayMs).toISOString().replace(/\.\d+Z$/, 'Z');
    const body = `Contact: ${baseUrl}/\nExpires: ${expires}\nPreferred-Languages: en, fr\nCanonical: ${baseUrl}/.well-known/security.txt\n`;
    return { status: 200, headers: [textType], body };
  }

  function webManifest(): Reply {
    const { siteName, logo, accent } = options.assets.brand;
    const drawn = [192, 512].map((side) => ({
      src: options.assets.url(`icon-${side}.png`),
      sizes: `${side}x${side}`,
      type: 'image/png',
      purpose: 'any maskable',
    }));
    const own = logo && {
      src: options.assets.url(logoName(logo)),
      sizes: logo.sizes,
      type: logo.type,
      purpose: 'any',
    };
    const name = siteName ?? translationsFor('en').site.name;
    const colour = accent?.light.accent ?? '#16324f';
    const colours = { theme_color: colour, background_color: own ? '#ffffff' : colour };
    const about = { name, short_name: name, start_url: '/', display: 'browser', ...colours };
    return {
      status: 200,
      headers: [
        ['Content-Type', 'application/manifest+json'],
        ['Cache-Control', 'public, max-age=3600'],
      ],
      body: JSON.stringify({ ...about, icons: own ? [own] : drawn }),
    };
  }

  return [
    guard.open(readinessEndpoint, ready),
    guard.open(metricsEndpoint, showMetrics),
    guard.open(robotsEndpoint, () => ({
      status: 200,
      headers: [textType, ['Cache-Control', 'public, max-age=3600']],
      body: robotsText(options.endpoints),
    })),
    guard.open(securityTxtEndpoint, securityTxt),
    guard.open(passkeyEndpointsEndpoint, () => {
      const url = `${baseUrl}/account/security`;
      return {
        status: 200,
        headers: [jsonType, ['Cache-Control', 'public, max-age=3600']],
        body: JSON.stringify({ enroll: url, manage: url }),
      };
    }),
    guard.open(changePasswordEndpoint, () => ({
      status: 302,
      headers: [['Location', '/account/security'], noStore],
    })),
    guard.open(webManifestEndpoint, webManifest),
  ];
}

/** Writes robots.txt from what the endpoints declare (RFC 9309). */
export function robotsText(endpoints: readonly Endpoint[]): string {
  const closed = endpoints.filter(({ robots }) => robots === 'disallow');
  // The API as a whole: what is added to it is closed, too.
  const startOf = (path: string) => /^\/api\//.exec(path)?.[0] ?? path.replace(/[:*].*$/, '');
  const starts = [...new Set(closed.map(({ path }) => startOf(path)))].sort();
  // A rule is for all that begins with its path.
  const paths = starts.filter((path) => !starts.some((s) => path.startsWith(`${s}/`)));
  const isApi = (path: string) => path.startsWith('/api/');
  paths.sort((a, b) => Number(isApi(b)) - Number(isApi(a)));
  return `User-agent: *\n${paths.map((path) => `Disallow: ${path}\n`).join('')}`;
}

type MetricsReaders = Pick<Config, 'metricsToken'> & Parameters<typeof isProxied>[0];

/**
 * Without a token the page is for this machine: a loopback address, and nothing between. As soon as
 * anything forwards, a loopback address may stand for any client whom the proxy doesn't name.
 */
export function mayReadMetrics(request: Request, config: MetricsReaders): boolean {
  const token = config.metricsToken;
  if (token === undefined) return !isProxied(config) && isFromThisMachine(request);
  const sent = firstHeader(request, 'authorization') ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(sent), digest(`Bearer ${token}`));
}
