/**
 * The rows that other parts keep of an account (its profile), written in the same commits that make the
 * account and change its address, so that neither is ever there without the other.
 */

import type { RowCheck, SetRow } from '../../storage/store.ts';

export interface AccountExtraRows {
  /** Returns the rows of an account whose address was verified this moment. */
  created(accountId: string, email: string): readonly SetRow[];
  /** Returns the checks and rows that follow a change of the address. */
  emailChanged(
    accountId: string,
    email: string,
  ): Promise<{ check: readonly RowCheck[]; set: readonly SetRow[] }>;
}

export const noExtraRows: AccountExtraRows = {
  created: () => [],
  emailChanged: async () => ({ check: [], set: [] }),
};
