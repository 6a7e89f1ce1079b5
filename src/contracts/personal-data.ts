/** Personal data: what each part of the service gives to the export and removes with the account. */

import type { Pace } from '../core/scheduling.ts';

/** The data that one part of the service keeps about a person. */
export interface PersonalData {
  readonly name: string;
  /** Returns plain JSON; undefined when there is nothing. Long work yields by `pace`. */
  exportOf(accountId: string, email: string, pace: Pace): Promise<unknown>;
  /** Removes the data; safe to run again. @throws when something can't be removed now, and what `pace` throws */
  erase(accountId: string, email: string, pace: Pace): Promise<void>;
}

/** Returns ISO 8601, null for "never". */
export function dateText(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString().replace(/\.\d{3}Z$/, '+00:00');
}
