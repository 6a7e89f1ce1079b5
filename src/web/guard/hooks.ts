/**
 * Hooks: work that is done at many routes and belongs to none of them. Each says by the declaration
 * where it acts. All of them run in the order of one list around the handler: `app/web.ts` has that of the main
 * thread, `app/threads/front-end.ts` that of a front end.
 */

import type { RecordRefusal } from '../../access/keys/refused-keys.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { firstHeader, type Reply, type Request } from '../../http/request/message.ts';
import type { Caller, HotRequest, PlainRoute, Route } from '../../http/router.ts';
import type { Endpoint, FailureNotes } from './endpoint.ts';

type ReplyOrPromise = Reply | Promise<Reply>;

/** A route of another thread is known by no more than this. */
type RouteId = Pick<Endpoint, 'method' | 'path'>;

export interface Hook<Declared extends RouteId = Endpoint> {
  readonly name: string;
  /** Asked once for each route, when the server starts. */
  appliesTo(declared: Declared): boolean;
  /** Lower-case names of the request headers that it reads. */
  readonly headers?: readonly string[];
  /** Called first, in the turn in which the request came, for hot routes too: it costs next to nothing. */
  onArrival?(): void;
  /** Answers in place of the handler, returns the request as the handler gets it, or undefined. */
  onRequest?(request: Request, caller: Caller): ReplyOrPromise | Request | undefined;
  /** Runs the rest, with this request or another one, for what must surround it. */
  around?(
    run: (request: Request) => Promise<Reply>,
    request: Request,
    declared: Declared,
  ): Promise<Reply>;
  /** Sees the answer, and returns it or another one. */
  onResponse?(reply: Reply, request: Request): Reply;
  /** Called for each failure that the guard or the page builder answers, wherever the hook applies. */
  onFailure?(code: ErrorCode, declared: Declared): void;
}

export function failureHooks(hooks: readonly Hook[]): NonNullable<FailureNotes['failed']> {
  const listening = hooks.filter(({ onFailure }) => onFailure !== undefined);
  return (code, declared) => {
    for (const hook of listening) if (hook.appliesTo(declared)) hook.onFailure?.(code, declared);
  };
}

/**
 * Returns the routes with the hooks that apply to each. Streamed routes have none.
 * @param declaredOf returns the declaration of a route; undefined where no hook acts
 */
export function withHooks<Declared extends RouteId>(
  routes: readonly Route[],
  hooks: readonly Hook<Declared>[],
  declaredOf: (route: Route) => Declared | undefined,
): Route[] {
  return routes.map((route) => {
    const declared = declaredOf(route);
    if (route.kind === 'stream' || declared === undefined) return route;
    // The first of the list is the outermost.
    return hooks
      .filter((hook) => hook.appliesTo(declared))
      .reduceRight<Route>((inner, hook) => hooked(inner, hook, declared), route);
  });
}

function hooked<Declared extends RouteId>(
  route: Route,
  { headers = [], ...hook }: Hook<Declared>,
  declared: Declared,
): Route {
  if (route.kind === 'stream') return route;
  if (route.kind === 'hot') {
    const { onArrival } = hook;
    if (onArrival === undefined) return route;
    return {
      ...route,
      handle(request: HotRequest) {
        onArrival();
        route.handle(request);
      },
    };
  }
  const handle = around(route.handle, hook, declared);
  return { ...route, headers: [...new Set([...(route.headers ?? []), ...headers])], handle };
}

/** Returns the handler with the hook around it: `onArrival`, `onRequest`, `around`, `onResponse`. */
function around<Declared extends RouteId>(
  handle: PlainRoute['handle'],
  { onArrival, onRequest, around, onResponse }: Hook<Declared>,
  declared: Declared,
): PlainRoute['handle'] {
  function rest(request: Request, caller: Caller): ReplyOrPromise {
    if (around === undefined) return handle(request, caller);
    return around(async (changed) => handle(changed, caller), request, declared);
  }
  function responded(request: Request, caller: Caller): ReplyOrPromise {
    const answer = rest(request, caller);
    if (!(answer instanceof Promise)) return onResponse!(answer, request);
    return answer.then((reply) => onResponse!(reply, request));
  }
  const inner = onResponse === undefined ? rest : responded;
  return (request, caller) => {
    onArrival?.();
    const first = onRequest?.(request, caller);
    if (first === undefined) return inner(request, caller);
    return 'clientIp' in first ? inner(first, caller) : first;
  };
}

/** Leaves a refused request of a program for the page on which its owner connects it. */
export function refusedKeys<Declared extends RouteId = Endpoint>(
  appliesTo: (declared: Declared) => boolean,
  recordRefusal: RecordRefusal,
): Hook<Declared> {
  return {
    name: 'refused keys',
    appliesTo,
    headers: ['key', 'x-api-key'],
    onResponse(reply, request) {
      if (reply.status < 400) return reply;
      const key =
        firstHeader(request, 'key') ??
        firstHeader(request, 'x-api-key') ??
        new URLSearchParams(request.query).get('key');
      recordRefusal(key ?? undefined, request.clientIp, reply.status, reply.body);
      return reply;
    },
  };
}
