/**
 * Takes a framed request to its handler's answer: refusals, the body, the deadline. Every path
 * through here ends in exactly one answer. It knows routes and exchanges, not the library.
 */

import { createClientLimits, type LimitRecords } from '../../access/quota/client-limits.ts';
import type { ClientLimit } from '../../config/limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Networks } from '../../ip/networks.ts';
import { StoreUnavailableError } from '../../storage/store.ts';
import { type Head, openErrorBodies, renderHead, withRequestId } from '../answer/head.ts';
import {
  deadlineProblem,
  lengthRequired,
  refusalOf,
  retryLater,
  storeUnreachable,
} from '../answer/refusal.ts';
import {
  type Arrival,
  hasBody,
  hasCookie,
  problemHeader,
  requestOf,
  type Wire,
} from '../answer/wire.ts';
import { Exchange } from '../exchange.ts';
import type { LaneOptions } from '../hot-lane.ts';
import { BodyAborted, collectBody, type IntakeRules, streamBody } from '../request/intake.ts';
import { type Header, logFieldsOf, type Problem, problem, type Reply } from '../request/message.ts';
import { corsHeaders, type PlainRoute, type Route, type StreamRoute } from '../router.ts';
import {
  type BodyBudget,
  type BodyShare,
  createBodyBudget,
  type RequestSlot,
  RequestSlots,
} from './request-slots.ts';

interface AdmissionOptions extends LaneOptions {
  readonly clock: Clock;
  readonly defaultHeaders: readonly Header[];
  /** False: a chunked request is refused, whatever it asks for. */
  readonly takesChunked: boolean;
  readonly answerLimits: AnswerLimits;
  /** The route that renders refusals for a signed-in browser, so that they show the person's header. */
  readonly refused?: { readonly route: PlainRoute; readonly withCookie: string } | undefined;
}

interface ArrivingRequest {
  readonly exchange: Exchange;
  readonly requestSlot: RequestSlot;
  readonly arrival: Arrival;
  readonly route: PlainRoute;
}

const emptyBody = new Uint8Array(0);

/** The answer when even rendering an error failed. */
const bareFailure: Reply = {
  status: 500,
  headers: [['Content-Type', 'text/plain; charset=utf-8']],
  body: 'Internal Server Error\n',
};

/** Counts requests that were let in and are not over, for a stop that waits for them. */
class InFlight {
  #total = 0;
  #drained: (() => void) | undefined;

  get total(): number {
    return this.#total;
  }

  enter(): void {
    this.#total++;
  }

