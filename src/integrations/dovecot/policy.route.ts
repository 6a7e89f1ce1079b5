/**
 * POST /policy/dovecot: what Dovecot asks before and after each login, and what it says became of it. A front
 * end answers from shared memory; failed logins alone go on to the main thread, which counts them. Only a bad
 * name refuses: an error, a limit or a full table says status 0, which lets in.
 */

import * as v from 'valibot';
import { keyIdOf, scopeBitsFor } from '../../access/keys/key-format.ts';
import { wrongScope } from '../../access/keys/key-table.ts';
import { type QuotaGuard, quotaKind } from '../../access/quota/quota.ts';
import {
  type AccountOf,
  duplicateReportMs,
  type Judge,
  type SendReports,
  type Verdict,
} from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/crypto.ts';
import { wrongScopeDetail } from '../../core/errors.ts';
import { MaxByCountSet } from '../../core/fair-share.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { about, integer, option, text } from '../../core/schema.ts';
import { minuteMs } from '../../core/time.ts';
import { firstHeader, type Reply, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute, Route } from '../../http/router.ts';
import type { IndexRead } from '../../index/reader.ts';
import { formatIp, type IpFamily, parseIp } from '../../ip/address.ts';
import { isListable, replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import { clientOf, networksOf } from '../../ip/networks.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { Hook } from '../../web/guard/hooks.ts';
import { jsonAnswer, jsonBody } from '../../web/openapi.ts';
import { jsonReply, policyBody } from '../../web/shape.ts';
import type { IntegrationOutcome } from '../counters.ts';
import { forbiddenDetail } from '../crowdsec/live.route.ts';
import { policyDefaults } from '../forward-auth/policy.ts';

/** Questions in each 10 s: a fiftieth of what a key has (`decisions` of the limits per client). */
export const shareOfClient = { max: 400, windowMs: 10_000 } as const;
const cellsDefault = 16_384;

/** @param seed drawn at start, so that nobody can aim at another client's cell */
export function createLoginFairShare(
  clock: Pick<Clock, 'monotonicMs'>,
  seed: number,
  cells = cellsDefault,
) {
  const counts = new Uint16Array(cells);
  const windows = new Float64Array(cells);

  return {
    /**
     * Counts one question; false: the client has had its share.
     * @param words as `parseIp` leaves them
     */
    admit(keyId: string, family: IpFamily, words: Uint32Array): boolean {
      const cell = hashOf(`${keyId} ${clientOf(family, words)}`, seed) % cells;
      // The first window is 1: cells that nobody used are at 0.
      const window = Math.floor(clock.monotonicMs() / shareOfClient.windowMs) + 1;
      if (windows[cell] !== window) {
        windows[cell] = window;
        counts[cell] = 0;
      }
      if (counts[cell]! >= shareOfClient.max) return false;
      counts[cell]! += 1;
      return true;
    },
  };
}

type LoginFairShare = ReturnType<typeof createLoginFairShare>;

/** FNV-1a with a last mixing: the low bits distinguish cells. */
function hashOf(text: string, seed: number): number {
  const hash = fnv1a(text, seed);
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
}

/** A name of a kilobyte may be six times as long once it is escaped. */
const bodyBytesMax = 64 * 1_024;
/** For a suspect: a guess at passwords takes as long as ten others. */
const delaySeconds = 3;

const sentAttempt = v.object({
  remote: text('Address of the client.'),
  success: option(v.boolean(), 'In a report.'),
  policy_reject: option(v.boolean(), 'In a report: refused by this policy.'),
});

export const policyEndpoint = endpoint({
  method: 'POST',
  path: '/policy/dovecot',
  who: 'bouncer',
  shape: 'policy',
  thread: 'any',
  headers: ['x-api-key', 'authorization'],
  handlerLimits: ['decisions'],
  body: { types: ['json'], bytesMax: bodyBytesMax },
  errors: [],
  docs: {
    id: 'dovecotPolicy',
    tag: 'Mail servers',
    summary: "Dovecot's auth policy: whether somebody may log in, and what became of it.",
    description:
      'The key may also be the password of HTTP basic authentication. Nothing but a bad name refuses anybody: each error says status 0.',
    query: { command: about(v.picklist(['allow', 'report']), 'What Dovecot asks.') },
    requestBody: jsonBody(sentAttempt),
    answers: {
      200: jsonAnswer(
        '-1: refuse; 0: let in; above: let in after so many seconds.',
        v.strictObject({ status: integer(-1), msg: v.string() }),
      ),
    },
  },
});

export interface PolicyIntegrationOptions {
  readonly quotaGuard: QuotaGuard;
  readonly check: { judge(...asked: Parameters<Judge>): Pick<Verdict, 'score' | 'malicious'> };
  readonly clock: Pick<Clock, 'now'>;
  /** Counts one question for this name; false: it is beyond the budget of a key. */
  readonly admitQuestion: (name: string) => boolean;
  /** Counts the questions of each client of a mail server: one must not use up the key's budget. */
  readonly shares: LoginFairShare;
  readonly count: (outcome: IntegrationOutcome<'dovecot'>) => void;
}

interface FailedLogin {
  /** The slot of the account whose key the mail server uses. */
  readonly slot: number;
  /** Canonical. */
  readonly ip: string;
}

const reply = (status: number, msg = ''): Reply => jsonReply(policyBody(status, msg));
const letIn = reply(0);
const delayed = reply(delaySeconds);
const refused = reply(-1, 'Access refused: this address has a bad name.');
const overLimit = reply(0, 'this key asks too often: everybody is let in');
const forbidden = fail('forbidden', forbiddenDetail);
const noReporter = fail('forbidden', wrongScopeDetail('mail'));
const badCommand = fail('bad_request', 'the command must be allow or report');

export function createPolicyIntegration(options: PolicyIntegrationOptions) {
  const { quotaGuard, check, clock, admitQuestion, shares, count } = options;
  const words = new Uint32Array(4);

  function judge(family: 0 | IpFamily): Reply {
    const verdict =
      family !== 0 && isListable(family, words) && check.judge(family, words, clock.now());
    if (verdict === false || verdict.score < policyDefaults.challenge) {
      count('allow');
      return letIn;
    }
    count(verdict.malicious ? 'refuse' : 'delay');
    return verdict.malicious ? refused : delayed;
  }

  return {
    ask(request: Request): Reply | Failure | FailedLogin {
      const keyText = firstHeader(request, 'x-api-key') ?? passwordOf(request);
      const query = parseQuery(request.query);
      const command = query.ok ? query.value.get('command') : undefined;
      const isReport = command === 'report';
      const slot = quotaGuard.authenticate(
        keyText,
        scopeBitsFor(isReport ? 'mailReport' : 'mailAllow'),
      );
      if (keyText === undefined || slot < 0) {
        count('forbidden');
        return isReport && slot === wrongScope ? noReporter : forbidden;
      }
      const attempt =
        command === 'allow' || command === 'report' ? readAttempt(request.body) : badCommand;
      if (!attempt.ok) {
        count('bad_request');
        return attempt;
      }
      const keyId = keyIdOf(keyText);
      const family = replaceByEmbedded(parseIp(attempt.value.remote, words), words);
      // A client beyond its share is still judged by name, but uses no more of the key's budget.
      const isOverShare = family !== 0 && !shares.admit(keyId, family, words);
      const isQuestion = command === 'allow';
      if (!isOverShare && !admitQuestion(isQuestion ? keyId : `${keyId} told`)) {
        count('over_limit');
        return overLimit;
      }
      if (isQuestion) return judge(family);
      count('told');
      // An address that nobody may report is not counted: a report in vain would cost a write.
      const isCounted = family !== 0 && !isOverShare && isListable(family, words);
      return isCounted && attempt.value.isFailure ? { slot, ip: formatIp(family, words) } : letIn;
    },
  };
}

type PolicyIntegration = ReturnType<typeof createPolicyIntegration>;

/** Returns the password of HTTP basic authentication: a key may stand there, behind any user name. */
function passwordOf(request: Request): string | undefined {
  const [, text] =
    /^basic +([A-Za-z0-9+/=]{1,400})$/i.exec(firstHeader(request, 'authorization') ?? '') ?? [];
  if (text === undefined) return undefined;
  const pair = Buffer.from(text, 'base64').toString('latin1');
  return pair.slice(pair.indexOf(':') + 1);
}

/**
 * Answers in a front end: the main thread is asked for failed logins alone.
 * @param inIndexRead for reads that come later than their request
 */
export function policyHook(
  { policy, guard }: { readonly policy: PolicyIntegration; readonly guard: Guard },
  inIndexRead: IndexRead,
): Hook<Route> {
  return {
    name: 'mail policy',
    appliesTo: ({ path }) => path === policyEndpoint.path,
    async around(run, request) {
      const answer = inIndexRead(() => policy.ask(request));
      if ('ok' in answer) return guard.failureReply(policyEndpoint, answer);
      if (!('slot' in answer)) return answer;
      const reply = await run(request);
      return reply.status === 200 ? reply : letIn;
    },
  };
}

export interface PolicyRouteOptions
  extends Pick<PolicyIntegrationOptions, 'quotaGuard' | 'check' | 'clock'> {
  readonly guard: Guard;
  readonly failures: LoginFailures;
  readonly accountOf: AccountOf;
  readonly sendReports: SendReports;
}

const bruteForce = {
  categories: '18',
  comment: 'Failed logins at a mail server',
  timestamp: undefined,
} as const;

/** The route of the main thread. Front ends have counted the question. */
export function policyRoute(options: PolicyRouteOptions): PlainRoute {
  const { guard, quotaGuard, failures, accountOf, sendReports } = options;
  const shares = { admit: () => true };
  const integration = createPolicyIntegration({
    ...options,
    admitQuestion: () => true,
    shares,
    count() {},
  });
  return guard.open(policyEndpoint, async (request) => {
    const answer = integration.ask(request);
    if (!('slot' in answer)) return answer;
    const { slot, ip } = answer;
    if (!failures.note(slot, ip)) return letIn;
    const account = accountOf(slot);
    // One that can't be made is dropped: the mail server has nobody to report that to.
    if (account !== undefined && quotaGuard.spend(slot, quotaKind.write, 1)) {
      await sendReports([{ ip, ...bruteForce }], { account, slot, clientIp: request.clientIp });
    }
    return letIn;
  });
}

// Reads what Dovecot says of a login, as its policy client writes it: a JSON object with `remote`,
// and in reports with `success` and `policy_reject`. Who logs in and the hash of the password are
// not read.

interface LoginAttempt {
  /** As sent; empty when the client has no address. */
  readonly remote: string;
  /** The login failed, and not because this policy refused it. */
  readonly isFailure: boolean;
}

const noObject = fail('bad_request', 'the body must be a JSON object, as Dovecot sends it');
const noRemote = fail(
  'bad_request',
  'the body has no "remote": auth_policy_request_attributes must have remote=%{rip}',
);

export function readAttempt(body: Uint8Array): Result<LoginAttempt> {
  let given: unknown;
  try {
    // Bytes that are no text are in the names of attackers: the address counts all the same.
    given = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8'));
  } catch {
    return noObject;
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return noObject;
  const { remote, success, policy_reject: isRefused } = given as Record<string, unknown>;
  if (typeof remote !== 'string') return noRemote;
  return ok({ remote, isFailure: success === false && isRefused !== true });
}

// Counts failed logins by address until there are enough for a report. Only times are kept: no login, no hash. After
// a report an address is ignored for as long as its account could not report it again.
//
// Bounds: a number of addresses in all, and `ofNetworkMax` of an IPv6 /64, whose oldest is evicted. When the table is
// full, the account with the most addresses loses the one that has not failed for longest. That one is reported later
// or never, and no account evicts another one's addresses.

export const failuresForReport = 5;
export const failureWindowMs = 10 * minuteMs;
const ofNetworkMax = 16;
const addressesMax = 65_536;

interface Failing {
  readonly times: readonly number[];
  readonly reportedAtMs: number;
}

/** By client, and then by address; who failed last comes last. */
type Clients = Map<string, Map<string, Failing>>;

interface MailAccount {
  readonly slot: number;
  readonly clients: Clients;
  /** Its addresses. */
  count: number;
}

export function createLoginFailures(
  clock: Pick<Clock, 'monotonicMs'>,
  rememberedMax = addressesMax,
) {
  const accounts = new Map<number, MailAccount>();
  const held = new MaxByCountSet<MailAccount>();

  function takeOut(slot: number, client: string, ip: string): Failing | undefined {
    const account = accounts.get(slot);
    const addresses = account?.clients.get(client);
    const found = addresses?.get(ip);
    if (account === undefined || addresses === undefined || found === undefined) return undefined;
    held.less(account, account.count--);
    addresses.delete(ip);
    if (addresses.size === 0) account.clients.delete(client);
    if (account.count === 0) accounts.delete(slot);
    return found;
  }

  function makeRoom(): void {
    const { slot, clients } = held.largest()!;
    const [client, addresses] = clients.entries().next().value!;
    takeOut(slot, client, addresses.keys().next().value!);
  }

  function putIn(slot: number, client: string, ip: string, failing: Failing): void {
    const known = accounts.get(slot)?.clients.get(client);
    if (known !== undefined && known.size >= ofNetworkMax) {
      takeOut(slot, client, known.keys().next().value!);
    }
    if (held.total >= rememberedMax) makeRoom();
    const account = accounts.get(slot) ?? { slot, clients: new Map(), count: 0 };
    accounts.set(slot, account);
    const addresses = account.clients.get(client) ?? new Map();
    // Taken out and put in again: the order is that of the last failures.
    account.clients.delete(client);
    account.clients.set(client, addresses.set(ip, failing));
    held.more(account, account.count++);
  }

  return {
    /**
     * @param slot of the account whose mail server it is
     * @param ip canonical
     * @returns whether it is the last one needed; then the address is quiet for a while
     */
    note(slot: number, ip: string): boolean {
      const nowMs = clock.monotonicMs();
      const { client } = networksOf(ip);
      const known = takeOut(slot, client, ip);
      const { times = [], reportedAtMs = Number.NEGATIVE_INFINITY } = known ?? {};
      if (nowMs - reportedAtMs < duplicateReportMs) {
        putIn(slot, client, ip, known!);
        return false;
      }
      const recent = [...times.filter((atMs) => atMs > nowMs - failureWindowMs), nowMs];
      const isEnough = recent.length >= failuresForReport;
      const next = isEnough ? { times: [], reportedAtMs: nowMs } : { times: recent, reportedAtMs };
      putIn(slot, client, ip, next);
      return isEnough;
    },
    table: { name: 'login_failures', used: () => held.total, limit: rememberedMax },
  };
}

type LoginFailures = ReturnType<typeof createLoginFailures>;
