/**
 * Structured log on standard error (pino). Secrets never reach it: request headers, bodies
 * and query strings are not logged at all, so there is nothing to redact.
 *
 * Lines reach a file descriptor in order, those of one turn of the event loop at once and never waited for. What
 * can't be written, because the disk is full or nobody reads any more, is dropped: a log must neither end the program
 * nor hold it, and the next lines are tried again.
 *
 * pino's own destination holds the process instead (`test/core/log-writer.test.ts` fails with it): one that
 * ends while the disk is full, or while the reader of its pipe stands still, waits for as long as that lasts.
 * Set to write each line at once it gets over the disk, but waits for that reader within the event loop.
 */

import { close, write, writeSync } from 'node:fs';
import { type Logger, pino } from 'pino';

export type Log = Logger;

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const standardError = 2;

/** The names of errors that a person mends and not a programmer, such as a full disk: their message says it all. */
const expected: ReadonlySet<string> = new Set(['OperatorError', 'StoreUnavailableError']);

function told(error: unknown): unknown {
  if (!(error instanceof Error && expected.has(error.name))) {
    return pino.stdSerializers.err(error as Error);
  }
  return { type: error.name, message: error.message };
}

export function createLog(level: LogLevel): Log {
  const serializers = { err: told };
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers };
  return pino(options, createLogWriter(standardError));
}

/** Characters and bytes held for a reader that is slow; lines beyond it are dropped. */
const pendingMax = 1_048_576;
/** A pipe that is full says so at once. */
const retryMs = 100;

export function createLogWriter(first: number) {
  let fd = first;
  /** Former descriptors that may still be written to. */
  let former: number[] = [];
  let pending = '';
  /** Bytes that a full pipe did not take; they may begin inside a character. */
  let refused = Buffer.alloc(0);
  /** True from the first pending line until none is left. */
  let isBusy = false;

  function take(): Buffer {
    const bytes = Buffer.concat([refused, Buffer.from(pending)]);
    refused = Buffer.alloc(0);
    pending = '';
    return bytes;
  }

  /** Called while nothing is being written. */
  function next(): void {
    closeFormer();
    const bytes = take();
    if (bytes.length > 0) {
      put(bytes, 0, fd);
      return;
    }
    isBusy = false;
    process.off('exit', flushSync);
  }

  function closeFormer(): void {
    for (const old of former) close(old, () => {});
    former = [];
  }

  function put(bytes: Buffer, from: number, to: number): void {
    write(to, bytes, from, bytes.length - from, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        // Kept where the end of the process finds it.
        refused = Buffer.from(bytes.subarray(from));
        setTimeout(next, retryMs).unref();
        return;
      }
      const at = from + (error === null ? written : 0);
      if (error === null && at < bytes.length) {
        put(bytes, at, to);
        return;
      }
      // A line that broke off must not run into the next one.
      if (at > 0 && at < bytes.length) pending = `\n${pending}`;
      next();
    });
  }

  /** Writes the pending lines before it returns, or drops them: for lines before the process ends. */
  function flushSync(): void {
    const bytes = take();
    try {
      if (bytes.length > 0) writeSync(fd, bytes);
    } catch {
      // As above: there is nobody to report it to.
    }
  }

  return {
    /** @param line with its end */
    write(line: string): void {
      if (refused.length + pending.length + line.length > pendingMax) return;
      pending += line;
      if (isBusy) return;
      isBusy = true;
      // At the end of the process nothing else is called any more.
      process.once('exit', flushSync);
      setImmediate(next);
    },
    flushSync,
    /** The next lines go there; the former descriptor is closed when its last line is written. */
    turnTo(next: number): void {
      former.push(fd);
      fd = next;
      if (!isBusy) closeFormer();
    },
  };
}

export type LogWriter = ReturnType<typeof createLogWriter>;
