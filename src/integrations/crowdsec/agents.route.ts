/**
 * Serves the local API of CrowdSec's agents: they log in, give a sign of life and send what they
 * saw. The password is a key that was made for an agent; the token for it stands in for the key for
 * an hour.
 */

import * as v from 'valibot';
import { keyIdOf, scopeBitsFor } from '../../access/keys/key-format.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { AccountOf, ReportInput, SendReports } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import { dateTime, optionalText, text } from '../../core/schema.ts';
import { parseJsonObject } from '../../http/request/body.ts';
import type { Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import type { Prefix } from '../../ip/prefix.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { type Endpoint, endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult, KeyedCall } from '../../web/guard/guard.ts';
import { jsonAnswer, jsonBody } from '../../web/openapi.ts';
import { jsonReply, jsonReplyOf, jsonType, noStore } from '../../web/shape.ts';
import {
  type Alert,
  alertDecision,
  alertMembers,
  alertsMax,
  alertsText,
  alertWithId,
  readAlertFilter,
  readAlerts,
  readAlertsToDelete,
} from './alerts.ts';
import { type AgentCallers, type AgentTokens, wrongToken } from './callers.route.ts';
import {
  type AgentDecision,
  type AgentDecisions,
  banMs,
  coversAddress,
  type DecisionMatcher,
  idOf,
  parseNetwork,
  readDecisionFilter,
  readDecisionId,
  usualBan,
  type WantedDecision,
} from './decisions.ts';
import {
  type Manager,
  managedMax,
  readDecisions,
  sentDecisions,
  tooManyManaged,
} from './manage.ts';

const loginBytesMax = 64 * 1_024;
const alertsBytesMax = 1_024 * 1_024;
/** One write of the quota pays for this many alerts. */
const alertsPerWrite = 100;
/** The same of manual entries: a request of the most must fit into a minute of an account. */
const entriesPerWrite = 10;
const headers = ['authorization', 'x-api-key', 'user-agent'] as const;
const bodyHeaders = [...headers, 'content-type'] as const;

const tag = 'Agents';
const LoginRefusal = v.strictObject({ code: v.literal(401), message: v.string() });
const refused = jsonAnswer('Not let in.', LoginRefusal);
const sentAlert = v.looseObject({
  ...alertMembers.entries,
  decisions: v.optional(v.nullable(v.array(alertDecision))),
});

export const loginEndpoint = endpoint({
  method: 'POST',
  path: '/v1/watchers/login',
  who: 'anyone',
  shape: 'bouncer',
  thread: 'main',
  headers: bodyHeaders,
  handlerLimits: ['agentLogin', 'agentCalls'],
  body: { types: ['json'], bytesMax: loginBytesMax, takesGzip: true },
  errors: ['unauthenticated'],
  docs: {
    id: 'agentLogin',
    tag,
    summary: 'A token for an hour, for the key of an agent.',
    requestBody: jsonBody(
      v.object({
        machine_id: v.optional(v.string()),
        password: v.string(),
        scenarios: v.optional(v.array(v.string())),
      }),
    ),
    answers: {
      200: jsonAnswer(
        'Let in.',
        v.strictObject({ code: v.literal(200), expire: dateTime, token: v.string() }),
      ),
      401: refused,
    },
    schemas: { LoginRefusal },
  },
});

export const heartbeatEndpoint = endpoint({
  method: 'GET',
  path: '/v1/heartbeat',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  headers,
  handlerLimits: ['agentCalls'],
  errors: [],
  robots: 'disallow',
  docs: {
    id: 'agentHeartbeat',
    tag,
    summary: 'Whether the token is good.',
    answers: { 200: { description: 'It is.' }, 401: refused },
  },
});

/** Nothing registers itself: a key comes of a command. The answer says which. */
export const registerEndpoint = endpoint({
  method: 'POST',
  path: '/v1/watchers',
  who: 'anyone',
  shape: 'bouncer',
  thread: 'main',
  headers: bodyHeaders,
  handlerLimits: ['agentLogin'],
  body: { types: ['json'], bytesMax: loginBytesMax, takesGzip: true },
  errors: ['forbidden'],
  docs: {
    id: 'agentRegister',
    tag,
    summary: 'Refuses: the key of an agent comes of a command.',
    answers: {},
  },
});

export const leaveEndpoint = endpoint({
  method: 'DELETE',
  path: '/v1/watchers/self',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  headers,
  handlerLimits: ['agentCalls'],
  // Clients send none.
  body: { types: ['json'], bytesMax: 1_024 },
  errors: [],
  robots: 'disallow',
  docs: {
    id: 'agentLeave',
    tag,
    summary: 'An agent ends. Nothing is kept of it, and its key stays.',
    answers: { 204: { description: 'Heard.' }, 401: refused },
  },
});

export const alertsEndpoint = endpoint({
  method: 'POST',
  path: '/v1/alerts',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  headers: bodyHeaders,
  cost: { quota: 'write', more: 'for each 100 alerts or decisions begun' },
  body: { types: ['json'], bytesMax: alertsBytesMax, takesGzip: true },
  errors: ['store_unavailable'],
  docs: {
    id: 'agentAlerts',
    tag,
    summary:
      'What an agent saw: each alert about an address is a report, and a decision for the account.',
    requestBody: jsonBody(v.array(sentAlert)),
    answers: {
      201: jsonAnswer(
        'For each alert the id of its report, or `0` when it made none.',
        v.array(v.string()),
      ),
      401: refused,
    },
    schemas: { Alert: sentAlert, AlertDecision: alertDecision },
  },
});

const taking = {
  method: 'DELETE',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  headers,
  cost: { quota: 'write', more: 'for each 10 manual rules begun' },
  // Clients send none.
  body: { types: ['json'], bytesMax: 1_024 },
  errors: ['store_unavailable'],
  robots: 'disallow',
} as const;

/** The filters say which decisions end, by themselves or with their alerts. */
const meantQuery = {
  ip: optionalText('An address.'),
  range: optionalText('A network.'),
  contains: optionalText('`false`: what lies in it, not what it lies in.'),
  value: optionalText('Exactly this address or network.'),
  scope: optionalText('`ip` or `range`.'),
  scenario: optionalText('The whole name of it.'),
  origin: optionalText('`crowdsec`, `cscli` or another.'),
} as const;

const takenBackAnswers = {
  200: jsonAnswer('How many ended.', v.strictObject({ nbDeleted: v.string() })),
  401: refused,
} as const;

export const takeBackEndpoint = endpoint({
  ...taking,
  path: '/v1/decisions',
  docs: {
    id: 'agentTakeBack',
    tag,
    summary: "Ends decisions of the account's agents: those that match, or all of them.",
    query: { ...meantQuery, type: optionalText('`ban` or `captcha`.') },
    answers: takenBackAnswers,
  },
});

export const takeBackOneEndpoint = endpoint({
  ...taking,
  path: '/v1/decisions/:id',
  docs: {
    id: 'agentTakeBackOne',
    tag,
    summary: "Ends one decision of the account's agents.",
    path: { id: text('As bouncers read it.') },
    answers: takenBackAnswers,
  },
});

export const takeAlertsBackEndpoint = endpoint({
  ...taking,
  path: '/v1/alerts',
  docs: {
    id: 'agentTakeAlertsBack',
    tag,
    summary: "Ends the decisions of the account's alerts that match, or of all of them.",
    query: {
      ...meantQuery,
      kind: optionalText('`cscli`, or `crowdsec` for all others; no alert has another.'),
      decision_type: optionalText('`ban` or `captcha`.'),
      has_active_decision: optionalText('`false` has none.'),
      since: optionalText('No older than this: `4h`.'),
      until: optionalText('No younger than this.'),
      limit: optionalText('`0` alone: all that match.'),
    },
    answers: takenBackAnswers,
  },
});

export const takeAlertBackEndpoint = endpoint({
  ...taking,
  path: '/v1/alerts/:id',
  docs: {
    id: 'agentTakeAlertBack',
    tag,
    summary: "Ends the decision of one of the account's alerts.",
    path: { id: text('As it was shown.') },
    answers: takenBackAnswers,
  },
});

export const decideEndpoint = endpoint({
  method: 'POST',
  path: '/v1/decisions',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  headers: bodyHeaders,
  cost: { quota: 'write', more: 'for each 10 decisions begun' },
  body: { types: ['json'], bytesMax: loginBytesMax, takesGzip: true },
  errors: ['store_unavailable'],
  docs: {
    id: 'manageDecide',
    tag,
    summary: 'Sets manual rules of the operator, by a key that may manage.',
    description: 'The key comes in `X-Api-Key`, or its token as bearer.',
    requestBody: jsonBody(sentDecisions),
    answers: { 201: jsonAnswer('For each decision its id.', v.array(v.string())), 401: refused },
  },
});

interface AgentRouteOptions {
  readonly guard: Guard;
  readonly quotaGuard: QuotaGuard;
  readonly callers: Pick<Callers, 'takeOrWait'>;
  readonly agents: AgentCallers;
  readonly clock: Clock;
  readonly scheduler: SliceScheduler;
  readonly tokens: AgentTokens;
  readonly accountOf: AccountOf;
  readonly sendReports: SendReports;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Decisions for the account's bouncers, durable when it is answered. */
  readonly ban: (account: string, wanted: readonly WantedDecision[]) => Promise<Result<void>>;
  readonly manager: Manager;
  /** Ends those that are meant. @returns how many */
  readonly retract: (account: string, matches: DecisionMatcher) => Promise<Result<number>>;
}

/** Errors of a report that rule out a ban, too: the address may not be reported, or the account is being deleted. */
const neverBanned = new Set<string>(['invalid_parameter', 'unauthenticated']);

const noRegistration = fail(
  'forbidden',
  'agents don’t register themselves: the operator makes a key, by portcullis bouncer add EMAIL NAME --agent; it is the password',
);
const wrongPassword = fail('unauthenticated', 'incorrect Username or Password');
const noReport = '0';

export function agentRoutes(options: AgentRouteOptions): PlainRoute[] {
  const { guard, quotaGuard, callers, clock, tokens, agents } = options;
  const { keyOf, note, limited } = agents;

  function login(request: Request): HandlerResult | Promise<HandlerResult> {
    return guard.unpacked(loginEndpoint, request, (whole) =>
      whole.ok ? letIn(whole.value) : whole,
    );
  }

  function letIn(request: Request): HandlerResult {
    const body = parseJsonObject(request.body);
    if (!body.ok) return body;
    const { password } = body.value;
    if (
      typeof password !== 'string' ||
      quotaGuard.authenticate(password, scopeBitsFor('agent')) < 0
    ) {
      const waitSeconds = callers.takeOrWait('agentLogin', request);
      if (waitSeconds === 0) return wrongPassword;
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const over = limited(password, request);
    if (over !== undefined) return over;
    const { token, endMs } = tokens.issue(password);
    note(password, request);
    const answer = { code: 200, expire: new Date(endMs).toISOString(), token };
    return jsonReplyOf(answer);
  }

  /** Makes the report of an alert. Its time is by the agent's clock; one ahead of ours means now. */
  function reportOf({
    ip,
    categories,
    comment,
    stoppedAt,
    isByHand,
  }: Alert): ReportInput | undefined {
    if (ip === undefined || isByHand) return undefined;
    const isPast = stoppedAt !== undefined && Date.parse(stoppedAt) <= clock.now();
    return { ip, categories, comment, timestamp: isPast ? stoppedAt : undefined };
  }

  /** Returns true if a decision of this length would have expired by now: an alert from an old log makes none. */
  function isOver({ stoppedAt }: Alert, durationMs: number): boolean {
    return stoppedAt !== undefined && Date.parse(stoppedAt) + durationMs <= clock.now();
  }

  /**
   * Collects each alert's own decisions, else a ban of the usual length for its address. A decision
   * that covers this server or the sender is left out.
   */
  function decidedBy(
    alerts: readonly Alert[],
    results: readonly (Result<unknown> | undefined)[],
    clientIp: string,
  ): WantedDecision[] {
    const wanted: WantedDecision[] = [];
    const words = new Uint32Array(4);
    const own = [...options.serverAddresses, clientIp].flatMap((text) => parseNetwork(text) ?? []);
    for (const [i, alert] of alerts.entries()) {
      const { ip, scenario, isRemark, decisions } = alert;
      for (const decision of decisions ?? []) {
        const matches = !isOver(alert, decision.durationMs);
        if (matches && !coversAny(decision.value, own)) wanted.push(decision);
      }
      const result = results[i];
      if (decisions !== undefined || ip === undefined || result === undefined) continue;
      if (isRemark || isOver(alert, banMs)) continue;
      if (!result.ok && neverBanned.has(result.error)) continue;
      const family = replaceByEmbedded(parseIp(ip.trim(), words), words);
      if (family !== 0) wanted.push(usualBan(formatIp(family, words), scenario));
    }
    return wanted;
  }

  async function alerts(request: Request): Promise<HandlerResult> {
    const keyText = keyOf(request);
    if (keyText === undefined) return wrongToken;
    const admitted = guard.admit(alertsEndpoint, request, keyText);
    if ('failure' in admitted)
      return guard.failureReply(alertsEndpoint, admitted.failure, admitted.headers);
    const { call } = admitted;
    const refuse = (failure: Failure) => guard.failureReply(alertsEndpoint, failure, call.headers);
    return guard.unpacked(alertsEndpoint, request, (whole) =>
      whole.ok ? taken(whole.value, keyText, call) : refuse(whole),
    );
  }

  async function taken(request: Request, keyText: string, call: KeyedCall): Promise<HandlerResult> {
    const refuse = (failure: Failure) => guard.failureReply(alertsEndpoint, failure, call.headers);
    const read = await readAlerts(request.body, options.scheduler);
    if (read === undefined) {
      return refuse(
        fail(
          'bad_request',
          `the body is no array of at most ${alertsMax} alerts, or a member has a wrong type`,
        ),
      );
    }
    const decided = read.reduce((sum, { decisions = [] }) => sum + decisions.length, 0);
    const isManager = agents.isManager(keyText);
    if (isManager && decided > managedMax) return refuse(tooManyManaged);
    // Manual entries are paid for one by one.
    const cost = Math.ceil(
      Math.max(read.length, decided) / (isManager ? entriesPerWrite : alertsPerWrite),
    );
    // The first was paid for when the key was seen.
    const unpaid = cost > 1 ? call.spend(cost - 1) : undefined;
    if (unpaid !== undefined) return refuse(unpaid);
    const account = options.accountOf(call.slot);
    // It was judged before the body was read: of a key that was revoked since nothing is kept.
    if (account === undefined || keyOf(request) === undefined) return refuse(wrongToken);
    const { clientIp } = request;
    const own = [jsonType, noStore, ...call.headers];
    if (isManager) {
      const wanted = read.flatMap(({ decisions = [] }) => decisions);
      const set = await setEntries(wanted, keyText, request);
      if (!set.ok) return refuse(set);
      const ids = read.map(({ decisions = [] }) => decisions.map(({ value }) => `${idOf(value)}`));
      const body = JSON.stringify(ids.map(([first = noReport]) => first));
      return { status: 201, headers: own, body };
    }
    const results = await options.sendReports(read.map(reportOf), {
      account,
      slot: call.slot,
      clientIp,
    });
    if (results.some((one) => one?.ok === false && one.error === 'store_unavailable')) {
      return refuse(fail('store_unavailable'));
    }
    const banned = await options.ban(account, decidedBy(read, results, clientIp));
    if (!banned.ok) return refuse(banned.error === 'unauthenticated' ? wrongToken : banned);
    note(keyText, request);
    const ids = results.map((one) => (one?.ok && one.value.id !== '' ? one.value.id : noReport));
    return { status: 201, headers: own, body: JSON.stringify(ids) };
  }

  /** Pays for `entries` manual entries beyond the first write. Returns the failure if the quota is used up. */
  function spendOn(call: KeyedCall, entries: number): Failure | undefined {
    const more = Math.ceil(entries / entriesPerWrite) - 1;
    return more > 0 ? call.spend(more) : undefined;
  }

  /** Makes manual entries of them, none of which covers this server or the sender. */
  async function setEntries(
    wanted: readonly WantedDecision[],
    keyText: string,
    request: Request,
  ): Promise<Result<void>> {
    const { clientIp } = request;
    const own = [...options.serverAddresses, clientIp].flatMap((text) => parseNetwork(text) ?? []);
    if (wanted.some(({ value }) => coversAny(value, own))) {
      return fail('bad_request', 'a decision covers this server or the sender');
    }
    const done = await options.manager.ban(wanted, { keyId: keyIdOf(keyText), clientIp });
    if (done.ok) note(keyText, request);
    return done;
  }

  async function decide(request: Request): Promise<HandlerResult> {
    const keyText = keyOf(request);
    if (keyText === undefined || !agents.isManager(keyText)) return wrongToken;
    const admitted = guard.admit(decideEndpoint, request, keyText);
    if ('failure' in admitted)
      return guard.failureReply(decideEndpoint, admitted.failure, admitted.headers);
    const { call } = admitted;
    const refuse = (failure: Failure) => guard.failureReply(decideEndpoint, failure, call.headers);
    return guard.unpacked(decideEndpoint, request, async (whole) => {
      const wanted = whole.ok ? readDecisions(whole.value.body) : whole;
      if (typeof wanted === 'string') return refuse(fail('bad_request', wanted));
      if ('ok' in wanted) return refuse(wanted);
      const unpaid = spendOn(call, wanted.length);
      if (unpaid !== undefined) return refuse(unpaid);
      const done = await setEntries(wanted, keyText, request);
      if (!done.ok) return refuse(done);
      const body = JSON.stringify(wanted.map(({ value }) => `${idOf(value)}`));
      return jsonReply(body, call.headers, 201);
    });
  }

  async function takeBackDecisions(
    declared: Endpoint,
    request: Request,
    matches: DecisionMatcher | string,
  ): Promise<HandlerResult> {
    const keyText = keyOf(request);
    if (keyText === undefined) return wrongToken;
    const admitted = guard.admit(declared, request, keyText);
    if ('failure' in admitted)
      return guard.failureReply(declared, admitted.failure, admitted.headers);
    const { call } = admitted;
    const refuse = (failure: Failure) => guard.failureReply(declared, failure, call.headers);
    if (typeof matches === 'string') return refuse(fail('bad_request', matches));
    const account = options.accountOf(call.slot);
    if (account === undefined) return refuse(wrongToken);
    const entries = agents.isManager(keyText)
      ? await options.manager.prefixesMatching(matches)
      : ok([]);
    if (!entries.ok) return refuse(entries);
    const unpaid = spendOn(call, entries.value.length);
    if (unpaid !== undefined) return refuse(unpaid);
    const done = await options.retract(account, matches);
    if (!done.ok) return refuse(done.error === 'unauthenticated' ? wrongToken : done);
    const by = { keyId: keyIdOf(keyText), clientIp: request.clientIp };
    const ended = await options.manager.end(entries.value, by);
    if (!ended.ok) return refuse(ended);
    note(keyText, request);
    const body = JSON.stringify({ nbDeleted: String(done.value + ended.value) });
    return jsonReply(body, call.headers);
  }

  return [
    guard.open(takeBackEndpoint, (request) => {
      const query = parseQuery(request.query);
      const matches = query.ok ? readDecisionFilter(query.value) : 'the query can’t be read';
      return takeBackDecisions(takeBackEndpoint, request, matches);
    }),
    guard.open(takeBackOneEndpoint, (request) =>
      takeBackDecisions(takeBackOneEndpoint, request, readDecisionId(request.param)),
    ),
    guard.open(takeAlertsBackEndpoint, (request) => {
      const query = parseQuery(request.query);
      const matches = query.ok
        ? readAlertsToDelete(query.value, clock.now())
        : 'the query can’t be read';
      return takeBackDecisions(takeAlertsBackEndpoint, request, matches);
    }),
    guard.open(takeAlertBackEndpoint, (request) =>
      takeBackDecisions(takeAlertBackEndpoint, request, readDecisionId(request.param)),
    ),
    guard.open(loginEndpoint, login),
    guard.open(heartbeatEndpoint, (request): HandlerResult => {
      const admitted = agents.admit(request);
      return 'ok' in admitted ? admitted : { status: 200, headers: [noStore] };
    }),
    guard.open(registerEndpoint, (request): HandlerResult => {
      const waitSeconds = callers.takeOrWait('agentLogin', request);
      if (waitSeconds === 0) return noRegistration;
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }),
    guard.open(leaveEndpoint, (request): HandlerResult => {
      const admitted = agents.admit(request);
      return 'ok' in admitted ? admitted : { status: 204, headers: [noStore] };
    }),
    guard.open(alertsEndpoint, alerts),
    guard.open(decideEndpoint, decide),
  ];
}

function coversAny(value: string, addresses: readonly Prefix[]): boolean {
  const network = parseNetwork(value);
  return network !== undefined && addresses.some((address) => coversAddress(network, address));
}

// Answers what agents, their WAF and `cscli` ask of their local API: allowlists, and the alerts of
// the account's own agents. The service's allowlist is not shown, for it is nobody's but the
// operator's; whether an address is on it is answered, as everybody may know.

const targetsMax = 1_000;
const targets = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(targetsMax));
const targetsBytesMax = 64 * 1_024;

const asked = {
  method: 'GET',
  who: 'agent',
  shape: 'bouncer',
  thread: 'main',
  robots: 'disallow',
  headers,
  handlerLimits: ['agentCalls'],
} as const;

const missing = jsonAnswer('There is none.', v.strictObject({ message: v.string() }));
const withContent = { with_content: optionalText('`true`: with what is on it.') };
const shownAllowlist = v.looseObject({
  name: v.string(),
  description: v.string(),
  created_at: dateTime,
  updated_at: dateTime,
  items: v.array(v.looseObject({ value: v.string(), created_at: dateTime })),
});

export const allowlistsEndpoint = endpoint({
  ...asked,
  path: '/v1/allowlists',
  errors: [],
  docs: {
    id: 'agentAllowlists',
    tag,
    summary: 'The allowlist of the service, to a key that may manage; no list to others.',
    query: withContent,
    answers: { 200: jsonAnswer('An array.', v.array(shownAllowlist)), 401: refused },
  },
});

export const allowlistEndpoint = endpoint({
  ...asked,
  path: '/v1/allowlists/:name',
  errors: [],
  docs: {
    id: 'agentAllowlist',
    tag,
    summary: 'One allowlist: `portcullis` is the only one.',
    path: { name: text('Its name.') },
    query: withContent,
    answers: { 200: jsonAnswer('The list.', shownAllowlist), 401: refused, 404: missing },
  },
});

export const allowlistCheckEndpoint = endpoint({
  ...asked,
  path: '/v1/allowlists/check/:value',
  errors: [],
  docs: {
    id: 'agentAllowlistCheck',
    tag,
    summary: 'Whether an address or a network is never blocked.',
    description: 'HEAD says it by its status: 200, or 204 when it is not allowed.',
    path: { value: text('An address, or a network with `%2F` in it.') },
    answers: {
      200: jsonAnswer(
        'Whether it is.',
        v.strictObject({ allowlisted: v.boolean(), reason: v.optional(v.string()) }),
      ),
      401: refused,
    },
    headAnswers: { 204: { description: 'It is not allowed.' } },
  },
});

export const allowlistsCheckEndpoint = endpoint({
  ...asked,
  method: 'POST',
  path: '/v1/allowlists/check',
  body: { types: ['json'], bytesMax: targetsBytesMax, takesGzip: true },
  errors: [],
  docs: {
    id: 'agentAllowlistsCheck',
    tag,
    summary: 'Which of these addresses and networks are never blocked.',
    requestBody: jsonBody(v.object({ targets })),
    answers: {
      200: jsonAnswer(
        'Those that are.',
        v.strictObject({
          results: v.array(v.strictObject({ target: v.string(), allowlists: v.array(v.string()) })),
        }),
      ),
      401: refused,
    },
  },
});

/** An alert as it is shown: the members that every client reads, of many. */
const shownAlert = v.looseObject({
  id: v.number(),
  scenario: v.string(),
  start_at: dateTime,
  stop_at: dateTime,
  source: v.looseObject({ scope: v.string(), value: v.string() }),
  decisions: v.array(v.looseObject({})),
});

export const ownAlertsEndpoint = endpoint({
  ...asked,
  path: '/v1/alerts',
  errors: [],
  docs: {
    id: 'agentOwnAlerts',
    tag,
    summary: "Alerts of the account's agents whose decision lasts, the newest first.",
    query: {
      ip: optionalText('An address.'),
      range: optionalText('A network.'),
      contains: optionalText('`true`: what holds it; `false`: what lies in it; both if absent.'),
      scope: optionalText('`ip` or `range`; others have none.'),
      value: optionalText('An address or a network.'),
      scenario: optionalText('The whole name of it.'),
      origin: optionalText('`crowdsec`, `cscli` or another.'),
      kind: optionalText('`cscli`, or `crowdsec` for all others; no alert has another.'),
      decision_type: optionalText('`ban` or `captcha`; others have none.'),
      has_active_decision: optionalText('`false` has none.'),
      since: optionalText('No older than this: `4h`.'),
      until: optionalText('No younger than this.'),
      created_before: optionalText('The same.'),
      simulated: optionalText('Changes nothing: simulations are not kept.'),
      include_capi: optionalText('Changes nothing.'),
      with_decisions: optionalText('Changes nothing.'),
      sort: optionalText('Changes nothing: the newest come first.'),
      limit: optionalText('At most so many: 100 if absent, 1,000 for 0.'),
    },
    answers: {
      200: jsonAnswer('The alerts, or null.', v.nullable(v.array(shownAlert))),
      401: refused,
    },
  },
});

export const ownAlertEndpoint = endpoint({
  ...asked,
  path: '/v1/alerts/:id',
  errors: [],
  docs: {
    id: 'agentOwnAlert',
    tag,
    summary: 'One of these alerts.',
    path: { id: text('As it was shown.') },
    answers: { 200: jsonAnswer('The alert.', shownAlert), 401: refused, 404: missing },
  },
});

interface AgentReadOptions {
  readonly guard: Guard;
  readonly clock: Pick<Clock, 'now'>;
  readonly agents: Pick<AgentCallers, 'admit'>;
  /** Returns the decisions of an account's agents by its slot; undefined: it had none for a day. */
  readonly ownOf: (slot: number) => AgentDecisions | undefined;
  /**
   * Returns whether an address or a whole network is allowlisted or known to be good; undefined if
   * the text is neither.
   */
  readonly isAllowed: (text: string) => boolean | undefined;
  readonly manager: Pick<Manager, 'entries' | 'allowlist'>;
}

const listName = 'portcullis';
const notFound = fail('not_found', 'object not found');
const noAddress = fail('bad_request', 'the value must be an address or a network');

export function agentReadRoutes(options: AgentReadOptions): PlainRoute[] {
  const { guard, clock, agents, ownOf, isAllowed, manager } = options;

  /** Returns the failure for a caller without access. */
  const refused = (request: Request): Failure | undefined => {
    const admitted = agents.admit(request);
    return 'ok' in admitted ? admitted : undefined;
  };

  const allowlist = (request: Request): Promise<string> => {
    const query = parseQuery(request.query);
    return manager.allowlist(listName, query.ok && query.value.get('with_content') === 'true');
  };

  /** Returns the decisions of the account's agents; also the operator's if the caller may manage them. */
  async function decisionsSeen(admitted: {
    readonly slot: number;
    readonly isManager: boolean;
  }): Promise<Pick<AgentDecisions, 'active'> | undefined> {
    if (!admitted.isManager) return ownOf(admitted.slot);
    const active = new Map<string, AgentDecision>(await manager.entries());
    for (const [value, one] of ownOf(admitted.slot)?.active ?? []) active.set(value, one);
    return { active };
  }

  return [
    guard.open(allowlistsEndpoint, async (request): Promise<HandlerResult> => {
      const admitted = agents.admit(request);
      if ('ok' in admitted) return admitted;
      return jsonReply(admitted.isManager ? `[${await allowlist(request)}]` : '[]');
    }),
    guard.open(allowlistEndpoint, async (request): Promise<HandlerResult> => {
      const admitted = agents.admit(request);
      if ('ok' in admitted) return admitted;
      if (!admitted.isManager || request.param !== listName) return notFound;
      return jsonReply(await allowlist(request));
    }),
    guard.open(allowlistCheckEndpoint, (request): HandlerResult => {
      const failure = refused(request);
      if (failure !== undefined) return failure;
      const { param: value } = request;
      const allowlisted = isAllowed(value);
      if (allowlisted === undefined) return noAddress;
      // So clients tell both apart, which read no body then.
      if (request.method === 'HEAD' && !allowlisted) return { status: 204, headers: [noStore] };
      const reason = allowlisted ? { reason: `${value} from ${listName}` } : {};
      return jsonReply(JSON.stringify({ allowlisted, ...reason }));
    }),
    guard.open(allowlistsCheckEndpoint, (request): HandlerResult | Promise<HandlerResult> => {
      const failure = refused(request);
      if (failure !== undefined) return failure;
      return guard.unpacked(allowlistsCheckEndpoint, request, (whole): HandlerResult => {
        if (!whole.ok) return whole;
        const body = parseJsonObject(whole.value.body);
        if (!body.ok) return body;
        const { targets } = body.value;
        if (!Array.isArray(targets) || targets.length === 0 || targets.length > targetsMax) {
          return fail('bad_request', `targets is an array of 1 to ${targetsMax} values`);
        }
        const found: object[] = [];
        for (const target of targets) {
          const allowed = typeof target === 'string' ? isAllowed(target) : undefined;
          if (allowed === undefined) return noAddress;
          if (allowed) found.push({ target, allowlists: [`${target} from ${listName}`] });
        }
        return jsonReply(JSON.stringify({ results: found }));
      });
    }),
    guard.open(ownAlertEndpoint, async (request): Promise<HandlerResult> => {
      const admitted = agents.admit(request);
      if ('ok' in admitted) return admitted;
      if (!/^\d{1,16}$/.test(request.param)) return fail('bad_request', 'an id is a whole number');
      const seen = await decisionsSeen(admitted);
      const found = alertWithId(seen, Number(request.param), clock.now());
      return found === undefined ? notFound : jsonReply(found);
    }),
    guard.open(ownAlertsEndpoint, async (request): Promise<HandlerResult> => {
      const admitted = agents.admit(request);
      if ('ok' in admitted) return admitted;
      const query = parseQuery(request.query);
      if (!query.ok) return fail('bad_request');
      const nowMs = clock.now();
      const filter = readAlertFilter(query.value, nowMs);
      if (typeof filter === 'string') return fail('bad_request', filter);
      return jsonReply(alertsText(await decisionsSeen(admitted), filter, nowMs));
    }),
  ];
}
