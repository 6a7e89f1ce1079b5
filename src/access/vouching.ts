/**
 * The operator's word for an account, at rest. It is written to the journal when it is given, and
 * again with each key: an account without a key holds no slot, and the reducer knows nothing of it.
 */

import { decode } from '../storage/codec.ts';
import { accountStandingKey, type Key } from '../storage/keys.ts';
import type { SetRow, Store } from '../storage/store.ts';
import type { Vouched } from './quota/points.ts';
import { readVouched, vouchedNumber } from './standing-row.ts';

export function vouchedRow(account: string, vouched: Vouched): SetRow {
  return { key: accountStandingKey(account), value: Uint8Array.of(vouchedNumber(vouched)) };
}

/** `version` for a check that it stays so. */
export async function findVouched(
  store: Store,
  account: string,
): Promise<{ vouched: Vouched; key: Key; version: number | null }> {
  const key = accountStandingKey(account);
  const row = await store.get(key);
  const vouched = row === undefined ? 'none' : (decode(row.value, readVouched) ?? 'none');
  return { vouched, key, version: row?.version ?? null };
}