  leave(): void {
    this.#total--;
    if (this.#total === 0) this.#drained?.();
  }

  /** Resolves when nothing is in flight, or after `graceMs`. */
  drained(graceMs: number): Promise<void> {
    if (this.#total === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Refusals by these limits in one turn that keep their connections: a millisecond of work. */
const keptRefusalsMax = 64;

export class Admission {
  readonly inFlight = new InFlight();
  readonly bodies: BodyBudget;
  readonly slots: RequestSlots;
  readonly #options: AdmissionOptions;
  readonly #errorBody = openErrorBodies();
  /** Requests of this turn whose body arrives. */
  #begun: ArrivingRequest[] = [];
  /** Requests of this turn that the limits of answers refused. */
  #refusedNow = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.bodies = createBodyBudget(options.limits);
    this.slots = new RequestSlots(options.limits);
  }

  /** Returns the present use of each bounded table, by the name of its metric. */
  taken() {
    const { working, probes, arriving, unread, unreadBytes, refused } = this.slots;
    return {
      in_flight: working.taken,
      probes: probes.taken,
      arriving_bodies: arriving.taken,
      unread_answers: unread.taken,
      unread_bytes: unreadBytes.total,
      refused_bodies: refused.taken,
      body_bytes: this.bodies.held(),
    };
  }

  /** Never throws. */
  admit(arrival: Arrival): void {
    const requestSlot = this.slots.open(arrival.clientIp);
    const { match, method } = arrival;
    const route = match?.resource.byMethod.get(method as never);
    const exchange = this.#open(arrival, requestSlot, route);
    try {
      const tooMany = this.#options.answerLimits.refusalOf(requestSlot.networks(), route);
      if (tooMany !== undefined) {
        if (!exchange.isBodyRead) discardBody(arrival.wire, exchange);
        exchange.isLast = !this.#takeKeptRefusal();
        this.#refuse(exchange, arrival, tooMany);
        return;
      }
      if (arrival.isChunked && !this.#options.takesChunked) {
        discardBody(arrival.wire, exchange);
        this.#refuse(exchange, arrival, lengthRequired());
        return;
      }
      if (method === 'OPTIONS' && match?.resource.cors !== undefined) {
        exchange.answer({ status: 204, headers: corsHeaders(match.resource) });
        return;
      }
      const busy = requestSlot.refusalOf(isProbe(route));
      const refusal = refusalOf(arrival, route, busy, this.#options.limits);
      if (refusal !== undefined) {
        if (!exchange.isBodyRead) discardBody(arrival.wire, exchange);
        this.#sendRefusal(exchange, requestSlot, arrival, refusal, busy);
      } else if (route?.kind === 'stream')
        this.#receiveStream(exchange, requestSlot, arrival, route);
      else if (route?.kind === 'plain') this.#receivePlain(exchange, requestSlot, arrival, route);
      else throw new Error('a hot route was reached by the slow lane');
    } catch (error) {
      this.#fail(exchange, arrival, error);
    }
  }

  /**
   * Returns whether one who is refused keeps the connection, as the first in each turn do: accepting another
   * one costs several times as much as a refusal. Thousands of requests behind one another come in one turn,
   * and the connection ends with those beyond it.
   */
  #takeKeptRefusal(): boolean {
    if (this.#refusedNow === 0) setImmediate(this.#beginTurn);
    return this.#refusedNow++ < keptRefusalsMax;
  }

  readonly #beginTurn = (): void => {
    this.#refusedNow = 0;
  };

  #open(arrival: Arrival, requestSlot: RequestSlot, route: Route | undefined): Exchange {
    const { limits, clock, answerLimits, isClosing, shouldCheckReader, shouldEnd } = this.#options;
    const startMs = clock.monotonicMs();
    this.inFlight.enter();
    const exchange = new Exchange({
      wire: arrival.wire,
      requestSlot,
      isHead: arrival.method === 'HEAD',
      limits,
      render: (reply) => this.#render(reply, arrival),
      shouldClose: () => arrival.wantsClose || isClosing(),
      shouldCheckReader,
      shouldEnd,
      onOver: (status) => {
        requestSlot.leave();
        this.inFlight.leave();
        answerLimits.answered(requestSlot.networks(), route, status);
        this.#note(arrival, status, clock.monotonicMs() - startMs);
      },
    });
    // A small body that no handler reads is discarded by the library itself.
    exchange.isBodyRead = !arrival.isChunked && arrival.contentLength <= limits.strayBodyBytesMax;
    return exchange;
  }

  #note(arrival: Arrival, status: number, ms: number): void {
    const pattern = arrival.match?.resource.path ?? '';
    this.#options.onFinished?.(pattern, status, ms);
    this.#options.accessLog?.({ ...arrival, pattern, status, ms });
  }

  #render(reply: Reply, arrival: Arrival): { head: Head; reply: Reply } {
    try {
      const headers = [...reply.headers];
      for (const header of this.#options.defaultHeaders) addIfMissing(headers, header);
      if (arrival.match?.resource.cors !== undefined) addIfMissing(headers, anyOrigin);
      return this.#signed(renderHead(reply.status, headers), reply, arrival);
    } catch (error) {
      this.#report(error, arrival, 'a reply cannot be written');
      const headers = [...bareFailure.headers, ...this.#options.defaultHeaders];
      return this.#signed(renderHead(bareFailure.status, headers), bareFailure, arrival);
    }
  }

  /** Adds the id of the request to the head, and to the body of an error that has a place for it. */
  #signed(head: Head, reply: Reply, { id }: Arrival): { head: Head; reply: Reply } {
    const { status, body } = reply;
    const isError = status >= 400 && typeof body === 'string';
    const signed = isError ? { ...reply, body: this.#errorBody(head, body, id) } : reply;
    return { head: withRequestId(head, id), reply: signed };
  }

  /** Refuses by the route for it, where the reader may be signed in and there is a place; else at once. */
  #sendRefusal(
    exchange: Exchange,
    requestSlot: RequestSlot,
    arrival: Arrival,
    what: Problem,
    busy: Problem | undefined,
  ): void {
    const { refused } = this.#options;
    const isPerson = refused !== undefined && hasCookie(arrival.headers, refused.withCookie);
    const routes = [...(arrival.match?.resource.byMethod.values() ?? [])];
    const isPage = routes.some(({ shape }) => shape === 'page');
    if (!isPerson || !isPage || busy !== undefined) {
      this.#refuse(exchange, arrival, what);
      return;
    }
    const headers = { ...arrival.headers, [problemHeader]: [JSON.stringify(what)] };
    this.#runPlain(exchange, requestSlot, { ...arrival, headers }, refused.route, emptyBody);
  }

  #refuse(exchange: Exchange, arrival: Arrival, what: Problem): void {
    exchange.answer(this.#renderRefusal(arrival, what));
  }

  #renderRefusal(arrival: Arrival, what: Problem): Reply {
    try {
      const { method, path, query } = arrival;
      const rendered = this.#options.renderProblem(what, {
        method,
        path,
        query,
        acceptLanguage: arrival.headers['accept-language']?.[0],
      });
      return { ...rendered, headers: [...rendered.headers, ...what.headers] };
    } catch (error) {
      this.#report(error, arrival, 'a problem cannot be rendered');
      return bareFailure;
    }
  }

  #fail(exchange: Exchange, arrival: Arrival, error: unknown): void {
    // The reader of a body learns this way that the exchange has ended; it is no failure.
    if (error instanceof BodyAborted && !exchange.isOpen) return;
    if (error instanceof StoreUnavailableError) {
      this.#options.log.debug(
        { err: error, ...logFieldsOf(arrival) },
        'a handler found the store unavailable',
      );
      this.#refuse(exchange, arrival, storeUnreachable);
      return;
    }
    this.#report(error, arrival, 'a handler failed');
    this.#refuse(exchange, arrival, problem('internal', 500, 'The service failed to answer.'));
  }

  #report(error: unknown, arrival: Arrival, message: string): void {
    const path = arrival.match?.resource.path;
    this.#options.log.error({ err: error, path, ...logFieldsOf(arrival) }, message);
  }

  #receivePlain(
    exchange: Exchange,
    requestSlot: RequestSlot,
    arrival: Arrival,
    route: PlainRoute,
  ): void {
    const bytesMax = route.bodyBytesMax ?? 0;
    if (bytesMax === 0 || !hasBody(arrival)) {
      this.#runPlain(exchange, requestSlot, arrival, route, emptyBody);
      return;
    }
    exchange.isBodyRead = false;
    // A small body mostly comes with its head, in the same turn: only one that does not takes a slot.
    if (this.#begun.push({ exchange, requestSlot, arrival, route }) === 1)
      setImmediate(this.#admitBegun);
    let share: BodyShare | undefined;
    // Spread into it, the common rules would cost a microsecond.
    const rules = {
      bytesMax,
      declaredBytes: arrival.contentLength,
      refuse: (why: Problem) => this.#refuse(exchange, arrival, why),
      hold: (bytes: number) => {
        share ??= this.#openShare(exchange, requestSlot);
        return share.hold(bytes);
      },
    };
    collectBody(arrival.wire, exchange, rules, (body) => {
      const busy = requestSlot.refusalOf(isProbe(route));
      if (busy !== undefined) this.#refuse(exchange, arrival, busy);
      else this.#runPlain(exchange, requestSlot, arrival, route, body);
    });
  }

  #openShare(exchange: Exchange, requestSlot: RequestSlot): BodyShare {
    const share = this.bodies.open(requestSlot.networks());
    exchange.onEnd(share.release);
    return share;
  }

  /** Gives a slot and a watch to each body that is not whole at the end of the turn in which it began. */
  readonly #admitBegun = (): void => {
    const begun = this.#begun;
    this.#begun = [];
    for (const { exchange, requestSlot, arrival, route } of begun) {
      if (exchange.isBodyRead || !exchange.isOpen) continue;
      // Only while it arrives: a slot for the work is taken when there is something to work on.
      requestSlot.arrive(() => exchange.rejectEarly(this.#renderRefusal(arrival, evicted)));
      const isLate = () => this.#refuse(exchange, arrival, late);
      watchBody(exchange, {
        ...this.#bodyRate(),
        totalMs: route.bodyTimeoutMs ?? this.#options.limits.bodyTimeoutMs,
        untilAnswer: false,
        wasHeld: () => false,
        slow: isLate,
        expired: isLate,
      });
    }
  };

  #bodyRate() {
    const { bodyWindowMs, bodyBytesPerSecondMin } = this.#options.limits;
    return { windowMs: bodyWindowMs, bytesPerSecondMin: bodyBytesPerSecondMin };
  }

  #runPlain(
    exchange: Exchange,
    requestSlot: RequestSlot,
    arrival: Arrival,
    route: PlainRoute,
    body: Uint8Array,
  ): void {
    let outcome: Reply | Promise<Reply>;
    try {
      outcome = route.handle(requestOf(arrival, body), exchange);
    } catch (error) {
      this.#fail(exchange, arrival, error);
      return;
    }
    if (!(outcome instanceof Promise)) {
      exchange.answer(outcome);
      return;
    }
    if (exchange.isOpen) requestSlot.work(isProbe(route));
    exchange.setDeadline(route.timeoutMs ?? this.#options.limits.handlerTimeoutMs, () => {
      const facts = { path: route.path, ...logFieldsOf(arrival) };
      this.#options.log.error(facts, 'a handler missed its deadline');
      exchange.abandon(this.#renderRefusal(arrival, deadlineProblem()));
    });
    this.#await(exchange, arrival, outcome);
  }

  #await(exchange: Exchange, arrival: Arrival, outcome: Promise<Reply>): Promise<void> {
    return outcome.then(
      (reply) => exchange.answer(reply),
      (error) => this.#fail(exchange, arrival, error),
    );
  }

  #receiveStream(
    exchange: Exchange,
    requestSlot: RequestSlot,
    arrival: Arrival,
    route: StreamRoute,
  ): void {
    requestSlot.work(false);
    exchange.isBodyRead = !hasBody(arrival);
    const body = streamBody(arrival.wire, exchange, {
      ...this.#intakeRules(exchange, arrival, route.bodyBytesMax),
      queueBytesMax: this.#options.limits.streamQueueBytesMax,
      isEmpty: exchange.isBodyRead,
    });
    exchange.onGone(body.abort);
    const end = (why: Problem) => {
      this.#refuse(exchange, arrival, why);
      body.abort();
    };
    watchBody(exchange, {
      ...this.#bodyRate(),
      totalMs: route.timeoutMs,
      untilAnswer: true,
      wasHeld: body.wasHeld,
      slow: () => end(late),
      expired: () => end(deadlineProblem()),
    });
    const outcome = route.handle(requestOf(arrival, emptyBody), body);
    this.#await(exchange, arrival, outcome).finally(body.abort);
  }

  #intakeRules(exchange: Exchange, arrival: Arrival, bytesMax: number): IntakeRules {
    return {
      bytesMax,
      declaredBytes: arrival.contentLength,
      refuse: (why) => this.#refuse(exchange, arrival, why),
    };
  }
}

