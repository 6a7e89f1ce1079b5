/**
 * Requests from a front-end thread to the thread that owns the store, over a MessagePort. The
 * messages of one turn of the event loop cross together, in both directions. Both ends are bounded:
 * beyond `outstandingMax` a request is refused at once rather than queued, a streamed body stops
 * while `unreadBytesMax` of it wait on the other side, and every request ends in a reply, a
 * deadline or the caller's disconnect. The file has both ends, and last the encoding of what crosses.
 */

import type { MessagePort } from 'node:worker_threads';
import { every, type Loop } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import { type Failure, fail, ok, type Result } from '../core/result.ts';
import { StoreUnavailableError } from '../storage/store.ts';
import { storeUnreachable } from './answer/refusal.ts';
import { BodyAborted } from './request/intake.ts';
import {
  type Header,
  logFieldsOf,
  type Method,
  type PackedReading,
  type Reply,
  type Request,
} from './request/message.ts';
import type { Caller } from './router.ts';

interface ForwarderOptions {
  readonly port: MessagePort;
  readonly outstandingMax: number;
}

interface PendingRequest {
  readonly id: number;
  readonly resolve: (result: Result<Reply>) => void;
  readonly endMs: number;
  /** Bytes of the body that were sent and that the handler has not read. */
  unreadBytes: number;
  /** Resumes the sender that waits to send more. */
  wake: (() => void) | undefined;
}

/** Bound for one streamed body; one more piece may be on its way. */
export const unreadBytesMax = 131_072;

const busy = fail('overloaded', 'The service is too busy; try again in a moment.');
const late = fail('deadline_exceeded', 'There was no answer in time.');
const failures = {
  internal: fail('internal', 'The service failed to answer.'),
  store_unavailable: fail('store_unavailable', storeUnreachable.detail),
};

/** The interval of the sweep for passed deadlines, which may fire this much late; milliseconds. */
const sweepMs = 100;
const itemsMax = 65_536;

/**
 * Keeps numbered items that come and go thousands of times a second, each at an index that its number
 * names. A Map makes new tables all the while, and an old one that has outlived two collections keeps
 * everything alive that was in those that followed it.
 */
