/** The personal data of sign-on, for the export and for the deletion; what is erased first stands first. */

import { createSiteKeys, type SiteKeys } from '../../access/keys/site-keys.ts';
import type { PersonalData } from '../../contracts/personal-data.ts';
import type { Clock } from '../../core/clock.ts';
import { dateTextOrNull } from '../../core/dates.ts';
import type { Random } from '../../core/random.ts';
import type { Scheduler } from '../../core/scheduling.ts';
import { createReader } from '../../storage/codec.ts';
import {
  accountGroupsKey,
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
import { openPeople } from '../people.ts';
import { factorStateOf, passkeysOf } from '../proofs/factor-rows.ts';
import { trustKeysOf, trustLifeMs, trustsOf } from '../proofs/trusted-browsers.ts';
import { createSecurityLog, type SecurityLog } from '../sessions/security-log.ts';
import { createSessions, type Sessions, sessionIdsOf } from '../sessions/sessions.ts';
import { signInLogData } from '../sessions/sign-in-log.ts';
import { type Consents, createConsents } from '../sites/consents.ts';
import { groupsOf } from '../sites/groups.ts';
import { siteNewsKeysOf } from '../sites/site-news.ts';
import { linkAccountOf } from './links.ts';
import { avatarData } from './profile/avatars.ts';
import { createProfiles } from './profile/profile-store.ts';

/** The rows that are read or removed at a time: about a millisecond of the event loop. */
const pageRows = 50;

async function deleteRows(store: Store, del: readonly Key[]): Promise<void> {
  const done = await store.commit({ del });
  if (!done.ok) throw new Error(`rows can't be removed: ${done.error}`);
}

interface Tools {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** @param outbox the files of mails that were not sent */
export function signonPersonalData(
  tools: Tools,
  outbox: Pick<Outbox, 'forget'>,
): readonly PersonalData[] {
  const { store } = tools;
  return [
    // Sites are notified by the id that the profile holds, so consents go first.
    consentData(store, createConsents(tools)),
    profileData(tools),
    // The picture goes after the profile: without a profile no new one can be set.
    avatarData(store),
    groupData(store),
    siteKeyData(createSiteKeys(tools)),
    sessionData(store, createSessions({ ...tools, people: openPeople(store) })),
    secondFactorData(store),
    trustedBrowserData(store),
    passkeyData(store),
    securityLogData(createSecurityLog(tools)),
    messageData(store, outbox),
    signInLogData(store),
  ];
}

function sessionData(store: Store, sessions: Pick<Sessions, 'list'>): PersonalData {
  return {
    name: 'sessions',
    async exportOf(accountId) {
      const list = await sessions.list(accountId);
      return list.map(({ createdAt, lastSeenAt, agent, country, method }) => {
        const times = {
          createdAt: dateTextOrNull(createdAt),
          lastSeenAt: dateTextOrNull(lastSeenAt),
        };
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

function secondFactorData(store: Store): PersonalData {
  return {
    name: 'secondFactor',
    async exportOf(accountId) {
      const { enabled, enabledAt, backupCodesLeft } = await factorStateOf(store, accountId);
      return { enabled, enabledAt: dateTextOrNull(enabledAt), backupCodesLeft };
    },
    erase: (accountId) => deleteRows(store, [secondFactorKey(accountId)]),
  };
}

function trustedBrowserData(store: Store): PersonalData {
  return {
    name: 'trustedBrowsers',
    async exportOf(accountId) {
      return (await trustsOf(store, accountId)).map(({ trust: { since, agent, country } }) => {
        const times = { since: dateTextOrNull(since), endsAt: dateTextOrNull(since + trustLifeMs) };
        return { ...times, agent, country };
      });
    },
    erase: async (accountId) => deleteRows(store, await trustKeysOf(store, accountId)),
  };
}

function passkeyData(store: Store): PersonalData {
  return {
    name: 'passkeys',
    async exportOf(accountId) {
      const list = await passkeysOf(store, accountId);
      return list.map(({ record: { name, createdAt, lastUsedAt } }) => {
        return {
          name,
          createdAt: dateTextOrNull(createdAt),
          lastUsedAt: dateTextOrNull(lastUsedAt),
        };
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

function securityLogData(securityLog: SecurityLog): PersonalData {
  return {
    name: 'securityLog',
    async exportOf(accountId) {
      const entries = await securityLog.list(accountId);
      return entries.map(({ at, ...rest }) => ({ at: dateTextOrNull(at), ...rest }));
    },
    erase: (accountId) => securityLog.clear(accountId),
  };
}

/** Open links, codes, waiting mails, and files of the outbox. The export has none of them. */
function messageData(store: Store, outbox: Pick<Outbox, 'forget'>): PersonalData {
  /** Rows of this kind have random keys, so all are read. */
  async function eraseAmong(
    prefix: Key,
    isOwn: (value: Uint8Array) => boolean,
    scheduler: Scheduler,
  ) {
    for await (const page of pagesUnder(store, prefix, { limit: pageRows })) {
      const own = page.filter(({ value }) => isOwn(value)).map(({ key }) => key);
      if (own.length > 0) await deleteRows(store, own);
      if (scheduler.shouldYield()) await scheduler.yield();
    }
  }

  return {
    name: 'messages',
    exportOf: async () => undefined,
    async erase(accountId, email, scheduler) {
      await deleteRows(store, [phoneCodeKey(accountId)]);
      const isOwnLink = (value: Uint8Array) => linkAccountOf(createReader(value)) === accountId;
      await eraseAmong(signonLinkPrefix(), isOwnLink, scheduler);
      await eraseAmong(noticePrefix(accountId), () => true, scheduler);
      // These are the decisions of its agents, for its bouncers alone.
      await eraseAmong(agentBanPrefix(accountId), () => true, scheduler);
      await outbox.forget(email);
      await outbox.forget(accountId);
    },
  };
}

function groupData(store: Store): PersonalData {
  return {
    name: 'groups',
    exportOf: (accountId) => groupsOf(store, accountId),
    erase: (accountId) => deleteRows(store, [accountGroupsKey(accountId)]),
  };
}

function profileData(tools: Tools): PersonalData {
  return {
    name: 'profile',
    exportOf: (accountId) => createProfiles(tools).load(accountId),
    erase: (accountId) => deleteRows(tools.store, [profileKey(accountId)]),
  };
}

function consentData(store: Store, consents: Consents): PersonalData {
  return {
    name: 'connectedSites',
    async exportOf(accountId) {
      return (await consents.list(accountId)).map((site) => ({
        ...site,
        grantedAt: dateTextOrNull(site.grantedAt),
        changedAt: dateTextOrNull(site.changedAt),
        lastUsedAt: dateTextOrNull(site.lastUsedAt ?? 0),
      }));
    },
    async erase(accountId) {
      if (!(await consents.revoke(accountId, undefined, 'deleted')).ok) {
        throw new Error('the consents could not be removed');
      }
      await deleteRows(store, siteNewsKeysOf(accountId));
    },
  };
}

function siteKeyData(siteKeys: SiteKeys): PersonalData {
  return {
    name: 'siteKeys',
    async exportOf(accountId) {
      return (await siteKeys.ofAccount(accountId)).map(({ id, createdAt, hosts, least }) => {
        return { id, createdAt: dateTextOrNull(createdAt), hosts, level: least };
      });
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
  };
}
