/**
 * The guard of everything that is not a page of sign-on (those go through page-builder.ts). It
 * reads an endpoint's declaration and enforces it: who may call, the limit of the client, the quota
 * of the key, the shape of an error, `Retry-After`. A handler gets a caller that may call and
 * returns a reply or an expected failure; the guard responds with the failure.
 * The rate-limit headers of every answer to a valid key are written at the end of this file.
 *
 * Order of refusals with a key: 401 or 403, 429, 422. A call with a wrong parameter has paid for
 * the answer.
 */

import { keyUses, scopeBitsFor } from '../../access/keys/key-format.ts';
import { wrongScope } from '../../access/keys/key-table.ts';
import { type QuotaGuard, type Quotas, quotaKind } from '../../access/quota/quota.ts';
import { wrongScopeDetail } from '../../core/errors.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { type Head, numberField, withNumber } from '../../http/answer/head.ts';
import {
  firstHeader,
  type Header,
  type Packing,
  type Reply,
  type Request,
} from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import { createUnpacking, isPacked } from '../../http/request/unpacking.ts';
import type { Caller, PlainRoute } from '../../http/router.ts';
import type { IndexRead } from '../../index/reader.ts';
import { writeNumber } from '../../ip/address-writer.ts';
import { failureBody, type RenderErrorPage } from '../shape.ts';
import type { Callers } from './callers.ts';
import {
  type Endpoint,
  type FailureNotes,
  noteFailure,
  parametersOf,
  routeFacts,
} from './endpoint.ts';
import { type Fields, ignoredParameters, keyOf, readFields } from './intake/form.ts';

export type HandlerResult = Reply | Failure;

/** A request with a key that lives, of an account that could pay the first unit. */
export interface KeyedCall {
  readonly request: Request;
  readonly slot: number;
  /** Rate-limit headers: for the reply. The guard puts them on failures itself. */
  readonly headers: readonly Header[];
  /** Called when the request is refused after it was let in. */
  markRefused(): void;
  /** Takes more units; the failure is `quota_exceeded`. `headers` then has what is left. */
  spend(units: number, detail?: (said: string) => string): Failure | undefined;
}

interface GuardOptions {
  readonly quotaGuard: QuotaGuard;
  readonly callers: Pick<Callers, 'takeOrWait'>;
  readonly renderPage: RenderErrorPage;
  readonly log: FailureNotes;
  readonly inIndexRead?: IndexRead | undefined;
}

