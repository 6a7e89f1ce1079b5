/**
 * Answers other nodes that ask about challenges that this one made. It listens apart from the
 * public port, by default on loopback; whoever lacks the master key gets an empty 403, and no line
 * in the log. Small heads and bodies, bounded connections, short
 * times, also for whoever does not read what was asked for: everything that comes is bounded.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { Challenges } from '../../captcha/challenge/challenge.ts';
import { isLong } from '../../captcha/challenge/ticket.ts';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { minuteMs } from '../../core/time.ts';
import { networksOf } from '../../ip/networks.ts';
import {
  answerBytes,
  createReplays,
  isMac,
  macHeader,
  macOf,
  type NodeQuestion,
  readNodeQuestion,
} from './signed-messages.ts';

const bodyBytesMax = 4_096;
/** A sealed head has some 300 bytes. */
const headBytesMax = 8_192;
/** The bound on all connections, authenticated or not. */
const connectionsMax = 2_048;
const requestMsMaxDefault = 10_000;
/** Node.js checks timeouts every 30 s by default. Silent connections would shut out other nodes for that long. */
const pollMs = 1_000;

/** @throws OperatorError when it can't listen there */
export async function openInternalListener(options: {
  readonly host: string;
  readonly port: number;
  readonly node: number;
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  readonly challenges: Pick<Challenges, 'image' | 'clip' | 'verify'>;
  /** From a connection to the end of its request, and from an answer to its end. */
  readonly requestMsMax?: number;
}) {
  const { host, port, node, key, clock, log, challenges } = options;
  const { requestMsMax = requestMsMaxDefault } = options;
  const replays = createReplays(node, clock.now);
  const unauthenticated = createUnauthenticatedConnections({ clock });

  async function answer(asked: NodeQuestion): Promise<Uint8Array> {
    const { what, token, network, longWord, language } = asked;
    if (what === 'verify') {
      const passed = await challenges.verify(token, asked.answer, network);
      const more = passed === 'long' && !isLong(token) ? ({ longWord: true } as const) : {};
      return answerBytes({ right: passed !== undefined, ...more });
    }
    const found = await challenges[what](token, { network, longWord, language });
    return answerBytes(found);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request, bodyBytesMax);
    const isSealed = body && isMac(request.headers[macHeader], macOf(key, 'ask', body));
    const asked = isSealed === true ? readNodeQuestion(body!) : undefined;
    if (asked === undefined || !replays.isPresent(asked)) return refuse(response, unauthenticated);
    unauthenticated.markAuthenticated(request.socket);
    if (!replays.admit(asked)) return refuse(response, unauthenticated);
    seal(response, key, asked.nonce, await answer(asked));
    await sent(response, requestMsMax);
  }

  const timeouts = { requestTimeout: requestMsMax, headersTimeout: requestMsMax };
  const watched = { ...timeouts, connectionsCheckingInterval: pollMs, maxHeaderSize: headBytesMax };
  const server = createServer(watched, (request, response) => {
    const { socket } = request;
    if (!unauthenticated.begin(socket)) return;
    response.once('close', () => unauthenticated.over(socket));
    serve(request, response).catch((error) => {
      log.warn({ err: error }, 'internal: a request of another node failed');
      response.destroy();
    });
  });
  server.on('connection', unauthenticated.arrive);
  server.maxConnections = connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => reject(new OperatorError(`INTERNAL_LISTEN: ${message}`)));
    server.listen(port, host, resolve);
  });
  server.on('error', (error) => log.warn({ err: error }, 'internal: the listener failed'));
  const taken = (server.address() as AddressInfo).port;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return {
    /** The address under which other nodes reach it. */
    url: `http://${shownHost}:${taken}`,
    tables: [unauthenticated.table],
    async close(): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Undefined when it is too long, or breaks off. What says that it is too long is not read. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces);
}

/** To whom it may be: it says nothing of what was wrong. */
function refuse(
  response: ServerResponse,
  unauthenticated: Pick<UnauthenticatedConnections, 'refuse'>,
): void {
  unauthenticated.refuse(response.req.socket);
  response.writeHead(403, { Connection: 'close' }).end();
}

function seal(response: ServerResponse, key: Uint8Array, nonce: string, bytes: Uint8Array): void {
  const mac = macOf(key, `answer ${nonce}`, bytes);
  response.writeHead(200, { [macHeader]: mac, 'Content-Length': bytes.length }).end(bytes);
}

/** Resolves when the other end has the answer or is gone; one that does not read it is sent away. */
async function sent(response: ServerResponse, msMax: number): Promise<void> {
  if (response.closed) return;
  const timer = setTimeout(() => response.destroy(), msMax);
  timer.unref();
  await new Promise<void>((resolve) => response.once('close', resolve));
  clearTimeout(timer);
}

// Connections of the internal listener that have not brought a right seal: whoever reaches the port
// can make them, and must not use up the connections of nodes, nor their time.
//
// Bounds: `perClientMax` of a client (an IPv4 address, an IPv6 /64), `perNodeMax` of one where a
// right seal came from in the last minute, and `totalMax` in all. The oldest is closed: of the
// client itself, or of the client with most at whose address no node is known. A node shows its
// seal with its first request, and is not counted from then on. One request at a time on each, and
// one wrong seal ends it. A client that brought too many is sent away before anything is read,
// unless a node is known there.

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

function createUnauthenticatedConnections({
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

type UnauthenticatedConnections = ReturnType<typeof createUnauthenticatedConnections>;
