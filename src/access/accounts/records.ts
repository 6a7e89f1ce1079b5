/** The stored records of accounts and API keys, and their byte layouts. */

import { createWriter, decode } from '../../store/codec.ts';
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
  /** When a replaced key ends; 0 for a key that was not replaced. */
  readonly endsAt: number;
  /** 0 for a key that was not revoked. */
  readonly revokedAt: number;
  /** The key's text, sealed under the master key. */
  readonly sealed: Uint8Array;
  /** Unique among the account's living keys; empty for a key without one, of which the account has two at most. */
  readonly name: string;
  /** What it may be used for: keys/key-scopes.ts. */
  readonly scopes: number;
  /** The most entries of a full answer to a bouncer; 0: not said. */
  readonly entriesMax: number;
  /** Whether a DNS label belongs to it; its hash stands in the journal under `labelId`. */
  readonly hasLabel: boolean;
}

/** Of what a key without a name has. */
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

const layout = 1;
/** Third layout of accounts; the first had no `pendingUntil`, the second no `formerEmail`. */
const accountLayout = 3;
/** Second layout of keys; the first had no name and nothing behind it. */
const keyLayout = 2;

export function encodeAccount(record: AccountRecord): Uint8Array {
  const out = createWriter();
  out
    .u8(accountLayout)
    .text(record.email)
    .f64(record.createdAt)
    .u8(record.disabled ? 1 : 0)
    .f64(record.pendingUntil);
  out.varint(record.keys.length);
  for (const id of record.keys) out.text(id);
  return out.text(record.formerEmail).finish();
}

export function decodeAccount(bytes: Uint8Array): AccountRecord | undefined {
  return decode(bytes, (input) => {
    const version = input.u8();
    if (version < layout || version > accountLayout) input.reject();
    const email = input.text();
    const createdAt = input.f64();
    const disabled = input.u8() === 1;
    const pendingUntil = version === layout ? 0 : input.f64();
    const count = Math.min(input.varint(), input.remaining());
    const keys = Array.from({ length: count }, () => input.text());
    const formerEmail = version < 3 ? '' : input.text();
    return { email, formerEmail, createdAt, disabled, pendingUntil, keys };
  });
}

export function encodeKeyRecord(record: KeyRecord): Uint8Array {
  const out = createWriter();
  const isPlain = record.name === '' && record.scopes === plainScopes;
  out.u8(isPlain ? layout : keyLayout).text(record.account);
  out.f64(record.createdAt).f64(record.endsAt).f64(record.revokedAt).bytes(record.sealed);
  if (isPlain) return out.finish();
  out
    .text(record.name)
    .u8(record.scopes)
    .u32(record.entriesMax)
    .u8(record.hasLabel ? 1 : 0);
  return out.finish();
}

export function decodeKey(bytes: Uint8Array): KeyRecord | undefined {
  return decode(bytes, (input) => {
    const version = input.u8();
    if (version !== layout && version !== keyLayout) input.reject();
    const plain = {
      account: input.text(),
      createdAt: input.f64(),
      endsAt: input.f64(),
      revokedAt: input.f64(),
      sealed: input.bytes(),
    };
    if (version === layout) return { ...plain, ...plainKey };
    return {
      ...plain,
      name: input.text(),
      scopes: input.u8(),
      entriesMax: input.u32(),
      hasLabel: input.u8() === 1,
    };
  });
}
