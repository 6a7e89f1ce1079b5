/**
 * Failed logins of addresses, until there are enough for a report. Only when they came is held: no login,
 * no hash. When the table is full the address that has not failed for longest makes room, so it is reported later or never.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';

export const failuresForReport = 5;
export const failureWindowMs = 600_000;
const addressesMax = 65_536;

export interface LoginFailures {
  /**
   * @param name of a mail server and an address
   * @returns whether it is the last one needed; then the count begins anew
   */
  note(name: string): boolean;
  readonly table: BoundedTable;
}

export function createLoginFailures(
  clock: Pick<Clock, 'monotonicMs'>,
  placesMax = addressesMax,
): LoginFailures {
  const timesOf = new Map<string, readonly number[]>();
  return {
    note(name) {
      const nowMs = clock.monotonicMs();
      const known = timesOf.get(name) ?? [];
      const recent = [...known.filter((atMs) => atMs > nowMs - failureWindowMs), nowMs];
      // Taken out and put in again: the order is that of the last failures.
      timesOf.delete(name);
      if (recent.length >= failuresForReport) return true;
      if (timesOf.size >= placesMax) timesOf.delete(timesOf.keys().next().value!);
      timesOf.set(name, recent);
      return false;
    },
    table: { name: 'login_failures', used: () => timesOf.size, limit: placesMax },
  };
}
