/**
 * Answers what bouncers ask in addition to look-ups: the stream of decisions, and their reports of
 * what they stopped. The main thread answers: it has the cursors, and the bodies are ready in
 * shared memory. A poll that it has answered with nothing new is answered by the front ends while nothing
 * changes: see settled-polls.ts.
 */

import * as v from 'valibot';
import { keyIdOf, scopeBitsFor } from '../../access/keys/key-format.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { ClientLimitName } from '../../config/limits.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { optionalText } from '../../core/schema.ts';
import { renderHead } from '../../http/answer/head.ts';
import { acceptedEncodings } from '../../http/answer/negotiate.ts';
import { firstHeader, type Reply, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRoute, PlainRoute } from '../../http/router.ts';
import type { IndexView } from '../../index/reader.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { jsonAnswer, jsonBody } from '../../web/openapi.ts';
import { jsonReply, jsonType, noStore } from '../../web/shape.ts';
import type { BanReader } from './ban-table.ts';
import type { AgentCallers, BouncerUses } from './callers.route.ts';
import { type AgentDecisions, excludesAllLists, type Filter, readFilter } from './decisions.ts';
import {
  bouncersTag,
  decisionsOrNull,
  filterParameters,
  forbiddenDetail,
  limitedHeader,
  liveEndpoint,
} from './live.route.ts';
import type { Poll, SettledPolls } from './settled-polls.ts';
import { type DecisionStream, decisionsOf, type ManualDecision, nothingNew } from './stream.ts';

const headers = ['x-api-key', 'user-agent', 'accept-encoding'] as const;
/** An agent with a hundred sources and all parsers says so much. */
const usageBytesMax = 512 * 1_024;
/**
 * A body of any shape is parsed and checked in a few milliseconds up to here. An agent's longer one is taken
 * unread.
 */
const usageBytesRead = 128 * 1_024;
const listMax = 64;
const retrySeconds = 10;

export const streamEndpoint = endpoint({
  method: 'GET',
  path: '/v1/decisions/stream',
  who: 'bouncer',
  shape: 'bouncer',
  thread: 'any',
  headers,
  handlerLimits: ['decisionsWhole', 'decisionsStream'],
  errors: ['overloaded', 'store_unavailable'],
  robots: 'disallow',
  docs: {
    id: 'decisionStream',
    tag: bouncersTag,
    summary: 'The whole list as decisions, or what changed since the client asked last.',
    query: { startup: optionalText('`true`: the whole list.'), ...filterParameters },
    answers: {
      200: jsonAnswer(
        'The decisions.',
        v.strictObject({ new: decisionsOrNull, deleted: decisionsOrNull }),
      ),
    },
  },
});

// Reads what a bouncer says that it saw and stopped: sums over all its items, whatever their labels
// are. Firewall bouncers report the same traffic in packets and in bytes; bytes are left out. An
// agent says what it read: that is checked, and not kept.

const item = v.object({
  name: v.string(),
  unit: v.optional(v.nullable(v.string())),
  value: v.pipe(v.number(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER)),
});
const metric = v.object({
  items: v.optional(v.nullable(v.pipe(v.array(item), v.maxLength(1_000)))),
});
const program = {
  version: v.optional(v.nullable(v.string())),
  utc_startup_timestamp: v.optional(v.nullable(v.number())),
};
const component = v.object({
  ...program,
  metrics: v.optional(v.nullable(v.pipe(v.array(metric), v.maxLength(listMax)))),
});
// One metric of an agent holds an item for each source and parser: thousands, and none of them is read.
const processor = v.object({
  ...program,
  hub_items: v.optional(v.nullable(v.object({}))),
  datasources: v.optional(v.nullable(v.object({}))),
  metrics: v.optional(v.nullable(v.pipe(v.array(v.object({})), v.maxLength(listMax)))),
});
const usageMetrics = v.object({
  remediation_components: v.optional(v.nullable(v.pipe(v.array(component), v.maxLength(listMax)))),
  log_processors: v.optional(v.nullable(v.pipe(v.array(processor), v.maxLength(listMax)))),
});

