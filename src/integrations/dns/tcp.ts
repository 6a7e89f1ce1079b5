/** The zone over TCP, on one address: two bytes of length before each message (RFC 7766), pipelined. */

import { createServer, type Server, type Socket } from 'node:net';
import { clientOf } from '../../ip/networks.ts';
import type { IntegrationEndpoint } from '../endpoint.ts';
import { short } from './question.ts';
import type { Responder } from './responder.ts';
import { withoutZone } from './udp.ts';
import { headerBytes, udpBytesMax } from './wire.ts';

export interface TcpLimits {
  readonly idleMs: number;
  readonly connections: number;
  readonly perClient: number;
}

const tcpLimits: TcpLimits = { idleMs: 10_000, connections: 500, perClient: 20 };

/** A query is a name and at most a few options. */
const queryBytesMax = 1_024;
/** Answers that a client doesn't read: it gets no more until it has. */
const unreadBytesMax = 65_536;

export interface TcpOptions {
  readonly endpoint: IntegrationEndpoint;
  readonly responder: Responder;
  readonly parse: (text: string, words: Uint32Array) => 0 | 4 | 6;
  readonly within: <T>(work: () => T) => T;
  /** The connections of all listening addresses together, which share the limits. */
  readonly connections: Connections;
  readonly limits?: TcpLimits;
}

/** Connections that are open, in all and of each client: an IPv4 address or an IPv6 /64. */
export interface Connections {
  readonly open: Set<Socket>;
  readonly byClient: Map<string, number>;
}

export function createConnections(): Connections {
  return { open: new Set(), byClient: new Map() };
}

/** Resolves when it listens. */
export async function listenTcp(options: TcpOptions): Promise<Server> {
  const { endpoint, parse, connections, limits = tcpLimits } = options;
  const server = createServer((socket) => {
    const words = new Uint32Array(4);
    const family = parse(withoutZone(socket.remoteAddress ?? ''), words);
    const client = family === 0 ? '' : clientOf(family, words);
    const ofClient = connections.byClient.get(client) ?? 0;
    socket.on('error', () => socket.destroy());
    if (
      family === 0 ||
      connections.open.size >= limits.connections ||
      ofClient >= limits.perClient
    ) {
      socket.destroy();
      return;
    }
    connections.open.add(socket);
    connections.byClient.set(client, ofClient + 1);
    socket.on('close', () => {
      connections.open.delete(socket);
      const left = connections.byClient.get(client)! - 1;
      if (left === 0) connections.byClient.delete(client);
      else connections.byClient.set(client, left);
    });
    serve(socket, { family, words, overTcp: true }, options, limits.idleMs);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: endpoint.address, port: endpoint.port, ipv6Only: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  return server;
}

type Peer = Parameters<Responder['respond']>[1];

function serve(socket: Socket, peer: Peer, options: TcpOptions, idleMs: number): void {
  const { responder, within } = options;
  const out = new Uint8Array(udpBytesMax);
  let held: Buffer = Buffer.alloc(0);
  // Only whole messages put the end off: a byte now and then holds a place no longer than silence.
  const idle = setTimeout(() => socket.destroy(), idleMs);
  socket.on('close', () => clearTimeout(idle));

  /** Answers whole messages in `held`; false when the connection is over. */
  function answerAll(): boolean {
    const answers: Uint8Array[] = [];
    let at = 0;
    while (held.length - at >= 2) {
      const length = short(held, at);
      if (length < headerBytes || length > queryBytesMax) return false;
      if (held.length - at < 2 + length) break;
      const message = held.subarray(at + 2, at + 2 + length);
      const bytes = within(() => responder.respond(message, peer, out));
      at += 2 + length;
      if (bytes > 0) answers.push(Buffer.of(bytes >>> 8, bytes & 255), out.slice(0, bytes));
    }
    if (at > 0) {
      held = Buffer.from(held.subarray(at));
      idle.refresh();
    }
    if (answers.length > 0) socket.write(Buffer.concat(answers));
    return true;
  }

  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    if (!answerAll()) return void socket.destroy();
    if (socket.writableLength > unreadBytesMax) socket.pause();
  });
  socket.on('drain', () => socket.resume());
}
