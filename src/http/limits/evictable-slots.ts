/**
 * Slots for requests that only wait for their client: bodies that arrive, answers that are not
 * read. A newcomer always gets one. When none is left, the oldest request of the network that holds
 * most is evicted; so is that of a client or a network at its own bound. Slow clients evict
 * themselves, and a client whose body comes at once never waits long enough to be evicted.
 */

import type { Networks } from '../../ip/networks.ts';

export interface EvictableBounds {
  readonly max: number;
  readonly perClientMax: number;
  readonly perNetworkMax: number;
}

interface Place {
  readonly client: Client;
  readonly evict: () => void;
}

/** Something counted, in a ranking by its count. */
interface Counted {
  count: number;
}

interface Client extends Counted {
  readonly key: string;
  readonly network: Network;
  /** Oldest first. */
  readonly places: Set<Place>;
}

interface Network extends Counted {
  readonly key: string;
  readonly clients: Map<string, Client>;
  readonly ranking: Ranking<Client>;
}

/** Finds one of those with the highest count, in constant time; of several the one longest there. */
class Ranking<T extends Counted> {
  readonly #byCount = new Map<number, Set<T>>();
  #highest = 0;

  change(item: T, by: 1 | -1): void {
    this.#byCount.get(item.count)?.delete(item);
    if (this.#byCount.get(item.count)?.size === 0) this.#byCount.delete(item.count);
    item.count += by;
    if (item.count > 0) {
      const same = this.#byCount.get(item.count);
      if (same === undefined) this.#byCount.set(item.count, new Set([item]));
      else same.add(item);
    }
    // It moved by one, so the highest count can't move further.
    if (item.count > this.#highest) this.#highest = item.count;
    else if (!this.#byCount.has(this.#highest)) this.#highest = item.count;
  }

  top(): T | undefined {
    return this.#byCount.get(this.#highest)?.values().next().value;
  }
}

export class EvictableSlots {
  readonly #bounds: EvictableBounds;
  readonly #networks = new Map<string, Network>();
  readonly #ranking = new Ranking<Network>();
  #taken = 0;

  constructor(bounds: EvictableBounds) {
    this.#bounds = bounds;
  }

  get taken(): number {
    return this.#taken;
  }

  /**
   * @param evict called at most once, when another request needs the slot
   * @returns a function that releases the slot; it does nothing after an eviction
   */
  take(networks: Networks, evict: () => void): () => void {
    const network = this.#networkOf(networks.network);
    const client = clientOf(network, networks.client);
    const victim = this.#victimFor(client);
    const place: Place = { client, evict };
    client.places.add(place);
    this.#change(client, 1);
    if (victim !== undefined) {
      this.#leave(victim);
      victim.evict();
    }
    return () => this.#leave(place);
  }

  #victimFor(client: Client): Place | undefined {
    const { max, perClientMax, perNetworkMax } = this.#bounds;
    if (client.count >= perClientMax) return oldestOf(client);
    if (client.network.count >= perNetworkMax) return oldestOf(client.network.ranking.top());
    return this.#taken >= max ? oldestOf(this.#ranking.top()?.ranking.top()) : undefined;
  }

  #networkOf(key: string): Network {
    let network = this.#networks.get(key);
    if (network === undefined) {
      network = { key, count: 0, clients: new Map(), ranking: new Ranking() };
      this.#networks.set(key, network);
    }
    return network;
  }

  #change(client: Client, by: 1 | -1): void {
    this.#taken += by;
    client.network.ranking.change(client, by);
    this.#ranking.change(client.network, by);
  }

  #leave(place: Place): void {
    const { client } = place;
    const { network } = client;
    if (!client.places.delete(place)) return;
    this.#change(client, -1);
    if (client.count === 0) network.clients.delete(client.key);
    if (network.count === 0) this.#networks.delete(network.key);
  }
}

function clientOf(network: Network, key: string): Client {
  let client = network.clients.get(key);
  if (client === undefined) {
    client = { key, count: 0, network, places: new Set() };
    network.clients.set(key, client);
  }
  return client;
}

function oldestOf(client: Client | undefined): Place | undefined {
  return client?.places.values().next().value;
}
