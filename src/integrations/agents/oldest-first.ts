/**
 * A map that knows its oldest key. A map alone walks over all that was removed before it to its first one, each
 * time: where the oldest makes room for each that comes, that is most of the map. Nothing clears it at once.
 */

export class OldestFirst<T> extends Map<string, T> {
  /** Behind `#oldest`, or before all. It follows what is set and deleted. */
  #rest = this.keys();
  #oldest: string | undefined;

  /** Undefined: there is none. */
  oldest(): string | undefined {
    this.#oldest ??= this.#rest.next().value;
    if (this.#oldest !== undefined || this.size === 0) return this.#oldest;
    // It had come to the end before the first of these came.
    this.#rest = this.keys();
    this.#oldest = this.#rest.next().value;
    return this.#oldest;
  }

  override delete(key: string): boolean {
    if (key === this.#oldest) this.#oldest = undefined;
    return super.delete(key);
  }
}
