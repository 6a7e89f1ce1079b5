/**
 * A bounded set that networks share fairly. Each network has a bound of its own; when the set is full,
 * the newest item of the network that holds most is evicted, and only for a network that would still
 * hold fewer. So nobody loses anything to a network that holds more than itself.
 * A network is counted as a whole (`wide`) first, then by its parts (`narrow`).
 */

import type { Network } from '../../access/quota/client-limits.ts';
import { FairShare, type SharePart, type ShareWhole } from '../../core/fair-share.ts';

export interface FairShareOptions {
  readonly max: number;
  readonly narrowMax: number;
  readonly wideMax: number;
}

/**
 * `evict`: remove this item first. `greedy`: the network is at its own bound. `full`: all is full.
 */
export type FairShareAdmission<T> =
  | { readonly kind: 'free' }
  | { readonly kind: 'evict'; readonly item: T }
  | { readonly kind: 'greedy' }
  | { readonly kind: 'full' };

export function createNetworkFairShare<T>({ max, narrowMax, wideMax }: FairShareOptions) {
  const shares = new FairShare<T>();
  const partOf = ({ wide, narrow }: Network) => shares.find(wide)?.parts.get(narrow);

  /** Makes room within one network: the part that holds most loses an item to one that holds fewer. */
  function within(
    { held }: ShareWhole<T>,
    own: number,
    refusal: 'greedy' | 'full',
  ): FairShareAdmission<T> {
    const largest = held.largest();
    if (largest === undefined || largest.items.size <= own + 1) return { kind: refusal };
    return { kind: 'evict', item: newestOf(largest) };
  }

  return {
    get size() {
      return shares.size;
    },
    /** Returns whether one more item of this network fits. It changes nothing. */
    admission(network: Network): FairShareAdmission<T> {
      const wide = shares.find(network.wide);
      const all = wide?.held.total ?? 0;
      const own = partOf(network)?.items.size ?? 0;
      if (own >= narrowMax) return { kind: 'greedy' };
      if (wide !== undefined && all >= wideMax) return within(wide, own, 'greedy');
      if (shares.size < max) return { kind: 'free' };
      const largest = shares.largest();
      if (largest !== undefined && largest.held.total > all + 1) {
        return { kind: 'evict', item: newestOf(largest.held.largest()!) };
      }
      return wide === undefined ? { kind: 'full' } : within(wide, own, own > 0 ? 'greedy' : 'full');
    },
    add({ wide, narrow }: Network, item: T): void {
      shares.add(shares.open(wide, narrow), item);
    },
    /** Does nothing for an item that isn't there. */
    remove(network: Network, item: T): void {
      const part = partOf(network);
      if (part !== undefined) shares.remove(part, item);
    },
    /** Returns the number of items that the narrow network holds. */
    held: (network: Network): number => partOf(network)?.items.size ?? 0,
    /** Returns the item that the network added first; undefined when it holds nothing. */
    oldest: (network: Network): T | undefined => partOf(network)?.items.values().next().value,
  };
}

/** A part holds hundreds at most: walking to the last is cheaper than keeping a list as well. */
function newestOf<T>({ items }: SharePart<T>): T {
  let newest: T | undefined;
  for (const item of items) newest = item;
  return newest!;
}

/**
 * Returns whether a holder may take one more of what can't be evicted. A holder may have `factor`
 * times the free places, so there is always one left for a holder of none.
 */
export function withinShrinkingShare(held: number, free: number, factor: number): boolean {
  return free > 0 && held < factor * free;
}
