/**
 * Tokens that were used for anything, until their time is over: those whose challenge is open and
 * those that must not be drawn again. A place is never given up early, so nothing that leaves the
 * open challenges can come back. At the bound no new token gets a place; before it, a network may
 * hold as many as are free, so one network alone never fills it.
 */

import type { Network } from '../../access/quota/client-limits.ts';
import { Tally } from '../../core/tally.ts';
import { withinShrinkingShare } from './shares.ts';

export interface Place<T> {
  readonly token: string;
  readonly network: Network;
  readonly expiresAtMs: number;
  /** Undefined when the token was used or taken back. */
  open: T | undefined;
}

export interface ChallengePlaces<T> {
  get(token: string): Place<T> | undefined;
  hasRoom(wide: string, inShares: boolean): boolean;
  isFull(): boolean;
  /** The caller has asked `hasRoom`; the token has no place yet. */
  add(place: Place<T>): void;
  /** Those whose time is over at `nowMs`; they are gone. */
  removeExpired(nowMs: number): readonly Place<T>[];
  readonly size: number;
}

export function createPlaces<T>(max: number): ChallengePlaces<T> {
  const byToken = new Map<string, Place<T>>();
  const byWide = new Tally();
  /** By the second in which they end. */
  const due = new Map<number, Place<T>[]>();
  let doneSecond = Number.NEGATIVE_INFINITY;

  function secondOf(ms: number): number {
    return Math.ceil(ms / 1_000);
  }

  return {
    get size() {
      return byToken.size;
    },
    get: (token) => byToken.get(token),
    isFull: () => byToken.size >= max,
    hasRoom(wide, inShares) {
      const free = max - byToken.size;
      return inShares ? withinShrinkingShare(byWide.of(wide), free, 1) : free > 0;
    },
    add(place) {
      byToken.set(place.token, place);
      byWide.change(place.network.wide, 1);
      const second = secondOf(place.expiresAtMs);
      const same = due.get(second);
      if (same === undefined) due.set(second, [place]);
      else same.push(place);
    },
    removeExpired(nowMs) {
      const second = Math.floor(nowMs / 1_000);
      if (second === doneSecond) return [];
      doneSecond = second;
      const over: Place<T>[] = [];
      // One entry a second of a challenge's life at most.
      for (const [end, ending] of due) {
        if (end > second) continue;
        due.delete(end);
        over.push(...ending);
      }
      for (const { token, network } of over) {
        byToken.delete(token);
        byWide.change(network.wide, -1);
      }
      return over;
    },
  };
}
