/** Sums per client address and in all, of whatever is held for a while and given back. */

export class ClientTally {
  #total = 0;
  readonly #perClient = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  ofClient(clientIp: string): number {
    return this.#perClient.get(clientIp) ?? 0;
  }

  add(clientIp: string, amount: number): void {
    if (amount === 0) return;
    this.#total += amount;
    this.#perClient.set(clientIp, this.ofClient(clientIp) + amount);
  }

  /** The map holds no address longer than something of it is held. */
  remove(clientIp: string, amount: number): void {
    if (amount === 0) return;
    const left = this.ofClient(clientIp) - amount;
    if (left === 0) this.#perClient.delete(clientIp);
    else this.#perClient.set(clientIp, left);
    this.#total -= amount;
  }
}
