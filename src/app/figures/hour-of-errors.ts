/** Counts errors of the last hour by name: a ring of 60 minutes, each with 64 names at most. */

import { minuteMs } from '../../core/time.ts';
import { type Counted, createTopTable, sumOf } from '../../reputation/counts/top-table.ts';

const minutes = 60;
const namesMax = 64;

export function createHourOfErrors() {
  const ring = Array.from({ length: minutes }, () => ({
    number: 0,
    table: createTopTable(namesMax),
  }));
  return {
    add(name: string, by: number, nowMs: number): void {
      if (by <= 0) return;
      const number = Math.floor(nowMs / minuteMs);
      const bucket = ring[number % minutes]!;
      if (bucket.number !== number) {
        bucket.number = number;
        bucket.table.clear();
      }
      bucket.table.add(name, by);
    },
    /** The most frequent first. */
    read(nowMs: number): readonly Counted[] {
      const last = Math.floor(nowMs / minuteMs);
      const isIn = ({ number }: { number: number }) => number <= last && number > last - minutes;
      return sumOf(ring.filter(isIn).map(({ table }) => table));
    },
  };
}

export type HourOfErrors = ReturnType<typeof createHourOfErrors>;
