/**
 * Roles of accounts. A row for each operator, none for a member: accounts of before are members. The
 * row is read at each request that depends on it, so a role that is taken away is gone at once.
 */

import { accountKey, accountRoleKey, accountRolePrefix, type Key } from '../../storage/keys.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import { decodeAccount } from './records.ts';

export const roles = ['member', 'operator'] as const;
export type Role = (typeof roles)[number];

const operatorByte = 1;

/** One part in this many of each server-wide bound is reserved for operators. */
const operatorsPart = 64;

/** Returns the part of a server-wide bound that a role may fill: all of `max` for operators alone. */
export function roomFor(role: Role, max: number): number {
  return role === 'operator' ? max : max - Math.floor(max / operatorsPart);
}

/** Returns the row to set or delete that gives the account this role. */
export function roleRow(accountId: string, role: Role): { set?: [SetRow]; del?: [Key] } {
  const key = accountRoleKey(accountId);
  return role === 'member'
    ? { del: [key] }
    : { set: [{ key, value: Uint8Array.of(operatorByte) }] };
}

export async function roleOf(store: Pick<Store, 'get'>, accountId: string): Promise<Role> {
  const row = await store.get(accountRoleKey(accountId));
  return row?.value[0] === operatorByte ? 'operator' : 'member';
}

/** Ids of the accounts with the operator's role. */
async function operatorIds(store: Pick<Store, 'scan'>): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of pagesUnder(store, accountRolePrefix())) {
    // The id is text, ended by a zero byte (see keys.ts).
    for (const { key } of page) ids.push(Buffer.from(key.subarray(1, -1)).toString('utf8'));
  }
  return ids;
}

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
