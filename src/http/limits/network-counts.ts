/** Sums per client, per network and in all, of whatever is held for a while and given back. */

import type { Networks } from '../../ip/networks.ts';

export class NetworkCounts {
  #total = 0;
  readonly #clients = new Map<string, number>();
  readonly #networks = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  ofClient({ client }: Networks): number {
    return this.#clients.get(client) ?? 0;
  }

  ofNetwork({ network }: Networks): number {
    return this.#networks.get(network) ?? 0;
  }

  add({ client, network }: Networks, amount: number): void {
    this.#total += amount;
    addTo(this.#clients, client, amount);
    addTo(this.#networks, network, amount);
  }

  remove(networks: Networks, amount: number): void {
    this.add(networks, -amount);
  }
}

/** No key stays longer than something of it is held. */
function addTo(sums: Map<string, number>, key: string, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}
