/** Personal data: what each part of the service gives to the export and removes with the account. */

import type { Scheduler } from '../core/scheduling.ts';

/** The data that one part of the service keeps about a person. */
export interface PersonalData {
  readonly name: string;
  /** Returns plain JSON; undefined when there is nothing. Long work yields by `scheduler`. */
  exportOf(accountId: string, email: string, scheduler: Scheduler): Promise<unknown>;
  /** Removes the data; safe to run again. @throws when something can't be removed now, and what `scheduler` throws */
  erase(accountId: string, email: string, scheduler: Scheduler): Promise<void>;
}
