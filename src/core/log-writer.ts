/**
 * Lines of a log to a file descriptor, in order, those of one turn of the event loop at once and
 * never waited for. What can't be written, because the disk is full or nobody reads any more, is
 * dropped: a log must neither end the program nor hold it, and the next lines are tried again.
 */

import { write, writeSync } from 'node:fs';

export interface LogWriter {
  /** @param line with its end */
  write(line: string): void;
  /** Of a line that the process may not outlive: written before it returns, or dropped. */
  flushSync(): void;
}

/** Held for a reader that is slow; lines beyond it are dropped. */
const pendingCharactersMax = 1_048_576;
/** A pipe that is full says so at once. */
const retryMs = 100;

export function createLogWriter(fd: number): LogWriter {
  let pending = '';
  /** From the first line that waits until none does. */
  let isBusy = false;

  function next(): void {
    if (pending === '') {
      isBusy = false;
      process.off('exit', flushSync);
      return;
    }
    const bytes = Buffer.from(pending);
    pending = '';
    put(bytes, 0);
  }

  function put(bytes: Buffer, from: number): void {
    write(fd, bytes, from, bytes.length - from, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        // Among what is pending again: the process may end in between.
        pending = bytes.toString('utf8', from) + pending;
        setTimeout(next, retryMs).unref();
        return;
      }
      const at = from + (error === null ? written : 0);
      if (error === null && at < bytes.length) {
        put(bytes, at);
        return;
      }
      // A line that broke off must not run into the next one.
      if (at > 0 && at < bytes.length) pending = `\n${pending}`;
      next();
    });
  }

  function flushSync(): void {
    const text = pending;
    pending = '';
    try {
      if (text !== '') writeSync(fd, text);
    } catch {
      // As above: there is nobody to tell.
    }
  }

  return {
    write(line) {
      if (pending.length + line.length > pendingCharactersMax) return;
      pending += line;
      if (isBusy) return;
      isBusy = true;
      // At the end of the process nothing else is called any more.
      process.once('exit', flushSync);
      setImmediate(next);
    },
    flushSync,
  };
}