const late = problem('body_timeout', 408, 'The body did not arrive in time.');
const evicted = retryLater(
  'client_limit_exceeded',
  429,
  'Too many bodies of your network arrive at the same time.',
);

const anyOrigin: Header = ['Access-Control-Allow-Origin', '*'];

/** Names of few headers are compared faster than a set of them is made. */
function addIfMissing(headers: Header[], header: Header): void {
  const name = header[0].toLowerCase();
  const isGiven = headers.some(
    ([given]) => given.length === name.length && given.toLowerCase() === name,
  );
  if (!isGiven) headers.push(header);
}

function discardBody(wire: Wire, exchange: Exchange): void {
  wire.onData((chunk, isLast) => exchange.discard(chunk.byteLength, isLast));
}

interface BodyRateRules {
  readonly windowMs: number;
  readonly bytesPerSecondMin: number;
  /** For the body, or with `untilAnswer` for the whole exchange. */
  readonly totalMs: number;
  readonly untilAnswer: boolean;
  /** True if the client was held back since the last call. */
  readonly wasHeld: () => boolean;
  readonly slow: () => void;
  readonly expired: () => void;
}

/**
 * Watches that a body keeps coming: one that brings less than the least rate in any window is given
 * up, and so is one that is not whole in time. A window in which the server itself held the client
 * back doesn't count.
 */
