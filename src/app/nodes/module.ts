/**
 * Opens what nodes on one database share: the challenges of all, the listener that is asked for
 * them, and counts.
 */

import { randomBytes } from 'node:crypto';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { deriveKey } from '../../access/keys/master-key.ts';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import { createLimitSync, type Party } from '../../access/quota/distributed-limits.ts';
import type { CaptchaVisitor, Challenges } from '../../captcha/challenge/challenge.ts';
import { isLong, nodeOf } from '../../captcha/challenge/ticket.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { decrypt, encrypt, nonceBytes } from '../../core/crypto.ts';
import { OperatorError } from '../../core/errors.ts';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import { fail, type Result } from '../../core/result.ts';
import { minuteMs } from '../../core/time.ts';
import { parseHostPort } from '../../integrations/thread.ts';
import { networksOf } from '../../ip/networks.ts';
import type { NodeMessage, NodeMessages } from '../../storage/nodes/messages.ts';
import type { Data, ServerContext } from '../data.ts';
import {
  answerBytes,
  createReplays,
  internalKeyPurpose,
  isMac,
  macHeader,
  macOf,
  type NodeQuestion,
  questionBytes,
  readAnswer,
  readNodeQuestion,
} from './signed-messages.ts';

const messageKeyPurpose = 'told 1';

/** Seals messages between nodes under a key derived from the master key: the database learns nobody's address. */
function sealedMessages(nodeMessages: NodeMessages, key: Uint8Array): NodeMessages {
  function openMessage(messages: NodeMessage): NodeMessage {
    const { bytes } = messages;
    if (bytes === undefined || bytes.length < nonceBytes) return { ...messages, bytes: undefined };
    const nonce = bytes.subarray(0, nonceBytes);
    return { ...messages, bytes: decrypt(key, nonce, bytes.subarray(nonceBytes)) };
  }

  return {
    send(seq, bytes) {
      const nonce = randomBytes(nonceBytes);
      return nodeMessages.send(seq, Buffer.concat([nonce, encrypt(key, nonce, bytes)]));
    },
    async receive(receivedUpTo) {
      const { messages, nodes } = await nodeMessages.receive(receivedUpTo);
      return { messages: messages.map(openMessage), nodes };
    },
  };
}

const everyMs = 1_000;

/** The first exchange is done when it resolves: from then on this node keeps to its share. */
async function startLimitSync(options: {
  readonly parties: readonly Party[];
  readonly nodeMessages: NodeMessages;
  readonly clock: Clock;
  readonly log: Log;
}) {
  const { parties, nodeMessages, clock, log } = options;
  const onUnread = (error: unknown) =>
    log.warn({ err: error }, 'counts of a node could not be read');
  const limitSync = createLimitSync({ parties, nodeMessages, onUnread });
  await limitSync.once();
  let lastMs = clock.monotonicMs();
  let isCut = false;

  async function once(): Promise<void> {
    const startMs = clock.monotonicMs();
    try {
      await limitSync.once();
      lastMs = startMs;
      if (isCut) log.info('counts are exchanged with the other nodes again');
      isCut = false;
    } catch (error) {
      if (!isCut) log.warn({ err: error }, 'counts are not exchanged: limits are divided');
      isCut = true;
    }
  }

  const loop = every(everyMs, once);
  return {
    register(metrics: Metrics): void {
      metrics.gauge(
        'portcullis_exchange_age_seconds',
        'Since the last exchange of counts with the other nodes.',
        () => (clock.monotonicMs() - lastMs) / 1_000,
      );
      metrics.gauge(
        'portcullis_exchange_nodes',
        'Other nodes that limits are kept with.',
        () => limitSync.otherNodes,
      );
    },
    async stop(): Promise<void> {
      await loop.stop();
      // Other nodes need the last counts of this one.
      await limitSync.once().catch(() => undefined);
    },
  };
}

export async function openNodes(
  { config, clock, log, masterKey, closers }: ServerContext,
  own: Challenges,
  { member, tables }: Pick<Data, 'member'> & { readonly tables: Pick<BoundedTables, 'add'> },
): Promise<Challenges> {
  if (member === undefined) return own;
  const key = deriveKey(masterKey, internalKeyPurpose);
  const { address: host, port } = parseHostPort(config.internalListen)!;
  const { id: node, urlOf } = member;
  const listener = await openInternalListener({
    host,
    port,
    node,
    key,
    clock,
    log,
    challenges: own,
  });
  closers.add(listener.close);
  tables.add(...listener.tables);
  await member.announce(listener.url);
  const challenges = nodeChallenges({ own, node, key, clock, log, urlOf });
  closers.add(challenges.close);
  return challenges;
}

/** Limits of all nodes: before anybody is answered. */
export async function openLimitSync(
  { clock, log, masterKey, closers }: ServerContext,
  { member, replica }: Pick<Data, 'member' | 'replica'>,
  { parties, metrics }: { readonly parties: readonly Party[]; readonly metrics: Metrics },
): Promise<void> {
  if (member === undefined) return;
  const nodeMessages = sealedMessages(member.nodeMessages, deriveKey(masterKey, messageKeyPurpose));
  const limitSync = await startLimitSync({ parties, nodeMessages, clock, log });
  limitSync.register(metrics);
  metrics.gauge(
    'portcullis_memory_differs',
    "1 while this node's memory is another than that of a node that was at the same event.",
    () => (['differs', 'outvoted'].includes(member.memory()) ? 1 : 0),
  );
  closers.add(limitSync.stop);
  if (replica === undefined) return;
  metrics.gauge(
    'portcullis_replica_read',
    '1 while the journal is read from the replica, 0 while from the primary.',
    () => (replica.isRead() ? 1 : 0),
  );
  metrics.gauge(
    'portcullis_replica_lag_events',
    'Events of the primary that the replica did not show when it was asked last.',
    replica.lagEvents,
  );
}

