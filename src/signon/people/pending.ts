/**
 * An account whose mail address was never verified: four rows that expire, with what was written
 * beside them. One says no more than that it waits: those that do are found without a look at all accounts. It holds its address against other registrations only; whoever proves to hold the
 * mailbox in another way gets the address, and all of it goes in the commit that says so.
 */

import { type AccountRecord, decodeAccount } from '../../access/accounts/records.ts';
import type { Clock } from '../../core/clock.ts';
import {
  accountByEmailKey,
  accountBySpellingKey,
  accountKey,
  credentialsKey,
  type Key,
  pendingAccountKey,
  pendingAccountPrefix,
  securityLogPrefix,
  sessionByAccountKey,
  sessionKey,
} from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import type { RowCheck, SetRow, Store } from '../../store/store.ts';
import { isVerified, type People, type Person, unchanged } from '../people.ts';
import { securityLogMax } from '../sessions/security-log.ts';
import { sessionIdsOf } from '../sessions/session-records.ts';
import { createRowTally, type RowTally } from './row-tally.ts';

/** How long a registration waits for its verification before the address is free again. */
export const pendingLifeMs = 7 * 24 * 3_600_000;

/** Accounts that wait, each some rows of a kilobyte. Beyond it nobody new can register. */
export const pendingMax = 32_768;
/** From one network: what its limit of registrations allows in some days. */
export const pendingPerNetworkMax = 512;

export function createPendingTally(options: { clock: Clock }): RowTally {
  const bounds = { max: pendingMax, perSubjectMax: pendingPerNetworkMax };
  return createRowTally({ kind: 'pending_account', ...options, ...bounds });
}

/**
 * Of which network those of before are is not kept: they count in the whole. Those of a release before the
 * row was written do not, for the week that they wait.
 */
export async function restorePending(store: Store, tally: RowTally): Promise<void> {
  for await (const page of pagesUnder(store, pendingAccountPrefix())) {
    // The id is text, ended by a zero byte (see keys.ts).
    const ids = page.map(({ key }) => Buffer.from(key.subarray(1, -1)).toString('utf8'));
    for (const row of await Promise.all(ids.map((id) => store.get(accountKey(id))))) {
      const account = row && decodeAccount(row.value);
      if (account === undefined || account.pendingUntil === 0) continue;
      tally.admit(account.email, `before the start ${account.email}`, account.pendingUntil);
    }
  }
}

/** What the account's record says counts: the row goes when the account waits no longer. */
export function pendingRow(id: string, { pendingUntil }: AccountRecord): SetRow {
  return { key: pendingAccountKey(id), value: new Uint8Array(), expiresAt: pendingUntil };
}

/** Lasting for an account that is verified. */
export function emailRow(id: string, account: AccountRecord): SetRow {
  const row = { key: accountByEmailKey(account.email), value: Buffer.from(id) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}

/**
 * What frees an address in the commit that takes it for this account. Undefined: it is another
 * account's already. A registration that nobody verified gives way.
 */
export async function placeAt(
  store: Store,
  people: Pick<People, 'byId'>,
  email: string,
  accountId: string,
): Promise<{ check: readonly RowCheck[]; del: readonly Key[] } | undefined> {
  const key = accountByEmailKey(email);
  const row = await store.get(key);
  const check = { key, version: row?.version ?? null };
  const ownerId = row && Buffer.from(row.value).toString('utf8');
  if (ownerId === undefined || ownerId === accountId) return { check: [check], del: [] };
  // A row without an account is one that is just expiring.
  const owner = await people.byId(ownerId);
  if (owner === undefined || !givesWay(owner)) return undefined;
  const way = await givingWay(store, owner);
  return { check: [check, ...way.check], del: way.del };
}

/** The row by a former spelling goes when the address is confirmed, changed or erased. */
export function formerRows({ formerEmail }: AccountRecord): Key[] {
  return formerEmail === '' ? [] : [accountBySpellingKey(formerEmail)];
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
async function givingWay(
  store: Store,
  person: Person,
): Promise<{ check: readonly RowCheck[]; del: readonly Key[] }> {
  const { id } = person;
  const rows = [accountKey(id), credentialsKey(id), pendingAccountKey(id)];
  const del = [...rows, ...(await tracesOf(store, id))];
  return { check: unchanged(person), del };
}

/** Rows that a request under way, or a stranger who names the address, leaves at an account. */
async function tracesOf(store: Store, id: string): Promise<Key[]> {
  const sessions = await sessionIdsOf(store, id);
  // Twice the bound: it may be passed for a moment.
  const log = await store.scan(securityLogPrefix(id), { limit: 2 * securityLogMax });
  const own = sessions
    .map((text) => Buffer.from(text, 'base64url'))
    .flatMap((bytes) => [sessionKey(bytes), sessionByAccountKey(id, bytes)]);
  return [...own, ...log.map(({ key }) => key)];
}
