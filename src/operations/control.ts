/**
 * The server's side of commands: a socket in DATA_DIR for its owner and root, on which they ask for operations
 * (protocol.ts).
 *
 * Invariants: it listens while the server holds the directory's claim, from before anything is loaded:
 * what is asked meanwhile waits. Connections, requests and bytes under way are bounded. Work that nobody
 * waits for any more is aborted.
 */

import { chmod, open, unlink } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import { packageVersion } from '../config/environment.ts';
import type { OperationCall, OperationProgress } from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { createByteQueue, createWindow, windowBytes } from '../core/window.ts';
import { isDamage } from '../storage/rows.ts';
import type { Order } from './execute.ts';
import {
  type ControlFrame,
  controlSocket,
  createFrameReader,
  encodeFrame,
  encodeJsonFrame,
  type FailureFrame,
  type FrameKind,
  frameKinds,
  type Greeting,
  jsonOfFrame,
  ProtocolError,
  piecesOf,
  protocolVersion,
} from './protocol.ts';

const connectionsMax = 64;
/** From a connection to its request. */
const askMsDefault = 10_000;
/** The server closes a connection this long after the last byte, if the client has not. */
const lingerMsMax = 30_000;
/** A refused connection is closed this long after the refusal, even if the client still sends. */
const refusedMsMax = 1_000;
const progressMs = 100;
/** Work that does not end when it is aborted is waited for so long. */
const closeMsMax = 2_000;

const asked = v.strictObject({
  operation: v.pipe(v.string(), v.maxLength(100)),
  input: v.unknown(),
  user: v.pipe(v.string(), v.maxLength(1_000)),
  shows: v.optional(v.picklist(['lines', 'json'])),
});

/** @throws OperatorError when the socket can't be made */
export async function openControl(
  dataDir: string,
  log: Log,
  { askMsMax = askMsDefault }: { readonly askMsMax?: number } = {},
) {
  const directory = await open(dataDir, 'r');
  // The name of a unix socket is limited to 107 bytes; the way over the descriptor is short.
  const path = `/proc/self/fd/${directory.fd}/${controlSocket}`;
  const connections = new Map<Socket, (error: Error) => void>();
  const running = new Set<Promise<void>>();
  let closing: Promise<void> | undefined;
  let start: (run: Parameters<Control['serve']>[0]) => void = () => {};
  const ready = new Promise<Parameters<Control['serve']>[0]>((resolve) => {
    start = resolve;
  });
  // A former server's, which was killed: the claim says that it is gone.
  await unlink(path).catch(() => undefined);
  const server = createServer({ pauseOnConnect: false }, (socket) => {
    if (connections.size >= connectionsMax) return refuseBusy(socket);
    const connection = accept({ socket, log, askMsMax }, async (order, call) => {
      const run = await ready;
      // Whoever asked during the start may have left.
      call.signal.throwIfAborted();
      return run(order, call);
    });
    connections.set(socket, connection.end);
    running.add(connection.done);
    connection.done.finally(() => running.delete(connection.done));
    socket.once('close', () => connections.delete(socket));
  });
  server.unref();
  try {
    await listen(server, path);
    await chmod(path, 0o600);
  } catch (error) {
    await directory.close();
    throw new OperatorError(
      `can't make ${join(dataDir, controlSocket)}, by which commands reach the server (${(error as NodeJS.ErrnoException).code}): DATA_DIR must be writable, with room`,
    );
  }
  return {
    /** From now on operations are run; those that came before have waited. */
    serve: (run: (order: Order, call: OperationCall) => Promise<unknown>): void => start(run),
    table: { name: 'commands', used: () => connections.size, limit: connectionsMax },
    /** Aborts what is under way and lets nobody on any more. May be called again. */
    close(): Promise<void> {
      closing ??= close();
      return closing;
    },
  };

  async function close(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const end of connections.values()) end(new OperatorError('the server is stopping'));
    await Promise.race([Promise.all([...running]), sleep(closeMsMax, undefined, { ref: false })]);
    for (const socket of connections.keys()) socket.destroy();
    await closed;
    await directory.close();
  }
}

export type Control = Awaited<ReturnType<typeof openControl>>;

/** Closed to others from its first moment on: DATA_DIR itself may be open to them. */
function listen(server: Server, path: string): Promise<void> {
  const before = process.umask(0o177);
  try {
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } finally {
    process.umask(before);
  }
}

/** Refuses a command when too many are under way, with a message that says so. */
function refuseBusy(socket: Socket): void {
  const message = `${connectionsMax} commands are under way in the server: try again`;
  const failure: FailureFrame = { message, kind: 'operator' };
  socket.on('error', () => undefined);
  socket.end(encodeJsonFrame(frameKinds.failed, 0, failure), () => socket.destroy());
}

interface AcceptedConnection {
  readonly socket: Socket;
  readonly log: Log;
  readonly askMsMax: number;
}

