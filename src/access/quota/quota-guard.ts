/**
 * The guard of every route that needs a key: it finds the account that is asking and charges its
 * quota. Works on shared memory alone, the same in every front-end thread.
 */

import type { Clock } from '../../core/clock.ts';
import type { AccountsTable } from '../accounts/accounts-table.ts';
import { type KeyCache, noKey } from '../keys/key-cache.ts';
import { keyScopes } from '../keys/key-scopes.ts';
import { type QuotaKind, type Quotas, quotaKind } from './quota.ts';

export { quotaKind };

export interface QuotaGuard {
  /**
   * Account slot of a key that lives, else below 0: `noKey` for one that is missing, malformed, unknown,
   * revoked or disabled, `otherScope` for one that is not for this.
   * @param scope bits of `keyScopes`, of which the key needs one; `check` when left out
   */
  authenticate(keyText: string | undefined, scope?: number): number;
  /** Takes `cost` from the account's quota, or nothing. Leaves its findings in `quotas`. */
  spend(slot: number, kind: QuotaKind, cost: number): boolean;
  /** Limit, remaining, reset and retry-after of the last `spend`. */
  readonly quotas: Quotas;
}

export function createQuotaGuard(options: {
  keys: KeyCache;
  accounts: AccountsTable;
  quotas: Quotas;
  clock: Clock;
}): QuotaGuard {
  const { keys, accounts, quotas, clock } = options;
  return {
    authenticate(keyText, scope = keyScopes.check) {
      if (keyText === undefined) return noKey;
      const slot = keys.authenticate(keyText, scope);
      return slot >= 0 && accounts.isDisabled(slot) ? noKey : slot;
    },
    spend: (slot, kind, cost) => quotas.take(slot, kind, cost, clock.monotonicMs()),
    quotas,
  };
}