function watchBody(exchange: Exchange, rules: BodyRateRules): void {
  const { windowMs, bytesPerSecondMin, totalMs } = rules;
  let elapsedMs = 0;
  let before = exchange.receivedBytes;

  function arm(): void {
    const stepMs = Math.min(windowMs, totalMs - elapsedMs);
    // After a busy turn bytes still wait in the socket: they are read before the check.
    exchange.setDeadline(stepMs, () => setImmediate(checkPace, stepMs));
  }
  function checkPace(stepMs: number): void {
    if (!exchange.isOpen || (exchange.isBodyRead && !rules.untilAnswer)) return;
    elapsedMs += stepMs;
    const came = exchange.receivedBytes - before;
    before = exchange.receivedBytes;
    const wasHeld = rules.wasHeld();
    if (elapsedMs >= totalMs) rules.expired();
    else if (!exchange.isBodyRead && !wasHeld && came < (bytesPerSecondMin * stepMs) / 1_000) {
      rules.slow();
    } else arm();
  }
  arm();
}

// Limits the answers to a client and its network over time, whatever they ask for, unknown paths
// included. Each costs the thread some time, and thousands can stand behind one another in one
// packet; beyond the limit few refusals of a turn keep
// their connection, and what stands behind them in such a packet is never read.
//
// Requests with a good key have their quota, so of those that need a key only the unauthenticated
// ones count, once that is known. Probes count apart: a flood of pages must not hide how the service is.