/** The members that a component of each kind must have. */
const needed = {
  remediation_components: ['version', 'utc_startup_timestamp'],
  log_processors: ['version', 'utc_startup_timestamp', 'hub_items', 'datasources'],
} as const;

export const usageEndpoint = endpoint({
  method: 'POST',
  path: '/v1/usage-metrics',
  who: 'bouncer',
  shape: 'bouncer',
  thread: 'main',
  headers: [...headers, 'authorization'],
  handlerLimits: ['decisionsStream', 'agentCalls'],
  body: { types: ['json'], bytesMax: usageBytesMax, takesGzip: true },
  errors: ['unauthenticated', 'invalid_parameter'],
  docs: {
    id: 'usageMetrics',
    tag: bouncersTag,
    summary: 'What a bouncer saw and stopped, or what an agent read.',
    description: 'An agent sends its token as bearer instead of the key of a bouncer.',
    requestBody: jsonBody(usageMetrics),
    answers: {
      201: { description: 'Noted.' },
      401: jsonAnswer(
        'A wrong token.',
        v.strictObject({ code: v.literal(401), message: v.string() }),
      ),
    },
  },
});

interface BouncerRouteOptions {
  readonly guard: Guard;
  readonly quotaGuard: QuotaGuard;
  readonly clock: Pick<Clock, 'now'>;
  readonly callers: Pick<Callers, 'takeOrWaitFor' | 'clientOf'>;
  /** Agents say what they read by the same call. */
  readonly agents: Pick<AgentCallers, 'admit'>;
  readonly stream: DecisionStream;
  readonly settled: Pick<SettledPolls, 'note'>;
  readonly uses: Pick<BouncerUses, 'note'>;
  /**
   * Returns how to look up the decisions of an account's agents by its slot, with those for everybody that the filter
   * asks for; undefined: there was none for a day.
   */
  readonly decisionsFor: (filter: Filter) => Promise<{
    of(slot: number): AgentDecisions | undefined;
    /** Some are read when somebody asks: no answer holds until the bans change. */
    readonly areRead: boolean;
  }>;
  readonly manual: () => Promise<readonly ManualDecision[]>;
  readonly index: Pick<IndexView, 'listNames'>;
  /** Entries of a whole list for this key. */
  readonly entriesMaxOf: (keyId: string) => Promise<number>;
}

const badQuery = 'the query can’t be read';
const notBuilt = {
  ...fail('overloaded', 'the list is being built; please come back soon'),
  retryAfterSeconds: retrySeconds,
};

const forbidden = fail('forbidden', forbiddenDetail);

const nothingHead = renderHead(200, [jsonType, noStore]);

/** Clients of one key on several machines, or with several programs, are clients of their own. */
const agentCharsMax = 200;

/** Answers a poll that brings nothing new in the turn in which it comes; the main thread answers all others. */
export function pollRoute(options: {
  readonly quotaGuard: QuotaGuard;
  readonly callers: Pick<Callers, 'takeOrWaitFor' | 'clientOf'>;
  readonly settled: Pick<SettledPolls, 'has'>;
  readonly bans: Pick<BanReader, 'position'>;
  /** Returns the version of the list that this thread holds; undefined: none yet. */
  readonly version: () => number | undefined;
}): HotRoute {
  const { quotaGuard, callers, settled, bans } = options;
  return {
    kind: 'hot',
    ...routeFacts(streamEndpoint),
    method: 'GET',
    handle(request) {
      const [keyText, agent = ''] = request.values;
      const version = options.version();
      const slot = quotaGuard.authenticate(keyText, scopeBitsFor('decisions'));
      if (keyText === undefined || slot < 0 || version === undefined) return request.defer();
      const keyId = keyIdOf(keyText);
      const clientIp = request.client().ip;
      const { query } = request;
      const poll = { keyId, slot, address: clientIp, agent: agent.slice(0, agentCharsMax), query };
      if (!settled.has(poll, { version, bans: bans.position() })) return request.defer();
      // The main thread answers clients over the limit: it knows how long they must wait.
      const name = `${keyId} ${callers.clientOf({ clientIp })}`;
      if (callers.takeOrWaitFor('decisionsStream', name) > 0) return request.defer();
      request.answer(nothingHead, nothingNew);
    },
  };
}

