/** The profile row of an account: made with it, and its mail address changed with it. */

import { profileKey } from '../../../storage/keys.ts';
import type { SetRow, Store } from '../../../storage/store.ts';
import type { AccountExtraRows } from '../extra-rows.ts';
import { decodeProfile, encodeProfile } from './profile.ts';
import type { Profiles } from './profile-store.ts';

/** Returns the profile rows of accounts that the operator makes: their address counts as verified. */
export function profileExtraRows(profiles: Pick<Profiles, 'newRow'>) {
  return (accountId: string, email: string): readonly SetRow[] => [
    profiles.newRow(accountId, email, true),
  ];
}

export function createProfileExtraRows(options: {
  store: Store;
  profiles: Pick<Profiles, 'newRow'>;
}): AccountExtraRows {
  const { store, profiles } = options;
  return {
    created: profileExtraRows(profiles),
    async emailChanged(accountId, email) {
      const key = profileKey(accountId);
      const entry = await store.get(key);
      const profile = entry && decodeProfile(entry.value);
      // An account without a profile gets one now.
      const row =
        profile === undefined
          ? profiles.newRow(accountId, email, true)
          : { key, value: encodeProfile({ ...profile, email, emailVerified: true }) };
      return { check: [{ key, version: entry?.version ?? null }], set: [row] };
    },
  };
}
