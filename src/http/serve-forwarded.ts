/** The other end of `forward.ts`: the thread that owns the store works on what front ends send. */

import type { MessagePort } from 'node:worker_threads';
import type { Log } from '../core/log.ts';
import { StoreUnavailableError } from '../storage/store.ts';
import { NumberedSlots, openBatch, type ToFront, type ToOwner } from './forward.ts';
import { BodyAborted } from './request/intake.ts';
import { logFieldsOf, type Reply, type Request } from './request/message.ts';
import type { Caller } from './router.ts';

export interface ServeForwardedOptions {
  readonly port: MessagePort;
  readonly log: Log;
  /** @param body of a request whose body arrives in pieces */
  readonly handle: (
    request: Request,
    caller: Caller,
    body: AsyncIterable<Uint8Array> | undefined,
  ) => Reply | Promise<Reply>;
}

/** The number of requests at work is bounded by the front ends. */
export function serveForwarded({ port, log, handle }: ServeForwardedOptions): void {
  const working = new NumberedSlots<Work>();
  const send = openBatch<ToFront>(port, ({ id }, error) => {
    log.error({ err: error }, 'a forwarded reply cannot cross');
    send({ id, failed: 'internal' });
  });

  async function work(id: number, request: Request, inPieces: boolean): Promise<void> {
    const body = inPieces ? new ArrivingBody((taken) => send({ id, taken })) : undefined;
    const caller = new Work(body);
    working.put(id, caller);
    try {
      const reply = await handle(request, caller, body);
      if (!caller.isGone) send({ id, reply });
    } catch (error) {
      if (caller.isGone && error instanceof BodyAborted) return;
      const isAway = error instanceof StoreUnavailableError;
      const facts = { err: error, path: request.path, ...logFieldsOf(request) };
      if (isAway) log.debug(facts, 'a forwarded handler found no store');
      else log.error(facts, 'a forwarded handler failed');
      if (!caller.isGone) send({ id, failed: isAway ? 'store_unavailable' : 'internal' });
    } finally {
      working.drop(id);
    }
  }
  function receive(message: ToOwner): void {
    if ('request' in message) {
      void work(message.id, message.request, message.inPieces === true);
      return;
    }
    const known = working.get(message.id);
    if (known === undefined) return; // answered before
    if ('gone' in message) known.leave();
    else if ('piece' in message) known.body?.push(message.piece);
    else known.body?.finish('whole');
  }
  port.on('message', (messages: readonly ToOwner[]) => messages.forEach(receive));
  port.on('close', () => {
    for (const known of working.all()) known.leave();
  });
}

/** One request that a handler works on. */
class Work implements Caller {
  isGone = false;
  readonly body: ArrivingBody | undefined;
  #listener: (() => void) | undefined;

  constructor(body: ArrivingBody | undefined) {
    this.body = body;
  }

  onGone(listener: () => void): void {
    if (this.isGone) listener();
    else this.#listener = listener;
  }

  leave(): void {
    this.isGone = true;
    this.body?.finish('aborted');
    this.#listener?.();
  }
}

/** A body in the pieces in which it comes; one reader. The sender stops while too much waits here. */
class ArrivingBody implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  readonly #onTaken: (bytes: number) => void;
  #end: 'none' | 'whole' | 'aborted' = 'none';
  #wake: (() => void) | undefined;

  constructor(onTaken: (bytes: number) => void) {
    this.#onTaken = onTaken;
  }

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  finish(how: 'whole' | 'aborted'): void {
    if (this.#end === 'none') this.#end = how;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      if (this.#end === 'aborted') throw new BodyAborted('the request ended before its body');
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        this.#onTaken(piece.length);
        yield piece;
      } else if (this.#end === 'whole') return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
