/** What operators and crawlers ask of the service itself: health, readiness, metrics, robots, security.txt. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import type { Metrics } from '../core/metrics.ts';
import { fail } from '../core/result.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';

/** What /readyz tells; ready means that both flags are true. */
export interface Readiness {
  readonly indexLoaded: boolean;
  readonly writable: boolean;
  readonly entries: number;
  /** Journal events not yet in memory. */
  readonly behind: number;
  /** Age of the newest list, seconds; null when no list is loaded. */
  readonly newestListAgeSeconds: number | null;
}

const textType: Header = ['Content-Type', 'text/plain; charset=utf-8'];
const dayMs = 86_400_000;

export function serviceRoutes(options: {
  clock: Clock;
  metrics: Metrics;
  metricsToken: string | undefined;
  baseUrl: string;
  readiness: () => Promise<Readiness>;
}): PlainRoute[] {
  const { clock, metrics, metricsToken, baseUrl } = options;

  async function ready(): Promise<Reply> {
    const state = await options.readiness();
    const ok = state.indexLoaded && state.writable;
    const retry: Header[] = ok ? [] : [['Retry-After', '5']];
    return {
      status: ok ? 200 : 503,
      headers: [jsonType, noStore, ...retry],
      body: JSON.stringify({ ready: ok, ...state }),
    };
  }

  async function showMetrics(request: Request): Promise<Reply> {
    if (!mayReadMetrics(request, metricsToken)) {
      const failure = fail('unauthenticated', 'Send the metrics token as Authorization: Bearer.');
      return apiProblem(failure, [['WWW-Authenticate', 'Bearer realm="metrics"']]);
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

  return [
    get('/healthz', () => ({ status: 200, headers: [textType, noStore], body: 'ok\n' })),
    get('/readyz', ready),
    { ...get('/metrics', showMetrics), headers: ['authorization'] },
    get('/robots.txt', () => ({
      status: 200,
      headers: [textType, ['Cache-Control', 'public, max-age=3600']],
      body: 'User-agent: *\nDisallow: /api/\nDisallow: /metrics\n',
    })),
    get('/.well-known/security.txt', securityTxt),
  ];
}

function get(path: string, handle: PlainRoute['handle']): PlainRoute {
  return { kind: 'plain', method: 'GET', path, handle };
}

/** Without a token the page is for this machine: a client address that is loopback. */
function mayReadMetrics(request: Request, token: string | undefined): boolean {
  if (token === undefined) return /^(127\.|::1$)/.test(request.clientIp);
  const sent = firstHeader(request, 'authorization') ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(sent), digest(`Bearer ${token}`));
}
