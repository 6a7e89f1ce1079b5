/**
 * One request and its answer on the library's response object. Invariants: the abort handler
 * is there before anything else; the object is never touched after it answered or died;
 * every write is corked; exactly one answer leaves, and `onOver` runs exactly once.
 */

import type { Head } from './answer/head.ts';
import { endAfter, endBodiless, sendWithBackpressure, type Wire } from './answer/wire.ts';
import type { HttpLimits } from './limits/limits.ts';
import type { RequestSlot } from './limits/request-slots.ts';
import type { Reply } from './request/message.ts';
import type { Caller } from './router.ts';

interface ExchangeOptions {
  readonly wire: Wire;
  readonly requestSlot: RequestSlot;
  readonly isHead: boolean;
  readonly limits: HttpLimits;
  /** Reply to checked head; never throws (a bad reply becomes a 500 there). */
  readonly render: (reply: Reply) => { head: Head; reply: Reply };
  /** The client or a stop asks that this connection ends with the answer. */
  readonly shouldClose: () => boolean;
  /** True now and then: send this answer so that a client who doesn't read is noticed. */
  readonly shouldCheckReader: () => boolean;
  readonly shouldEnd: () => boolean;
  /** Status sent, or 0 if the client went first. */
  readonly onOver: (status: number) => void;
}

/** Time between the last byte that is read of a refused body and the end of its connection. */
const lastReadMs = 250;

/** One in this many answers, with a body and without, is a check of the reader, on average. */
const checkedEvery = 128;
const endedEvery = 512;

type State = 'open' | 'writing' | 'lingering' | 'over';

export class Exchange implements Caller {
  /** Set once the whole body is read, or if the library may discard what is left of it. */
  isBodyRead = false;
  /**
   * The connection ends with this answer. What is pipelined behind it ends it at once, unread, with
   * answers that are not sent yet: the library has no other way to stop reading.
   */
  isLast = false;
  receivedBytes = 0;

  readonly #options: ExchangeOptions;
  readonly #wire: Wire;
  #state: State = 'open';
  #status = 0;
  #gone: (() => void) | undefined;
  #ended: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #discarded = 0;
  /** A refusal that is sent only when draining the body ends. */
  #delayedRefusal: Reply | undefined;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#wire = options.wire;
    this.#wire.onAborted(() => {
      const wasOpen = this.#state === 'open';
      this.#finish();
      if (wasOpen) this.#gone?.();
    });
  }

  /** False once an answer began or the client is gone. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True once the library's object is dead. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  onGone(listener: () => void): void {
    if (this.#state === 'over' && this.#status === 0) listener();
    else this.#gone = listener;
  }

  /** At most one listener, before the answer: called when nothing of the exchange is left. */
  onEnd(listener: () => void): void {
    this.#ended = listener;
  }

  /** Answers in place of a handler that took too long: it learns that nobody waits any more. */
  abandon(reply: Reply): void {
    const isWaiting = this.#state === 'open';
    this.answer(reply);
    if (isWaiting) this.#gone?.();
  }

  /**
   * Refuses while the body still arrives: another request needs its slot. The refusal is sent after
   * a while, so that a client that retries at once does so less often.
   */
  rejectEarly(reply: Reply): void {
    if (this.#state !== 'open') return;
    this.#state = 'lingering';
    this.#delayedRefusal = reply;
    this.setDeadline(this.#options.limits.drainTimeoutMs, () => this.#cutOff());
    this.#options.requestSlot.drainBody(() => this.#cutOff());
  }

  /** One deadline at a time: a second call replaces the first. */
  setDeadline(timeoutMs: number, expired: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expired, timeoutMs);
  }

  /** Does nothing if it is too late. */
  answer(reply: Reply): void {
    if (this.#state !== 'open') return;
    clearTimeout(this.#timer);
    const { head, reply: checked } = this.#options.render(reply);
    this.#status = checked.status;
    if (this.isBodyRead && !this.isLast) this.#write(head, checked);
    else this.#writeEarly(head, checked);
  }

  #write(head: Head, reply: Reply): void {
    this.#state = 'writing';
    const body = wholeIfSmall(reply.body ?? '', this.#options.limits.copiedBodyBytesMax);
    const hasNoBody = isBodiless(reply);
    if (hasNoBody || this.#options.isHead) this.#writeHeadOnly(head, hasNoBody ? undefined : body);
    else if (isList(body)) this.#wire.cork(() => this.#writeAsTaken(head, body));
    // Small bodies are copied by the library: they are not counted and wait for no reader.
    else if (
      body.length > this.#options.limits.copiedBodyBytesMax ||
      (body.length > 0 && !this.#options.shouldClose() && this.#options.shouldCheckReader())
    ) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#wire.cork(() => this.#writeAsTaken(head, [bytes]));
    } else {
      this.#wire.cork(() => {
        const close = this.#options.shouldClose();
        this.#wire.writeStatus(head);
        if (body.length === 0 && !close && this.#options.shouldEnd()) endAfter(this.#wire);
        this.#wire.end(body, close);
      });
      this.#finish();
    }
  }

  #writeHeadOnly(head: Head, body: Body | undefined): void {
    this.#wire.cork(() => {
      this.#wire.writeStatus(head);
      if (body !== undefined) {
        this.#wire.writeHeader('Content-Length', String(byteLengthOf(body)));
      }
      endBodiless(this.#wire, this.#options.shouldClose(), this.#options.shouldEnd);
    });
    this.#finish();
  }

  /** Sends from the caller's memory as the socket takes it; the library copies nothing. */
  #writeAsTaken(head: Head, parts: readonly Uint8Array[]): void {
    this.#wire.writeStatus(head);
    if (this.#options.shouldClose()) this.#wire.writeHeader('Connection', 'close');
    sendWithBackpressure(this.#wire, parts, () => this.#finish());
    if (!this.isOver) this.#options.requestSlot.awaitReader(parts, () => this.#cutOff());
  }

  /**
   * An answer while the body still arrives. Ending the response now would make the kernel
   * reset the connection over the unread bytes, and the client would lose the answer. So the
   * complete answer goes out as part of the status text, the response stays formally open
   * (a pipelined request then makes the library drop the connection), and the rest of the
   * body is discarded up to a limit before closing.
   */
  #writeEarly(head: Head, reply: Reply): void {
    this.#state = 'lingering';
    this.#sayEarly(head, reply);
    this.setDeadline(this.#options.limits.drainTimeoutMs, () => this.#close());
    this.#options.requestSlot.drainBody(() => this.#cutOff());
  }

  #sayEarly(head: Head, reply: Reply): void {
    const isHeadOnly = this.#options.isHead || isBodiless(reply);
    const whole = isHeadOnly
      ? `${head}\r\nConnection: close\r\n`
      : wholeAnswer(head, reply.body ?? '');
    this.#wire.cork(() => this.#wire.writeStatus(whole));
  }

  /** Counts body bytes that are no longer wanted. */
  discard(byteLength: number, isLast: boolean): void {
    if (this.#state !== 'lingering') return;
    this.#discarded += byteLength;
    if (isLast) this.#cutOff();
    else if (this.#discarded > this.#options.limits.drainBytesMax) {
      // A client that still sends is blocked, so it can read the answer before the reset.
      this.#wire.pause();
      this.#cutOff(lastReadMs);
    }
  }

  /** Closes later, because in this turn the answer may still be in the library's cork buffer. */
  #cutOff(afterMs = 0): void {
    if (this.#delayedRefusal !== undefined) {
      const { head, reply } = this.#options.render(this.#delayedRefusal);
      this.#delayedRefusal = undefined;
      this.#status = reply.status;
      this.#sayEarly(head, reply);
    }
    this.setDeadline(afterMs, () => this.#close());
  }

  /** Ends the connection without an answer. */
  #close(): void {
    if (this.#state !== 'over') this.#wire.close(); // runs the abort handler
  }

  #finish(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    clearTimeout(this.#timer);
    this.#ended?.();
    this.#options.onOver(this.#status);
  }
}

