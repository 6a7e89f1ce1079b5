/**
 * Groups of accounts, and the sites that are open to groups alone. A site without a rule is open to all; a rule
 * holds for the names below its domain, too, unless one of them has its own. Both the client and the host that the
 * answer goes to must be open to a person: a parent's name is no way to a site below it.
 *
 * Rules and memberships are read at each authorisation, and a commit that gives a code checks that they are
 * still those that were read. A group is there as long as it has a member; a rule that names an empty one lets
 * nobody in.
 */

import { decodeAccount } from '../../access/accounts/records.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { type Change, commitOnce, retryOnConflict } from '../../storage/change.ts';
import {
  accountGroupsKey,
  accountGroupsPrefix,
  accountKey,
  readTexts,
  siteAccessKey,
  siteAccessPrefix,
} from '../../storage/keys.ts';
import { list, record, text } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type Store } from '../../storage/store.ts';
import { erasureCheck } from '../people.ts';

/** Names of groups. `all` is none: it stands for everybody. */
const groupPattern = /^(?!all$)[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
export const groupsMax = 256;
export const groupsPerAccountMax = 16;
export const groupsPerSiteMax = 16;
const restrictedSitesMax = 1_024;

const memberships = record<{ readonly groups: readonly string[] }>(1, { groups: list(text) });
/** No groups: open to all, whatever a domain above it gets. */
const rules = record<{ readonly groups: readonly string[] }>(1, { groups: list(text) });

const notAGroup = fail(
  'invalid_parameter',
  'a group is named by 1 to 32 of a-z, 0-9 and -, and not all',
  'group',
);

/** A site as the operator's rules see it. */
export interface RuledSite {
  readonly clientId: string;
  /** The origin that answers go to: on the client's domain, or below it. */
  readonly origin: string;
}

/** @param namesOver the client's name and those above it, then those down to the host; the shortest first */
export function createSiteAccess(
  store: Store,
  namesOver: (clientId: string, host?: string) => string[],
) {
  /** Returns whether the account may use the site, and the checks for a commit that depends on it. */
  async function admits({ clientId, origin }: RuledSite, accountId: string) {
    const names = namesOver(clientId, new URL(origin).hostname);
    const keys = names.map(siteAccessKey);
    const found = await Promise.all(keys.map((key) => store.get(key)));
    const check: RowCheck[] = keys.map((key, i) => ({ key, version: found[i]?.version ?? null }));
    const ofClient = found.slice(0, namesOver(clientId).length);
    const closed = [ofClient, found]
      .flatMap((rows) => rows.findLast((one) => one !== undefined) ?? [])
      // A damaged rule lets nobody in.
      .map(({ value }) => rules.decode(value)?.groups)
      .filter((allowed) => allowed?.length !== 0);
    if (closed.length === 0) return { isAllowed: true, check };
    const key = accountGroupsKey(accountId);
    const own = await store.get(key);
    const groups = (own && memberships.decode(own.value))?.groups ?? [];
    return {
      isAllowed: closed.every((allowed) => allowed?.some((group) => groups.includes(group))),
      check: [...check, { key, version: own?.version ?? null }],
    };
  }

  /**
   * Opens a domain to these groups alone; none of them: to all. `conflict`: there is no such group;
   * `capacity_exceeded`: too many sites have a rule.
   * @param domain one that `namesOver` knows
   */
  async function restrict(
    domain: string,
    groups: readonly string[],
  ): Promise<Result<{ readonly domain: string; readonly groups: readonly string[] }>> {
    const names = [...new Set(groups)].sort();
    if (!names.every((name) => groupPattern.test(name))) return notAGroup;
    if (names.length > groupsPerSiteMax) {
      return fail('invalid_parameter', `a site is open to at most ${groupsPerSiteMax} groups`);
    }
    const known = names.length === 0 ? new Map() : await listGroups(store);
    const unexpected = names.find((name) => !known.has(name));
    if (unexpected !== undefined) {
      return fail(
        'conflict',
        `nobody is in a group ${unexpected}: add its first member before`,
        'groups',
      );
    }
    const key = siteAccessKey(domain);
    return retryOnConflict(async () => {
      const before = await store.get(key);
      // Below another name the word stays, for that one may get a rule later.
      const isPlain = names.length === 0 && namesOver(domain).every((name) => name === domain);
      if (
        !isPlain &&
        before === undefined &&
        (await listGroupRules(store)).length >= restrictedSitesMax
      ) {
        return fail('capacity_exceeded', `${restrictedSitesMax} sites have a rule`);
      }
      const done = await commitOnce(store, {
        check: [{ key, version: before?.version ?? null }],
        ...(isPlain
          ? { set: [], del: [key] }
          : { set: [{ key, value: rules.encode({ groups: names }) }] }),
      });
      return done === 'conflict' || !done.ok ? done : ok({ domain, groups: names });
    });
  }

  return { admits, restrict };
}

export type SiteAccess = ReturnType<typeof createSiteAccess>;

/** Returns the domains with a rule and the groups that each is open to; none: to all. */
export async function listGroupRules(
  store: Store,
): Promise<{ readonly domain: string; readonly groups: readonly string[] }[]> {
  const found = [];
  for await (const page of pagesUnder(store, siteAccessPrefix())) {
    for (const { key, value } of page) {
      const [domain = ''] = readTexts(key);
      found.push({ domain, groups: rules.decode(value)?.groups ?? [] });
    }
  }
  return found;
}

export async function listGroups(store: Store): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  const scheduler = createScheduler();
  for await (const page of pagesUnder(store, accountGroupsPrefix())) {
    for (const { key, value } of page) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const [account = ''] = readTexts(key);
      for (const group of memberships.decode(value)?.groups ?? []) {
        const members = found.get(group);
        if (members === undefined) found.set(group, [account]);
        else members.push(account);
      }
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export async function groupsOf(store: Store, accountId: string): Promise<readonly string[]> {
  const row = await store.get(accountGroupsKey(accountId));
  return (row && memberships.decode(row.value))?.groups ?? [];
}

/** Changes the groups of an account in one commit, which an account's end can't overtake. */
async function changeGroups(
  store: Store,
  accountId: string,
  change: (groups: readonly string[]) => Result<readonly string[]>,
): Promise<Result<readonly string[]>> {
  const key = accountGroupsKey(accountId);
  return retryOnConflict(async (): Promise<Change<readonly string[]>> => {
    const [accountRow, row] = await Promise.all([store.get(accountKey(accountId)), store.get(key)]);
    const account = accountRow && decodeAccount(accountRow.value);
    if (!accountRow || !account) return fail('unknown_account');
    if (account.pendingUntil !== 0) return fail('conflict', `${account.email} is not verified yet`);
    const groups = change((row && memberships.decode(row.value))?.groups ?? []);
    if (!groups.ok) return groups;
    const isEmpty = groups.value.length === 0;
    const done = await commitOnce(store, {
      check: [
        { key, version: row?.version ?? null },
        { key: accountKey(accountId), version: accountRow.version },
        erasureCheck(accountId),
      ],
      set: isEmpty ? [] : [{ key, value: memberships.encode({ groups: groups.value }) }],
      del: isEmpty ? [key] : [],
    });
    return done === 'conflict' || !done.ok ? done : groups;
  });
}

/** `capacity_exceeded`: there are too many groups, or the account is in too many. */
export async function addToGroup(
  store: Store,
  accountId: string,
  group: string,
): Promise<Result<readonly string[]>> {
  if (!groupPattern.test(group)) return notAGroup;
  const known = await listGroups(store);
  if (!known.has(group) && known.size >= groupsMax) {
    return fail('capacity_exceeded', `there are ${groupsMax} groups`);
  }
  return changeGroups(store, accountId, (groups) => {
    if (groups.includes(group)) return ok(groups);
    if (groups.length >= groupsPerAccountMax) {
      return fail('capacity_exceeded', `an account is in at most ${groupsPerAccountMax} groups`);
    }
    return ok([...groups, group].sort());
  });
}

/** `conflict`: the account is not in the group. */
export function removeFromGroup(
  store: Store,
  accountId: string,
  group: string,
): Promise<Result<readonly string[]>> {
  return changeGroups(store, accountId, (groups) =>
    groups.includes(group)
      ? ok(groups.filter((one) => one !== group))
      : fail('conflict', `the account is not in the group ${group.slice(0, 32)}`),
  );
}
