/** The stored records of accounts and API keys, and their byte layouts. */

import { bytes, flag, list, record, text, time, u8, u32 } from '../../storage/record.ts';
import { plainScopes } from '../keys/key-scopes.ts';

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
