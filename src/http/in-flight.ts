/** Counts requests that were let in and are not over: in all, and per client address. */

export class InFlight {
  #total = 0;
  readonly #perClient = new Map<string, number>();
  #drained: (() => void) | undefined;

  get total(): number {
    return this.#total;
  }

  ofClient(clientIp: string): number {
    return this.#perClient.get(clientIp) ?? 0;
  }

  enter(clientIp: string): void {
    this.#total++;
    this.#perClient.set(clientIp, this.ofClient(clientIp) + 1);
  }

  /** The map holds no address longer than its requests last. */
  leave(clientIp: string): void {
    const left = this.ofClient(clientIp) - 1;
    if (left === 0) this.#perClient.delete(clientIp);
    else this.#perClient.set(clientIp, left);
    this.#total--;
    if (this.#total === 0) this.#drained?.();
  }

  /** Resolves when nothing is in flight, or after `graceMs`. */
  drained(graceMs: number): Promise<void> {
    if (this.#total === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
