/** Profile, consents and site keys of a person: for the export and for the deletion. */

import type { SiteKeys } from '../../../access/keys/site-keys.ts';
import { dateText, type PersonalData } from '../../../contracts/personal-data.ts';
import { profileKey } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
import type { Consents } from '../../sites/consents.ts';
import { avatarData } from './avatars.ts';
import type { Profiles } from './profile-store.ts';

export function profilePersonalData(options: {
  store: Store;
  profiles: Pick<Profiles, 'load'>;
  consents: Pick<Consents, 'list' | 'revoke'>;
  siteKeys: Pick<SiteKeys, 'ofAccount' | 'revoke'>;
}): PersonalData[] {
  const { store, profiles, consents, siteKeys } = options;
  return [
    {
      name: 'profile',
      exportOf: (accountId) => profiles.load(accountId),
      async erase(accountId) {
        const done = await store.commit({ del: [profileKey(accountId)] });
        if (!done.ok) throw new Error('the profile could not be removed');
      },
    },
    // The picture goes after the profile: without a profile no new one can be set.
    avatarData(store),
    {
      name: 'connectedSites',
      async exportOf(accountId) {
        return (await consents.list(accountId)).map((site) => ({
          ...site,
          grantedAt: dateText(site.grantedAt),
          changedAt: dateText(site.changedAt),
          lastUsedAt: dateText(site.lastUsedAt ?? 0),
        }));
      },
      async erase(accountId) {
        if (!(await consents.revoke(accountId)).ok) {
          throw new Error('the consents could not be removed');
        }
      },
    },
    {
      name: 'siteKeys',
      async exportOf(accountId) {
        return (await siteKeys.ofAccount(accountId)).map(({ id, createdAt, hosts }) => ({
          id,
          createdAt: dateText(createdAt),
          hosts,
        }));
      },
      async erase(accountId) {
        for (const { id } of await siteKeys.ofAccount(accountId)) {
          const gone = await siteKeys.revoke(id);
          // Somebody else may have revoked it meanwhile.
          if (!gone.ok && gone.error !== 'unknown_key') {
            throw new Error('a site key could not be removed');
          }
        }
      },
    },
  ];
}
