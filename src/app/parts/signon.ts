/**
 * Sign-on put together: accounts, sessions and mails (signon/open-signon.ts), profiles, and the sign-on
 * of other sites, each knowing of the others what it needs. Deletions that were cut short go on in
 * the background.
 */

import { type Accounts, createAccounts } from '../../access/accounts/accounts.ts';
import { decodeAccount } from '../../access/accounts/records.ts';
import { type ApiKeys, createApiKeys } from '../../access/keys/api-keys.ts';
import { erasedSealOf, type MasterKey } from '../../access/keys/master-key.ts';
import { createSiteKeys, type SiteKeys } from '../../access/keys/site-keys.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { Config } from '../../config.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { type Closers, createClosers } from '../../core/closers.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import { reportPersonalData } from '../../reputation/reports/store/account-reports.ts';
import { storedWebhooks } from '../../reputation/webhooks/hooks.ts';
import { webhookPersonalData } from '../../reputation/webhooks/module.ts';
import type { Mail } from '../../signon/mail/letter.ts';
import { openSignon, type Signon } from '../../signon/open-signon.ts';
import { profilePersonalData } from '../../signon/people/personal-data.ts';
import { createAvatarImages } from '../../signon/people/profile/avatar-image.ts';
import { type Avatars, createAvatars } from '../../signon/people/profile/avatars.ts';
import {
  createProfileExtraRows,
  createProfiles,
  type Profiles,
  profileExtraRows,
} from '../../signon/people/profile/profile-store.ts';
import { createReview, type Review } from '../../signon/people/review.ts';
import type { RowCounterStats } from '../../signon/people/row-counter.ts';
import {
  createSignInLog,
  type SignInLog,
  type SignOnEvent,
  signInLogData,
} from '../../signon/sessions/sign-in-log.ts';
import {
  type Authorization,
  type ConsentOutcome,
  createAuthorization,
  requestQueryCharsMax,
} from '../../signon/sites/authorization.ts';
import { type Consents, createConsents } from '../../signon/sites/consents.ts';
import { type ErasedList, openErasedList } from '../../storage/backup/erased.ts';
import { accountKey } from '../../storage/keys.ts';
import type { Maintenance } from '../../storage/maintenance.ts';
import type { Store } from '../../storage/store.ts';

export interface SignonParts {
  readonly signon: Signon;
  /** For operators. */
  readonly signInLog: SignInLog;
  readonly authorization: Authorization;
  readonly profiles: Profiles;
  /** Accounts and API keys. */
  readonly accounts: Accounts;
  readonly siteKeys: SiteKeys;
  readonly apiKeys: ApiKeys;
  readonly avatars: Avatars;
  readonly consents: Consents;
  /** Counts of rows that unauthenticated requests caused, with their bounds. */
  readonly rowsOfStrangers: () => readonly RowCounterStats[];
  readonly review: Review;
  readonly erased: ErasedList;
}

interface SignonOptions {
  store: Store;
  maintenance: Maintenance;
  shares?: Pick<DistributedLimits, 'room' | 'replicatedOperations'>;
  clock: Clock;
  random: Random;
  log: Log;
  masterKey: MasterKey;
  config: Config;
  demo: boolean;
  tables: Pick<BoundedTables, 'add'>;
  onMail?: ((mail: Mail) => void) | undefined;
  onSignOn?: (event: SignOnEvent) => void;
  /** Called for each consent that was given or refused. */
  onConsent?: (outcome: ConsentOutcome) => void;
}

/** Opens sign-on. If a step fails, what was opened before it is closed. */
export async function startSignon(options: SignonOptions): Promise<SignonParts> {
  const closers = createClosers(options.log);
  try {
    return await start(options, closers);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
}

async function start(options: SignonOptions, closers: Closers): Promise<SignonParts> {
  const { store, config } = options;
  const profiles = createProfiles(options);
  const siteKeys = createSiteKeys(options);
  const consents = createConsents(options);
  const signInLog = createSignInLog(options);
  closers.add(() => signInLog.close());
  const erased = openErasedList({ ...options, seal: erasedSealOf(options.masterKey) });
  const signon = openSignon({
    ...options,
    baseUrl: config.baseUrl,
    dataDir: config.dataDir,
    smtpUrl: config.smtpUrl,
    mailFrom: config.mailFrom,
    siteName: config.siteName,
    siteContact: config.siteContact,
    siteLogo: config.siteLogo,
    smsWebhookUrl: config.smsWebhookUrl,
    pwnedRangeUrl: config.pwnedRangeUrl,
    factorDemand: config.requireSecondFactor,
    signInLog,
    erased,
    isPaced: config.clientLimitsOn,
    texts: { countries: config.smsCountries, perDay: config.smsPerDay },
    extraRows: createProfileExtraRows({ store, profiles }),
    personalData: (over) => [
      ...profilePersonalData({
        store: over,
        profiles: createProfiles({ ...options, store: over }),
        siteKeys: createSiteKeys({ ...options, store: over }),
        consents: createConsents({ ...options, store: over }),
      }),
      reportPersonalData(over),
      webhookPersonalData(over),
      signInLogData(over),
    ],
  });
  closers.add(() => signon.close());
  const authorization = createAuthorization({
    ...options,
    clientSuffixes: config.clientSuffixes,
    profiles,
    standing: {
      sessionAlive: signon.sessions.alive,
      accountEnabled: (id) => isActiveAccount(store, id),
    },
    avatarUrl: (avatar) => `${config.baseUrl}/avatars/${avatar}`,
    parseQuery: parseRequestQuery,
  });
  await authorization.transactions.restore();
  await erased.sync();
  signon.erasures.resume();
  signon.notices.resume();
  await signon.restore();
  const accounts = createAccounts({ ...options, beside: profileExtraRows(profiles) });
  const apiKeys = createApiKeys({ ...options, accounts });
  const images = createAvatarImages();
  options.tables.add(images.table);
  const avatars = createAvatars({ ...options, profiles, images });
  const { changes, passkeys } = signon;
  const review = createReview({
    changes,
    passkeys,
    apiKeys,
    siteKeys,
    consents,
    webhooks: storedWebhooks(store),
  });
  return {
    signon,
    signInLog,
    authorization,
    profiles,
    accounts,
    siteKeys,
    apiKeys,
    avatars,
    consents,
    review,
    erased,
    rowsOfStrangers: () => [authorization.transactions.waiting(), ...signon.rowsOfStrangers()],
  };
}

/** A request is read again by the rules of its route. */
export function parseRequestQuery(query: string): Params | undefined {
  const parsed = parseQuery(query, { charsMax: requestQueryCharsMax });
  return parsed.ok ? parsed.value : undefined;
}

/** Neither disabled nor waiting for its mail address to be verified. */
async function isActiveAccount(store: Store, accountId: string): Promise<boolean> {
  const entry = await store.get(accountKey(accountId));
  const account = entry && decodeAccount(entry.value);
  return account !== undefined && !account.disabled && account.pendingUntil === 0;
}
