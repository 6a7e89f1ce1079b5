/** Counts requests that were let in and are not over, for a stop that waits for them. */

export class InFlight {
  #total = 0;
  #drained: (() => void) | undefined;

  get total(): number {
    return this.#total;
  }

  enter(): void {
    this.#total++;
  }

  leave(): void {
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
