/**
 * Tickets: short signed texts that cost no memory until they are used. A challenge's token is
 * one, and so is the cookie that names a browser. 36 bytes, 48 characters of base64url:
 *
 *   node u16 · kind u8 · made at u48 (ms) · random 11 · mac 16
 *
 * mac = first 16 bytes of HMAC-SHA-256 over what stands before it, under a key drawn at the start
 * and never stored: a restart forgets which tickets were used, so it refuses them all. The node
 * comes first, in clear, so that another node can see which node made the ticket. There is always
 * one spelling of a ticket: 36 bytes leave no spare bits.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';

const ticketKinds = { challenge: 0, longChallenge: 1, browser: 2 } as const;
type TicketKind = keyof typeof ticketKinds;

interface Ticket {
  readonly kind: TicketKind;
  /** On the clock of `nowMs`. */
  readonly madeAtMs: number;
}

/** The source of the tickets' pattern, for routes and the OpenAPI document. */
export const ticketPattern = '[A-Za-z0-9_-]{48}';
const ticketShape = new RegExp(`^${ticketPattern}$`);
const madeAtOffset = 3;
const randomOffset = 9;
const randomBytes = 11;
const macOffset = 20;
const macBytes = 16;
const kindNames = Object.keys(ticketKinds) as TicketKind[];

/** Returns the node that the ticket names, unverified; undefined when the text is no ticket. */
export function nodeOf(text: string): number | undefined {
  return ticketShape.test(text) ? Buffer.from(text, 'base64url').readUInt16BE(0) : undefined;
}

/** Returns whether the ticket says that its challenge is a long word, unverified. */
export function isLong(text: string): boolean {
  return (
    ticketShape.test(text) &&
    Buffer.from(text, 'base64url').readUInt8(2) === ticketKinds.longChallenge
  );
}

export function createTickets(options: {
  clock: Clock;
  random: Random;
  /** The number of this node where several share a store; 0 for a single one. */
  node?: number;
}) {
  const { clock, random, node = 0 } = options;
  const key = random.bytes(32);
  // A wall clock that is set anew must neither end nor prolong a ticket.
  const startMs = clock.now() - clock.monotonicMs();
  /** Returns milliseconds since 1970 as they were at the start, and from there without a step. */
  const nowMs = (): number => startMs + clock.monotonicMs();

  function macOf(signed: Uint8Array): Buffer {
    return createHmac('sha256', key).update(signed).digest().subarray(0, macBytes);
  }

  return {
    nowMs,
    make(kind: TicketKind): string {
      const bytes = Buffer.alloc(macOffset + macBytes);
      bytes.writeUInt16BE(node, 0);
      bytes.writeUInt8(ticketKinds[kind], 2);
      bytes.writeUIntBE(Math.floor(nowMs()), madeAtOffset, 6);
      bytes.set(random.bytes(randomBytes), randomOffset);
      bytes.set(macOf(bytes.subarray(0, macOffset)), macOffset);
      return bytes.toString('base64url');
    },
    /** Returns undefined for a text that this process did not make. The caller checks kind and age. */
    open(text: string): Ticket | undefined {
      if (!ticketShape.test(text)) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      const mac = macOf(bytes.subarray(0, macOffset));
      if (!timingSafeEqual(mac, bytes.subarray(macOffset))) return undefined;
      const kind = kindNames[bytes.readUInt8(2)];
      const madeAtMs = bytes.readUIntBE(madeAtOffset, 6);
      if (kind === undefined || bytes.readUInt16BE(0) !== node) return undefined;
      return madeAtMs > nowMs() ? undefined : { kind, madeAtMs };
    },
  };
}

export type Tickets = ReturnType<typeof createTickets>;
