/** Finds the operators who can sign in, so that one of them stays when another leaves. */

import { accountKey, accountRoleKey } from '../../storage/keys.ts';
import type { RowCheck, Store } from '../../storage/store.ts';
import { operatorIds } from '../roles.ts';
import { decodeAccount } from './records.ts';

type Reads = Pick<Store, 'get' | 'scan'>;

/** Returns the ids of the operators who can sign in: verified and not disabled. */
export async function activeOperators(store: Reads): Promise<string[]> {
  const ids = await operatorIds(store);
  const rows = await Promise.all(ids.map((id) => store.get(accountKey(id))));
  return ids.filter((_, i) => {
    const row = rows[i];
    const record = row && decodeAccount(row.value);
    return record !== undefined && !record.disabled && record.pendingUntil === 0;
  });
}

/**
 * Returns the check that another operator stays, so that of two who leave at the same moment only one
 * succeeds; undefined when there is no other.
 */
export async function otherOperator(store: Reads, id: string): Promise<RowCheck[] | undefined> {
  const other = (await activeOperators(store)).find((one) => one !== id);
  if (other === undefined) return undefined;
  const keys = [accountKey(other), accountRoleKey(other)];
  const rows = await Promise.all(keys.map((key) => store.get(key)));
  return keys.map((key, i) => ({ key, version: rows[i]?.version ?? null }));
}
