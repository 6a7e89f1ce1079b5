/** The CAPTCHA routes over a pool whose words are known, called without a transport. */

import assert from 'node:assert/strict';
import { createClientLimits } from '../../../src/access/quota/client-limits.ts';
import {
  captchaRoutes,
  createFormChallenges,
} from '../../../src/captcha/challenge/challenge.route.ts';
import {
  type ChallengesOptions,
  createChallenges,
} from '../../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../../src/captcha/challenge/ticket.ts';
import { createCaptchaVisitors } from '../../../src/captcha/page/captcha-visitors.route.ts';
import type { SolvedBy } from '../../../src/captcha/receipts.ts';
import { createLevels } from '../../../src/captcha/work/levels.ts';
import { workRoutes } from '../../../src/captcha/work/work.route.ts';
import { createWork, type WorkRequest } from '../../../src/captcha/work/work.ts';
import { type ClientLimitName, clientLimits } from '../../../src/config/limits.ts';
import { fail, ok } from '../../../src/core/result.ts';
import type { Method, Reply, Request } from '../../../src/http/request/message.ts';
import { createRouter, type PlainRoute } from '../../../src/http/router.ts';
import type { Store } from '../../../src/storage/store.ts';
import { createCallers } from '../../../src/web/guard/callers.ts';
import { createCookies } from '../../../src/web/guard/cookies.ts';
import { manualClock, seededRandom } from '../seeded.ts';
import { guardOf } from '../server/guard.ts';
import { createMemoryStore } from '../server/memory-store.ts';
import { rendered, smallBounds } from './challenges.ts';

export const malicious = '203.0.113.66';
export const visitor = '192.0.2.1';
/** Addresses with a score of 20, of 50, and an exit with none. */
export const low = '203.0.113.20';
export const suspect = '203.0.113.50';
export const exit = '203.0.113.1';
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

const site = { account: 'owner', passesClean: false };
const sites = [
  { ...site, id: 'pcs_a', least: 'puzzle' },
  { ...site, id: 'pcs_silent', least: 'silent' },
  { ...site, id: 'pcs_easy', least: 'easy' },
  { ...site, id: 'pcs_hard', least: 'hard' },
] as const;
const scores = new Map([
  [0xcb007142, 90],
  [0xcb007114, 20],
  [0xcb007132, 50],
]);

export function setUp({
  limitsOn = true,
  overloaded = false,
  https = true,
  ...bounds
}: Options = {}) {
  const clock = manualClock(0);
  const words: ('normal' | 'long')[] = [];
  const spoken: string[] = [];
  const pool = {
    image: async (word: 'normal' | 'long') => {
      if (overloaded) return fail('overloaded');
      words.push(word);
      return ok(rendered('KX7RM', gif));
    },
    clip: async (language: string) => {
      spoken.push(language);
      return ok(rendered('012345', new Uint8Array(2_000)));
    },
  };
  const random = seededRandom(1);
  const tickets = createTickets({ clock, random });
  const challenges = createChallenges({
    pool,
    tickets,
    random,
    ...smallBounds,
    openMax: 5_000,
    openPerClientMax: 1_200,
    openPerNeighbourhoodMax: 2_000,
    tokensMax: 10_000,
    sharesOn: limitsOn,
    ...bounds,
  });
  const limits = limitsOn ? createClientLimits<ClientLimitName>(clientLimits) : undefined;
  const check = {
    judge: (_family: 4 | 6, address: Uint32Array) => ({
      entry: 0,
      decidedBy: 0,
      score: scores.get(address[0]!) ?? 0,
      reports: 0,
      anonymousExit: address[0] === 0xcb007101,
      allowlisted: false,
      knownGood: false,
      malicious: address[0] === 0xcb007142,
    }),
  };
  const callers = createCallers({ limits, check, clock });
  const cookies = createCookies(https);
  const visitors = createCaptchaVisitors({ callers, cookies, tickets, clock, limitsOn });
  const receipts = {
    issue: async ({ siteKey, origin, level }: SolvedBy & { level: string }) => {
      if (siteKey === 'pcs_silent' && origin !== undefined) return `${level} for ${origin}`;
      return siteKey === 'pcs_a' && origin !== undefined ? `receipt for ${origin}` : undefined;
    },
    pass: async ({ siteKey, origin }: SolvedBy) =>
      siteKey === 'pcs_pass' && origin !== undefined ? `pass for ${origin}` : undefined,
  };
  const geo = { find: () => 0, provider: () => 'Unknown' };
  const keys = [random.bytes(32), random.bytes(32)] as const;
  const memory = createMemoryStore();
  const used = new Set<string>();
  /** What solutions have cost: looked at, and asked of the store. */
  const spent = { opened: 0, committed: 0 };
  const store: Pick<Store, 'commit'> = {
    async commit(change) {
      spent.committed++;
      const keys = (change.check ?? []).map(({ key }) => Buffer.from(key).toString('hex'));
      if (keys.some((key) => used.has(key))) {
        return { ok: false, error: 'check_failed', seq: 0n, failedCheck: 0 };
      }
      for (const key of keys) used.add(key);
      return await memory.commit(change);
    },
  };
  const work = createWork({ store, clock, random, keys, lifetimeMs: 120_000 });
  const options = {
    guard: guardOf(),
    challenges,
    callers,
    visitors,
    receipts,
    levels: createLevels({ callers, geo, clock, limitsOn }),
    // Few tries: what is tested is what becomes of a solution.
    work: {
      ...work,
      make: (asked: WorkRequest) => work.make({ ...asked, triesMax: 3 }),
      open(...given: Parameters<typeof work.open>) {
        spent.opened++;
        return work.open(...given);
      },
    },
    findSite: async (id: string) => sites.find((site) => site.id === id),
    lifetimeMs: 120_000,
    onChallenge() {},
  };
  const forms = createFormChallenges(options);
  const router = createRouter([...captchaRoutes(options), ...workRoutes(options)]);

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
  return { clock, send, fetched, verify, words, spoken, challenges, forms, work, spent };
}

export const header = (reply: Reply, name: string) =>
  reply.headers.find(([n]) => n.toLowerCase() === name)?.[1];
