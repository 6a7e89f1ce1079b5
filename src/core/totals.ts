/** Totals by name of what this process did since its start: each act is counted once, where it is done. */

export function createTotals<Name extends string>() {
  const totals = new Map<Name, number>();
  return {
    count: (name: Name): void => void totals.set(name, (totals.get(name) ?? 0) + 1),
    /** Yields the totals; names that never came are left out. */
    read: (): Iterable<readonly [Name, number]> => totals,
  };
}
