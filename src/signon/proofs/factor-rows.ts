/**
 * The stored form of passkeys, open ceremonies and second factors; an account's passkeys, and whether its
 * second factor is on.
 */

import {
  type Key,
  passkeyByAccountKey,
  passkeyByAccountPrefix,
  passkeyKey,
  secondFactorKey,
} from '../../storage/keys.ts';
import {
  bytes,
  type Decoded,
  flag,
  list,
  oneOf,
  record,
  text,
  time,
  u32,
  varint,
} from '../../storage/record.ts';
import { pagesUnder, type SetRow, type Store } from '../../storage/store.ts';

export type PasskeyRecord = Decoded<typeof decodePasskey>;

export type Ceremony = Decoded<typeof decodeCeremony>;

/** The order is on disk. `sign_up` makes the passkey of a registration, `verify` proves it again. */
const ceremonyPurposes = ['register', 'sign_in', 'reauthenticate', 'sign_up', 'verify'] as const;
export type CeremonyPurpose = (typeof ceremonyPurposes)[number];

export const { encode: encodePasskey, decode: decodePasskey } = record(2, {
  account: text,
  name: text,
  /**
   * The user handle of WebAuthn, by which the authenticator knows the owner: the account's id, or a
   * random text for a passkey that was made before there was an account.
   */
  handle: text,
  /** The key in COSE form. */
  publicKey: bytes,
  /** The authenticator's counter; 0 for authenticators that don't count. */
  counter: u32,
  transports: list(text),
  /** The passkey is synchronised between devices. */
  backedUp: flag,
  createdAt: time,
  lastUsedAt: time,
});

export const { encode: encodeCeremony, decode: decodeCeremony } = record(2, {
  purpose: oneOf(ceremonyPurposes),
  /**
   * The account's id; the browser's id for a sign-in, where the passkey names the account; the mail address for a
   * sign-up, when there is no account yet.
   */
  account: text,
  /** The user handle of the passkey that is made; empty where none is made. */
  handle: text,
});

/** A passkey that waits in a link for the mail address to be verified: it opens nothing before. */
export interface PendingPasskey {
  readonly id: Uint8Array;
  /** `account` is empty: the link names it. */
  readonly record: PasskeyRecord;
}

/** Returns text without spaces. */
export function pendingPasskeyText({ id, record }: PendingPasskey): string {
  const [name, value] = [id, encodePasskey(record)].map((b) =>
    Buffer.from(b).toString('base64url'),
  );
  return `${name}.${value}`;
}

export function readPendingPasskey(text: string): PendingPasskey | undefined {
  const [name = '', value = ''] = text.split('.');
  const id = Buffer.from(name, 'base64url');
  const record = decodePasskey(Buffer.from(value, 'base64url'));
  return id.length === 0 || record === undefined ? undefined : { id, record };
}

/** Returns the rows for the commit that makes the passkey; the commit also checks that its id is not taken. */
export function passkeyRows(id: Uint8Array, record: PasskeyRecord): SetRow[] {
  return [
    { key: passkeyKey(id), value: encodePasskey(record) },
    { key: passkeyByAccountKey(record.account, id), value: new Uint8Array() },
  ];
}

/** Returns all rows of a passkey, for the commit that removes it. */
export function passkeyKeysOf(accountId: string, id: Uint8Array): Key[] {
  return [passkeyKey(id), passkeyByAccountKey(accountId, id)];
}

const pageRows = 50;

export interface StoredPasskey {
  readonly id: Uint8Array;
  readonly version: number;
  readonly record: PasskeyRecord;
}

export async function findPasskey(
  store: Store,
  id: Uint8Array,
): Promise<StoredPasskey | undefined> {
  const row = await store.get(passkeyKey(id));
  const record = row && decodePasskey(row.value);
  return row && record ? { id, version: row.version, record } : undefined;
}

/** Returns all or at most `limit`, in order of their ids. */
export async function passkeysOf(
  store: Store,
  accountId: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<StoredPasskey[]> {
  const prefix = passkeyByAccountPrefix(accountId);
  const passkeys: StoredPasskey[] = [];
  const rows = Math.min(limit, pageRows);
  for await (const page of pagesUnder(store, prefix, { limit: rows })) {
    const found = await Promise.all(
      page.map(({ key }) => findPasskey(store, key.subarray(prefix.length))),
    );
    passkeys.push(...found.filter((p) => p !== undefined));
    if (passkeys.length >= limit) return passkeys.slice(0, limit);
  }
  return passkeys;
}

export type Factor = Decoded<typeof factorCodec.decode>;

const factorCodec = record(1, {
  enabledAt: time,
  /** Sealed base32 secret. */
  sealed: bytes,
  lastStep: varint,
  /** The hashes of the codes that are left, see second-factors.ts. */
  backupHashes: list(bytes),
});
export const encodeFactor = factorCodec.encode;
const readFactor = factorCodec.decode;

export async function loadFactor(store: Pick<Store, 'get'>, accountId: string) {
  const key = secondFactorKey(accountId);
  const row = await store.get(key);
  const factor = row && readFactor(row.value);
  // A damaged row must not switch the second factor off.
  if (row && !factor) throw new Error(`the second factor of account ${accountId} is damaged`);
  return { key, version: row?.version ?? null, factor };
}

export interface SecondFactorState {
  readonly enabled: boolean;
  /** Milliseconds since 1970, 0 when not enabled. */
  readonly enabledAt: number;
  readonly backupCodesLeft: number;
}

export async function factorStateOf(
  store: Pick<Store, 'get'>,
  accountId: string,
): Promise<SecondFactorState> {
  const { factor } = await loadFactor(store, accountId);
  const enabledAt = factor?.enabledAt ?? 0;
  return {
    enabled: enabledAt !== 0,
    enabledAt,
    backupCodesLeft: factor?.backupHashes.length ?? 0,
  };
}

export async function isFactorOn(store: Pick<Store, 'get'>, accountId: string): Promise<boolean> {
  return (await factorStateOf(store, accountId)).enabled;
}
