/** A network's share of what the CAPTCHA holds in memory: requests that wait for a picture, and open challenges. */

import { CountsByKey, FairShare, type SharePart, type ShareWhole } from '../core/fair-share.ts';
import type { Networks } from '../ip/networks.ts';

/** One network may have this many times the free turns waiting: at most 300 and 333 of 500. */
const clientFactor = 1.5;
const neighbourhoodFactor = 2;

/** Counts the requests that wait for a rendering thread, so that no network takes all of them. */
export function createWaiting(max: number) {
  const ofClient = new CountsByKey();
  const ofNeighbourhood = new CountsByKey();
  return {
    /** `over_share`: as many as this network may have wait already. `full`: all turns are taken. */
    room(network: Networks): 'free' | 'over_share' | 'full' {
      const free = max - ofNeighbourhood.total;
      if (free <= 0) return 'full';
      const isWithin =
        withinShrinkingShare(ofClient.of(network.client), free, clientFactor) &&
        withinShrinkingShare(ofNeighbourhood.of(network.neighbourhood), free, neighbourhoodFactor);
      return isWithin ? 'free' : 'over_share';
    },
    /** Counts the network as waiting until the work is over. */
    async during<T>(network: Networks, work: () => Promise<T>): Promise<T> {
      ofClient.change(network.client, 1);
      ofNeighbourhood.change(network.neighbourhood, 1);
      try {
        return await work();
      } finally {
        ofClient.change(network.client, -1);
        ofNeighbourhood.change(network.neighbourhood, -1);
      }
    },
  };
}

interface FairShareOptions {
  readonly max: number;
  readonly clientMax: number;
  readonly neighbourhoodMax: number;
}

/** `evict`: remove this item first. `over_share`: the network is at its own bound. `full`: all is full. */
type FairShareAdmission<T> =
  | { readonly kind: 'free' }
  | { readonly kind: 'evict'; readonly item: T }
  | { readonly kind: 'over_share' }
  | { readonly kind: 'full' };

export function createNetworkFairShare<T>({ max, clientMax, neighbourhoodMax }: FairShareOptions) {
  const shares = new FairShare<T>();
  const partOf = ({ neighbourhood, client }: Networks) =>
    shares.find(neighbourhood)?.parts.get(client);

  /** Makes room within one network: the part that holds most loses an item to one that holds fewer. */
  function within(
    { held }: ShareWhole<T>,
    own: number,
    refusal: 'over_share' | 'full',
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
    admission(network: Networks): FairShareAdmission<T> {
      const whole = shares.find(network.neighbourhood);
      const all = whole?.held.total ?? 0;
      const own = partOf(network)?.items.size ?? 0;
      if (own >= clientMax) return { kind: 'over_share' };
      if (whole !== undefined && all >= neighbourhoodMax) return within(whole, own, 'over_share');
      if (shares.size < max) return { kind: 'free' };
      const largest = shares.largest();
      if (largest !== undefined && largest.held.total > all + 1) {
        return { kind: 'evict', item: newestOf(largest.held.largest()!) };
      }
      return whole === undefined
        ? { kind: 'full' }
        : within(whole, own, own > 0 ? 'over_share' : 'full');
    },
    add({ neighbourhood, client }: Networks, item: T): void {
      shares.add(shares.open(neighbourhood, client), item);
    },
    /** Does nothing for an item that isn't there. */
    remove(network: Networks, item: T): void {
      const part = partOf(network);
      if (part !== undefined) shares.remove(part, item);
    },
    held: (network: Networks): number => partOf(network)?.items.size ?? 0,
    /** Returns the item that the network added first; undefined when it holds nothing. */
    oldest: (network: Networks): T | undefined => partOf(network)?.items.values().next().value,
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
 * times the free turns, so there is always one left for a holder of none.
 */
export function withinShrinkingShare(held: number, free: number, factor: number): boolean {
  return free > 0 && held < factor * free;
}
