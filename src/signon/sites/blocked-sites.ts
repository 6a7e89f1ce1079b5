/**
 * Sites that the operator blocks: a domain, and every name below it. The rows are read at each request that
 * depends on them, so a block holds at once and on all nodes; a commit that gives a code or a profile also
 * checks that there is none.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed, written } from '../../storage/change.ts';
import { blockedSiteKey, blockedSitePrefix, readTexts } from '../../storage/keys.ts';
import { bareRecord, time } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type Store } from '../../storage/store.ts';
import { type ClientRules, parseClientId } from './client-id.ts';

export interface BlockedSite {
  readonly domain: string;
  readonly blockedAt: number;
}

/** The labels before the registered domain that count: a name with hundreds of labels must not cost a row each. */
const deeperMax = 4;
const rows = bareRecord<{ blockedAt: number }>({ blockedAt: time });

export function createBlockedSites(options: { store: Store; clock: Clock; rules: ClientRules }) {
  const { store, clock, rules } = options;

  /** Returns the names by which a client can be blocked: its own, and those above it down to the registered domain. */
  function namesOver(clientId: string): string[] {
    const client = parseClientId(clientId, rules);
    // Under changed settings the name may no longer be a client.
    if (!client.ok) return [clientId];
    const labels = clientId.split('.');
    const least = client.value.registrable.split('.').length;
    const most = Math.min(labels.length, least + deeperMax);
    return Array.from({ length: most - least + 1 }, (_, i) => labels.slice(-(least + i)).join('.'));
  }

  /** Returns the blocked sites in order of their domains. */
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

  return {
    list,
    namesOver,
    async isBlocked(clientId: string): Promise<boolean> {
      const keys = namesOver(clientId).map(blockedSiteKey);
      const found = await Promise.all(keys.map((key) => store.get(key)));
      return found.some((row) => row !== undefined);
    },
    /** Returns the checks for a commit that the client was not blocked meanwhile. */
    checks: (clientId: string): RowCheck[] =>
      namesOver(clientId).map((name) => ({ key: blockedSiteKey(name), version: null })),
    /** Blocks a domain; one that is blocked stays so. `invalid_client_id` for what can't be a site. */
    async block(typed: string): Promise<Result<BlockedSite>> {
      const domain = typed.trim().toLowerCase();
      const client = parseClientId(domain, rules);
      if (!client.ok) return fail(client.error, 'This is not the domain of a site.');
      if (!namesOver(domain).includes(domain)) {
        return fail('invalid_client_id', 'The name has too many labels: block one above it.');
      }
      return untilUndisturbed(async () => {
        const key = blockedSiteKey(domain);
        const row = await store.get(key);
        const before = row && rows.decode(row.value);
        if (before !== undefined) return ok({ domain, ...before });
        const value = { blockedAt: clock.now() };
        const done = await commitOnce(store, {
          check: [{ key, version: row?.version ?? null }],
          set: [{ key, value: rows.encode(value) }],
        });
        return written(done, { domain, ...value });
      });
    },
    /** `conflict` when this very domain is not blocked. */
    async unblock(typed: string): Promise<Result<BlockedSite>> {
      const domain = typed.trim().toLowerCase();
      return untilUndisturbed(async () => {
        const key = blockedSiteKey(domain);
        const row = await store.get(key);
        if (row === undefined) return fail('conflict', `${domain} is not blocked`);
        const blockedAt = rows.decode(row.value)?.blockedAt ?? 0;
        const done = await commitOnce(store, {
          check: [{ key, version: row.version }],
          del: [key],
        });
        return written(done, { domain, blockedAt });
      });
    },
  };
}

export type BlockedSites = ReturnType<typeof createBlockedSites>;
