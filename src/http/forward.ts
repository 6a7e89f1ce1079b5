/**
 * Requests from a front-end thread to the thread that owns the store, over a MessagePort.
 * Both ends are bounded: beyond `outstandingMax` a request is refused at once rather than
 * queued, and every request ends in a reply, a deadline or the caller's leaving.
 */

import type { MessagePort } from 'node:worker_threads';
import type { Log } from '../core/log/log.ts';
import { type Failure, fail, ok, type Result } from '../core/result.ts';
import { StoreUnavailableError } from '../store/store.ts';
import type { Reply, Request } from './message.ts';
import { storeOutOfReach } from './refusal.ts';
import type { Caller } from './router.ts';

type ToOwner = { id: number; request: Request } | { id: number; gone: true };
type ToFront =
  | { id: number; reply: Reply }
  | { id: number; failed: 'internal' | 'store_unavailable' };

export interface Forwarder {
  /** Fails with `overloaded`, `deadline_exceeded`, `store_unavailable` or `internal`; never rejects. */
  forward(request: Request, caller: Caller, timeoutMs: number): Promise<Result<Reply>>;
  outstanding(): number;
  /** Everything outstanding fails with `overloaded`; so does what comes later. */
  close(): void;
}

export interface ForwarderOptions {
  readonly port: MessagePort;
  readonly outstandingMax: number;
}

interface Waiting {
  readonly resolve: (result: Result<Reply>) => void;
  readonly timer: NodeJS.Timeout;
}

const busy = fail('overloaded', 'The service is too busy; try again in a moment.');
const late = fail('deadline_exceeded', 'There was no answer in time.');
const failures = {
  internal: fail('internal', 'The service failed to answer.'),
  store_unavailable: fail('store_unavailable', storeOutOfReach.detail),
};

/** The front-end side. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { port, outstandingMax } = options;
  const waiting = new Map<number, Waiting>();
  let nextId = 1;
  let isClosed = false;

  function finish(id: number, result: Result<Reply>): void {
    const entry = waiting.get(id);
    if (entry === undefined) return; // late, or given up
    waiting.delete(id);
    clearTimeout(entry.timer);
    entry.resolve(result);
  }
  /** The owner is told, so that it doesn't work for nobody. */
  function giveUp(id: number, why: Failure): void {
    if (!waiting.has(id)) return;
    port.postMessage({ id, gone: true } satisfies ToOwner);
    finish(id, why);
  }
  function close(): void {
    isClosed = true;
    for (const id of [...waiting.keys()]) finish(id, busy);
  }
  port.on('message', (message: ToFront) => {
    finish(message.id, 'reply' in message ? ok(message.reply) : failures[message.failed]);
  });
  port.on('close', close);
  return {
    forward(request, caller, timeoutMs) {
      if (isClosed || waiting.size >= outstandingMax) return Promise.resolve(busy);
      const id = nextId++;
      return new Promise((resolve) => {
        const timer = setTimeout(() => giveUp(id, late), timeoutMs);
        waiting.set(id, { resolve, timer });
        port.postMessage({ id, request } satisfies ToOwner);
        caller.onGone(() => giveUp(id, late));
      });
    },
    outstanding: () => waiting.size,
    close,
  };
}

export interface ServeForwardedOptions {
  readonly port: MessagePort;
  readonly log: Log;
  readonly handle: (request: Request, caller: Caller) => Reply | Promise<Reply>;
}

/** The owner's side. The number of requests at work is bounded by the front ends. */
export function serveForwarded({ port, log, handle }: ServeForwardedOptions): void {
  const working = new Map<number, { gone: boolean; listener: (() => void) | undefined }>();

  async function work(id: number, request: Request): Promise<void> {
    const state = { gone: false, listener: undefined as (() => void) | undefined };
    const caller: Caller = {
      onGone(listener) {
        if (state.gone) listener();
        else state.listener = listener;
      },
    };
    working.set(id, state);
    try {
      const reply = await handle(request, caller);
      if (!state.gone) port.postMessage({ id, reply } satisfies ToFront);
    } catch (error) {
      const isAway = error instanceof StoreUnavailableError;
      if (isAway) log.warn({ err: error }, 'a forwarded handler found no store');
      else log.error({ err: error }, 'a forwarded handler failed');
      const failed = isAway ? 'store_unavailable' : 'internal';
      if (!state.gone) port.postMessage({ id, failed } satisfies ToFront);
    } finally {
      working.delete(id);
    }
  }
  function leave(id: number): void {
    const state = working.get(id);
    if (state === undefined) return;
    state.gone = true;
    state.listener?.();
  }
  port.on('message', (message: ToOwner) => {
    if ('gone' in message) leave(message.id);
    else void work(message.id, message.request);
  });
}
