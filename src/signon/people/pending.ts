/**
 * An account with an unverified mail address: four rows that expire, with all that was written with them. One row
 * only says that the account waits, so that such accounts are found without reading all accounts. The account
 * reserves its address against other registrations only: whoever proves to hold the mailbox in another way gets the
 * address, and the commit that records it removes the account.
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import { type AccountRecord, decodeAccount } from '../../access/accounts/records.ts';
import type { Clock } from '../../core/clock.ts';
import { dayMs } from '../../core/time.ts';
import {
  accountByEmailKey,
  accountKey,
  credentialsKey,
  type Key,
  pendingAccountKey,
  pendingAccountPrefix,
  securityLogPrefix,
  sessionByAccountKey,
  sessionKey,
} from '../../storage/keys.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import {
  type Credentials,
  credentialsRow,
  isVerified,
  type People,
  type Person,
  versionChecks,
} from '../people.ts';
import { securityLogMax } from '../sessions/security-log.ts';
import { sessionIdsOf } from '../sessions/sessions.ts';
import { createRowCounter, type RowCounter } from './row-counter.ts';

/** A registration waits this long for its verification; then the address is free again. */
export const pendingLifeMs = 7 * dayMs;

/** The limit of accounts that wait, each some rows of a kilobyte. At the limit nobody new can register. */
export const pendingMax = 32_768;
/** The limit for one network: what its limit of registrations allows in some days. */
export const pendingPerNetworkMax = 512;

export function createPendingCounter(options: { clock: Clock }): RowCounter {
  const bounds = { max: pendingMax, perSubjectMax: pendingPerNetworkMax };
  return createRowCounter({ kind: 'pending_account', ...options, ...bounds });
}

/**
 * Counts the accounts that wait when the process starts. Their networks are not stored, so they count in the whole
 * alone. Accounts of a release that wrote no such row are not counted, for the week that they wait.
 */
export async function restorePending(store: Store, counter: RowCounter): Promise<void> {
  for await (const page of pagesUnder(store, pendingAccountPrefix())) {
    // The id is text, ended by a zero byte (see keys.ts).
    const ids = page.map(({ key }) => Buffer.from(key.subarray(1, -1)).toString('utf8'));
    for (const row of await Promise.all(ids.map((id) => store.get(accountKey(id))))) {
      const account = row && decodeAccount(row.value);
      if (account === undefined || account.pendingUntil === 0) continue;
      counter.admit(account.email, `before the start ${account.email}`, account.pendingUntil);
    }
  }
}

/**
 * Returns the four rows of a waiting account. The one that only says that it waits is removed when the
 * account's record says that it waits no longer.
 */
export function pendingRows(
  id: string,
  account: AccountRecord,
  credentials: Credentials,
): readonly SetRow[] {
  const { pendingUntil } = account;
  return [
    accountRow(id, account),
    emailRow(id, account),
    { key: pendingAccountKey(id), value: new Uint8Array(), expiresAt: pendingUntil },
    credentialsRow({ id, account }, credentials),
  ];
}

/** Returns the row by which the address finds the account. It expires unless the account is verified. */
export function emailRow(id: string, account: AccountRecord): SetRow {
  const row = { key: accountByEmailKey(account.email), value: Buffer.from(id) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}

/**
 * Returns the checks and deletions that free an address in the commit that takes it for this account. Undefined: it
 * is another account's already. An unverified registration is removed.
 */
export async function claimEmail(
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
  if (owner === undefined || !isEvictable(owner)) return undefined;
  const way = await evictionOf(store, owner);
  return { check: [check, ...way.check], del: way.del };
}

/**
 * Returns whether the account may be removed for its address. One that the operator disabled stays:
 * nobody gets its address.
 */
export function isEvictable(person: Person): boolean {
  return !isVerified(person) && !person.account.disabled;
}

/**
 * Returns the checks and deletions for the commit that gives the address to somebody else: it fails if the
 * registration was changed or verified meanwhile, and nothing is left of it but links that lead to nobody.
 * A session that is just being opened checks the credentials, so none slips through.
 */
export async function evictionOf(
  store: Store,
  person: Person,
): Promise<{ check: readonly RowCheck[]; del: readonly Key[] }> {
  const { id } = person;
  const rows = [accountKey(id), credentialsKey(id), pendingAccountKey(id)];
  const del = [...rows, ...(await tracesOf(store, id))];
  return { check: versionChecks(person), del };
}

/** Returns the rows that a request under way, or anybody who names the address, leaves at an account. */
async function tracesOf(store: Store, id: string): Promise<Key[]> {
  const sessions = await sessionIdsOf(store, id);
  // The bound may be exceeded for a moment, so twice as many are read.
  const log = await store.scan(securityLogPrefix(id), { limit: 2 * securityLogMax });
  const own = sessions
    .map((text) => Buffer.from(text, 'base64url'))
    .flatMap((bytes) => [sessionKey(bytes), sessionByAccountKey(id, bytes)]);
  return [...own, ...log.map(({ key }) => key)];
}
