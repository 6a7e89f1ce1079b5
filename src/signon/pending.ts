/**
 * An account whose mail address was never verified: three rows that expire, with what was written
 * beside them. It holds its address against other registrations only; whoever proves to hold the
 * mailbox in another way gets the address, and all of it goes in the commit that says so.
 */

import type { AccountRecord } from '../access/records.ts';
import {
  accountByEmailKey,
  accountKey,
  credentialsKey,
  type Key,
  securityLogPrefix,
  sessionByAccountKey,
  sessionKey,
} from '../store/keys.ts';
import type { Check, SetRow, Store } from '../store/store.ts';
import { isVerified, type Person, unchanged } from './people.ts';
import { securityLogMax } from './security-log.ts';
import { sessionIdsOf } from './session-records.ts';
import { sessionsPerAccountMax } from './sessions.ts';

/** How long a registration waits for its verification before the address is free again. */
export const pendingLifeMs = 7 * 24 * 3_600_000;

/** Lasting for an account that is verified. */
export function emailRow(id: string, account: AccountRecord): SetRow {
  const row = { key: accountByEmailKey(account.email), value: Buffer.from(id) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}

/** One that the operator disabled stays: nobody gets its address. */
export function givesWay(person: Person): boolean {
  return !isVerified(person) && !person.account.disabled;
}

/**
 * For the commit that gives its address to somebody else: it fails if the registration was changed
 * or verified meanwhile, and of what it wrote nothing is left but links that lead to nobody.
 * A session that is just being opened checks the credentials, so none slips through.
 */
export async function givingWay(
  store: Store,
  person: Person,
): Promise<{ check: readonly Check[]; del: readonly Key[] }> {
  const { id } = person;
  const del = [accountKey(id), credentialsKey(id), ...(await tracesOf(store, id))];
  return { check: unchanged(person), del };
}

/** Rows that a request under way, or a stranger who names the address, leaves at an account. */
export async function tracesOf(store: Store, id: string): Promise<Key[]> {
  // Twice the bound, as elsewhere: it may be passed for a moment.
  const sessions = await sessionIdsOf(store, id, 2 * sessionsPerAccountMax);
  const log = await store.scan(securityLogPrefix(id), { limit: 2 * securityLogMax });
  const own = sessions
    .map((text) => Buffer.from(text, 'base64url'))
    .flatMap((bytes) => [sessionKey(bytes), sessionByAccountKey(id, bytes)]);
  return [...own, ...log.map(({ key }) => key)];
}