export function bouncerRoutes(options: BouncerRouteOptions): PlainRoute[] {
  const { guard, quotaGuard, callers, stream, uses } = options;

  /** A key that lives and is a bouncer's, and the slot of its account. */
  function bouncerOf(request: Request): { keyId: string; slot: number } | undefined {
    const text = firstHeader(request, 'x-api-key');
    const slot = quotaGuard.authenticate(text, scopeBitsFor('decisions'));
    return text === undefined || slot < 0 ? undefined : { keyId: keyIdOf(text), slot };
  }

  const clientFacts = (request: Request) => ({
    agent: firstHeader(request, 'user-agent') ?? '',
    address: request.clientIp,
  });

  function limited(limit: ClientLimitName, keyId: string, { clientIp }: Request) {
    const waitSeconds = callers.takeOrWaitFor(limit, `${keyId} ${callers.clientOf({ clientIp })}`);
    if (waitSeconds === 0) return undefined;
    return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
  }

  return [
    // Only what the front ends hand on: what is no question about one address or network.
    guard.open(liveEndpoint, async (request): Promise<HandlerResult> => {
      const bouncer = bouncerOf(request);
      if (bouncer === undefined) return forbidden;
      const query = parseQuery(request.query);
      const filter = query.ok ? readFilter(query.value, { isLookup: true }) : badQuery;
      if (typeof filter === 'string') return fail('bad_request', filter);
      const limit = query.ok ? readLimit(query.value.get('limit')) : undefined;
      if (limit === undefined) return fail('bad_request', 'limit is a whole number');
      const isShort = excludesAllLists(filter, options.index);
      const limitName = isShort ? 'decisionsStream' : 'decisionsWhole';
      if (limited(limitName, bouncer.keyId, request) !== undefined) {
        return jsonReply('null', [limitedHeader]);
      }
      if (request.method === 'HEAD') return replyOf([], false);
      const manual = await options.manual();
      const own = (await options.decisionsFor(filter)).of(bouncer.slot);
      const entriesMax = Math.min(limit, await options.entriesMaxOf(bouncer.keyId));
      if (isShort) {
        const asked = { nowMs: options.clock.now(), entriesMax };
        return replyOf(await decisionsOf(own, manual, filter, asked), false);
      }
      const parts = await stream.everything({ filter, own, manual, entriesMax });
      return parts === undefined ? notBuilt : replyOf(parts, false);
    }),
    guard.open(streamEndpoint, async (request, caller): Promise<HandlerResult> => {
      const bouncer = bouncerOf(request);
      if (bouncer === undefined) return forbidden;
      const { keyId, slot } = bouncer;
      // Clients ask this way whether their key is good.
      if (request.method === 'HEAD') return replyOf([], false);
      const query = parseQuery(request.query);
      if (!query.ok) return fail('bad_request', badQuery);
      const { agent, address } = clientFacts(request);
      const poll: Poll = {
        keyId,
        slot,
        address,
        agent: agent.slice(0, agentCharsMax),
        query: request.query,
      };
      const client = `${keyId} ${address} ${poll.agent}`;
      const filter = readFilter(query.value);
      if (typeof filter === 'string') return fail('bad_request', filter);
      const isStart = query.value.get('startup') === 'true';
      const isWhole = stream.isWhole({ client, isStart, filter });
      const refused = limited(isWhole ? 'decisionsWhole' : 'decisionsStream', keyId, request);
      if (refused !== undefined) return refused;
      let isGone = false;
      caller.onGone(() => {
        isGone = true;
      });
      const own = await options.decisionsFor(filter);
      const gzip = acceptedEncodings(firstHeader(request, 'accept-encoding')).has('gzip');
      const answer = await stream.answer({
        client,
        isStart,
        filter,
        gzip,
        own: () => own.of(slot),
        entriesMax: () => options.entriesMaxOf(keyId),
        isGone: () => isGone,
      });
      if (answer === undefined) return notBuilt;
      uses.note(keyId, { agent, address });
      if (answer.settledAt !== undefined && !own.areRead) {
        options.settled.note(poll, answer.settledAt);
      }
      return replyOf(answer.parts, answer.isGzip);
    }),
    guard.open(usageEndpoint, async (request): Promise<HandlerResult> => {
      const isAgent =
        firstHeader(request, 'x-api-key') === undefined &&
        firstHeader(request, 'authorization') !== undefined;
      const keyId = isAgent ? undefined : bouncerOf(request)?.keyId;
      if (isAgent) {
        const admitted = options.agents.admit(request);
        if ('ok' in admitted) return admitted;
      } else {
        if (keyId === undefined) return forbidden;
        const refused = limited('decisionsStream', keyId, request);
        if (refused !== undefined) return refused;
      }
      return guard.unpacked(usageEndpoint, request, (whole): HandlerResult => {
        if (!whole.ok) return whole;
        if (whole.value.body.length > usageBytesRead) {
          return isAgent ? { status: 201, headers: [noStore] } : fail('body_too_large');
        }
        const usage = readUsage(whole.value.body);
        if (!usage.ok) return usage;
        if (keyId !== undefined) uses.note(keyId, { ...clientFacts(request), ...usage.value });
        return { status: 201, headers: [noStore] };
      });
    }),
  ];
}