/** Serves one connection: one request, and its answer. */
function accept(
  { socket, log, askMsMax }: AcceptedConnection,
  run: (order: Order, call: OperationCall) => Promise<unknown>,
): { readonly end: (error: Error) => void; readonly done: Promise<void> } {
  const frames = createFrameReader();
  const ending = new AbortController();
  const sent = createWindow(windowBytes);
  let request: number | undefined;
  let isRefused = false;
  const write = (kind: FrameKind, content: Uint8Array) =>
    void (socket.writable && socket.write(encodeFrame(kind, request ?? 0, content)));
  const writeJson = (kind: FrameKind, content: unknown) =>
    void (socket.writable && socket.write(encodeJsonFrame(kind, request ?? 0, content)));
  let pendingBytes = 0;
  const input = createByteQueue((bytes) => {
    pendingBytes -= bytes;
    write(frameKinds.taken, u32(bytes));
  });
  let settle = () => {};
  const done = new Promise<void>((resolve) => {
    settle = resolve;
  });

  function end(error: Error): void {
    ending.abort(error);
    sent.close(error);
    input.fail(error);
    // Without a request there is no work that would answer.
    if (request === undefined) {
      fail(error);
      settle();
    }
  }

  function fail(error: unknown): void {
    const failure = failureOf(error);
    if (failure.kind === 'bug') log.error({ err: error }, 'operation: failed');
    writeJson(frameKinds.failed, failure);
    hangUp();
  }

  function hangUp(): void {
    socket.end();
    socket.setTimeout(lingerMsMax, () => socket.destroy());
  }

  /** Ends a connection that breaks the protocol: nothing more is read, and running work is not awaited. */
  function refuse(error: Error): void {
    isRefused = true;
    fail(error);
    end(error);
    setTimeout(() => socket.destroy(), refusedMsMax).unref();
  }

  async function serve(order: Order): Promise<void> {
    const progress = throttled((at) => writeJson(frameKinds.progress, at));
    const call: OperationCall = {
      progress: progress.update,
      note: (line) => write(frameKinds.note, Buffer.from(line.slice(0, 10_000))),
      input: input.read(),
      async write(bytes) {
        for (const piece of piecesOf(bytes)) {
          await sent.take(piece.length);
          write(frameKinds.output, piece);
        }
      },
      signal: ending.signal,
    };
    try {
      const output = await run(order, call);
      progress.flush();
      const json = Buffer.from(JSON.stringify(output ?? null));
      for (const piece of piecesOf(json)) write(frameKinds.result, piece);
      write(frameKinds.done, Buffer.alloc(0));
      hangUp();
    } catch (error) {
      fail(ending.signal.aborted ? ending.signal.reason : error);
    } finally {
      progress.flush();
      settle();
    }
  }

  function take(frame: ControlFrame): void {
    if (request === undefined && frame.kind !== frameKinds.ask) {
      throw new OperatorError('a request begins with what is asked for');
    }
    switch (frame.kind) {
      case frameKinds.ask: {
        if (request !== undefined) throw new OperatorError('one request a connection');
        const order = v.safeParse(asked, jsonOfFrame(frame));
        if (!order.success) throw new OperatorError('the request is not understood');
        request = frame.request;
        clearTimeout(late);
        void serve({ ...order.output, input: order.output.input });
        return;
      }
      case frameKinds.input:
        pendingBytes += frame.content.length;
        if (pendingBytes > 2 * windowBytes) throw new OperatorError('too much input at once');
        if (frame.content.length === 0) input.end();
        else input.push(Buffer.from(frame.content));
        return;
      case frameKinds.drained:
        if (frame.content.length === 4) sent.give(frame.content.readUInt32BE(0));
        return;
      case frameKinds.cancel:
        end(new OperatorError('it was cancelled'));
        return;
      default:
        throw new OperatorError('that is for the server to say');
    }
  }

  // From the connection on, not from its last byte.
  const late = setTimeout(() => refuse(new OperatorError('nothing was asked for')), askMsMax);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearTimeout(late);
    end(new OperatorError('nobody waits for it any more'));
  });
  socket.on('data', (bytes: Buffer) => {
    if (isRefused) return;
    try {
      for (const frame of frames.read(bytes)) take(frame);
    } catch (error) {
      refuse(error as Error);
    }
  });
  const greeting: Greeting = {
    protocol: protocolVersion,
    version: packageVersion(),
    pid: process.pid,
  };
  writeJson(frameKinds.hello, greeting);
  return { end, done };
}

function failureOf(error: unknown): FailureFrame {
  if (error instanceof OperatorError || error instanceof ProtocolError) {
    return { message: error.message, kind: 'operator' };
  }
  if (isDamage(error)) {
    const message = `the store is damaged (${error.message}): restore a backup`;
    return { message, kind: 'damage' };
  }
  return { message: (error as Error).stack ?? String(error), kind: 'bug' };
}

/** Sends few of the states that come; the last one is sent in the end, however soon it comes. */
function throttled(send: (at: OperationProgress) => void) {
  let sentAtMs = Number.NEGATIVE_INFINITY;
  let last: OperationProgress | undefined;
  function flush(): void {
    if (last !== undefined) send(last);
    last = undefined;
  }
  return {
    update(at: OperationProgress): void {
      if (last !== undefined && last.verb !== at.verb) flush();
      last = at;
      const nowMs = performance.now();
      if (nowMs - sentAtMs < progressMs) return;
      sentAtMs = nowMs;
      flush();
    },
    flush,
  };
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