export class NumberedItems<Item> {
  readonly #items: (Item | undefined)[] = [];
  /** The number of the present item, or of the last. */
  readonly #ids: number[] = [];
  readonly #free: number[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an item under a number of its own, which does not come again for long. */
  add(make: (id: number) => Item): Item {
    const index = this.#free.pop() ?? this.#items.length;
    const id = (this.#ids[index] ?? index) + itemsMax;
    const item = make(id);
    this.#ids[index] = id;
    this.#items[index] = item;
    this.#size++;
    return item;
  }

  /**
   * Stores an item under a number that the other side chose. Its index is free, or nobody waits for its item
   * any more.
   */
  put(id: number, item: Item): void {
    this.#ids[id % itemsMax] = id;
    this.#items[id % itemsMax] = item;
  }

  get(id: number): Item | undefined {
    const index = id % itemsMax;
    return this.#ids[index] === id ? this.#items[index] : undefined;
  }

  /** Frees the index of an item that was added here. */
  remove(id: number): void {
    if (this.get(id) === undefined) return;
    this.drop(id);
    this.#free.push(id % itemsMax);
    this.#size--;
  }

  /** Forgets an item that was put. */
  drop(id: number): void {
    const index = id % itemsMax;
    if (this.#ids[index] === id) this.#items[index] = undefined;
  }

  all(): Item[] {
    return this.#items.filter((item) => item !== undefined);
  }
}

export function createForwarder(options: ForwarderOptions) {
  const { port } = options;
  const outstandingMax = Math.min(options.outstandingMax, itemsMax);
  const waiting = new NumberedItems<PendingRequest>();
  const send = openBatch<ToOwner>(port, packToOwner, ({ id }) => finish(id, failures.internal));
  let isClosed = false;
  let sweep: Loop | undefined;

  /** One timer for all: thousands a second would be made and never needed. */
  function sweepLate(): void {
    const now = performance.now();
    for (const { id, endMs } of waiting.all()) if (endMs <= now) giveUp(id, late);
    if (waiting.size > 0) return;
    void sweep?.stop();
    sweep = undefined;
  }

  function finish(id: number, result: Result<Reply>): void {
    const entry = waiting.get(id);
    if (entry === undefined) return; // late, or given up
    waiting.remove(id);
    entry.wake?.();
    entry.resolve(result);
  }
  /** Cancels a request at the owner too, so that it doesn't work for nobody. */
  function giveUp(id: number, why: Failure): void {
    if (waiting.get(id) === undefined) return;
    send({ id, gone: true });
    finish(id, why);
  }
  /** Everything outstanding fails with `overloaded`; so does what comes later. */
  function close(): void {
    isClosed = true;
    for (const { id } of waiting.all()) finish(id, busy);
    void sweep?.stop();
  }
  function receive(message: ToFront): void {
    if ('reply' in message) finish(message.id, ok(message.reply));
    else if ('failed' in message) finish(message.id, failures[message.failed]);
    else acknowledge(message.id, message.taken);
  }
  function acknowledge(id: number, bytes: number): void {
    const entry = waiting.get(id);
    if (entry === undefined) return;
    entry.unreadBytes -= bytes;
    if (entry.unreadBytes < unreadBytesMax) entry.wake?.();
  }
  function begin(timeoutMs: number, then: (id: number) => void): Promise<Result<Reply>> {
    if (isClosed || waiting.size >= outstandingMax) return Promise.resolve(busy);
    return new Promise((resolve) => {
      const endMs = performance.now() + timeoutMs;
      sweep ??= every(sweepMs, sweepLate);
      const { id } = waiting.add((id) => ({ id, resolve, endMs, unreadBytes: 0, wake: undefined }));
      then(id);
    });
  }
  /** Ends without a word once nobody waits for the rest. */
  async function pump(id: number, body: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of body) {
      const entry = waiting.get(id);
      if (entry === undefined) return;
      send({ id, piece });
      entry.unreadBytes += piece.length;
      while (waiting.get(id) !== undefined && entry.unreadBytes >= unreadBytesMax) {
        await new Promise<void>((resolve) => {
          entry.wake = resolve;
        });
      }
    }
    if (waiting.get(id) !== undefined) send({ id, isWhole: true });
  }
  port.on('message', (message) => unpackToFront(message).forEach(receive));
  port.on('close', close);
  return {
    forward: (request: Request, caller: Caller, timeoutMs: number): Promise<Result<Reply>> =>
      begin(timeoutMs, (id) => {
        send({ id, request });
        caller.onGone(() => giveUp(id, late));
      }),
    /** Forwards a request whose body still arrives. A body that ends early means that the caller has disconnected. */
    stream: (
      request: Request,
      body: AsyncIterable<Uint8Array>,
      timeoutMs: number,
    ): Promise<Result<Reply>> =>
      begin(timeoutMs, (id) => {
        send({ id, request, inPieces: true });
        pump(id, body).catch(() => giveUp(id, late));
      }),
    outstanding: (): number => waiting.size,
    close,
  };
}

export type Forwarder = ReturnType<typeof createForwarder>;

/** This many messages are sent before the turn ends, so that the other thread can start while this one goes on. */
const batchMax = 32;

/**
 * Sends many small messages to another thread as one: those of one turn of the event loop cross at
 * its end. A message of its own costs both threads several times what its content does.
 * @param pack makes the message of what it has
 * @param onLost called for each item that can't be sent; the others of its turn are sent
 * @returns sends an item with all others of this turn, in their order
 */
function openBatch<Item>(
  port: Pick<MessagePort, 'postMessage'>,
  pack: (items: readonly Item[]) => unknown,
  onLost: (item: Item, error: unknown) => void,
): (item: Item) => void {
  let waiting: Item[] = [];
  let due: NodeJS.Immediate | undefined;

  function flush(): void {
    clearImmediate(due);
    due = undefined;
    const items = waiting;
    waiting = [];
    try {
      port.postMessage(pack(items));
    } catch {
      // One of them can't be copied: only that one is lost.
      for (const item of items) sendAlone(item);
    }
  }
  function sendAlone(item: Item): void {
    try {
      port.postMessage(pack([item]));
    } catch (error) {
      onLost(item, error);
    }
  }

  return (item) => {
    const count = waiting.push(item);
    if (count === 1) due = setImmediate(flush);
    else if (count === batchMax) flush();
  };
}

// The other end: the thread that owns the store works on what front ends send.

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
  const working = new NumberedItems<Work>();
  const send = openBatch<ToFront>(port, packToFront, ({ id }, error) => {
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
      const isUnavailable = error instanceof StoreUnavailableError;
      const facts = { err: error, path: request.path, ...logFieldsOf(request) };
      if (isUnavailable) log.debug(facts, 'a forwarded handler found no store');
      else log.error(facts, 'a forwarded handler failed');
      if (!caller.isGone) send({ id, failed: isUnavailable ? 'store_unavailable' : 'internal' });
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
  port.on('message', (message) => unpackToOwner(message).forEach(receive));
  port.on('close', () => {
    for (const known of working.all()) known.leave();
  });
}

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

// Requests and replies as they cross between threads: those of one turn as one flat list of texts and numbers,
// small bodies behind one another in one buffer. Cloned as objects they take four times the processor time: each
// field is written and read with its name, and each body gets memory of its own.

/** `inPieces`: the body follows. */
export type ToOwner =
  | { readonly id: number; readonly request: Request; readonly inPieces?: true }
  | { readonly id: number; readonly piece: Uint8Array }
  | { readonly id: number; readonly isWhole: true }
  | { readonly id: number; readonly gone: true };
/** `taken`: bytes of the body that the handler has read. */
export type ToFront =
  | { readonly id: number; readonly reply: Reply }
  | { readonly id: number; readonly failed: 'internal' | 'store_unavailable' }
  | { readonly id: number; readonly taken: number };

/** Parts behind the number of their request or reply; all else is in it as the object that it is. */
type MessageParts = readonly unknown[];

interface RequestsCrossing {
  readonly parts: MessageParts;
  /** Small bodies, in the order of their requests. */
  readonly bodies: Uint8Array;
}

/** A longer one crosses by itself, so that it is copied once. */
const smallBytesMax = 4_096;
const none = new Uint8Array(0);

function smallBytesOf(item: ToOwner): number {
  if (!('request' in item)) return 0;
  const { length } = item.request.body;
  return length > smallBytesMax ? 0 : length;
}

export function packToOwner(items: readonly ToOwner[]): RequestsCrossing {
  let bytes = 0;
  for (const item of items) bytes += smallBytesOf(item);
  const bodies = bytes === 0 ? none : new Uint8Array(bytes);
  const parts: unknown[] = [];
  let at = 0;
  for (const item of items) {
    if (!('request' in item)) {
      parts.push(item);
      continue;
    }
    const { method, path, param, query, headers, body, clientIp, id, trace, reading } =
      item.request;
    parts.push(item.id, item.inPieces, method, path, param, query, clientIp, id, trace, reading);
    if (body.length > smallBytesMax) parts.push(body);
    else {
      parts.push(body.length);
      bodies.set(body, at);
      at += body.length;
    }
    for (const name in headers) {
      const lines = headers[name]!;
      parts.push(name, lines.length === 1 ? lines[0] : lines);
    }
    parts.push(undefined);
  }
  return { parts, bodies };
}

export function unpackToOwner({ parts, bodies }: RequestsCrossing): ToOwner[] {
  const items: ToOwner[] = [];
  let at = 0;
  for (let i = 0; i < parts.length; ) {
    const id = parts[i++];
    if (typeof id !== 'number') {
      items.push(id as ToOwner);
      continue;
    }
    const inPieces = parts[i++] as true | undefined;
    const method = parts[i++] as Method;
    const path = parts[i++] as string;
    const param = parts[i++] as string;
    const query = parts[i++] as string;
    const clientIp = parts[i++] as string;
    const name = parts[i++] as string;
    const trace = parts[i++] as string | undefined;
    const reading = parts[i++] as PackedReading | undefined;
    let body = parts[i++] as number | Uint8Array;
    if (typeof body === 'number') {
      const start = at;
      at += body;
      body = bodies.subarray(start, at);
    }
    const headers: Record<string, readonly string[]> = {};
    for (let header = parts[i++]; header !== undefined; header = parts[i++]) {
      const lines = parts[i++] as string | readonly string[];
      headers[header as string] = typeof lines === 'string' ? [lines] : lines;
    }
    const request = {
      method,
      path,
      param,
      query,
      headers,
      body,
      clientIp,
      id: name,
      trace,
      reading,
    };
    items.push(inPieces ? { id, request, inPieces } : { id, request });
  }
  return items;
}

export function packToFront(items: readonly ToFront[]): MessageParts {
  const parts: unknown[] = [];
  for (const item of items) {
    if (!('reply' in item)) {
      parts.push(item);
      continue;
    }
    const { status, headers, body } = item.reply;
    parts.push(item.id, status, body, headers.length);
    for (const [name, value] of headers) parts.push(name, value);
  }
  return parts;
}

export function unpackToFront(parts: MessageParts): ToFront[] {
  const items: ToFront[] = [];
  for (let i = 0; i < parts.length; ) {
    const id = parts[i++];
    if (typeof id !== 'number') {
      items.push(id as ToFront);
      continue;
    }
    const status = parts[i++] as number;
    const body = parts[i++] as NonNullable<Reply['body']> | undefined;
    const headers: Header[] = [];
    for (let left = parts[i++] as number; left > 0; left--) {
      headers.push([parts[i++] as string, parts[i++] as string]);
    }
    items.push({ id, reply: body === undefined ? { status, headers } : { status, headers, body } });
  }
  return items;
}
