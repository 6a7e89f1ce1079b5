/**
 * Counts the most frequent of many names in a table of fixed size: Space-Saving (Metwally, Agrawal,
 * El Abbadi 2005). A name that finds the table full takes the place of the least one and goes on from
 * its count. So no count is too low, each says by how much it may be too high (`error`), and that is
 * at most all that was counted divided by the size. Up to `size` names all counts are exact.
 */

import type { Reader, Writer } from '../../storage/codec.ts';

export interface NameCount {
  readonly name: string;
  /** At most `error` above what was counted, and never below it. */
  readonly count: number;
  readonly error: number;
}

export type TopTable = ReturnType<typeof createTopTable>;

interface CountedKey {
  count: number;
  error: number;
}

export function createTopTable(size: number) {
  /** In the order in which the names came: of several least ones the oldest goes, on every node. */
  const held = new Map<string, CountedKey>();
  /**
   * Names that had the least count when the full table was last scanned, the oldest last. Counts only
   * grow and new names have more: until all of these have grown or gone, no other name has so little.
   */
  let leastNames: string[] = [];
  let leastCount = 0;

  /** Returns the name of a full table that was counted least. It stays the last of `leastNames`. */
  function leastName(): string {
    for (let name = leastNames.at(-1); name !== undefined; name = leastNames.at(-1)) {
      if (held.get(name)?.count === leastCount) return name;
      leastNames.pop();
    }
    leastCount = Number.POSITIVE_INFINITY;
    for (const { count } of held.values()) leastCount = Math.min(leastCount, count);
    for (const [name, { count }] of held) if (count === leastCount) leastNames.push(name);
    return leastNames.reverse().at(-1)!;
  }

  function replaceLeast(name: string, by: number): void {
    held.delete(leastName());
    held.set(name, { count: leastCount + by, error: leastCount });
  }

  function add(name: string, by = 1): void {
    const row = held.get(name);
    if (row !== undefined) row.count += by;
    else if (held.size < size) held.set(name, { count: by, error: 0 });
    else replaceLeast(name, by);
  }

  function clear(): void {
    held.clear();
    leastNames = [];
  }

  /** Returns the highest count that a name that is not held may have had. */
  function least(): number {
    if (held.size < size) return 0;
    leastName();
    return leastCount;
  }

  /** Yields the names in no particular order. */
  function* rows(): Generator<NameCount> {
    for (const [name, { count, error }] of held) yield { name, count, error };
  }

  function encode(out: Writer): void {
    out.varint(held.size);
    for (const [name, { count, error }] of held) out.text(name).varint(count).varint(error);
  }

  function load(input: Reader): void {
    clear();
    const rows = input.varint();
    if (rows > size) input.reject();
    for (let i = 0; i < rows && !input.failed(); i++) {
      held.set(input.text(), { count: input.varint(), error: input.varint() });
    }
  }

  return { add, clear, least, rows, encode, load };
}

/**
 * Adds several tables up: a name that a full table lacks may have been counted there as often as its least
 * one, which goes into its `error`. The highest first; equal ones by name.
 */
export function sumOf(tables: readonly TopTable[]): readonly NameCount[] {
  const sums = new Map<string, CountedKey & { name: string; missed: number }>();
  const missedInAll = tables.reduce((sum, table) => sum + table.least(), 0);
  for (const table of tables) {
    const least = table.least();
    for (const { name, count, error } of table.rows()) {
      const sum = sums.get(name) ?? { name, count: 0, error: 0, missed: missedInAll };
      sum.count += count;
      sum.error += error;
      sum.missed -= least;
      sums.set(name, sum);
    }
  }
  return [...sums.values()]
    .map(({ name, count, error, missed }) => ({
      name,
      count: count + missed,
      error: error + missed,
    }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}
