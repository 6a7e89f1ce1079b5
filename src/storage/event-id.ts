/**
 * Event ids: 48 bits of time, then 80 random bits, as 22 characters of base64url. Ids made
 * one after the other sort nearly in order, which keeps the pages of the id table hot.
 */

import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';

export function createEventId(clock: Clock, random: Random): string {
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeUIntBE(Math.max(0, Math.floor(clock.now())), 0, 6);
  bytes.set(random.bytes(10), 6);
  return bytes.toString('base64url');
}
