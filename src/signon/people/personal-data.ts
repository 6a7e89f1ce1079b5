/** The personal data of sign-on: its own, and profile, consents and site keys; for the export and for the deletion. */

import type { SiteKeys } from '../../access/keys/site-keys.ts';
import { dateText, type PersonalData } from '../../contracts/personal-data.ts';
import type { Pace } from '../../core/scheduling.ts';
import { createReader } from '../../storage/codec.ts';
import {
  agentBanPrefix,
  type Key,
  noticePrefix,
  passkeyByAccountKey,
  passkeyKey,
  phoneCodeKey,
  profileKey,
  secondFactorKey,
  sessionByAccountKey,
  sessionKey,
  signonLinkPrefix,
} from '../../storage/keys.ts';
import { pagesUnder, type Store } from '../../storage/store.ts';
import type { Outbox } from '../mail/outbox.ts';
import { passkeysOf } from '../proofs/factor-rows.ts';
import type { SecondFactors } from '../proofs/second-factors.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import { type Sessions, sessionIdsOf } from '../sessions/sessions.ts';
import type { Consents } from '../sites/consents.ts';
import { linkAccountOf } from './links.ts';
import { avatarData } from './profile/avatars.ts';
import type { Profiles } from './profile/profile-store.ts';

/** The rows that are read or removed at a time: about a millisecond of the event loop. */
const pageRows = 50;

async function deleteRows(store: Store, del: readonly Key[]): Promise<void> {
  const done = await store.commit({ del });
  if (!done.ok) throw new Error(`rows can't be removed: ${done.error}`);
}

export interface PersonalDataSources {
  readonly store: Store;
  readonly sessions: Pick<Sessions, 'list'>;
  readonly secondFactors: Pick<SecondFactors, 'state'>;
  readonly securityLog: SecurityLog;
  readonly outbox: Pick<Outbox, 'forget'>;
}

export function ownPersonalData(sources: PersonalDataSources): readonly PersonalData[] {
  return [
    sessionData(sources),
    secondFactorData(sources),
    passkeyData(sources),
    securityLogData(sources),
    messageData(sources),
  ];
}

function sessionData({ store, sessions }: PersonalDataSources): PersonalData {
  return {
    name: 'sessions',
    async exportOf(accountId) {
      const list = await sessions.list(accountId);
      return list.map(({ createdAt, lastSeenAt, agent, country, method }) => {
        const times = { createdAt: dateText(createdAt), lastSeenAt: dateText(lastSeenAt) };
        return { ...times, agent, country, method };
      });
    },
    async erase(accountId) {
      for (;;) {
        const ids = await sessionIdsOf(store, accountId, pageRows);
        if (ids.length === 0) return;
        const bytes = ids.map((id) => Buffer.from(id, 'base64url'));
        const rows = bytes.flatMap((id) => [sessionKey(id), sessionByAccountKey(accountId, id)]);
        await deleteRows(store, rows);
      }
    },
  };
}

function secondFactorData({ store, secondFactors }: PersonalDataSources): PersonalData {
  return {
    name: 'secondFactor',
    async exportOf(accountId) {
      const { enabled, enabledAt, backupCodesLeft } = await secondFactors.state(accountId);
      return { enabled, enabledAt: dateText(enabledAt), backupCodesLeft };
    },
    erase: (accountId) => deleteRows(store, [secondFactorKey(accountId)]),
  };
}

function passkeyData({ store }: PersonalDataSources): PersonalData {
  return {
    name: 'passkeys',
    async exportOf(accountId) {
      const list = await passkeysOf(store, accountId);
      return list.map(({ record: { name, createdAt, lastUsedAt } }) => {
        return { name, createdAt: dateText(createdAt), lastUsedAt: dateText(lastUsedAt) };
      });
    },
    async erase(accountId) {
      for (;;) {
        const list = await passkeysOf(store, accountId, pageRows);
        if (list.length === 0) return;
        const rows = list.flatMap(({ id }) => [passkeyKey(id), passkeyByAccountKey(accountId, id)]);
        await deleteRows(store, rows);
      }
    },
  };
}

function securityLogData({ securityLog }: PersonalDataSources): PersonalData {
  return {
    name: 'securityLog',
    async exportOf(accountId) {
      const entries = await securityLog.list(accountId);
      return entries.map(({ at, ...rest }) => ({ at: dateText(at), ...rest }));
    },
    erase: (accountId) => securityLog.clear(accountId),
  };
}

/** Open links, codes, mails that wait, and files of the outbox. The export holds none of it. */
function messageData({ store, outbox }: PersonalDataSources): PersonalData {
  /** Rows of this kind have random keys, so all are read. */
  async function eraseAmong(prefix: Key, isOwn: (value: Uint8Array) => boolean, pace: Pace) {
    for await (const page of pagesUnder(store, prefix, { limit: pageRows })) {
      const own = page.filter(({ value }) => isOwn(value)).map(({ key }) => key);
      if (own.length > 0) await deleteRows(store, own);
      if (pace.isOver()) await pace.next();
    }
  }

  return {
    name: 'messages',
    exportOf: async () => undefined,
    async erase(accountId, email, pace) {
      await deleteRows(store, [phoneCodeKey(accountId)]);
      const isOwnLink = (value: Uint8Array) => linkAccountOf(createReader(value)) === accountId;
      await eraseAmong(signonLinkPrefix(), isOwnLink, pace);
      await eraseAmong(noticePrefix(accountId), () => true, pace);
      // These are the decisions of its agents, for its bouncers alone.
      await eraseAmong(agentBanPrefix(accountId), () => true, pace);
      await outbox.forget(email);
      await outbox.forget(accountId);
    },
  };
}

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