export type AnswerLimitName = 'answers' | 'answersNear' | 'probes';

/**
 * @param bounds undefined: there are none (CLIENT_LIMITS=off)
 * @param records where all threads count; left out: by itself
 */
export function createAnswerLimits(
  bounds: Readonly<Record<AnswerLimitName, ClientLimit>> | undefined,
  clock: Pick<Clock, 'monotonicMs'>,
  records?: LimitRecords,
) {
  if (bounds === undefined) return { refusalOf: () => undefined, answered: () => {} };
  const limits = createClientLimits<AnswerLimitName>(
    { answers: bounds.answers, answersNear: bounds.answersNear, probes: bounds.probes },
    records,
  );

  function count({ client, neighbourhood }: Networks): void {
    const nowMs = clock.monotonicMs();
    limits.charge('answers', client, nowMs, 1);
    limits.charge('answersNear', neighbourhood, nowMs, 1);
  }

  return {
    /** Returns why the request is refused, or undefined; counts the limits that apply on arrival. */
    refusalOf(networks: Networks, route: Route | undefined): Problem | undefined {
      const nowMs = clock.monotonicMs();
      if (isProbe(route)) {
        const waitSeconds = limits.takeOrWait('probes', networks.client, nowMs);
        return waitSeconds > 0 ? tooMany(waitSeconds) : undefined;
      }
      // A good key is not held by what its neighbours ask; whether it is good is known later.
      const waitSeconds =
        limits.waitFor('answers', networks.client, nowMs) ||
        (isKeyed(route) ? 0 : limits.waitFor('answersNear', networks.neighbourhood, nowMs));
      if (waitSeconds > 0) return tooMany(waitSeconds);
      if (!isKeyed(route)) count(networks);
      return undefined;
    },
    /** Counts a request that was answered with this status. */
    answered(networks: Networks, route: Route | undefined, status: number): void {
      if ((status === 401 || status === 403) && isKeyed(route)) count(networks);
    },
  };
}

export type AnswerLimits = ReturnType<typeof createAnswerLimits>;

function isKeyed(route: Route | undefined): boolean {
  return route?.who === 'api-key' || route?.who === 'bouncer' || route?.who === 'agent';
}

export function isProbe(route: Route | undefined): boolean {
  return route?.kind === 'plain' && route.isProbe === true;
}

function tooMany(waitSeconds: number): Problem {
  return problem(
    'client_limit_exceeded',
    429,
    'Too many requests of your network in a short time.',
    [['Retry-After', String(waitSeconds)]],
  );
}
