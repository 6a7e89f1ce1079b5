/**
 * The sites that people sign in to, for the operator: how many each has, how many came lately, and
 * what is blocked. There is no index by site: all consents are counted, in slices, and the count is
 * kept for a while and shared by all who ask, so that counting takes a twentieth of the time at
 * most. Of more than 20,000 sites those are counted that were met first, and the list says so.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Scheduler } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import { commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import {
  blockedSiteKey,
  blockedSitePrefix,
  consentPrefix,
  consentUsePrefix,
  type Key,
  readTexts,
} from '../../storage/keys.ts';
import { bareRecord, time } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type Store, type StoredRow } from '../../storage/store.ts';
import { type ClientRules, parseClientId } from './client-id.ts';
import { readConsentUse } from './consents.ts';
import { listGroupRules, type RuledSite } from './groups.ts';

// Sites that the operator blocks: a domain, and every name below it, as client and as the host that answers go to.
// The rows are read at each request that depends on them, so a block holds at once and on all nodes; a commit that
// gives a code or a profile also checks that there is none.

interface BlockedSite {
  readonly domain: string;
  readonly blockedAt: number;
}

/** The labels before the registered domain that count: a name with hundreds of labels must not cost a row each. */
const deeperMax = 4;
const rows = bareRecord<{ blockedAt: number }>({ blockedAt: time });

export function createBlockedSites(options: { store: Store; clock: Clock; rules: ClientRules }) {
  const { store, clock, rules } = options;

  /**
   * Returns the names by which a client can be blocked: its own, and those above it down to the registered
   * domain; the shortest first.
   * @param host the host that the answer goes to: the client's names come first, then those below it
   */
  function namesOver(clientId: string, host = clientId): string[] {
    const client = parseClientId(clientId, rules);
    // Under changed settings the name may no longer be a client.
    if (!client.ok) return [...new Set([clientId, host])];
    const labels = host.split('.');
    const least = client.value.registrable.split('.').length;
    const most = Math.min(labels.length, least + deeperMax);
    return Array.from({ length: most - least + 1 }, (_, i) => labels.slice(-(least + i)).join('.'));
  }

  async function list(): Promise<BlockedSite[]> {
    const found: BlockedSite[] = [];
    for await (const page of pagesUnder(store, blockedSitePrefix())) {
      for (const { key, value } of page) {
        const [domain = ''] = readTexts(key);
        found.push({ domain, blockedAt: rows.decode(value)?.blockedAt ?? 0 });
      }
    }
    return found;
  }

  const keysOf = ({ clientId, origin }: RuledSite) =>
    namesOver(clientId, new URL(origin).hostname).map(blockedSiteKey);

  return {
    list,
    namesOver,
    async isBlocked(site: RuledSite): Promise<boolean> {
      const keys = keysOf(site);
      const found = await Promise.all(keys.map((key) => store.get(key)));
      return found.some((row) => row !== undefined);
    },
    /** Returns the checks for a commit that the site was not blocked meanwhile. */
    checks: (site: RuledSite): RowCheck[] => keysOf(site).map((key) => ({ key, version: null })),
    /** Blocks a domain; one that is blocked stays so. `invalid_client_id` for what can't be a site. */
    async block(typed: string): Promise<Result<BlockedSite>> {
      const domain = typed.trim().toLowerCase();
      const client = parseClientId(domain, rules);
      if (!client.ok) return fail(client.error, 'This is not the domain of a site.');
      if (!namesOver(domain).includes(domain)) {
        return fail('invalid_client_id', 'The name has too many labels: block one above it.');
      }
      return retryOnConflict(async () => {
        const key = blockedSiteKey(domain);
        const row = await store.get(key);
        const before = row && rows.decode(row.value);
        if (before !== undefined) return ok({ domain, ...before });
        const value = { blockedAt: clock.now() };
        const done = await commitOnce(store, {
          check: [{ key, version: row?.version ?? null }],
          set: [{ key, value: rows.encode(value) }],
        });
        return withValue(done, { domain, ...value });
      });
    },
    /** `conflict` when this very domain is not blocked. */
    async unblock(typed: string): Promise<Result<BlockedSite>> {
      const domain = typed.trim().toLowerCase();
      return retryOnConflict(async () => {
        const key = blockedSiteKey(domain);
        const row = await store.get(key);
        if (row === undefined) return fail('conflict', `${domain} is not blocked`);
        const blockedAt = rows.decode(row.value)?.blockedAt ?? 0;
        const done = await commitOnce(store, {
          check: [{ key, version: row.version }],
          del: [key],
        });
        return withValue(done, { domain, blockedAt });
      });
    },
  };
}

export type BlockedSites = ReturnType<typeof createBlockedSites>;

interface CountedSite {
  readonly domain: string;
  /** The accounts that decided what it may read. */
  readonly visitors: number;
  /** The visitors whose last sign-in there was within 24 hours; `week`: within 7 days. */
  readonly day: number;
  readonly week: number;
  /** Undefined: no code was ever exchanged. */
  readonly lastUsedAt: number | undefined;
}

interface ListedSite extends CountedSite {
  /** Undefined: the sums are not known here. */
  readonly signIns: SignInSums | undefined;
  /** The domain that is blocked: its own, or one above it. */
  readonly blockedBy: string | undefined;
  /** The groups that it is open to alone, by its own rule or that of a name above it; none: it is open to all. */
  readonly groups: readonly string[];
}

/** The numbers of codes that were exchanged: today (UTC), and in 7 and 30 days with today. */
export interface SignInSums {
  readonly today: number;
  readonly week: number;
  readonly month: number;
}

