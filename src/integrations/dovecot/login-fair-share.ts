/**
 * Bounds what one client of a mail server may use up of the budget of its key: somebody who guesses
 * passwords asks for two answers a guess, and must not leave all others without. A client is an
 * IPv4 address or an IPv6 /64.
 *
 * One cell a client in a table of fixed size, and a table for each thread. Clients on one cell share it: then
 * their questions cost the key less, and fewer of their failures are counted. Nobody is refused by it.
 */

import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/digest.ts';
import { clientOf } from '../../ip/networks.ts';

export interface LoginFairShare {
  /** Counts one question. True: the client has had its share. @param words as `parseIp` leaves them */
  isBeyond(keyId: string, family: 4 | 6, words: Uint32Array): boolean;
}

/** Questions in each 10 s: a fiftieth of what a key has (`decisions` of the limits per client). */
export const shareOfClient = { max: 400, windowMs: 10_000 } as const;
const cellsDefault = 16_384;

/** @param seed drawn at start, so that nobody can aim at another client's cell */
export function createLoginFairShare(
  clock: Pick<Clock, 'monotonicMs'>,
  seed: number,
  cells = cellsDefault,
): LoginFairShare {
  const counts = new Uint16Array(cells);
  const windows = new Float64Array(cells);

  return {
    isBeyond(keyId, family, words) {
      const cell = hashOf(`${keyId} ${clientOf(family, words)}`, seed) % cells;
      // The first window is 1: cells that nobody used are at 0.
      const window = Math.floor(clock.monotonicMs() / shareOfClient.windowMs) + 1;
      if (windows[cell] !== window) {
        windows[cell] = window;
        counts[cell] = 0;
      }
      if (counts[cell]! >= shareOfClient.max) return true;
      counts[cell]! += 1;
      return false;
    },
  };
}

/** FNV-1a with a last mixing: cells are told apart by the low bits. */
function hashOf(text: string, seed: number): number {
  const hash = fnv1a(text, seed);
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
}
