/**
 * Runs an operation for a command: in the server where one runs on this DATA_DIR, else here. It loads no
 * part of the server before it knows that there is none.
 */

import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataLocation, packageVersion, processEnvironment } from '../config/environment.ts';
import type { OperationCall, OperationProgress } from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import { createWindow, windowBytes } from '../core/window.ts';
import type { InputOf, OperationName, OutputOf } from './catalog.ts';
import type { Order, RunOutcome } from './execute.ts';
import { operationDescriptions } from './operation-descriptions.ts';
import {
  type ControlFrame,
  controlSocket,
  createFrameReader,
  encodeFrame,
  encodeJsonFrame,
  type FailureFrame,
  frameKinds,
  type Greeting,
  jsonOfFrame,
  ProtocolError,
  piecesOf,
  protocolVersion,
} from './protocol.ts';

export interface Asking {
  /** Bytes that go along, such as a list. */
  readonly input?: AsyncIterable<Uint8Array>;
  readonly onProgress?: (at: OperationProgress) => void;
  /** Takes bytes of the result; the next ones wait until it has. */
  readonly onBytes?: (bytes: Buffer) => Promise<void>;
}

/** A server that starts, or another command that has the directory, is waited for so long. */
const waitMsMax = 10_000;
const pollMs = 50;
/** A server that greets nobody is stopped or stuck. */
const greetingMsMax = 10_000;
/** The command says that it waits after this time without an answer. */
const silenceMs = 10_000;
/** A node has this long to apply what was written to the shared store. */
const takeUpMsMax = 10_000;
const request = 1;

/** The command under way, for Ctrl-C. */
const ending = new AbortController();

/** @throws OperatorError with one line for the operator */
export async function runOperation<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  asking: Asking = {},
): Promise<OutputOf<Name>> {
  const order = { operation: name, input, user: operatorName() };
  const done = await runOrder(order, asking);
  // The same in both ways: what JSON can say.
  return done as OutputOf<Name>;
}

/** Runs an operation, and returns what its command prints: lines, or the value of `--json`. */
export function runForCommand(
  operation: string,
  input: object,
  isJson: boolean,
  asking: Asking = {},
): Promise<unknown> {
  const shows = isJson ? 'json' : 'lines';
  return runOrder({ operation, input, user: operatorName(), shows }, asking);
}

async function runOrder(order: Order, asking: Asking): Promise<unknown> {
  const { dataDir, isShared } = dataLocation();
  const { asksNode } = operationDescriptions.find(({ name }) => name === order.operation) ?? {};
  if (isShared && !asksNode) return runWithoutServer(dataDir, order, asking);
  const startMs = performance.now();
  for (;;) {
    const socket = await connectTo(dataDir);
    try {
      if (socket !== undefined) return await ask(socket, dataDir, order, asking);
      return (await runLocally(order, asking)).output;
    } catch (error) {
      const isLate = performance.now() - startMs > waitMsMax;
      const claim = socket === undefined ? await claimIn(error) : undefined;
      const isPassing = claim !== undefined || error instanceof UngreetedError;
      if (!isPassing) throw error;
      if (isLate) throw claim?.isOfServer ? withoutSocket(dataDir) : error;
    }
    await sleep(pollMs);
  }
}

/** A server that starts, or another command, has the directory. Undefined: it failed for another reason. */
async function claimIn(error: unknown): Promise<{ readonly isOfServer: boolean } | undefined> {
  // Loaded after a failure here alone: a server answers most commands.
  const { ClaimedError, serverUse } = await import('../storage/lmdb/claim.ts');
  if (!(error instanceof ClaimedError)) return undefined;
  return { isOfServer: error.holder?.use === serverUse };
}

/** A server listens before it does anything else, and until it stops. */
function withoutSocket(dataDir: string): OperatorError {
  return new OperatorError(
    `the server in ${dataDir} can't be reached: ${dataDir}/${controlSocket} is gone. Unless the server is stopping, start it anew`,
  );
}

/** A server that ended, or began to, before it was asked anything: the same question may go to the next one. */
class UngreetedError extends OperatorError {
  constructor(dataDir: string) {
    super(`the server in ${dataDir} ended just now: try again`);
  }
}

/** On a shared store. What was changed is in the memory of the node on this directory before it is done. */
async function runWithoutServer(dataDir: string, order: Order, asking: Asking): Promise<unknown> {
  const { output, grownTo } = await runLocally(order, asking);
  if (grownTo !== undefined) await waitForNode(dataDir, grownTo);
  return output;
}

