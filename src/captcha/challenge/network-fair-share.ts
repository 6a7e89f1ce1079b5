/**
 * A bounded set that networks share fairly. Each network has a bound of its own; when the set is full,
 * the newest item of the network that holds most is evicted, and only for a network that would still
 * hold fewer. So nobody loses anything to a network that holds more than itself.
 * A network is counted as a whole (`wide`) first, then by its parts (`narrow`).
 */

import type { Network } from '../../access/quota/client-limits.ts';

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

export interface NetworkFairShare<T> {
  /** Returns whether one more item of this network fits. It changes nothing. */
  admission(network: Network): FairShareAdmission<T>;
  add(network: Network, item: T): void;
  /** Does nothing for an item that isn't there. */
  remove(network: Network, item: T): void;
  /** Returns the item that the network added first; undefined when it holds nothing. */
  oldest(network: Network): T | undefined;
  /** Returns the number of items that the narrow network holds. */
  held(network: Network): number;
  readonly size: number;
}

interface Counted {
  count: number;
}

interface Narrow<T> extends Counted {
  /** In order of arrival. */
  readonly items: Set<T>;
}

interface Wide<T> extends Counted {
  readonly narrows: Map<string, Narrow<T>>;
  readonly ranking: Ranking<Narrow<T>>;
}

/** Members by their count. Counts change by one, so the highest is found without a search. */
class Ranking<M extends Counted> {
  readonly #levels = new Map<number, Set<M>>();
  #highest = 0;

  change(member: M, by: 1 | -1): void {
    const level = this.#levels.get(member.count);
    level?.delete(member);
    if (level?.size === 0) this.#levels.delete(member.count);
    member.count += by;
    if (member.count > 0) {
      const next = this.#levels.get(member.count) ?? new Set();
      this.#levels.set(member.count, next.add(member));
    }
    this.#highest = Math.max(this.#highest, member.count);
    while (this.#highest > 0 && !this.#levels.has(this.#highest)) this.#highest--;
  }

  highest(): M | undefined {
    return this.#levels.get(this.#highest)?.values().next().value;
  }
}

export function createNetworkFairShare<T>({
  max,
  narrowMax,
  wideMax,
}: FairShareOptions): NetworkFairShare<T> {
  const wides = new Map<string, Wide<T>>();
  const ranking = new Ranking<Wide<T>>();
  let size = 0;

  /** Makes room within one network: the part that holds most loses an item to one that holds fewer. */
  function within(wide: Wide<T>, own: number, refusal: 'greedy' | 'full'): FairShareAdmission<T> {
    const largestHolder = wide.ranking.highest();
    if (largestHolder === undefined || largestHolder.count <= own + 1) return { kind: refusal };
    return { kind: 'evict', item: newestOf(largestHolder) };
  }

  return {
    get size() {
      return size;
    },
    admission(network) {
      const wide = wides.get(network.wide);
      const own = wide?.narrows.get(network.narrow)?.count ?? 0;
      if (own >= narrowMax) return { kind: 'greedy' };
      if (wide !== undefined && wide.count >= wideMax) return within(wide, own, 'greedy');
      if (size < max) return { kind: 'free' };
      const largestHolder = ranking.highest();
      if (largestHolder !== undefined && largestHolder.count > (wide?.count ?? 0) + 1) {
        return { kind: 'evict', item: newestOf(largestHolder.ranking.highest()!) };
      }
      return wide === undefined ? { kind: 'full' } : within(wide, own, own > 0 ? 'greedy' : 'full');
    },
    add(network, item) {
      let wide = wides.get(network.wide);
      if (wide === undefined) {
        wide = { count: 0, narrows: new Map(), ranking: new Ranking() };
        wides.set(network.wide, wide);
      }
      let narrow = wide.narrows.get(network.narrow);
      if (narrow === undefined) {
        narrow = { count: 0, items: new Set() };
        wide.narrows.set(network.narrow, narrow);
      }
      narrow.items.add(item);
      wide.ranking.change(narrow, 1);
      ranking.change(wide, 1);
      size++;
    },
    remove(network, item) {
      const wide = wides.get(network.wide);
      const narrow = wide?.narrows.get(network.narrow);
      if (!wide || !narrow?.items.delete(item)) return;
      wide.ranking.change(narrow, -1);
      ranking.change(wide, -1);
      size--;
      if (narrow.count === 0) wide.narrows.delete(network.narrow);
      if (wide.count === 0) wides.delete(network.wide);
    },
    held: (network) => wides.get(network.wide)?.narrows.get(network.narrow)?.count ?? 0,
    oldest(network) {
      return wides.get(network.wide)?.narrows.get(network.narrow)?.items.values().next().value;
    },
  };
}

/** A part holds hundreds at most: walking to the last is cheaper than keeping a list as well. */
function newestOf<T>({ items }: Narrow<T>): T {
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
