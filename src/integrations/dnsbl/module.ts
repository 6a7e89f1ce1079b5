/**
 * The block list over DNS: on where DNS_ZONE names its zone. It has a thread, which reads the sockets,
 * answers from shared memory and asks nobody.
 */

import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { openLabelReader } from '../../access/keys/key-table.ts';
import { quotaKind } from '../../access/quota/quota.ts';
import type { Config } from '../../config.ts';
import { entryFlags } from '../../contracts/reputation.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { IndexRead } from '../../index/reader.ts';
import { flagsOf, listScoreOf, metaOf, type Records, reportsOf } from '../../index/records.ts';
import { parseIp, readIp } from '../../ip/address.ts';
import { isListable } from '../../ip/embedded-ipv4.ts';
import { clientOf } from '../../ip/networks.ts';
import { checkedPrefix } from '../../ip/operator-prefix.ts';
import { contains } from '../../ip/prefix.ts';
import { labelled } from '../counters.ts';
import {
  type IntegrationEndpoint,
  listenAt,
  type RunningIntegration,
  type StartThread,
  type ThreadParts,
} from '../thread.ts';
import { headerBytes, short, udpBytesMax } from './message.ts';
import type { DnsCounters, Peer, Responder } from './responder.ts';
import {
  createDnsCounters,
  createListedBelow,
  createResponder,
  createResponseRate,
} from './responder.ts';

interface DnsblSetup {
  readonly zone: string;
  readonly nameServers: readonly string[];
  /** Begins the address of a page in TXT records. */
  readonly baseUrl: string;
  /** Addresses and prefixes. */
  readonly allow: readonly string[];
  readonly counters: SharedArrayBuffer;
  /** Drawn at start. */
  readonly seed: number;
}

/** @throws OperatorError when it can't listen */
export async function openDnsbl(needs: {
  readonly config: Pick<Config, 'dnsZone' | 'dnsNs' | 'dnsListen' | 'dnsAllow' | 'secureUrl'>;
  readonly random: Random;
  readonly startThread: StartThread;
}) {
  const { dnsZone: zone, dnsNs: nameServers, ...config } = needs.config;
  if (zone === undefined) return {};
  const counters = createDnsCounters();
  const own: DnsblSetup = {
    zone,
    nameServers,
    baseUrl: config.secureUrl,
    allow: config.dnsAllow,
    counters: counters.buffer,
    seed: Buffer.from(needs.random.bytes(4)).readUInt32BE(0),
  };
  const thread = await needs.startThread({
    name: 'dns',
    setting: 'DNS_LISTEN',
    listen: config.dnsListen,
    own,
    facts: { zone },
  });
  return {
    close: thread.close,
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_dns_queries_total',
        'Queries to the DNS block list, by what became of them.',
        ['outcome'],
        () => labelled('outcome', counters.read()),
      );
    },
  };
}

/** Runs in the thread. */
export async function runDnsbl(parts: ThreadParts, setup: DnsblSetup): Promise<RunningIntegration> {
  const { index, judge, accounts, quotas, keys, clock, noteMark, inIndexRead } = parts;
  const { zone, nameServers, baseUrl } = setup;
  const allowed = setup.allow.map(checkedPrefix);
  const labels = openLabelReader(keys);
  const counters = createDnsCounters(setup.counters);
  const responder = createResponder({
    zone,
    nameServers,
    baseUrl,
    judge,
    counters,
    clock,
    isListable,
    hasBelow: createListedBelow(index, (entry) => isAccused(index.records, entry)),
    isAllowed: (family, words) => allowed.some((prefix) => contains(prefix, family, words)),
    accountOf(label) {
      const slot = labels.accountOf(label);
      return slot >= 0 && accounts.isDisabled(slot) ? -1 : slot;
    },
    spend: (slot) => quotas.take(slot, quotaKind.read, 1, clock.monotonicMs()),
    noteMark,
    rate: createResponseRate(setup.seed),
  });
  const connections = createConnections();
  for (const endpoint of parts.listen) {
    const tcp = await listenTcp({ endpoint, responder, inIndexRead, connections });
    const bound = tcp.address() as { port: number };
    const taken = { ...endpoint, port: bound.port };
    await listenUdp({ endpoint: taken, responder, counters, inIndexRead });
    parts.onListening(taken);
  }
  return {};
}

function isAccused(records: Records, entry: number): boolean {
  const meta = metaOf(records, entry);
  const isExit = (flagsOf(meta) & entryFlags.anonymousExit) !== 0;
  return isExit || listScoreOf(meta) > 0 || reportsOf(records, entry) > 0;
}