/** Until the node on this directory, where one runs, has applied an event of the journal. */
async function waitForNode(dataDir: string, seq: bigint): Promise<void> {
  const ended = new AbortController();
  const late = sleep(takeUpMsMax, undefined, { signal: ended.signal }).then(() => {
    throw new Error('too late');
  });
  let socket: Socket | undefined;
  try {
    const asked = connectTo(dataDir).then(async (connection) => {
      socket = connection;
      if (connection === undefined) return;
      const order = { operation: 'journal wait', input: { seq: String(seq) } };
      await ask(connection, dataDir, { ...order, user: operatorName() }, {});
    });
    await Promise.race([asked, late]);
  } catch {
    note('done, but the running server has not taken it up yet');
  } finally {
    late.catch(() => undefined);
    ended.abort();
    socket?.destroy();
  }
}

async function runLocally(order: Order, asking: Asking): Promise<RunOutcome> {
  // Loaded here, because it brings most of the server with it.
  const { runLocally: run } = await import('./execute.ts');
  const { onBytes, onProgress } = asking;
  const stop = onInterrupt(() => ending.abort(new OperatorError('it was cancelled')));
  const call: OperationCall = {
    progress: (at) => onProgress?.(at),
    note,
    input: asking.input ?? nothing(),
    write: async (bytes) => onBytes?.(Buffer.from(bytes)),
    signal: ending.signal,
  };
  try {
    const { output, grownTo } = await run(order, call);
    return { output: JSON.parse(JSON.stringify(output ?? null)), grownTo };
  } finally {
    stop();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // There is no input.
}

function note(line: string): void {
  process.stderr.write(`portcullis: ${line}\n`);
}

/** The time for what an interrupted command says last. */
const lastWordsMs = 1_000;

/** Once: another Ctrl-C ends the process as always. @returns what ends this, when the work is over */
function onInterrupt(run: () => void): () => void {
  let interruptedBy: NodeJS.Signals | undefined;
  function interrupt(signal: NodeJS.Signals): void {
    interruptedBy = signal;
    run();
  }
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  return () => {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    const signal = interruptedBy;
    if (signal === undefined) return;
    // Opening a pipe that nobody writes keeps the process, and an exit would wait for it.
    setTimeout(() => process.kill(process.pid, signal), lastWordsMs).unref();
  };
}

/** Undefined: nobody listens there. @throws OperatorError when this user may not */
async function connectTo(dataDir: string): Promise<Socket | undefined> {
  // The name of a unix socket is limited to 107 bytes; the way over the descriptor is short.
  const directory = await open(dataDir, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw refusal(dataDir, error);
  });
  if (directory === undefined) return undefined;
  try {
    return await new Promise((resolve, reject) => {
      const socket = connect(`/proc/self/fd/${directory.fd}/${controlSocket}`);
      socket.once('connect', () => resolve(socket));
      socket.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(undefined);
        else reject(refusal(dataDir, error));
      });
    });
  } finally {
    await directory.close();
  }
}

function refusal(dataDir: string, { code, message }: NodeJS.ErrnoException): OperatorError {
  if (code === 'ENOTDIR') return new OperatorError(`DATA_DIR ${dataDir} is no directory`);
  return new OperatorError(
    code === 'EACCES' || code === 'EPERM'
      ? `${dataDir} belongs to another user: run this as that user, or as root`
      : `the server in ${dataDir} can't be reached: ${message}`,
  );
}

