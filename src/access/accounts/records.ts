/** The stored records of accounts and API keys, and their byte layouts. */

import { formerSpelling, readKnownAddress } from '../../core/mail-address.ts';
import {
  accountByEmailKey,
  accountBySpellingKey,
  accountBySpellingPrefix,
  accountKey,
} from '../../storage/keys.ts';
import { bytes, flag, list, record, text, time, u8, u32 } from '../../storage/record.ts';
import { pagesUnder, type Store } from '../../storage/store.ts';
import { plainScopes } from '../keys/key-scopes.ts';

// The names of an account: its address, its id, or, while its address must be confirmed
// anew, by the spelling that it had before data format 2. Such an account has no row by its
// address: two of them may claim the same one, and neither gets it unasked.

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

export interface AccountRecord {
  /** ASCII domain (`readKnownAddress`). */
  readonly email: string;
  /**
   * Empty, but for an account of before whose address could not be kept as it was: its spelling of
   * then. Such an account is not found by `email` but by this and by its id, and nothing of it
   * goes to sites until its owner confirms an address anew.
   */
  readonly formerEmail: string;
  /** Milliseconds since 1970, as all times here. */
  readonly createdAt: number;
  readonly disabled: boolean;
  /**
   * 0: verified. Else its mail address waits to be verified until then, when its rows expire; the
   * journal knows nothing of it yet.
   */
  readonly pendingUntil: number;
  /** Ids of its keys that may still work, oldest first. */
  readonly keys: readonly string[];
}

export interface KeyRecord {
  /** Account id. */
  readonly account: string;
  readonly createdAt: number;
  /** The end of a replaced key, ms since 1970; 0 for a key that was not replaced. */
  readonly endsAt: number;
  /** 0 for a key that was not revoked. */
  readonly revokedAt: number;
  /** The key's text, sealed under the master key. */
  readonly sealed: Uint8Array;
  /** Unique among the account's living keys; empty for a key without one, of which the account has two at most. */
  readonly name: string;
  /** The scopes as bits: keys/key-scopes.ts. */
  readonly scopes: number;
  /** The most entries of a full answer to a bouncer; 0: not said. */
  readonly entriesMax: number;
  /** True if the key has a DNS label; the journal has the label's hash under `labelId`. */
  readonly hasLabel: boolean;
}

/** The values of a key without a name. */
export const plainKey = {
  name: '',
  scopes: plainScopes,
  entriesMax: 0,
  hasLabel: false,
} as const;

/** The id under which the journal knows a key's DNS label. */
export function labelId(keyId: string): string {
  return `${keyId}.dns`;
}

export const { encode: encodeAccount, decode: decodeAccount } = record<AccountRecord>(3, {
  email: text,
  createdAt: time,
  disabled: flag,
  pendingUntil: time,
  keys: list(text),
  formerEmail: text,
});

export const { encode: encodeKeyRecord, decode: decodeKey } = record<KeyRecord>(2, {
  account: text,
  createdAt: time,
  endsAt: time,
  revokedAt: time,
  sealed: bytes,
  name: text,
  scopes: u8,
  entriesMax: u32,
  hasLabel: flag,
});
