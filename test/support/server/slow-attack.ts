/**
 * Many POSTs whose bodies come slowly or not at all, from whatever addresses the attacker has:
 * each connection that ends is begun anew. Bounded: `count` connections and, unless told
 * otherwise, an attempt of each every six seconds.
 */

import { connect, type Socket } from 'node:net';

export interface SlowAttackOptions {
  readonly count: number;
  readonly paths: readonly string[];
  /** The address of the n-th attempt, for X-Forwarded-For. */
  readonly addressOf: (n: number) => string;
  /** Of the body, sent at once. */
  readonly firstBytes: number;
  readonly chunked?: boolean;
  /** Ends its connection with the first byte of an answer. */
  readonly hasty?: boolean;
  /** After an answer until the next attempt. */
  readonly retryMs?: number;
}

interface SlowAttack extends AsyncDisposable {
  /** Resolves when each connection was open once. */
  readonly begun: Promise<void>;
  /** Connections that are open now. */
  open(): number;
  /** Answers so far, by status; 0 for an end without one. */
  readonly ends: ReadonlyMap<number, number>;
}

const trickleMs = 1_000;
const retryMsUsual = 6_000;
const resetMs = 300;
const waveSize = 200;
/** Within the limit of every route. */
const declaredBytes = 3_000;

export function attackSlowly(port: number, options: SlowAttackOptions): SlowAttack {
  const { count, paths, addressOf, firstBytes, chunked = false, retryMs = retryMsUsual } = options;
  const sockets = new Set<Socket>();
  const ends = new Map<number, number>();
  let attempts = 0;
  let isOver = false;

  function begin(opened: () => void): void {
    const n = attempts++;
    const socket = connect(port, '127.0.0.1', () => {
      opened();
      const size = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${declaredBytes}`;
      const first = 'x'.repeat(firstBytes);
      const body = chunked ? `${firstBytes.toString(16)}\r\n${first}\r\n` : first;
      socket.write(
        `POST ${paths[n % paths.length]} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nX-Forwarded-For: ${addressOf(n)}\r\n${size}\r\n\r\n${body}`,
      );
    });
    sockets.add(socket);
    let status = 0;
    socket.on('data', (bytes) => {
      if (options.hasty === true) socket.destroy();
      if (status === 0) status = Number(/^HTTP\/1\.1 (\d+)/.exec(String(bytes))?.[1] ?? 0);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      opened();
      sockets.delete(socket);
      ends.set(status, (ends.get(status) ?? 0) + 1);
      // Without an answer it has most likely not come so far as the server.
      const delayMs = status === 0 ? Math.min(resetMs, retryMs) : retryMs;
      if (!isOver) setTimeout(() => isOver || begin(() => undefined), delayMs).unref();
    });
  }
  const trickle = setInterval(() => {
    for (const socket of sockets) if (socket.writable && !chunked) socket.write('x');
  }, trickleMs);
  /** In waves that the queue of the listening socket holds: the kernel resets what it doesn't. */
  async function beginAll(): Promise<void> {
    for (let left = count; left > 0 && !isOver; left -= waveSize) {
      const wave = Array.from({ length: Math.min(left, waveSize) }, () => {
        return new Promise<void>((resolve) => begin(resolve));
      });
      await Promise.all(wave);
    }
  }
  return {
    begun: beginAll(),
    open: () => sockets.size,
    ends,
    async [Symbol.asyncDispose]() {
      isOver = true;
      clearInterval(trickle);
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
