/** The stored form of a second factor, and whether an account has one that counts. */

import { createWriter, decode } from '../../../store/codec.ts';
import { secondFactorKey } from '../../../store/keys.ts';
import type { Store } from '../../../store/store.ts';

const layout = 1;

export interface Factor {
  readonly enabledAt: number;
  /** Sealed base32 secret. */
  readonly sealed: Uint8Array;
  readonly lastStep: number;
  /** Of the codes that are left. */
  readonly backupHashes: readonly Uint8Array[];
}

export async function loadFactor(store: Pick<Store, 'get'>, accountId: string) {
  const key = secondFactorKey(accountId);
  const row = await store.get(key);
  const factor = row && decodeFactor(row.value);
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

export function encodeFactor(factor: Factor): Uint8Array {
  const out = createWriter(320).u8(layout).f64(factor.enabledAt).bytes(factor.sealed);
  out.varint(factor.lastStep).varint(factor.backupHashes.length);
  for (const hash of factor.backupHashes) out.bytes(hash);
  return out.finish();
}

function decodeFactor(bytes: Uint8Array): Factor | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const enabledAt = input.f64();
    const sealed = Uint8Array.from(input.bytes());
    const lastStep = input.varint();
    const count = Math.min(input.varint(), input.remaining());
    const backupHashes = Array.from({ length: count }, () => Uint8Array.from(input.bytes()));
    return { enabledAt, sealed, lastStep, backupHashes };
  });
}