// The zone over UDP and over TCP, each on one address. Over TCP two bytes of length stand before
// each message (RFC 7766), pipelined.

/**
 * Echo, discard, daytime and chargen answer whatever comes, and no query comes from port 0: an answer
 * to them is a loop or an error.
 */
const portsNotAnswered = new Set([0, 7, 13, 17, 19]);
/** Answers on their way to the kernel; more wait nowhere. */
const sendingMax = 1_024;
const receiveBytes = 1_048_576;

interface UdpOptions {
  readonly endpoint: IntegrationEndpoint;
  readonly responder: Responder;
  readonly counters: DnsCounters;
  /** Runs one answer while the index may be read. */
  readonly inIndexRead: IndexRead;
}

/** Resolves when it listens. */
export async function listenUdp(options: UdpOptions): Promise<UdpSocket> {
  const { endpoint, responder, counters, inIndexRead } = options;
  const socket = createSocket({
    type: endpoint.family === 6 ? 'udp6' : 'udp4',
    ipv6Only: endpoint.family === 6,
  });
  const words = new Uint32Array(4);
  /** One buffer more than may be on their way: that of the next answer is never among them. */
  const buffers: Uint8Array[] = [];
  let last = 0;

  /** A buffer that nothing waits in. The system mostly takes an answer at once, and the first one is free again. */
  function freeBuffer(sending: number): Uint8Array {
    last = sending === 0 ? 0 : (last + 1) % (sendingMax + 1);
    buffers[last] ??= new Uint8Array(udpBytesMax);
    return buffers[last]!;
  }

  function answer(message: Buffer, from: RemoteInfo): void {
    const family = portsNotAnswered.has(from.port) ? 0 : parseIp(withoutZone(from.address), words);
    // Asked for, not counted by a callback for each answer, which would cost a turn of its own.
    const sending = socket.getSendQueueCount();
    if (family === 0 || sending >= sendingMax) {
      counters.count('dropped');
      return;
    }
    const out = freeBuffer(sending);
    const peer = { family, words, overTcp: false };
    const bytes = inIndexRead(() => responder.respond(message, peer, out));
    if (bytes === 0) return;
    try {
      socket.send(out, 0, bytes, from.port, from.address);
    } catch {
      // An address that the system can't send to must not end the thread.
    }
  }

  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ address: endpoint.address, port: endpoint.port, exclusive: true }, () => {
      socket.removeListener('error', reject);
      resolve();
    });
  });
  try {
    socket.setRecvBufferSize(receiveBytes);
  } catch {
    // Less is what the system allows.
  }
  // Such as "connection refused" of a client that has gone: it concerns that one alone.
  socket.on('error', () => counters.count('failed'));
  socket.on('message', answer);
  return socket;
}

/** `fe80::1%eth0`: the zone says which interface, not who. */
function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone < 0 ? address : address.slice(0, zone);
}

interface TcpLimits {
  readonly idleMs: number;
  readonly connections: number;
  readonly perClient: number;
}

const tcpLimits: TcpLimits = { idleMs: 10_000, connections: 500, perClient: 20 };

/** A query is a name and at most a few options. */
const queryBytesMax = 1_024;
/** Answers that a client doesn't read: it gets no more until it has. */
const unreadBytesMax = 65_536;

interface TcpOptions {
  readonly endpoint: IntegrationEndpoint;
  readonly responder: Responder;
  readonly inIndexRead: IndexRead;
  /** The connections of all listening addresses together, which share the limits. */
  readonly connections: ReturnType<typeof createConnections>;
  readonly limits?: TcpLimits;
}

/** Returns the set of open connections, in all and of each client: an IPv4 address or an IPv6 /64. */
export function createConnections() {
  return { open: new Set<Socket>(), byClient: new Map<string, number>() };
}

/** Resolves when it listens. */
export async function listenTcp(options: TcpOptions): Promise<Server> {
  const { endpoint, connections, limits = tcpLimits } = options;
  const server = createServer((socket) => {
    const ip = readIp(withoutZone(socket.remoteAddress ?? ''));
    const client = ip === undefined ? '' : clientOf(ip.family, ip.words);
    const ofClient = connections.byClient.get(client) ?? 0;
    socket.on('error', () => socket.destroy());
    if (
      ip === undefined ||
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
    serve(socket, { ...ip, overTcp: true }, options, limits.idleMs);
  });
  await listenAt(server, endpoint);
  return server;
}

function serve(socket: Socket, peer: Peer, options: TcpOptions, idleMs: number): void {
  const { responder, inIndexRead } = options;
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
      const bytes = inIndexRead(() => responder.respond(message, peer, out));
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