/** Head and body as bytes. The library ends the status text with a line end: the body's last two, or the head's. */
function wholeAnswer(head: Head, body: Body): Uint8Array {
  const bytes = bodyBytesOf(body);
  const fields = `\r\nConnection: close\r\nContent-Length: ${bytes.length + 2}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head + fields), bytes]);
}

/** RFC 9110, 8.6 and 15.4.5: neither has a body, nor a length of one here. */
function isBodiless({ status }: Reply): boolean {
  return status === 204 || status === 304;
}

/**
 * The library buffers small answers without bound: somebody who pipelines requests and reads
 * nothing would fill the memory with them. One answer in 128, on average, goes through `tryEnd`, which
 * waits while that buffer holds anything. (That costs ten times as much, so not every one.) Which one is
 * drawn by lot: who could count would let another connection take it.
 */
export function createSlowReaderSampler(every = checkedEvery): () => boolean {
  const drawn = () => 1 + Math.floor(Math.random() * 2 * every);
  let left = drawn();
  return () => {
    if (--left > 0) return false;
    left = drawn();
    return true;
  };
}

/**
 * The library doesn't show whether an answer without a body, or with an empty one, waits. So one in
 * 512 of them, on average, ends its connection (`endAfter`).
 */
export function createConnectionEndSampler(): () => boolean {
  return createSlowReaderSampler(endedEvery);
}

type Body = string | Uint8Array | readonly Uint8Array[];

function isList(body: Body): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** A list that fits into the library's buffer is one small body like any other. */
function wholeIfSmall(body: Body, bytesMax: number): Body {
  return isList(body) && byteLengthOf(body) <= bytesMax ? Buffer.concat(body) : body;
}

export function bodyBytesOf(body: Body): Buffer {
  return isList(body) ? Buffer.concat(body) : Buffer.from(body);
}

function byteLengthOf(body: Body): number {
  if (isList(body)) return body.reduce((sum, part) => sum + part.length, 0);
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}
