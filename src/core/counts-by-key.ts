/** Sums by name and in all, of whatever is held for a while and given back. */

export class CountsByKey {
  #total = 0;
  readonly #byName = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#byName.get(name) ?? 0;
  }

  /** `by` may be negative. A name is kept no longer than something of it is held. */
  change(name: string, by: number): void {
    const sum = this.of(name) + by;
    if (sum === 0) this.#byName.delete(name);
    else this.#byName.set(name, sum);
    this.#total += by;
  }
}
