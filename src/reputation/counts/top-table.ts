/**
 * How often each of many names was counted, in a table of fixed size: Space-Saving (Metwally, Agrawal,
 * El Abbadi 2005). A name that finds the table full takes the place of the least one and goes on from
 * its count. So no count is too low, each says by how much it may be too high (`error`), and that is
 * at most all that was counted divided by the size. Up to `size` names all counts are exact.
 */

import type { Reader, Writer } from '../../store/codec.ts';

export interface Counted {
  readonly name: string;
  /** At most `error` above what was counted, and never below it. */
  readonly count: number;
  readonly error: number;
}

export interface TopTable {
  add(name: string, by?: number): void;
  clear(): void;
  /** What a name that is not held may have been counted at most. */
  least(): number;
  /** In no order that means anything. */
  rows(): Iterable<Counted>;
  encode(out: Writer): void;
  load(input: Reader): void;
}

interface Row {
  count: number;
  error: number;
}

export function createTopTable(size: number): TopTable {
  /** In the order in which the names came: of several least ones the oldest goes, on every node. */
  const held = new Map<string, Row>();

  function leastRow(): { name: string; count: number } {
    const least = { name: '', count: Number.POSITIVE_INFINITY };
    for (const [name, { count }] of held) {
      if (count >= least.count) continue;
      least.name = name;
      least.count = count;
    }
    return least;
  }

  function replaceLeast(name: string, by: number): void {
    const least = leastRow();
    held.delete(least.name);
    held.set(name, { count: least.count + by, error: least.count });
  }

  return {
    add(name, by = 1) {
      const row = held.get(name);
      if (row !== undefined) row.count += by;
      else if (held.size < size) held.set(name, { count: by, error: 0 });
      else replaceLeast(name, by);
    },
    clear: () => held.clear(),
    least: () => (held.size < size ? 0 : leastRow().count),
    *rows() {
      for (const [name, { count, error }] of held) yield { name, count, error };
    },
    encode(out) {
      out.varint(held.size);
      for (const [name, { count, error }] of held) out.text(name).varint(count).varint(error);
    },
    load(input) {
      held.clear();
      const rows = input.varint();
      if (rows > size) input.reject();
      for (let i = 0; i < rows && !input.failed(); i++) {
        held.set(input.text(), { count: input.varint(), error: input.varint() });
      }
    },
  };
}

/**
 * Several tables as one: a name that a full table lacks may have been counted there as often as its least
 * one, and is told as such. The highest first; equal ones by name.
 */
export function sumOf(tables: readonly TopTable[]): readonly Counted[] {
  const sums = new Map<string, Row & { name: string; missed: number }>();
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
