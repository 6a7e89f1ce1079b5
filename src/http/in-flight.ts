/** Counts requests that were let in and are not over: in all, and per client address. */

import { ClientTally } from './client-tally.ts';

export class InFlight {
  readonly #tally = new ClientTally();
  #drained: (() => void) | undefined;

  get total(): number {
    return this.#tally.total;
  }

  ofClient(clientIp: string): number {
    return this.#tally.ofClient(clientIp);
  }

  enter(clientIp: string): void {
    this.#tally.add(clientIp, 1);
  }

  leave(clientIp: string): void {
    this.#tally.remove(clientIp, 1);
    if (this.total === 0) this.#drained?.();
  }

  /** Resolves when nothing is in flight, or after `graceMs`. */
  drained(graceMs: number): Promise<void> {
    if (this.total === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
