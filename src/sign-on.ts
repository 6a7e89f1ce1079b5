/**
 * Sign-on put together: accounts, sessions and mails (signon/open.ts), profiles, and the sign-on
 * of other sites, each knowing of the others what it needs. Deletions that were cut short go on in
 * the background.
 */

import { type Accounts, createAccounts } from './access/accounts.ts';
import { createKeyRecords } from './access/key-records.ts';
import type { MasterKey } from './access/master-key.ts';
import { createOwnKeys, type OwnKeys } from './access/own-keys.ts';
import { decodeAccount } from './access/records.ts';
import { createSiteKeys, type SiteKeys } from './access/site-keys.ts';
import type { Config } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { Log } from './core/log.ts';
import type { Random } from './core/random.ts';
import { type Authorization, createAuthorization } from './signon/authorization.ts';
import { createAvatarImages } from './signon/avatar-image.ts';
import { type Avatars, createAvatars } from './signon/avatars.ts';
import { type Consents, createConsents } from './signon/consents.ts';
import { openSignon, type Signon } from './signon/open.ts';
import { profileBeside, profileCompanion } from './signon/profile-companion.ts';
import { profilePersonalData } from './signon/profile-data.ts';
import { createProfiles, type Profiles } from './signon/profile-store.ts';
import { accountKey } from './store/keys.ts';
import type { Store } from './store/store.ts';

export interface SignonParts {
  readonly signon: Signon;
  readonly authorization: Authorization;
  readonly profiles: Profiles;
  /** Accounts and API keys. */
  readonly accounts: Accounts;
  readonly siteKeys: SiteKeys;
  readonly ownKeys: OwnKeys;
  readonly avatars: Avatars;
  readonly consents: Consents;
}

export async function startSignon(options: {
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  masterKey: MasterKey;
  config: Config;
  demo: boolean;
}): Promise<SignonParts> {
  const { store, config } = options;
  const profiles = createProfiles(options);
  const siteKeys = createSiteKeys(options);
  const consents = createConsents(options);
  const signon = openSignon({
    ...options,
    baseUrl: config.baseUrl,
    dataDir: config.dataDir,
    smtpUrl: config.smtpUrl,
    mailFrom: config.mailFrom,
    smsWebhookUrl: config.smsWebhookUrl,
    companion: profileCompanion({ store, profiles }),
    personalData: profilePersonalData({
      store,
      profiles,
      siteKeys,
      consents,
    }),
  });
  const authorization = createAuthorization({
    ...options,
    profiles,
    standing: {
      sessionAlive: signon.sessions.alive,
      accountEnabled: (id) => isActiveAccount(store, id),
    },
    avatarUrl: (avatar) => `${config.baseUrl}/avatars/${avatar}`,
  });
  signon.erasures.resume();
  const accounts = createAccounts({ ...options, beside: profileBeside(profiles) });
  const records = createKeyRecords(options);
  const ownKeys = createOwnKeys({ ...options, accounts, records });
  const avatars = createAvatars({ ...options, profiles, images: createAvatarImages() });
  return { signon, authorization, profiles, accounts, siteKeys, ownKeys, avatars, consents };
}

/** Neither disabled nor waiting for its mail address to be verified. */
async function isActiveAccount(store: Store, accountId: string): Promise<boolean> {
  const entry = await store.get(accountKey(accountId));
  const account = entry && decodeAccount(entry.value);
  return account?.disabled === false && account.pendingUntil === 0;
}