interface SitePage {
  /** The sites, those without visitors that are blocked or have a rule first, then by the number of visitors. */
  readonly sites: readonly ListedSite[];
  readonly found: number;
  readonly countedAt: number;
  /** There are more sites than are counted. */
  readonly isCut: boolean;
}

interface Count {
  readonly sites: readonly CountedSite[];
  readonly domains: ReadonlySet<string>;
  readonly countedAt: number;
  readonly isCut: boolean;
  /** The time from which it may be made anew. */
  readonly oldAt: number;
}

export const sitesMax = 20_000;
/** A count holds this long, and twenty times as long as it took. */
const keptMs = 3_000;
const keptTimes = 20;
const noSignIns: SignInSums = { today: 0, week: 0, month: 0 };

export function createSiteList(options: {
  store: Store;
  clock: Clock;
  blocked: Pick<BlockedSites, 'list' | 'namesOver'>;
  scheduler: () => Scheduler;
  /** Returns the sums of each site that has some; undefined: they are not known here. */
  signIns: (nowMs: number) => Promise<ReadonlyMap<string, SignInSums> | undefined>;
  /** The limit of sites that are counted. */
  max?: number;
}) {
  const { store, clock, blocked, max = sitesMax } = options;
  let kept: Count | undefined;
  let counting: Promise<Count> | undefined;

  async function each(
    prefix: Key,
    scheduler: Scheduler,
    visit: (entry: StoredRow) => void,
  ): Promise<void> {
    for await (const page of pagesUnder(store, prefix)) {
      for (const entry of page) {
        if (scheduler.shouldYield()) await scheduler.yield();
        visit(entry);
      }
    }
  }

  async function count(): Promise<Count> {
    const scheduler = options.scheduler();
    const startedAt = clock.now();
    const useBySite = new Map<
      string,
      { visitors: number; day: number; week: number; last: number }
    >();
    let isCut = false;
    let before = '';
    // Rows of an account at a site lie side by side, one for each address that it is sent to.
    await each(consentPrefix(), scheduler, ({ key }) => {
      const [account, clientId = ''] = readTexts(key);
      const one = `${account} ${clientId}`;
      if (one === before) return;
      before = one;
      const uses = useBySite.get(clientId);
      if (uses !== undefined) uses.visitors++;
      else if (useBySite.size >= max) isCut = true;
      else useBySite.set(clientId, { visitors: 1, day: 0, week: 0, last: 0 });
    });
    let use = { one: '', clientId: '', at: 0 };
    function addUse(): void {
      const uses = useBySite.get(use.clientId);
      if (uses === undefined) return;
      uses.last = Math.max(uses.last, use.at);
      if (use.at > startedAt - dayMs) uses.day++;
      if (use.at > startedAt - 7 * dayMs) uses.week++;
    }
    await each(consentUsePrefix(), scheduler, ({ key, value }) => {
      const [account, clientId = ''] = readTexts(key);
      const one = `${account} ${clientId}`;
      const at = readConsentUse(value)?.at ?? 0;
      if (one === use.one) {
        use.at = Math.max(use.at, at);
        return;
      }
      addUse();
      use = { one, clientId, at };
    });
    addUse();
    const sites = [...useBySite]
      .map(([domain, { visitors, day, week, last }]) => {
        return { domain, visitors, day, week, lastUsedAt: last === 0 ? undefined : last };
      })
      .sort((a, b) => b.visitors - a.visitors || (a.domain < b.domain ? -1 : 1));
    const countedAt = clock.now();
    const oldAt = countedAt + Math.max(keptMs, keptTimes * (countedAt - startedAt));
    return { sites, domains: new Set(useBySite.keys()), countedAt, isCut, oldAt };
  }

  /** The one that is kept, while a new one is made; who comes first waits for it. */
  async function counted(): Promise<Count> {
    if (kept !== undefined && clock.now() < kept.oldAt) return kept;
    counting ??= count()
      .then((done) => {
        kept = done;
        return done;
      })
      .finally(() => {
        counting = undefined;
      });
    if (kept === undefined) return counting;
    // The error matters only to callers that wait for the first count.
    counting.catch(() => undefined);
    return kept;
  }

  return {
    /** @param part a part of the domain; all sites when it is empty */
    async page({
      part,
      skip,
      limit,
    }: {
      part: string;
      skip: number;
      limit: number;
    }): Promise<SitePage> {
      const [{ sites, domains, countedAt, isCut }, blocks, rules, signIns] = await Promise.all([
        counted(),
        blocked.list(),
        listGroupRules(store),
        options.signIns(clock.now()),
      ]);
      const names = new Set(blocks.map(({ domain }) => domain));
      const none = { visitors: 0, day: 0, week: 0, lastUsedAt: undefined };
      const groupsOf = new Map(rules.map(({ domain, groups }) => [domain, groups]));
      const ruled = rules.filter(({ groups }) => groups.length > 0).map(({ domain }) => domain);
      const alone = [...new Set([...names, ...ruled])].filter((domain) => !domains.has(domain));
      const all = [...alone.map((domain) => ({ domain, ...none })), ...sites];
      const meant = all.filter(({ domain }) => domain.includes(part));
      const shown = meant.slice(skip, skip + limit).map((site) => {
        const over = blocked.namesOver(site.domain);
        return {
          ...site,
          signIns: signIns && (signIns.get(site.domain) ?? noSignIns),
          blockedBy: over.find((name) => names.has(name)),
          groups: groupsOf.get(over.findLast((name) => groupsOf.has(name)) ?? '') ?? [],
        };
      });
      return { sites: shown, found: meant.length, countedAt, isCut };
    },
  };
}