function ask(socket: Socket, dataDir: string, order: Order, asking: Asking): Promise<unknown> {
  const frames = createFrameReader();
  const sent = createWindow(windowBytes);
  const result: Buffer[] = [];
  let greeted = false;
  return new Promise((resolve, reject) => {
    const stopListening = onInterrupt(() => {
      socket.write(encodeFrame(frameKinds.cancel, request, Buffer.alloc(0)));
      fail(new OperatorError('it was cancelled'));
    });
    const late = setTimeout(() => {
      fail(new OperatorError(`the server in ${dataDir} does not answer: it is stopped or stuck`));
    }, greetingMsMax);

    /** The next input is read here: the server has nothing to say meanwhile. */
    let isOwnTurn = false;
    let isNoted = false;
    let isOver = false;
    let silence: NodeJS.Timeout | undefined;
    /** From now on only the server has something to do. */
    function awaitServer(): void {
      clearTimeout(silence);
      if (isOwnTurn || isNoted || isOver) return;
      silence = setTimeout(() => {
        isNoted = true;
        note('the server does not answer at the moment: this waits for it, and Ctrl-C ends it');
      }, silenceMs);
    }

    function finish(): void {
      isOver = true;
      clearTimeout(silence);
      clearTimeout(late);
      stopListening();
      sent.close(new Error('the command has ended'));
      socket.end();
    }
    function fail(error: Error): void {
      const isForeign = error instanceof ProtocolError;
      reject(
        isForeign
          ? new OperatorError(
              `what answers in ${dataDir} is no Portcullis server: ${error.message}`,
            )
          : error,
      );
      finish();
      setTimeout(() => socket.destroy(), 100).unref();
    }

    async function send(): Promise<void> {
      socket.write(encodeJsonFrame(frameKinds.ask, request, order));
      if (asking.input === undefined) return awaitServer();
      isOwnTurn = true;
      for await (const chunk of asking.input) {
        for (const piece of piecesOf(chunk)) {
          isOwnTurn = false;
          awaitServer();
          await sent.take(piece.length);
          isOwnTurn = true;
          clearTimeout(silence);
          socket.write(encodeFrame(frameKinds.input, request, piece));
        }
      }
      socket.write(encodeFrame(frameKinds.input, request, Buffer.alloc(0)));
      isOwnTurn = false;
      awaitServer();
    }

    function begin(greeting: Greeting): void {
      greeted = true;
      clearTimeout(late);
      if (greeting.protocol !== protocolVersion || greeting.version !== packageVersion()) {
        fail(
          new OperatorError(
            `the server in ${dataDir} is version ${greeting.version}, this command is ${packageVersion()}: restart the server, or use its own command`,
          ),
        );
        return;
      }
      send().catch(fail);
    }

    /** One after the other: bytes of a result stay in order, and come before its end. */
    let earlier: Promise<void> = Promise.resolve();
    async function take(frame: ControlFrame): Promise<void> {
      switch (frame.kind) {
        case frameKinds.hello:
          return begin(jsonOfFrame(frame) as Greeting);
        case frameKinds.progress:
          return asking.onProgress?.(jsonOfFrame(frame) as OperationProgress);
        case frameKinds.note:
          return note(frame.content.toString('utf8'));
        case frameKinds.taken:
          return sent.give(frame.content.readUInt32BE(0));
        case frameKinds.output: {
          await asking.onBytes?.(frame.content);
          const length = Buffer.alloc(4);
          length.writeUInt32BE(frame.content.length);
          socket.write(encodeFrame(frameKinds.drained, request, length));
          return;
        }
        case frameKinds.result:
          result.push(frame.content);
          return;
        case frameKinds.done:
          resolve(JSON.parse(Buffer.concat(result).toString('utf8')));
          return finish();
        case frameKinds.failed: {
          const { message, kind } = jsonOfFrame(frame) as FailureFrame;
          return fail(kind === 'bug' ? unexpected(message) : new OperatorError(message));
        }
        default:
          throw new OperatorError('the server said something that this command does not know');
      }
    }

    socket.on('data', (bytes: Buffer) => {
      try {
        for (const frame of frames.read(bytes)) {
          clearTimeout(silence);
          earlier = earlier.then(() => take(frame)).then(awaitServer, fail);
        }
      } catch (error) {
        fail(error as Error);
      }
    });
    socket.on('error', () => {
      // Its end says what there is to say.
    });
    function onClose(): void {
      earlier = earlier.then(() =>
        fail(
          greeted
            ? new OperatorError(
                'the server ended before this was done: check whether it took effect',
              )
            : new UngreetedError(dataDir),
        ),
      );
    }
    if (socket.closed) onClose();
    else socket.on('close', onClose);
  });
}

/** A bug in the server, with its stack there. */
function unexpected(stack: string): Error {
  const error = new Error(stack.split('\n', 1)[0]);
  error.stack = stack;
  return error;
}

// Names the person who runs a command, for the audit log.

const nameCharsMax = 120;

/**
 * `name (real uid)`, and who used sudo for it. Anybody can set SUDO_USER, so the uid that the
 * kernel keeps since the login stands next to it.
 */
export function operatorName(): string {
  const sudo = processEnvironment()
    .SUDO_USER?.slice(0, 40)
    .replace(/[\p{C}\s]/gu, '?');
  const behind = sudo === undefined ? '' : ` by sudo of ${sudo} (login uid ${loginUid()})`;
  const uid = process.getuid?.() ?? 'unknown';
  try {
    return `${userInfo().username} (${uid})${behind}`.slice(0, nameCharsMax);
  } catch {
    // A container's user may have no name.
    return `(${uid})${behind}`.slice(0, nameCharsMax);
  }
}

/** None is kept in a container, or for what no login started. */
function loginUid(): string {
  try {
    const uid = readFileSync('/proc/self/loginuid', 'latin1').trim();
    return /^\d+$/.test(uid) && uid !== '4294967295' ? uid : 'unknown';
  } catch {
    return 'unknown';
  }
}
