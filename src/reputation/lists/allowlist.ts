/**
 * The operator's allowlist: ranges that are never malicious and never in a feed. The record
 * holds why and since when; the journal event is what the index follows.
 */

import { capacities } from '../../config.ts';
import type { Result } from '../../core/result.ts';
import { allowKey, allowPrefix } from '../../storage/keys.ts';
import { allowAdded, allowRemoved } from '../state/events.ts';
import { type AllowRow, allowRow } from './range-rows.ts';
import { createRangeTable, type Ranged, type RangeParts, remarkFault } from './range-table.ts';

export type AllowRule = Ranged<AllowRow>;

export interface Allowlist {
  /** Adding a rule that exists replaces its reason. */
  add(prefix: string, reason: string): Promise<Result<AllowRule>>;
  /** `not_found` when there is no such rule. */
  remove(prefix: string): Promise<Result<AllowRule>>;
  list(): Promise<AllowRule[]>;
}

export function createAllowlist(parts: RangeParts & { readonly rulesMax?: number }): Allowlist {
  const { clock, rulesMax = capacities.allowRules } = parts;
  const table = createRangeTable<AllowRow>(parts, {
    ledger: 'allow_rules',
    rowsMax: rulesMax,
    full: `the allowlist is full: ${rulesMax} rules`,
    missing: 'is not on the allowlist',
    codec: allowRow,
    keyOf: allowKey,
    under: allowPrefix,
    events(prefix, before, after, id) {
      // Another reason is none of the index's business, and who takes events back must not take the rule.
      if (before !== undefined && after !== undefined) return [];
      return [(after === undefined ? allowRemoved : allowAdded).encode(id(), prefix)];
    },
  });
  return {
    add: async (prefix, reason) =>
      remarkFault(reason) ?? (await table.put(prefix, { addedAt: clock.now(), reason })),
    remove: (prefix) => table.remove(prefix),
    list: table.list,
  };
}