export function createGuard(options: GuardOptions) {
  const { quotaGuard, callers, renderPage, log, inIndexRead = (work) => work() } = options;
  const unpacking = createUnpacking();

  /**
   * Unpacks the body, to no more than the endpoint's bound, and returns the result of `use`.
   * `keyed` and `keyedFields` do it by themselves; an open endpoint does it when it knows its caller.
   */
  function unpacked<T>(
    declared: Endpoint,
    request: Request,
    use: (one: Result<Request>) => T | Promise<T>,
  ): T | Promise<T> {
    return unpacking.whole(request, declared.body?.bytesMax ?? 0, (one) =>
      inIndexRead(() => use(one.ok ? one : unreadable(declared, one))),
    );
  }

  function failureReply(
    declared: Endpoint,
    failure: Failure,
    headers: readonly Header[] = [],
    request?: Request,
  ): Reply {
    noteFailure(log, declared, failure, request);
    const { shape, cors } = declared;
    if (cors?.exposeHeaders !== undefined) {
      headers = [['Access-Control-Expose-Headers', cors.exposeHeaders.join(', ')], ...headers];
    }
    if (shape !== 'page') return failureBody(shape, failure, headers);
    const plain = failureBody('text', failure, headers);
    const page = renderPage(plain.status, String(plain.body).trimEnd(), {
      code: failure.error,
      acceptLanguage: request && firstHeader(request, 'accept-language'),
      waitSeconds: failure.retryAfterSeconds,
    });
    const isWait = ([name]: Header) => name === 'Retry-After';
    const wait = headers.some(isWait) ? [] : plain.headers.filter(isWait);
    return {
      status: plain.status,
      headers: [...page.headers, ...headers, ...wait],
      body: page.html,
    };
  }

  /** Returns the failure of the first limit that is used up; undefined when none is. */
  function limited(declared: Endpoint, request: Request): Failure | undefined {
    for (const limit of declared.limits ?? []) {
      const waitSeconds = callers.takeOrWait(limit, request);
      if (waitSeconds > 0) {
        return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
      }
    }
    return undefined;
  }

  /**
   * Returns the call of a request whose key was found elsewhere, as in a streamed form, once it paid its first units.
   * @param unitsOf asked when the key is good; one when left out
   */
  function admit(
    declared: Endpoint,
    request: Request,
    keyText: string | undefined,
    unitsOf = () => 1,
  ): { readonly call: KeyedCall } | { readonly failure: Failure; readonly headers: Header[] } {
    const { quota } = declared.cost!;
    const use = useOf(declared);
    const slot = quotaGuard.authenticate(keyText, scopeBitsFor(use));
    if (slot < 0) {
      const isOther = slot === wrongScope && declared.who === 'api-key';
      const failure = isOther
        ? fail('wrong_scope', wrongScopeDetail(keyUses[use][0]))
        : fail('unauthenticated');
      return { failure, headers: [] };
    }
    // No getter: one in an object literal is defined for each call, which costs half a microsecond.
    const call = { request, slot, spend, markRefused, headers: [] as Header[] };
    let spent = 0;
    function markRefused(): void {
      if (spent > 0) quotaGuard.noteRefused(slot, quotaKind[quota], spent);
    }
    function spend(units: number, detail = (said: string) => said): Failure | undefined {
      const isAdmitted = quotaGuard.spend(slot, quotaKind[quota], units);
      // Copied at once: `quotas` holds the result of its last `spend` only, and handlers await.
      call.headers = quotaHeaders(quotaGuard.quotas);
      if (isAdmitted) spent += units;
      return isAdmitted
        ? undefined
        : fail('quota_exceeded', detail(quotaDetail(quotaGuard.quotas, quota)));
    }
    const failure = spend(unitsOf());
    if (failure !== undefined) return { failure, headers: call.headers };
    return { call };
  }

  function replyOf(
    declared: Endpoint,
    answer: HandlerResult,
    headers: readonly Header[],
    request?: Request,
  ): Reply {
    return 'ok' in answer ? failureReply(declared, answer, headers, request) : answer;
  }

  return {
    failureReply,
    admit,
    unpacked,
    /** Guards `who: 'anyone'`: counts the declared limits, then asks the handler. */
    open: (
      declared: Endpoint,
      handle: (request: Request, caller: Caller) => HandlerResult | Promise<HandlerResult>,
    ): PlainRoute => ({
      kind: 'plain',
      ...routeFacts(declared),
      async handle(request, caller) {
        const failure = limited(declared, request);
        if (failure !== undefined) return failureReply(declared, failure, [], request);
        return replyOf(declared, await handle(request, caller), [], request);
      },
    }),
    /**
     * Guards `who: 'api-key'` with the key in the header or the query.
     * @param read the parameters, checked; asked when the key is good, before it pays
     * @param unitsOf units of the whole request, taken at once or not at all; one when left out
     */
    keyed: <Asked>(
      declared: Endpoint,
      read: (params: Params, request: Request) => Result<Asked>,
      handle: (
        asked: Asked,
        call: KeyedCall,
        caller: Caller,
      ) => HandlerResult | Promise<HandlerResult>,
      unitsOf?: (asked: Asked) => number,
      known = parametersOf(declared),
    ): PlainRoute => ({
      kind: 'plain',
      ...routeFacts(declared, ['key']),
      async handle(request, caller) {
        const query = parseQuery(request.query, { lists: declared.lists ?? [] });
        const inQuery = query.ok ? query.value.get('key') : undefined;
        const keyText = firstHeader(request, 'key') ?? inQuery;
        async function answerTo(whole: Result<Request>): Promise<Reply> {
          const held: { asked?: ReturnType<typeof read> } = {};
          const admitted = admit(declared, request, keyText, () => {
            const params = query.ok && !whole.ok ? whole : query;
            const asked = params.ok ? read(params.value, whole.ok ? whole.value : request) : params;
            held.asked = asked;
            return asked.ok ? (unitsOf?.(asked.value) ?? 1) : 1;
          });
          if ('failure' in admitted)
            return failureReply(declared, admitted.failure, admitted.headers, request);
          const ignored = query.ok ? ignoredParameters(query.value.names, known) : undefined;
          const call = ignored === undefined ? admitted.call : withHeader(admitted.call, ignored);
          const asked = held.asked!;
          const answer = asked.ok ? await handle(asked.value, call, caller) : asked;
          if ('ok' in answer) call.markRefused();
          return replyOf(declared, answer, call.headers, request);
        }
        // Nothing is unpacked for an unauthenticated client.
        const isKnown =
          isPacked(request) && quotaGuard.authenticate(keyText, scopeBitsFor(useOf(declared))) >= 0;
        return isKnown ? unpacked(declared, request, answerTo) : answerTo(ok(request));
      },
    }),
    /** Guards `who: 'api-key'` with the key also among the fields of query and body. */
    keyedFields<Reading>(
      declared: Endpoint,
      handle: (
        fields: Fields,
        call: KeyedCall,
        caller: Caller,
      ) => HandlerResult | Promise<HandlerResult>,
      options: {
        /** Another name under which clients send the key. */
        readonly keyField?: string;
        /** Called for each refusal before the handler is called, and for its failures. */
        readonly onRefused?: (failure: Failure) => void;
        /** Requests whose fields were read where they arrived; the key is in the header. */
        readonly readAhead?: {
          readonly packing: Packing<Reading>;
          handle(reading: Reading, call: KeyedCall): HandlerResult | Promise<HandlerResult>;
        };
      } = {},
    ): PlainRoute {
      const { keyField, onRefused, readAhead } = options;
      function refused(request: Request, failure: Failure, headers?: readonly Header[]): Reply {
        if (failure.error !== 'unauthenticated') onRefused?.(failure);
        return failureReply(declared, failure, headers, request);
      }
      function finish(answer: HandlerResult, call: KeyedCall): Reply {
        if (!('ok' in answer)) return answer;
        // A tool that repeats a report works: its owner is told so.
        if (answer.error !== 'duplicate_report') call.markRefused();
        return refused(call.request, answer, call.headers);
      }
      return {
        kind: 'plain',
        ...routeFacts(declared, ['key', 'content-type']),
        handle(request, caller) {
          if (readAhead !== undefined && request.reading !== undefined) {
            const admitted = admit(declared, request, firstHeader(request, 'key'));
            if ('failure' in admitted) return refused(request, admitted.failure, admitted.headers);
            const { call } = admitted;
            const answer = readAhead.handle(readAhead.packing.unpack(request.reading), call);
            if (!(answer instanceof Promise)) return finish(answer, call);
            return answer.then((one) => finish(one, call));
          }
          return unpacked(declared, request, async (whole) => {
            const read = whole.ok ? readFields(whole.value) : whole;
            const fields = read instanceof Promise ? await read : read;
            const other =
              keyField !== undefined && fields.ok ? fields.value.text(keyField) : undefined;
            const admitted = admit(declared, request, keyOf(request, fields) ?? other);
            if ('failure' in admitted) return refused(request, admitted.failure, admitted.headers);
            const { call } = admitted;
            return finish(fields.ok ? await handle(fields.value, call, caller) : fields, call);
          });
        },
      };
    },
  };
}

