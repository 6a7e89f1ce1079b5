/**
 * The operator's ranges: the allowlist, and own entries, which are what the operator says of a range by hand, with a score, as if one list more
 * named it. The record holds the note, which nobody else sees; the journal event is what the index follows.
 *
 * An entry that ends is ended by an event, so that every node ends it at the same place.
 */

import { capacities } from '../../config.ts';
import { fail, type Result } from '../../core/result.ts';
import { parseIp } from '../../ip/address.ts';
import { contains, formatPrefix, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { typedAddress } from '../../ip/typed.ts';
import { readPrefix } from '../../ip/written.ts';
import { allowKey, allowPrefix, ownEntryKey, ownEntryPrefix } from '../../storage/keys.ts';
import { categoryMax } from '../reports/categories.ts';
import {
  allowAdded,
  allowRemoved,
  entryRemoved,
  entrySet,
  type OwnEntryFacts,
} from '../state/events.ts';
import { createRowSink } from './import/rows.ts';
import { type AllowRow, allowRow, type OwnRow, type OwnTerms, ownEntryRow } from './range-rows.ts';
import { createRangeTable, type Ranged, type RangeParts, remarkFault } from './range-table.ts';

export type OwnEntry = Ranged<OwnRow>;

export interface OwnEntries {
  /** In place of what was set before. */
  add(prefix: string, terms: OwnTerms): Promise<Result<OwnEntry>>;
  /** `not_found` when there is no such entry. */
  remove(prefix: string): Promise<Result<OwnEntry>>;
  /** @param part of the range or of the note, or an address in the range; empty: all */
  list(part?: string): Promise<OwnEntry[]>;
  /** Ends it if its time is over. @returns whether it was */
  end(prefix: string): Promise<boolean>;
}

/** The latest end, ms since 1970: seconds of the journal's events are 32 bits. */
const endsAtMax = 0xffff_ffff * 1_000;

export function createOwnEntries(parts: RangeParts & { readonly entriesMax?: number }): OwnEntries {
  const { clock, entriesMax = capacities.ownEntries } = parts;
  const table = createRangeTable<OwnRow>(parts, {
    ledger: 'own_entries',
    rowsMax: entriesMax,
    full: `there are ${entriesMax} own entries already: load more as a list`,
    missing: 'is no own entry',
    codec: ownEntryRow,
    keyOf: ownEntryKey,
    under: ownEntryPrefix,
    // The former entry stands in the journal once more: an undo of events needs it.
    events: (prefix, before, after, id) => [
      ...(before === undefined ? [] : [entryRemoved.encode(id(), factsOf(prefix, before))]),
      ...(after === undefined ? [] : [entrySet.encode(id(), factsOf(prefix, after))]),
    ],
  });

  return {
    async add(prefix, terms) {
      const now = clock.now();
      const fault = rangeFault(prefix) ?? termsFault(terms, now) ?? remarkFault(terms.note);
      return fault ?? (await table.put(prefix, { ...terms, setAt: wholeSeconds(now) }));
    },
    remove: (prefix) => table.remove(prefix),
    async list(part = '') {
      const all = await table.list();
      return part === '' ? all : all.filter(matching(part));
    },
    async end(prefix) {
      const done = await table.remove(
        prefix,
        ({ endsAt }) => endsAt !== 0 && endsAt <= clock.now(),
      );
      return done.ok;
    },
  };
}

function factsOf(prefix: Prefix, { score, category, setAt, endsAt }: OwnRow): OwnEntryFacts {
  return { ...prefix, score, category, setSecond: setAt / 1_000, endSecond: endsAt / 1_000 };
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** The rules of a list's rows: a typing slip must not block a part of the Internet, or the operator's own net. */
function rangeFault(text: string): Result<never> | undefined {
  const prefix = readPrefix(typedAddress(text));
  if (!prefix.ok) return prefix;
  // Nobody has a documentation address: demos and tests may name one.
  const sink = createRowSink({ allowDocumentation: true });
  const reason = sink.entry(formatPrefix(prefix.value), 0);
  if (reason !== undefined) return fail('invalid_prefix', `The range ${reason}.`);
  if (sink.stats.notPublic === 0) return undefined;
  return fail('invalid_prefix', 'The range is not public, or holds addresses that are not.');
}

function termsFault(terms: OwnTerms, now: number): Result<never> | undefined {
  const { score, category, endsAt } = terms;
  if (!Number.isInteger(score) || score < 1 || score > 100) {
    return fail('invalid_parameter', 'a score is a whole number from 1 to 100');
  }
  if (!Number.isInteger(category) || category < 0 || category > categoryMax) {
    return fail('invalid_parameter', `a category is a number from 1 to ${categoryMax}`);
  }
  if (endsAt !== 0 && !(endsAt > now && endsAt <= endsAtMax && endsAt % 1_000 === 0)) {
    return fail('invalid_parameter', 'the end must lie ahead, in this century');
  }
  return undefined;
}

function matching(typed: string): (entry: OwnEntry) => boolean {
  const part = typedAddress(typed);
  const words = new Uint32Array(4);
  const family = parseIp(part, words);
  const sought = part.toLowerCase();
  return ({ prefix, note }) => {
    if (prefix.includes(sought) || note.toLowerCase().includes(sought)) return true;
    const range = family === 0 ? undefined : parsePrefix(prefix);
    return range?.ok === true && family !== 0 && contains(range.value, family, words);
  };
}

export type AllowRule = Ranged<AllowRow>;

/**
 * Ranges that are never malicious and never in a feed. The record holds why and since when; the journal
 * event is what the index follows.
 */
interface Allowlist {
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
