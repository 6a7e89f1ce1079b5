/** The stored form of passkeys and of open ceremonies, and the walk over an account's passkeys. */

import { createWriter, decode } from '../../store/codec.ts';
import {
  type Key,
  passkeyByAccountKey,
  passkeyByAccountPrefix,
  passkeyKey,
} from '../../store/keys.ts';
import type { SetRow, Store } from '../../store/store.ts';

export interface PasskeyRecord {
  readonly account: string;
  /**
   * What the authenticator knows its owner by (WebAuthn's user handle): the account's id, or a
   * random text for a passkey that was made before there was an account.
   */
  readonly handle: string;
  /** Chosen by the owner. */
  readonly name: string;
  /** COSE. */
  readonly publicKey: Uint8Array;
  /** Of the authenticator; 0 for those that don't count. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** Synchronised between devices. */
  readonly backedUp: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
}

/** An open ceremony: who began it, and for what. */
export interface Ceremony {
  readonly purpose: CeremonyPurpose;
  /**
   * Account id; empty for a sign-in, where the passkey tells; for a sign-up, when there is no
   * account yet, the mail address.
   */
  readonly account: string;
  /** For the one that is made; empty where none is made. */
  readonly handle: string;
}

/** In this order on disk. `sign_up` makes the passkey of a registration, `verify` proves it again. */
export const ceremonyPurposes = [
  'register',
  'sign_in',
  'reauthenticate',
  'sign_up',
  'verify',
] as const;
export type CeremonyPurpose = (typeof ceremonyPurposes)[number];

const layout = 2;
/** Passkeys without a handle of their own: it was the account's id. */
const layoutWithoutHandle = 1;
const ceremonyLayout = 2;

export function encodePasskey(record: PasskeyRecord): Uint8Array {
  const out = createWriter(256).u8(layout).text(record.account).text(record.name);
  out.text(record.handle);
  out.bytes(record.publicKey).u32(record.counter).varint(record.transports.length);
  for (const transport of record.transports) out.text(transport);
  out
    .u8(record.backedUp ? 1 : 0)
    .f64(record.createdAt)
    .f64(record.lastUsedAt);
  return out.finish();
}

export function decodePasskey(bytes: Uint8Array): PasskeyRecord | undefined {
  return decode(bytes, (input) => {
    const found = input.u8();
    if (found !== layout && found !== layoutWithoutHandle) input.reject();
    const [account, name] = [input.text(), input.text()];
    const handle = found === layout ? input.text() : account;
    const publicKey = Uint8Array.from(input.bytes());
    const counter = input.u32();
    const count = Math.min(input.varint(), input.remaining());
    const transports = Array.from({ length: count }, () => input.text());
    const backedUp = input.u8() === 1;
    const times = { createdAt: input.f64(), lastUsedAt: input.f64() };
    return { account, handle, name, publicKey, counter, transports, backedUp, ...times };
  });
}

export function encodeCeremony({ purpose, account, handle }: Ceremony): Uint8Array {
  const out = createWriter().u8(ceremonyLayout).u8(ceremonyPurposes.indexOf(purpose));
  return out.text(account).text(handle).finish();
}

export function decodeCeremony(bytes: Uint8Array): Ceremony | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== ceremonyLayout) input.reject();
    const purpose = ceremonyPurposes[input.u8()];
    if (purpose === undefined) input.reject();
    return { purpose: purpose ?? 'sign_in', account: input.text(), handle: input.text() };
  });
}

/** One that waits in a link for its mail address to be verified: it opens nothing before. */
export interface PendingPasskey {
  readonly id: Uint8Array;
  /** Its `account` is empty: whose it will be, the link says. */
  readonly record: PasskeyRecord;
}

/** Without spaces. */
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

/** For the commit that makes the passkey; pair them with a check that its id is not taken. */
export function passkeyRows(id: Uint8Array, record: PasskeyRecord): SetRow[] {
  return [
    { key: passkeyKey(id), value: encodePasskey(record) },
    { key: passkeyByAccountKey(record.account, id), value: new Uint8Array() },
  ];
}

/** All rows of a passkey, for the commit that removes it. */
export function passkeyKeysOf(accountId: string, id: Uint8Array): Key[] {
  return [passkeyKey(id), passkeyByAccountKey(accountId, id)];
}

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

/** In order of their ids, at most `limit`. */
export async function passkeysOf(
  store: Store,
  accountId: string,
  limit: number,
): Promise<StoredPasskey[]> {
  const prefix = passkeyByAccountPrefix(accountId);
  const rows = await store.scan(prefix, { limit });
  const found = await Promise.all(
    rows.map(({ key }) => findPasskey(store, key.subarray(prefix.length))),
  );
  return found.filter((p) => p !== undefined);
}