// Challenges of all nodes behind one handle. A token names its node; picture, sound and answer of another
// node's token are asked of that one, where the word is, so that a token still has one attempt.
//
// A node that is away takes its open challenges with it: their pictures are `not_found`, answers wrong.

/** Longer than any challenge is rendered, shorter than any front end waits. */
const answerMsMax = 8_000;
/** A picture has some 100 KB. */
const answerBytesMax = 4 << 20;
const underWayMax = 256;
const socketsMax = 32;
/** More characters than a person may type; the other node cuts the answer to its own bound. */
const answerCharsMax = 200;

type Question = Omit<NodeQuestion, 'to' | 'at' | 'nonce'>;

interface NodeChallenges extends Challenges {
  close(): void;
}

export function nodeChallenges(options: {
  readonly own: Challenges;
  readonly node: number;
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the URL of a node's internal port; undefined if no node with this number is up. */
  readonly urlOf: (node: number) => Promise<string | undefined>;
}): NodeChallenges {
  const { own, node, key, clock, log, urlOf } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  let underWay = 0;

  /** Returns undefined for a token of this node, or of none. */
  function otherOf(token: string): number | undefined {
    const made = nodeOf(token);
    return made === node ? undefined : made;
  }

  async function ask(to: number, question: Question) {
    const url = await urlOf(to);
    if (url === undefined) return fail('not_found');
    if (underWay >= underWayMax) return fail('overloaded');
    underWay += 1;
    try {
      const nonce = randomBytes(16).toString('hex');
      const body = questionBytes({ ...question, to, at: clock.now(), nonce });
      const { mac, bytes } = await post(url, body);
      if (!isMac(mac, macOf(key, `answer ${nonce}`, bytes))) throw new Error('it is not signed');
      return readAnswer(bytes) ?? fail('overloaded');
    } catch (error) {
      log.warn({ err: error, node: to }, 'internal: a node does not answer');
      return fail('overloaded');
    } finally {
      underWay -= 1;
    }
  }

  function post(url: string, body: Buffer): Promise<{ mac: unknown; bytes: Buffer }> {
    const signal = AbortSignal.timeout(answerMsMax);
    const headers = { [macHeader]: macOf(key, 'ask', body), 'Content-Length': body.length };
    function send(over: Agent | false): Promise<{ mac: unknown; bytes: Buffer }> {
      return new Promise((resolve, reject) => {
        const sent = request(url, { method: 'POST', agent: over, headers, signal }, (response) => {
          readAll(response).then(
            (bytes) => resolve({ mac: response.headers[macHeader], bytes }),
            reject,
          );
        });
        sent.once('error', (error) => {
          // The other end closed a connection that was idle. What it has read it takes no second time.
          if (sent.reusedSocket && !signal.aborted) resolve(send(false));
          else reject(error);
        });
        sent.end(body);
      });
    }
    return send(agent);
  }

  async function fetch(
    what: 'image' | 'clip',
    token: string,
    visitor: CaptchaVisitor,
  ): Promise<Result<Uint8Array>> {
    const other = otherOf(token);
    if (other === undefined) return own[what](token, visitor);
    const { networks, longWord, language } = visitor;
    // An older node knows no language.
    const spoken = language === 'fr' ? { language } : {};
    const asked = { what, token, answer: '', network: networks, longWord, ...spoken };
    const answer = await ask(other, asked);
    return 'ok' in answer ? answer : fail('overloaded');
  }

  return {
    ...own,
    image: (token, visitor) => fetch('image', token, visitor),
    clip: (token, visitor) => fetch('clip', token, visitor),
    verify(token, given, networks) {
      const other = otherOf(token);
      if (other === undefined) return own.verify(token, given, networks);
      const answer = given.slice(0, answerCharsMax);
      const asked = { what: 'verify', token, answer, longWord: false } as const;
      const question: Question = { ...asked, network: networks };
      return ask(other, question).then((reply) => {
        if (!('right' in reply) || !reply.right) return undefined;
        return isLong(token) || reply.longWord ? 'long' : 'normal';
      });
    },
    close: () => agent.destroy(),
  };
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error('its answer is too long');
    pieces.push(piece);
  }
  if (response.statusCode !== 200) throw new Error(`it answers ${response.statusCode}`);
  return Buffer.concat(pieces);
}

// Answers other nodes that ask about challenges that this one made. It listens apart from the
// public port, by default on loopback; whoever lacks the master key gets an empty 403, and no line
// in the log. Small heads and bodies, bounded connections, short
// times, also for whoever does not read what was asked for: everything that comes is bounded.

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
    const { what, token, network: networks, longWord, language } = asked;
    if (what === 'verify') {
      const passed = await challenges.verify(token, asked.answer, networks);
      const more = passed === 'long' && !isLong(token) ? ({ longWord: true } as const) : {};
      return answerBytes({ right: passed !== undefined, ...more });
    }
    const found = await challenges[what](token, { networks, longWord, language });
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
