/**
 * The socket that HAProxy connects to. A connection has no more than one frame here and no more
 * than a few answers that it hasn't read; it ends when it is slow or idle for too long, and one too
 * many is refused at once. An end is never a verdict: HAProxy goes on without one.
 */

import { createServer, type Socket } from 'node:net';
import { every } from '../../core/every.ts';
import { minuteMs } from '../../core/time.ts';
import type { IntegrationEndpoint } from '../thread.ts';
import { type Agent, createSession, type SpoeEnd, type SpoeSession } from './session.ts';
import { type Status, status, WireWriter } from './wire.ts';

interface SpoeLimits {
  readonly connections: number;
  /** For HELLO, for the rest of a frame, and for answers to be read. */
  readonly slowMs: number;
  /** Longer than HAProxy's own `timeout idle`, so that it is the one who hangs up. */
  readonly idleMs: number;
  /** For what is closed to go. */
  readonly lingerMs: number;
  readonly sweepMs: number;
}

export const spoeLimits: SpoeLimits = {
  connections: 1_000,
  slowMs: 10_000,
  idleMs: 5 * minuteMs,
  lingerMs: 1_000,
  sweepMs: 1_000,
};

/** Answers that HAProxy doesn't read: it is asked nothing more until it has. */
const unreadBytesMax = 65_536;

interface Connection {
  readonly socket: Socket;
  readonly session: SpoeSession;
  /** The time at which it last got further, in ms of `nowMs`. */
  sinceMs: number;
  /** It has been sent a disconnect: nothing that it sends is read. */
  isOver: boolean;
}

/** Resolves when it listens. */
export async function listenSpoe(options: {
  readonly endpoint: IntegrationEndpoint;
  readonly agent: Agent;
  readonly count: (end: SpoeEnd) => void;
  /** Runs the answers of one read while the index may be read. */
  readonly within: <T>(work: () => T) => T;
  readonly nowMs: () => number;
  readonly limits?: SpoeLimits;
}) {
  const { endpoint, agent, count, within, nowMs, limits = spoeLimits } = options;
  const connections = new Set<Connection>();
  const out = new WireWriter();

  /** @param code undefined: the session has written its last frame itself */
  function finish(connection: Connection, reason: SpoeEnd, code?: Status): void {
    if (connection.isOver) return;
    connection.isOver = true;
    connection.sinceMs = nowMs();
    count(reason);
    if (code !== undefined) out.disconnect(code);
    connection.socket.resume();
    connection.socket.end(out.take());
  }

  function read(connection: Connection, chunk: Buffer): void {
    const { session, socket } = connection;
    if (connection.isOver) return;
    const { frames, isWaiting } = session;
    const ending = within(() => session.take(chunk, out));
    if (session.frames > frames || isWaiting !== session.isWaiting) connection.sinceMs = nowMs();
    if (ending !== undefined) {
      finish(connection, ending);
      return;
    }
    if (out.length > 0) socket.write(out.take());
    if (socket.writableLength > unreadBytesMax) socket.pause();
  }

  function sweep(): void {
    const now = nowMs();
    for (const connection of connections) {
      const { session, socket, isOver } = connection;
      const passedMs = now - connection.sinceMs;
      if (isOver) {
        if (passedMs > limits.lingerMs) socket.destroy();
        continue;
      }
      const isSlow = !session.isGreeted || session.isWaiting || socket.isPaused();
      if (passedMs <= (isSlow ? limits.slowMs : limits.idleMs)) continue;
      finish(connection, isSlow ? 'slow' : 'idle', status.timeout);
    }
  }

  const server = createServer({ noDelay: true }, (socket) => {
    const connection: Connection = {
      socket,
      session: createSession(agent),
      sinceMs: nowMs(),
      isOver: false,
    };
    socket.on('error', () => socket.destroy());
    // The kernel's queue is no bound: a refused connection stays open for `lingerMs` too.
    if (connections.size >= 2 * limits.connections) {
      count('full');
      return void socket.destroy();
    }
    connections.add(connection);
    socket.on('close', () => {
      connections.delete(connection);
      if (!connection.isOver) count('closed');
    });
    socket.on('data', (chunk: Buffer) => read(connection, chunk));
    socket.on('drain', () => {
      connection.sinceMs = nowMs();
      socket.resume();
    });
    if (connections.size > limits.connections) finish(connection, 'full', status.noRoom);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: endpoint.address, port: endpoint.port, ipv6Only: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  // No descriptor left, say: who comes meanwhile is not served, and nobody else suffers.
  server.on('error', () => {});
  const sweeping = every(limits.sweepMs, sweep);
  return {
    port: (server.address() as { port: number }).port,
    open: () => connections.size,
    /** Sends every connection a disconnect, and resolves when all are gone. */
    async close(): Promise<void> {
      await sweeping.stop();
      const gone = new Promise((resolve) => server.close(resolve));
      for (const connection of connections) finish(connection, 'stopped', status.normal);
      const lingering = setTimeout(() => {
        for (const { socket } of connections) socket.destroy();
      }, limits.lingerMs);
      await gone;
      clearTimeout(lingering);
    },
  };
}
