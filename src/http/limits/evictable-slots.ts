/**
 * Slots for requests that only wait for their client: bodies that arrive, answers that are not
 * read. A newcomer always gets one. When none is left, the oldest request of the network that holds
 * most is evicted; so is that of a client or a network at its own bound. Slow clients evict
 * themselves, and a client whose body comes at once never waits long enough to be evicted.
 */

import { FairShare, type SharePart } from '../../core/fair-share.ts';
import type { Networks } from '../../ip/networks.ts';

export interface EvictableBounds {
  readonly max: number;
  readonly perClientMax: number;
  readonly perNetworkMax: number;
}

interface Place {
  readonly part: SharePart<Place>;
  readonly evict: () => void;
}

export class EvictableSlots {
  readonly #bounds: EvictableBounds;
  readonly #places = new FairShare<Place>();

  constructor(bounds: EvictableBounds) {
    this.#bounds = bounds;
  }

  get taken(): number {
    return this.#places.size;
  }

  /**
   * @param evict called at most once, when another request needs the slot
   * @returns a function that releases the slot; it does nothing after an eviction
   */
  take({ network, client }: Networks, evict: () => void): () => void {
    const part = this.#places.open(network, client);
    const victim = this.#victimFor(part);
    const place: Place = { part, evict };
    this.#places.add(part, place);
    if (victim !== undefined) {
      this.#places.remove(victim.part, victim);
      victim.evict();
    }
    return () => {
      this.#places.remove(part, place);
    };
  }

  #victimFor(part: SharePart<Place>): Place | undefined {
    const { max, perClientMax, perNetworkMax } = this.#bounds;
    if (part.items.size >= perClientMax) return oldestOf(part);
    if (part.whole.held.total >= perNetworkMax) return oldestOf(part.whole.held.largest());
    return this.#places.size >= max ? oldestOf(this.#places.largest()?.held.largest()) : undefined;
  }
}

function oldestOf(part: SharePart<Place> | undefined): Place | undefined {
  return part?.items.values().next().value;
}
