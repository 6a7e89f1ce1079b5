/**
 * Bounded tables that many share, so that at the bound whoever holds most gives way. Who that is, is
 * known without a search: those who hold equally many stand together, and each change is one more or
 * one less.
 */

/** Owners by how many they hold. They give the number themselves, as they keep it anyway. */
export class MaxByCountSet<T> {
  /** From one on; in each the owner that is longest there comes first. */
  readonly #byCount = new Map<number, Set<T>>();
  #highest = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Counts one more. @param before how many it held */
  more(owner: T, before: number): void {
    this.#move(owner, before, before + 1);
    if (before + 1 > this.#highest) this.#highest = before + 1;
    this.#total++;
  }

  /** Counts one less. @param before how many it held, one at least */
  less(owner: T, before: number): void {
    this.#move(owner, before, before - 1);
    // The last one to leave the highest count still holds the most.
    if (!this.#byCount.has(this.#highest)) this.#highest = before - 1;
    this.#total--;
  }

  /** Returns one that holds most, `preferred` if it does; undefined when nobody holds anything. */
  largest(preferred?: T): T | undefined {
    const owners = this.#byCount.get(this.#highest);
    if (preferred !== undefined && owners?.has(preferred) === true) return preferred;
    return owners?.values().next().value;
  }

  #move(owner: T, from: number, to: number): void {
    const before = this.#byCount.get(from);
    if (before?.delete(owner) === true && before.size === 0) this.#byCount.delete(from);
    if (to === 0) return;
    const after = this.#byCount.get(to);
    if (after === undefined) this.#byCount.set(to, new Set([owner]));
    else after.add(owner);
  }
}

/** A network, say, which is counted as a whole first, and then by its parts. */
export interface ShareWhole<T> {
  readonly key: string;
  readonly parts: Map<string, SharePart<T>>;
  /** The parts, by the number of their items. */
  readonly held: MaxByCountSet<SharePart<T>>;
}

export interface SharePart<T> {
  readonly key: string;
  readonly whole: ShareWhole<T>;
  /** The oldest first. */
  readonly items: Set<T>;
}

export class FairShare<T> {
  readonly #wholes = new Map<string, ShareWhole<T>>();
  readonly #held = new MaxByCountSet<ShareWhole<T>>();

  get size(): number {
    return this.#held.total;
  }

  /** Returns undefined for one that holds nothing. */
  find(key: string): ShareWhole<T> | undefined {
    return this.#wholes.get(key);
  }

  /** Returns the part, to which an item must be added before anything is removed. */
  open(wholeKey: string, key: string): SharePart<T> {
    let whole = this.#wholes.get(wholeKey);
    if (whole === undefined) {
      whole = { key: wholeKey, parts: new Map(), held: new MaxByCountSet() };
      this.#wholes.set(wholeKey, whole);
    }
    let part = whole.parts.get(key);
    if (part === undefined) {
      part = { key, whole, items: new Set() };
      whole.parts.set(key, part);
    }
    return part;
  }

  add(part: SharePart<T>, item: T): void {
    const { whole, items } = part;
    this.#held.more(whole, whole.held.total);
    whole.held.more(part, items.size);
    items.add(item);
  }

  /** Returns false for an item that isn't there. */
  remove(part: SharePart<T>, item: T): boolean {
    const { whole, items } = part;
    if (!items.delete(item)) return false;
    this.#held.less(whole, whole.held.total);
    whole.held.less(part, items.size + 1);
    if (items.size === 0) whole.parts.delete(part.key);
    if (whole.held.total === 0) this.#wholes.delete(whole.key);
    return true;
  }

  /** Returns the whole that holds most; undefined when there are no items. */
  largest(): ShareWhole<T> | undefined {
    return this.#held.largest();
  }
}

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
