/** The CAPTCHA routes over a pool whose words are known, called without a transport. */

import assert from 'node:assert/strict';
import { createClientLimits } from '../../../src/access/quota/client-limits.ts';
import { captchaRoutes } from '../../../src/captcha/challenge/challenge.route.ts';
import {
  type ChallengesOptions,
  createChallenges,
} from '../../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../../src/captcha/challenge/ticket.ts';
import { createCaptchaVisitors } from '../../../src/captcha/page/captcha-visitors.route.ts';
import type { SolvedBy } from '../../../src/captcha/receipt/receipts.ts';
import { type ClientLimitName, clientLimits } from '../../../src/config/limits.ts';
import { manualClock } from '../../../src/core/clock.ts';
import { seededRandom } from '../../../src/core/random.ts';
import { fail, ok } from '../../../src/core/result.ts';
import type { Method, Reply, Request } from '../../../src/http/request/message.ts';
import { createRouter, type PlainRoute } from '../../../src/http/router.ts';
import { createCallers } from '../../../src/web/guard/callers.ts';
import { createCookies } from '../../../src/web/guard/cookies.ts';
import { guardOf } from '../server/guard.ts';
import { rendered, smallBounds } from './challenges.ts';

export const malicious = '203.0.113.66';
export const visitor = '192.0.2.1';
export const gif = Uint8Array.from({ length: 100 }, (_, i) => i);

export interface Sent {
  readonly method?: Method;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly query?: string;
  readonly range?: string;
  readonly origin?: string;
  readonly clientIp?: string;
  readonly cookie?: string;
}

type Options = Partial<ChallengesOptions> & {
  limitsOn?: boolean;
  overloaded?: boolean;
  https?: boolean;
};

export function setUp({
  limitsOn = true,
  overloaded = false,
  https = true,
  ...bounds
}: Options = {}) {
  const clock = manualClock(0);
  const words: ('normal' | 'long')[] = [];
  const pool = {
    image: async (word: 'normal' | 'long') => {
      if (overloaded) return fail('overloaded');
      words.push(word);
      return ok(rendered('KX7RM', gif));
    },
    clip: async () => ok(rendered('012345', new Uint8Array(2_000))),
  };
  const random = seededRandom(1);
  const tickets = createTickets({ clock, random });
  const challenges = createChallenges({
    pool,
    tickets,
    random,
    ...smallBounds,
    openMax: 5_000,
    openPerNarrowMax: 1_200,
    openPerWideMax: 2_000,
    placesMax: 10_000,
    sharesOn: limitsOn,
    ...bounds,
  });
  const limits = limitsOn ? createClientLimits<ClientLimitName>(clientLimits) : undefined;
  const check = {
    judge: (_family: 4 | 6, address: Uint32Array) => ({
      entry: 0,
      decidedBy: 0,
      score: 0,
      reports: 0,
      anonymousExit: false,
      allowlisted: false,
      knownGood: false,
      malicious: address[0] === 0xcb007142,
    }),
  };
  const callers = createCallers({ limits, check, clock });
  const cookies = createCookies(https);
  const visitors = createCaptchaVisitors({ callers, cookies, tickets, clock, limitsOn });
  const receipts = {
    issue: async ({ siteKey, origin }: SolvedBy) =>
      siteKey === 'pcs_a' && origin !== undefined ? `receipt for ${origin}` : undefined,
    pass: async ({ siteKey, origin }: SolvedBy) =>
      siteKey === 'pcs_pass' && origin !== undefined ? `pass for ${origin}` : undefined,
  };
  const router = createRouter(
    captchaRoutes({
      guard: guardOf(),
      challenges,
      callers,
      visitors,
      receipts,
      lifetimeMs: 120_000,
      onChallenge() {},
    }),
  );

  async function send(path: string, sent: Sent = {}): Promise<Reply> {
    const { method = 'GET', type, body = '', range, origin, query = '' } = sent;
    const { clientIp = visitor, cookie } = sent;
    const match = router.match(path)!;
    const route = match.resource.byMethod.get(method) as PlainRoute;
    const headers: Record<string, string[]> = {};
    if (type !== undefined) headers['content-type'] = [type];
    if (range !== undefined) headers.range = [range];
    if (origin !== undefined) headers.origin = [origin];
    if (cookie !== undefined) headers.cookie = [cookie];
    const request: Request = {
      method,
      path,
      param: match.param!,
      query,
      headers,
      body: Buffer.from(body),
      clientIp,
      id: 'r1',
    };
    return route.handle(request, { onGone: () => {} });
  }
  /** A new token, picture and sound fetched. */
  async function fetched(clientIp = visitor): Promise<string> {
    const { token, img } = JSON.parse(String((await send('/captcha/new', { clientIp })).body));
    assert.equal((await send(img, { clientIp })).status, 200);
    return token;
  }
  const verify = (token: unknown, answer: unknown, clientIp = visitor) =>
    send('/captcha/verify', {
      method: 'POST',
      type: 'application/json',
      body: JSON.stringify({ token, answer }),
      clientIp,
    });
  return { clock, send, fetched, verify, words, challenges };
}

export const header = (reply: Reply, name: string) =>
  reply.headers.find(([n]) => n.toLowerCase() === name)?.[1];
