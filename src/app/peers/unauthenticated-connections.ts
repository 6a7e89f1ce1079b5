/**
 * Connections of the internal listener that have not brought a right seal: whoever reaches the port
 * can make them, and must not use up the connections of nodes, nor their time.
 *
 * Bounds: `perClientMax` of a client (an IPv4 address, an IPv6 /64), `perNodeMax` of one where a
 * right seal came from in the last minute, and `totalMax` in all. The oldest is closed: of the
 * client itself, or of the client with most at whose address no node is known. A node shows its
 * seal with its first request, and is not counted from then on. One request at a time on each, and
 * one wrong seal ends it. A client that brought too many is sent away before anything is read,
 * unless a node is known there.
 */

import type { Socket } from 'node:net';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { Clock } from '../../core/clock.ts';
import { minuteMs } from '../../core/time.ts';
import { networksOf } from '../../ip/networks.ts';

export const unauthenticatedBounds = {
  /** A node may open nearly as many at once. */
  perClientMax: 64,
  perNodeMax: 256,
  totalMax: 512,
  /** The bound on wrong seals from one client in ten seconds. */
  wrongSealsMax: 200,
} as const;

/** Clients that are remembered, for wrong seals and for right ones; the quietest is forgotten. */
const clientsMax = 4_096;
const wrongSealsMs = 10_000;
const knownMs = minuteMs;

interface UnauthenticatedConnection {
  readonly client: string;
  isAsking: boolean;
  isRefused: boolean;
}

export function createUnauthenticatedConnections({
  clock,
}: {
  readonly clock: Pick<Clock, 'monotonicMs'>;
}) {
  const { perClientMax, perNodeMax, totalMax, wrongSealsMax } = unauthenticatedBounds;
  const limits = createClientLimits(
    { wrongSeals: { max: wrongSealsMax, windowMs: wrongSealsMs } },
    clientsMax,
  );
  const unauthenticated = new Map<Socket, UnauthenticatedConnection>();
  const nodes = new WeakMap<Socket, string>();
  /** The oldest comes first in each. */
  const byClient = new Map<string, Set<Socket>>();
  /** Addresses of nodes with the time of their last seal; the least recent comes first. */
  const known = new Map<string, number>();

  function leave(socket: Socket): void {
    const candidate = unauthenticated.get(socket);
    if (candidate === undefined) return;
    unauthenticated.delete(socket);
    const own = byClient.get(candidate.client)!;
    own.delete(socket);
    if (own.size === 0) byClient.delete(candidate.client);
  }

  function end(socket: Socket): void {
    leave(socket);
    socket.destroy();
  }

  function isKnown(client: string): boolean {
    return (known.get(client) ?? Number.NEGATIVE_INFINITY) > clock.monotonicMs() - knownMs;
  }

  function most(): ReadonlySet<Socket> {
    let found: ReadonlySet<Socket> = new Set();
    for (const [client, own] of byClient) {
      if (own.size > found.size && !isKnown(client)) found = own;
    }
    return found;
  }

  function know(client: string): void {
    known.delete(client);
    known.set(client, clock.monotonicMs());
    if (known.size > clientsMax) known.delete(known.keys().next().value!);
  }

  return {
    /** Called for each new connection; may end it at once. */
    arrive(socket: Socket): void {
      // Undefined when it is gone already.
      const { client } = networksOf(socket.remoteAddress ?? '');
      const isOfNode = isKnown(client);
      if (!isOfNode && limits.waitFor('wrongSeals', client, clock.monotonicMs()) > 0) {
        socket.destroy();
        return;
      }
      const own = byClient.get(client) ?? new Set();
      byClient.set(client, own.add(socket));
      unauthenticated.set(socket, { client, isAsking: false, isRefused: false });
      socket.once('close', () => leave(socket));
      const ownMax = isOfNode ? perNodeMax : perClientMax;
      const [oldest] = own.size > ownMax ? own : unauthenticated.size > totalMax ? most() : [];
      if (oldest !== undefined) end(oldest);
    },
    /** Called for each request, until `over`. False: no more of this connection is read. */
    begin(socket: Socket): boolean {
      const candidate = unauthenticated.get(socket);
      if (candidate === undefined) return !socket.destroyed;
      if (candidate.isAsking || candidate.isRefused) {
        end(socket);
        return false;
      }
      candidate.isAsking = true;
      return true;
    },
    over(socket: Socket): void {
      const candidate = unauthenticated.get(socket);
      if (candidate !== undefined) candidate.isAsking = false;
    },
    /** Called for each request with a right seal: the connection is a node's from now on. */
    markAuthenticated(socket: Socket): void {
      const client = unauthenticated.get(socket)?.client ?? nodes.get(socket);
      if (client === undefined) return;
      leave(socket);
      nodes.set(socket, client);
      know(client);
    },
    refuse(socket: Socket): void {
      const candidate = unauthenticated.get(socket);
      if (candidate === undefined) return;
      candidate.isRefused = true;
      limits.charge('wrongSeals', candidate.client, clock.monotonicMs(), 1);
    },
    table: { name: 'internal_strangers', used: () => unauthenticated.size, limit: totalMax },
  };
}

export type UnauthenticatedConnections = ReturnType<typeof createUnauthenticatedConnections>;
