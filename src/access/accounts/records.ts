/** The stored records of accounts and API keys, and their byte layouts. */

import { readKnownAddress } from '../../core/mail-address.ts';
import {
  accountByEmailKey,
  accountKey,
  accountRoleKey,
  accountRolePrefix,
  type Key,
} from '../../storage/keys.ts';
import {
  bytes,
  type Decoded,
  flag,
  group,
  list,
  mapped,
  record,
  text,
  time,
  u8,
  u32,
} from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import { plainScopes } from '../keys/key-format.ts';

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

export type AccountRecord = Decoded<typeof decodeAccount>;

export type KeyRecord = Decoded<typeof decodeKey>;

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

/** The text behind the ids is reserved: data format 1 has it, always empty. */
const keyIds = mapped(
  group({ ids: list(text), reserved: text }),
  (ids: readonly string[]) => ({ ids, reserved: '' }),
  ({ ids }) => ids,
);

export const { encode: encodeAccount, decode: decodeAccount } = record(3, {
  /** ASCII domain (`readKnownAddress`). */
  email: text,
  /** Milliseconds since 1970, as all times here. */
  createdAt: time,
  disabled: flag,
  /**
   * 0: verified. Else its mail address waits to be verified until then, when its rows expire; the
   * journal knows nothing of it yet.
   */
  pendingUntil: time,
  /** Ids of its keys that may still work, oldest first. */
  keys: keyIds,
});

export const { encode: encodeKeyRecord, decode: decodeKey } = record(2, {
  account: text,
  createdAt: time,
  /** The end of a replaced key, ms since 1970; 0 for a key that was not replaced. */
  endsAt: time,
  /** 0 for a key that was not revoked. */
  revokedAt: time,
  /** The key's text, sealed under the master key. */
  sealed: bytes,
  /** Unique among the account's living keys; empty for a key without one, of which the account has two at most. */
  name: text,
  /** The scopes as bits: keys/key-format.ts. */
  scopes: u8,
  /** The most entries of a full answer to a bouncer; 0: not said. */
  entriesMax: u32,
  /** True if the key has a DNS label; the journal has the label's hash under `labelId`. */
  hasLabel: flag,
});

// Roles of accounts: a row for each operator, none for a member. The row is read at each request that
// depends on it, so a role that is taken away is gone at once.

export const roles = ['member', 'operator'] as const;
export type Role = (typeof roles)[number];

const operatorByte = 1;

/** One part in this many of each server-wide bound is reserved for operators. */
const operatorsPart = 64;

/** Returns the part of a server-wide bound that a role may fill: all of `max` for operators alone. */
export function roomFor(role: Role, max: number): number {
  return role === 'operator' ? max : max - Math.floor(max / operatorsPart);
}

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
