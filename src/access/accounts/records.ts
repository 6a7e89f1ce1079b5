/** The stored records of accounts and API keys, and their byte layouts. */

import { readKnownAddress } from '../../core/mail-address.ts';
import { accountByEmailKey, accountKey } from '../../storage/keys.ts';
import { bytes, flag, list, record, text, time, u8, u32 } from '../../storage/record.ts';
import type { Store } from '../../storage/store.ts';
import { plainScopes } from '../keys/key-scopes.ts';

export interface AccountInfo extends AccountRecord {
  readonly id: string;
}

/** 12 random bytes. */
const idShape = /^[A-Za-z0-9_-]{16}$/;

export function isAccountId(text: string): boolean {
  return idShape.test(text);
}

/**
 * Returns the id of the account that the text names: by its address or by its id. Both are looked up whatever the
 * text is.
 */
export async function findAccountId(
  store: Pick<Store, 'get'>,
  text: string,
): Promise<string | undefined> {
  const address = readKnownAddress(text);
  const typed = text.trim();
  const [byEmail, byId] = await Promise.all([
    store.get(accountByEmailKey(address ?? '')),
    store.get(accountKey(isAccountId(typed) ? typed : '')),
  ]);
  if (byEmail !== undefined) return Buffer.from(byEmail.value).toString('utf8');
  return byId === undefined ? undefined : typed;
}

export interface AccountRecord {
  /** ASCII domain (`readKnownAddress`). */
  readonly email: string;
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

const keyIds = list(text);

export const { encode: encodeAccount, decode: decodeAccount } = record<AccountRecord>(3, {
  email: text,
  createdAt: time,
  disabled: flag,
  pendingUntil: time,
  keys: {
    // The text behind the ids is reserved: data format 1 has it, always empty.
    write: (out, ids) => {
      keyIds.write(out, ids);
      out.text('');
    },
    read(input, found) {
      const ids = keyIds.read(input, found);
      input.text();
      return ids;
    },
  },
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