export type Guard = ReturnType<typeof createGuard>;

/** Returns the use of a key that the endpoint asks for, where it costs a quota. */
function useOf({ who, cost }: Endpoint): 'agent' | 'read' | 'write' {
  if (who === 'agent') return 'agent';
  return cost?.quota === 'write' ? 'write' : 'read';
}

/** In the API a body that can't be read is a fault of a parameter: 422, as for malformed JSON. */
export function unreadable({ shape }: Endpoint, failure: Failure): Failure {
  const isFault = shape === 'api' && failure.error === 'bad_request';
  return isFault ? fail('invalid_parameter', failure.detail, 'body') : failure;
}

function withHeader(call: KeyedCall, header: Header): KeyedCall {
  return {
    request: call.request,
    slot: call.slot,
    spend: call.spend,
    markRefused: call.markRefused,
    get headers() {
      return [...call.headers, header];
    },
  };
}

/** A path that has another one for good; browsers remember it for a day. */
export function movedTo(path: string): Reply {
  const headers: Header[] = [
    ['Location', path],
    ['Cache-Control', 'public, max-age=86400'],
  ];
  return { status: 301, headers };
}

/** Returns a test that is false once nobody waits for the answer, so that long work can end. */
export function watchCaller(caller: Caller): () => boolean {
  let isWanted = true;
  caller.onGone(() => {
    isWanted = false;
  });
  return () => isWanted;
}

