/**
 * The strength of the last proof of identity of a session, by the factors that its account has besides the password. A
 * passkey counts as both factors: it is taken with user verification alone.
 */

import type { Store } from '../../storage/store.ts';
import type { SessionMethod } from '../sessions/session-records.ts';
import { isFactorOn } from './factors/second-factor-rows.ts';
import { passkeysOf } from './passkey-records.ts';

/** `missing`: the account has neither a passkey nor an authenticator; `weak`: it has, and showed none. */
export async function proofStrength(
  store: Store,
  accountId: string,
  proof: SessionMethod,
): Promise<'missing' | 'weak' | 'strong'> {
  const isOn = await isFactorOn(store, accountId);
  if (isOn && proof.endsWith('+totp')) return 'strong';
  const passkeys = await passkeysOf(store, accountId, 1);
  if (passkeys.length > 0) return proof === 'passkey' ? 'strong' : 'weak';
  return isOn ? 'weak' : 'missing';
}
