/**
 * The zone over UDP, on one address. Answers are written into buffers that are used again; a sender
 * that can't be answered costs nothing but its question.
 */

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { IntegrationEndpoint } from '../endpoint.ts';
import type { DnsCounters } from './counters.ts';
import type { Responder } from './responder.ts';
import { udpBytesMax } from './wire.ts';

/**
 * Echo, discard, daytime and chargen answer whatever comes, and no query comes from port 0: an answer
 * to them is a loop or an error.
 */
const portsNotAnswered = new Set([0, 7, 13, 17, 19]);
/** Answers on their way to the kernel; more wait nowhere. */
const sendingMax = 1_024;
const receiveBytes = 1_048_576;

export interface UdpOptions {
  readonly endpoint: IntegrationEndpoint;
  readonly responder: Responder;
  readonly counters: DnsCounters;
  /** Strict text of an address to words; 0: none. */
  readonly parse: (text: string, words: Uint32Array) => 0 | 4 | 6;
  /** Runs one answer while the index may be read. */
  readonly within: <T>(work: () => T) => T;
}

/** Resolves when it listens. */
export async function listenUdp(options: UdpOptions): Promise<Socket> {
  const { endpoint, responder, counters, parse, within } = options;
  const socket = createSocket({
    type: endpoint.family === 6 ? 'udp6' : 'udp4',
    ipv6Only: endpoint.family === 6,
  });
  const words = new Uint32Array(4);
  const spare: Uint8Array[] = [];
  let sending = 0;

  function answer(message: Buffer, from: RemoteInfo): void {
    const family = portsNotAnswered.has(from.port) ? 0 : parse(withoutZone(from.address), words);
    if (family === 0 || sending >= sendingMax) {
      counters.count('dropped');
      return;
    }
    const out = spare.pop() ?? new Uint8Array(udpBytesMax);
    const peer = { family, words, overTcp: false };
    const bytes = within(() => responder.respond(message, peer, out));
    if (bytes === 0) {
      spare.push(out);
      return;
    }
    sending++;
    function sent(): void {
      sending--;
      spare.push(out);
    }
    try {
      socket.send(out, 0, bytes, from.port, from.address, sent);
    } catch {
      // An address that the system can't send to must not end the thread.
      sent();
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
export function withoutZone(address: string): string {
  const zone = address.indexOf('%');
  return zone < 0 ? address : address.slice(0, zone);
}