// Rate-limit headers, on every answer to a request with a valid key.

type Findings = Pick<Quotas, 'limit' | 'remaining' | 'resetSecond' | 'retryAfterSeconds'>;

const limitField = numberField('X-RateLimit-Limit');
const remainingField = numberField('X-RateLimit-Remaining');
const resetField = numberField('X-RateLimit-Reset');
const retryAfterField = numberField('Retry-After');

/** The size of a number in the head, including the bytes that whole words overwrite after it. */
const numberBytesMax = 16;

/**
 * As `withQuota` for one head, as bytes that the next call overwrites. Limit and reset, which change by
 * the second at most, stay in it; what remains is written anew, and behind it `fields`, which are the same
 * at each call.
 */
export function quotaHeadBytes(base: Head): (q: Findings, fields: string) => Uint8Array {
  let limit = -1;
  let resetSecond = -1;
  let bytes = Buffer.alloc(0);
  let view!: DataView;
  let numberAt = 0;
  let end = Buffer.alloc(0);
  /** By length: a new view for each answer would cost more than writing it. */
  let views: (Uint8Array | undefined)[] = [];
  function keep(q: Findings, fields: string): void {
    limit = q.limit;
    resetSecond = q.resetSecond;
    const kept = withNumber(withNumber(base, limitField, limit), resetField, resetSecond);
    const start = Buffer.from(kept + remainingField);
    end = Buffer.from(fields);
    numberAt = start.length;
    const length = numberAt + numberBytesMax + end.length;
    if (length !== bytes.length) {
      bytes = Buffer.alloc(length);
      view = new DataView(bytes.buffer, bytes.byteOffset, length);
      views = [];
    }
    bytes.set(start);
  }
  return (q, fields) => {
    if (q.limit !== limit || q.resetSecond !== resetSecond) keep(q, fields);
    let at = writeNumber(view, numberAt, q.remaining);
    if (end.length > 0) {
      bytes.set(end, at);
      at += end.length;
    }
    const whole = views[at] ?? bytes.subarray(0, at);
    views[at] = whole;
    return whole;
  };
}

/** Adds the headers of a quota by string concatenation only, for hot routes. */
export function withQuota(head: Head, q: Findings): Head {
  return withNumber(
    withNumber(withNumber(head, limitField, q.limit), remainingField, q.remaining),
    resetField,
    q.resetSecond,
  );
}

/** Does what `withQuota` does, for a refusal. */
export function withRefusal(head: Head, q: Findings): Head {
  return withNumber(withQuota(head, q), retryAfterField, q.retryAfterSeconds);
}

export function quotaHeaders(q: Findings): Header[] {
  const headers: Header[] = [
    ['X-RateLimit-Limit', String(q.limit)],
    ['X-RateLimit-Remaining', String(q.remaining)],
    ['X-RateLimit-Reset', String(q.resetSecond)],
  ];
  if (q.retryAfterSeconds > 0) headers.push(['Retry-After', String(q.retryAfterSeconds)]);
  return headers;
}

export function quotaDetail(q: Findings, kind: 'read' | 'write'): string {
  // Clients of AbuseIPDB search for these words, and for the number before "seconds".
  return (
    `Per-minute ${kind} rate limit of ${q.limit} requests exceeded for this endpoint. ` +
    `Try again in ${q.retryAfterSeconds} seconds. See headers for additional details.`
  );
}
