/** The stored form of a second factor, and whether an account has one that counts. */

import { secondFactorKey } from '../../../storage/keys.ts';
import { bytes, list, record, time, varint } from '../../../storage/record.ts';
import type { Store } from '../../../storage/store.ts';

export interface Factor {
  readonly enabledAt: number;
  /** Sealed base32 secret. */
  readonly sealed: Uint8Array;
  readonly lastStep: number;
  /** The hashes of the codes that are left, see second-factors.ts. */
  readonly backupHashes: readonly Uint8Array[];
}

const factorCodec = record<Factor>(1, {
  enabledAt: time,
  sealed: bytes,
  lastStep: varint,
  backupHashes: list(bytes),
});
export const encodeFactor = factorCodec.encode;
/** Undefined for a damaged row. */
export const readFactor = factorCodec.decode;

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
