/**
 * HAProxy's questions over SPOE: on where SPOE_LISTEN says where it asks. A thread reads the socket,
 * answers from shared memory and asks nobody.
 */

import { createServer, type Socket } from 'node:net';
import type { Config } from '../../config.ts';
import { every } from '../../core/every.ts';
import type { Metrics } from '../../core/metrics.ts';
import { systemRandom } from '../../core/random.ts';
import { minuteMs } from '../../core/time.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { IndexRead } from '../../index/reader.ts';
import { labelled } from '../counters.ts';
import { createPasses } from '../forward-auth/pass.ts';
import { createDecider } from '../forward-auth/policy.ts';
import {
  type IntegrationEndpoint,
  listenAt,
  type RunningIntegration,
  type StartThread,
  type ThreadParts,
} from '../thread.ts';
import {
  type Agent,
  createAgent,
  createSession,
  createSpoeEnds,
  createSpoeOutcomes,
  type SpoeEnd,
  type SpoeSession,
} from './session.ts';
import { type Status, status, WireWriter } from './wire.ts';

/** Longer than its connections may take to go. */
const endMsMax = 2_000;
/** A mistake in HAProxy's configuration is the same with each request. */
const warnEveryMs = minuteMs;
const countOpenEveryMs = 1_000;

interface HaproxySetup {
  readonly outcomes: SharedArrayBuffer;
  readonly ends: SharedArrayBuffer;
  /** One number: how many connections are open. */
  readonly open: Int32Array;
}

/** @throws OperatorError when it can't listen */
export async function openHaproxy(needs: {
  readonly config: Pick<Config, 'spoeListen'>;
  readonly startThread: StartThread;
}) {
  const { spoeListen } = needs.config;
  if (spoeListen === undefined) return { drain() {} };
  const outcomes = createSpoeOutcomes();
  const ends = createSpoeEnds();
  const open = new Int32Array(new SharedArrayBuffer(4));
  const own: HaproxySetup = { outcomes: outcomes.buffer, ends: ends.buffer, open };
  const thread = await needs.startThread({
    name: 'spoe',
    setting: 'SPOE_LISTEN',
    listen: [spoeListen],
    own,
    endMsMax,
  });
  return {
    drain: thread.drain,
    close: thread.close,
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_spoe_requests_total',
        'Questions of HAProxy, by what became of them.',
        ['outcome'],
        () => labelled('outcome', outcomes.read()),
      );
      metrics.counterBy(
        'portcullis_spoe_connections_ended_total',
        'Connections of HAProxy that ended, by the reason.',
        ['reason'],
        () => labelled('reason', ends.read()),
      );
      metrics.gauge('portcullis_spoe_connections', 'Connections of HAProxy.', () =>
        Atomics.load(open, 0),
      );
    },
  };
}

/** Runs in the thread. */
export async function runHaproxy(
  parts: ThreadParts,
  setup: HaproxySetup,
): Promise<RunningIntegration> {
  const { clock, log, judge, noteMark, inIndexRead } = parts;
  const passes = createPasses({ key: parts.passKey, clock, random: systemRandom() });
  let warnedMs = Number.NEGATIVE_INFINITY;
  let isDraining = false;
  const agent = createAgent({
    decider: createDecider({ check: { judge }, passes, clock, noteMark, readParams: parseQuery }),
    count: createSpoeOutcomes(setup.outcomes).count,
    isDraining: () => isDraining,
    warn(reason) {
      if (clock.monotonicMs() - warnedMs < warnEveryMs) return;
      warnedMs = clock.monotonicMs();
      log.warn({ reason }, 'spoe: request failed; HAProxy continues as configured');
    },
  });
  const endpoint = parts.listen[0]!;
  const { count } = createSpoeEnds(setup.ends);
  const nowMs = clock.monotonicMs;
  const listener = await listenSpoe({ endpoint, agent, inIndexRead, nowMs, count });
  const { open } = setup;
  const counting = every(countOpenEveryMs, () => Atomics.store(open, 0, listener.open()));
  parts.onListening({ ...endpoint, port: listener.port });
  return {
    drain() {
      isDraining = true;
    },
    async close() {
      isDraining = true;
      void counting.stop();
      await listener.close();
    },
  };
}

// The socket that HAProxy connects to. A connection has no more than one frame here and no more
// than a few answers that it hasn't read; it ends when it is slow or idle for too long, and one too
// many is refused at once. An end is never a verdict: HAProxy goes on without one.

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
  readonly inIndexRead: IndexRead;
  readonly nowMs: () => number;
  readonly limits?: SpoeLimits;
}) {
  const { endpoint, agent, count, inIndexRead, nowMs, limits = spoeLimits } = options;
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
    const ending = inIndexRead(() => session.take(chunk, out));
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
  await listenAt(server, endpoint);
  // For example, no file descriptor is left: new connections are not served, and nobody else suffers.
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
