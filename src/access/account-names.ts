/**
 * The names of an account: its address, its id, or, while its address must be confirmed
 * anew, by the spelling that it had before data format 2. Such an account has no row by its
 * address: two of them may claim the same one, and neither gets it unasked.
 */

import { formerSpelling, readKnownAddress } from '../core/mail-address.ts';
import {
  accountByEmailKey,
  accountBySpellingKey,
  accountBySpellingPrefix,
  accountKey,
} from '../storage/keys.ts';
import { pagesUnder } from '../storage/pages.ts';
import type { Store } from '../storage/store.ts';
import { type AccountRecord, decodeAccount } from './accounts/records.ts';

export interface AccountInfo extends AccountRecord {
  readonly id: string;
}

/** 12 random bytes. */
const idShape = /^[A-Za-z0-9_-]{16}$/;
/** Longer than any spelling of before: 254 characters of up to three bytes. */
const spellingBytesMax = 1_016;

export function isAccountId(text: string): boolean {
  return idShape.test(text);
}

/**
 * Returns the id of the account that the text names: by its address, by the former spelling of one
 * that must be confirmed anew, or by its id. All three are looked up whatever the text is.
 */
export async function findAccountId(
  store: Pick<Store, 'get'>,
  text: string,
): Promise<string | undefined> {
  const address = readKnownAddress(text);
  const typed = text.trim();
  const spelling = formerSpelling(text);
  // A key has its bound, and what is typed has none.
  const isSpelling = Buffer.byteLength(spelling) <= spellingBytesMax;
  const [byEmail, bySpelling, byId] = await Promise.all([
    store.get(accountByEmailKey(address ?? '')),
    store.get(accountBySpellingKey(isSpelling ? spelling : '')),
    store.get(accountKey(isAccountId(typed) ? typed : '')),
  ]);
  const row = byEmail ?? bySpelling;
  if (row !== undefined) return Buffer.from(row.value).toString('utf8');
  return byId === undefined ? undefined : typed;
}

/** Returns all accounts whose address must be confirmed anew, for the operator. */
export async function unconfirmedAccounts(
  store: Pick<Store, 'get' | 'scan'>,
): Promise<AccountInfo[]> {
  const prefix = accountBySpellingPrefix();
  const list: AccountInfo[] = [];
  for await (const page of pagesUnder(store, prefix)) {
    for (const { value } of page) {
      const id = Buffer.from(value).toString('utf8');
      const entry = await store.get(accountKey(id));
      const record = entry && decodeAccount(entry.value);
      if (record !== undefined) list.push({ id, ...record });
    }
  }
  return list;
}
