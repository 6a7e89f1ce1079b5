/** Requests that wait for a rendering thread, by network: the greedy leave room for others. */

import type { Network } from '../../access/quota/client-limits.ts';
import { Tally } from '../../core/tally.ts';
import { withinShrinkingShare } from './shares.ts';

/** What one network may make wait, in times what is free: 300 and 333 of 500. */
const narrowFactor = 1.5;
const wideFactor = 2;

export interface Waiting {
  /** `greedy`: this network makes its share wait already. `full`: all places are taken. */
  room(network: Network): 'free' | 'greedy' | 'full';
  /** Counts the network as waiting until the work is over. */
  during<T>(network: Network, work: () => Promise<T>): Promise<T>;
}

export function createWaiting(max: number): Waiting {
  const narrow = new Tally();
  const wide = new Tally();
  return {
    room(network) {
      const free = max - wide.total;
      if (free <= 0) return 'full';
      const isWithin =
        withinShrinkingShare(narrow.of(network.narrow), free, narrowFactor) &&
        withinShrinkingShare(wide.of(network.wide), free, wideFactor);
      return isWithin ? 'free' : 'greedy';
    },
    async during(network, work) {
      narrow.change(network.narrow, 1);
      wide.change(network.wide, 1);
      try {
        return await work();
      } finally {
        narrow.change(network.narrow, -1);
        wide.change(network.wide, -1);
      }
    },
  };
}
