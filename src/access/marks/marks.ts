/**
 * Marks: what a screen of /connect puts into its commands, so that their first request shows which
 * screen it came from. Nothing is stored for one: it follows from the reader's browser, the screen
 * and the hour, and is signed, so that every thread and every node knows its own:
 *
 *   hour u32 · HMAC(reader, screen, hour) 8 · HMAC(the twelve bytes before) 8      as 40 hex digits
 *
 * Hex, for a mark also stands in DNS names, which lose case. Whoever doesn't have the reader's
 * cookie can neither guess a mark nor make one. It counts in its hour and the next one; after that
 * it says nothing.
 */

import { createHmac } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { equalBytes } from '../../core/digest.ts';
import { hourMs } from '../../core/time.ts';

/** Whoever composes the service derives the signing key for this purpose. */
export const markKeyPurpose = 'connect mark 1';
export const markLength = 40;
/** Length of the hour and the name of a mark: the part that is passed on and stored. */
export const sightingBytes = 12;
const macBytes = 8;
const shape = /^[0-9a-f]{40}$/;
/** A node's clock may be behind that of the node that made it. */
const hoursAheadMax = 1;

export interface Marks {
  /** Returns the marks that a reader's screen may have shown: of this hour, and of the one before. */
  of(reader: string, screen: string): readonly [string, string];
  /** Returns the sighting of a mark; undefined for a text that is forged, expired or no mark. */
  sightingOf(text: string): Uint8Array | undefined;
}

/** Returns whether a text has the form of a mark. It may be expired or forged. */
export function isMark(text: string): boolean {
  return shape.test(text);
}

/** Returns the time from which on nothing asks for the sighting, ms since 1970. */
export function sightingEndsAt(sighting: Uint8Array): number {
  return (Buffer.from(sighting).readUInt32BE(0) + 2) * hourMs;
}

/** Returns the sighting for a mark whose request was refused. It expires with the mark; no mark leads to it. */
export function refusedSighting(sighting: Uint8Array): Uint8Array {
  return sighting.map((byte, i) => (i < 4 ? byte : byte ^ 0xff));
}

/** @param options.key 32 bytes, the same on all nodes */
export function createMarks(options: {
  readonly key: Uint8Array;
  readonly clock: Pick<Clock, 'now'>;
}): Marks {
  const { key, clock } = options;
  const hmac = (data: string | Uint8Array) =>
    createHmac('sha256', key).update(data).digest().subarray(0, macBytes);
  const hourNow = () => Math.floor(clock.now() / hourMs);

  function make(reader: string, screen: string, hour: number): string {
    const body = Buffer.alloc(sightingBytes);
    body.writeUInt32BE(hour);
    body.set(hmac(`mark ${hour} ${screen} ${reader}`), 4);
    return Buffer.concat([body, hmac(body)]).toString('hex');
  }

  return {
    of: (reader, screen) => [make(reader, screen, hourNow()), make(reader, screen, hourNow() - 1)],
    sightingOf(text) {
      if (!isMark(text)) return undefined;
      const bytes = Buffer.from(text, 'hex');
      const age = hourNow() - bytes.readUInt32BE(0);
      if (age > 1 || age < -hoursAheadMax) return undefined;
      const body = bytes.subarray(0, sightingBytes);
      return equalBytes(bytes.subarray(sightingBytes), hmac(body)) ? body : undefined;
    },
  };
}
