/**
 * Finds who has most without a search over all: those who have equally many stand together, and
 * each change is one more or one less.
 */

export interface MaxByCountSet<T> {
  /** One more. @param before how many it had */
  more(one: T, before: number): void;
  /** One less. @param before how many it had, one at least */
  less(one: T, before: number): void;
  /** One that has most, `known` if it does. Somebody has one at least. */
  find(known: T): T;
  /** Returns the sum of all counts. */
  total(): number;
}

export function createMaxByCountSet<T>(): MaxByCountSet<T> {
  /** By how many they have, from one on. */
  const groups = new Map<number, Set<T>>();
  let highest = 0;
  let total = 0;

  function leave(one: T, count: number): void {
    const group = groups.get(count);
    group?.delete(one);
    if (group?.size === 0) groups.delete(count);
  }

  function join(one: T, count: number): void {
    if (count === 0) return;
    const group = groups.get(count) ?? new Set();
    groups.set(count, group.add(one));
  }

  return {
    more(one, before) {
      leave(one, before);
      join(one, before + 1);
      highest = Math.max(highest, before + 1);
      total++;
    },
    less(one, before) {
      leave(one, before);
      join(one, before - 1);
      // The last one to leave the highest group still has the most.
      if (!groups.has(highest)) highest = before - 1;
      total--;
    },
    find(known) {
      const group = groups.get(highest)!;
      return group.has(known) ? known : group.values().next().value!;
    },
    total: () => total,
  };
}
