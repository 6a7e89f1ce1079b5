/**
 * One name server of the bench of integrations, alone in its process: `dns-child.js <kind> <entries>`. `ours`
 * answers from the table, `echo` sends each datagram back as an answer. It tells its port.
 */

import { createSocket } from 'node:dgram';
import { listenUdp } from '../src/integrations/dnsbl/module.ts';
import {
  createDnsCounters,
  createResponder,
  createResponseRate,
} from '../src/integrations/dnsbl/responder.ts';
import { createCheckEngine } from './check-engine.ts';
import { zone } from './rbldnsd-peer.ts';

async function startOurs(entries: number): Promise<number> {
  const { frontEnd } = createCheckEngine(entries);
  const counters = createDnsCounters();
  const responder = createResponder({
    zone,
    nameServers: [],
    baseUrl: 'https://portcullis.example',
    counters,
    judge: frontEnd.check.judge,
    isListable: () => true,
    hasBelow: () => false,
    isAllowed: () => true,
    accountOf: () => -1,
    spend: () => false,
    noteMark: () => {},
    rate: createResponseRate(1),
    clock: { now: () => Date.now(), monotonicMs: () => performance.now() },
  });
  const endpoint = { family: 4, address: '127.0.0.1', port: 0 } as const;
  const inIndexRead = <T>(work: () => T) => work();
  const socket = await listenUdp({ endpoint, responder, counters, inIndexRead });
  return socket.address().port;
}

/** What Node's sockets cost alone. */
async function startEcho(): Promise<number> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    message[2]! |= 0x80;
    socket.send(message, 0, message.length, from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return socket.address().port;
}

const [, , kind, entries] = process.argv;
const port = kind === 'echo' ? await startEcho() : await startOurs(Number(entries));
process.send?.({ port });
process.on('disconnect', () => process.exit(0));
