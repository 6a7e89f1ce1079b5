/**
 * Reads request bodies: whole into one buffer, or as a stream of chunks with backpressure.
 * Memory is bounded by the route's limit, and a body that is declared too large is refused
 * before its first byte is kept. The library's chunks die with the callback: all are copied.
 */

import { tooLarge } from '../answer/refusal.ts';
import type { Wire } from '../answer/wire.ts';
import type { Exchange } from '../exchange.ts';
import type { BodyShare } from '../limits/request-slots.ts';
import type { Problem } from './message.ts';

export interface IntakeRules {
  readonly bytesMax: number;
  /** The declared length, 0 if there was none. */
  readonly declaredBytes: number;
  /** Must answer the exchange: the rest of the body is discarded. */
  readonly refuse: (why: Problem) => void;
}

const firstStoreBytes = 4_096;

/** Calls `done` with the body in the turn in which its last byte arrived. */
export function collectBody(
  wire: Wire,
  exchange: Exchange,
  rules: IntakeRules & Pick<BodyShare, 'hold'>,
  done: (body: Uint8Array) => void,
): void {
  // Grows by doubling: a client that only declares a length costs nothing.
  let store: Buffer | undefined;
  let length = 0;
  receive(wire, exchange, rules, (chunk, isLast) => {
    // The usual case, a body in one piece: no more is kept than came, and a small one in memory that many share.
    if (isLast && store === undefined && chunk.length <= firstStoreBytes) {
      done(Buffer.from(chunk));
      return;
    }
    store ??= Buffer.allocUnsafeSlow(Math.min(firstStoreBytes, rules.bytesMax));
    if (length + chunk.length > store.length) {
      const wanted = Math.max(store.length * 2, length + chunk.length);
      const size = Math.min(rules.bytesMax, wanted);
      const none = rules.hold(size);
      if (none !== undefined) {
        store = Buffer.alloc(0);
        rules.refuse(none);
        return;
      }
      const grown = Buffer.allocUnsafeSlow(size);
      store.copy(grown, 0, 0, length);
      store = grown;
    }
    store.set(chunk, length);
    length += chunk.length;
    if (isLast) done(store.subarray(0, length));
  });
}

/** The shared part: limits, and what happens to bytes after an answer has begun. */
function receive(
  wire: Wire,
  exchange: Exchange,
  rules: IntakeRules,
  take: (chunk: Uint8Array, isLast: boolean) => void,
): void {
  let received = 0;
  if (rules.declaredBytes > rules.bytesMax) rules.refuse(tooLarge(rules.bytesMax));
  wire.onData((chunk, isLast) => {
    received += chunk.byteLength;
    exchange.receivedBytes = received;
    if (exchange.isOpen && received > rules.bytesMax) rules.refuse(tooLarge(rules.bytesMax));
    if (!exchange.isOpen) {
      exchange.discard(chunk.byteLength, isLast);
      return;
    }
    if (isLast) exchange.isBodyRead = true;
    take(new Uint8Array(chunk), isLast);
  });
}

/** Thrown at the reader of a streamed body when the client left or the exchange ended. */
export class BodyAborted extends Error {
  override readonly name = 'BodyAborted';
}

interface BodyStream extends AsyncIterable<Uint8Array> {
  /** Returns whether the client was held back since the last call. */
  wasHeld(): boolean;
  /** Wakes a waiting reader with `BodyAborted`. */
  abort(): void;
}

/** One reader. The socket is paused while `queueBytesMax` wait to be read. */
export function streamBody(
  wire: Wire,
  exchange: Exchange,
  rules: IntakeRules & { readonly queueBytesMax: number; readonly isEmpty: boolean },
): BodyStream {
  const queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let isPaused = false;
  let wasPaused = false;
  let end: 'none' | 'complete' | 'aborted' = rules.isEmpty ? 'complete' : 'none';
  let wake: (() => void) | undefined;

  function signal(): void {
    const waiting = wake;
    wake = undefined;
    waiting?.();
  }
  function finish(how: 'complete' | 'aborted'): void {
    if (end === 'none') end = how;
    signal();
  }
  function arrive(chunk: Uint8Array, isLast: boolean): void {
    if (chunk.length > 0) queue.push(chunk.slice());
    queuedBytes += chunk.length;
    if (isLast) {
      finish('complete');
      return;
    }
    if (queuedBytes >= rules.queueBytesMax && !isPaused) {
      isPaused = true;
      wasPaused = true;
      wire.pause();
    }
    signal();
  }
  function abort(): void {
    // After a refusal the rest of the body is drained, so it must be able to arrive.
    if (isPaused && !exchange.isOver) wire.resume();
    isPaused = false;
    finish('aborted');
  }
  function refuse(why: Problem): void {
    rules.refuse(why);
    abort();
  }
  if (!rules.isEmpty) receive(wire, exchange, { ...rules, refuse }, arrive);
  async function* read(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      if (end === 'aborted') throw new BodyAborted('the request ended before its body');
      const chunk = queue.shift();
      if (chunk !== undefined) {
        queuedBytes -= chunk.length;
        if (isPaused && queuedBytes < rules.queueBytesMax && exchange.isOpen) {
          isPaused = false;
          wire.resume();
        }
        yield chunk;
      } else if (end === 'complete') return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  function wasHeld(): boolean {
    const held = wasPaused;
    wasPaused = isPaused;
    return held;
  }
  return { [Symbol.asyncIterator]: read, wasHeld, abort };
}