/** Undefined: it is no number of entries. */
function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

function replyOf(body: readonly Uint8Array[], isGzip: boolean): Reply {
  const encoding = isGzip ? ([['Content-Encoding', 'gzip']] as const) : [];
  return jsonReply(body, encoding);
}

interface BouncerUsage {
  readonly processed: number;
  readonly dropped: number;
}

/** `bad_request` when the bytes are nothing of the kind, `invalid_parameter` when something is missing in it. */
export function readUsage(body: Uint8Array): Result<BouncerUsage> {
  const notRead = fail('bad_request', 'the body is no usage metrics');
  let given: unknown;
  try {
    given = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return notRead;
  }
  // An array is an object, too.
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return notRead;
  if (hasLongList(given)) return notRead;
  const read = v.safeParse(usageMetrics, given, { abortEarly: true });
  if (!read.success) return notRead;
  const missing = missingIn(read.output);
  if (missing !== undefined) return fail('invalid_parameter', `${missing} is required`);
  const sums = { processed: 0, dropped: 0 };
  for (const { metrics } of read.output.remediation_components ?? []) {
    for (const { items } of metrics ?? []) {
      for (const { name, unit, value } of items ?? []) {
        if (unit === 'byte') continue;
        if (name === 'processed' || name === 'dropped') sums[name] += value;
      }
    }
  }
  return ok(sums);
}

/** Each element of a list is checked before its length is: of a list of nothings that takes far longer. */
function hasLongList(usage: {
  readonly remediation_components?: unknown;
  readonly log_processors?: unknown;
}): boolean {
  const isLong = (list: unknown) => Array.isArray(list) && list.length > listMax;
  return [usage.remediation_components, usage.log_processors].some(
    (list) =>
      isLong(list) ||
      (Array.isArray(list) &&
        list.some((one: { readonly metrics?: unknown } | null) => isLong(one?.metrics))),
  );
}

/** Names the first member that is not there. */
function missingIn(usage: v.InferOutput<typeof usageMetrics>): string | undefined {
  for (const kind of ['remediation_components', 'log_processors'] as const) {
    for (const [i, one] of (usage[kind] ?? []).entries()) {
      const said: Readonly<Record<string, unknown>> = one;
      const lacking = needed[kind].find((name) => said[name] === undefined || said[name] === null);
      if (lacking !== undefined) return `${kind}.${i}.${lacking}`;
    }
  }
  return undefined;
}
