/**
 * Roles of accounts. A row for each operator, none for a member: accounts of before are members. The
 * row is read at each request that depends on it, so a role that is taken away is gone at once.
 */

import { accountRoleKey, accountRolePrefix, type Key } from '../store/keys.ts';
import { pagesUnder } from '../store/pages.ts';
import type { SetRow, Store } from '../store/store.ts';

export const roles = ['member', 'operator'] as const;
export type Role = (typeof roles)[number];

const operatorByte = 1;

/** Of a bound on what all accounts have together: so much is left for operators, whatever strangers store. */
const operatorsPart = 64;

/** How many of a server-wide bound somebody may fill. At most `max`, for operators and their commands. */
export function roomFor(role: Role, max: number): number {
  return role === 'operator' ? max : max - Math.floor(max / operatorsPart);
}

/** What makes it so. */
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
export async function operatorIds(store: Pick<Store, 'scan'>): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of pagesUnder(store, accountRolePrefix())) {
    // The id is text, ended by a zero byte (see keys.ts).
    for (const { key } of page) ids.push(Buffer.from(key.subarray(1, -1)).toString('utf8'));
  }
  return ids;
}
