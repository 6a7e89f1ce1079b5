/**
 * Limits of the CAPTCHA for people behind one address. A browser with our cookie has a small limit
 * of its own; a browser without it, or at its limit, counts against the network, which has a higher
 * bound. So an office isn't one visitor, and one browser that asks for much isn't the office.
 *
 * The cookie names nobody: a random ticket (captcha/challenge/ticket.ts), new each hour and with
 * each start, kept nowhere but as a count for a minute, and never joined to an account or an
 * address. It is `SameSite=None; Partitioned` over https, since the widget stands in other sites'
 * pages: each site's visitors have another one. A browser that refuses it counts with its network.
 */

import { type ClientLimits, createClientLimits } from '../../access/quota/client-limits.ts';
import { type CaptchaLimitName, captchaBrowserLimits } from '../../config/limits.ts';
import type { Clock } from '../../core/clock.ts';
import { hourSeconds, minuteMs } from '../../core/time.ts';
import type { Header, Request } from '../../http/request/message.ts';
import type { Callers } from '../../web/guard/callers.ts';
import type { Cookies } from '../../web/guard/cookies.ts';
import type { Tickets } from '../challenge/ticket.ts';

export interface LimitCharge {
  /** 0 when admitted, else whole seconds to wait: `Retry-After`. */
  readonly waitSeconds: number;
  /** Counts `cost` more against whoever paid for the request. */
  charge(cost: number): void;
}

const cookieLifeSeconds = hourSeconds;
/** Browsers counted at a time; beyond it the one that was quiet longest is forgotten. */
const browsersMax = 32_768;
/** Passes without a puzzle a minute, for a client and for its network; beyond them there is a puzzle. */
const passLimits = {
  client: { max: 10, windowMs: minuteMs },
  neighbourhood: { max: 120, windowMs: minuteMs },
} as const;

export function createCaptchaVisitors(options: {
  readonly callers: Callers;
  readonly cookies: Cookies;
  readonly tickets: Tickets;
  readonly clock: Clock;
  /** False when CLIENT_LIMITS=off. */
  readonly limitsOn: boolean;
}) {
  const { callers, cookies, tickets, clock, limitsOn } = options;
  const browsers: ClientLimits<CaptchaLimitName> = createClientLimits(
    captchaBrowserLimits,
    browsersMax,
  );

  const passes: ClientLimits<keyof typeof passLimits> = createClientLimits(passLimits, browsersMax);

  function browserOf(request: Request): string | undefined {
    const value = cookies.read(request, 'captcha');
    const ticket = value === undefined ? undefined : tickets.open(value);
    if (ticket?.kind !== 'browser') return undefined;
    const endsAtMs = ticket.madeAtMs + cookieLifeSeconds * 1_000;
    return endsAtMs > tickets.nowMs() ? value : undefined;
  }

  /** Cookies cost nothing to ask for, so what all of them get in a network is bounded too. */
  function takeBrowserShare(limit: CaptchaLimitName, request: Request, browser: string): boolean {
    if (browsers.takeOrWait(limit, browser, clock.monotonicMs()) > 0) return false;
    return callers.takeOrWait('captchaFree', request) === 0;
  }

  return {
    /** The browsers that are counted. */
    tables: [browsers.table('captcha_browsers'), passes.table('captcha_passes')],
    take(limit: CaptchaLimitName, request: Request): LimitCharge {
      const browser = limitsOn ? browserOf(request) : undefined;
      if (browser !== undefined && takeBrowserShare(limit, request, browser)) {
        return {
          waitSeconds: 0,
          charge: (cost) => browsers.charge(limit, browser, clock.monotonicMs(), cost),
        };
      }
      return {
        waitSeconds: callers.takeOrWait(limit, request),
        charge: (cost) => callers.charge(limit, request, cost),
      };
    },
    /** Returns whether this client may pass without a puzzle, and counts one pass. */
    takePass(request: Request): boolean {
      if (!callers.isClean(request)) return false;
      if (!limitsOn) return true;
      const { client, neighbourhood } = callers.networksOf(request);
      const nowMs = clock.monotonicMs();
      if (passes.waitFor('neighbourhood', neighbourhood, nowMs) > 0) return false;
      if (passes.takeOrWait('client', client, nowMs) > 0) return false;
      return passes.takeOrWait('neighbourhood', neighbourhood, nowMs) === 0;
    },
    /** Returns `Set-Cookie` for a browser that came without; it goes with the answer. */
    browserCookie(request: Request): readonly Header[] {
      if (!limitsOn || browserOf(request) !== undefined) return [];
      return [cookies.set('captcha', tickets.make('browser'), cookieLifeSeconds)];
    },
  };
}

export type CaptchaVisitors = ReturnType<typeof createCaptchaVisitors>;
