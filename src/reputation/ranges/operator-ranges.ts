/**
 * The operator's ranges: the allowlist, and manual entries, which are what the operator says of a range by
 * hand, with a score, as if one list more named it. Each is a row, bounded in number, with the journal events
 * that the index follows in the same commit; reasons and notes, which nobody else sees, stand in the row alone.
 * A row that had no effect because the index is full would be worse than none, so it is refused unless the
 * index has capacity for it.
 *
 * A row may name a group of networks in place of a range: an autonomous system or a country. It has no event of its
 * own: the server writes the networks of the group as a list (groups.ts), which goes with the row.
 *
 * An entry that ends is ended by an event, so that every node ends it at the same place.
 */

import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { faultOfCountry, groupName, parseNetworkGroup } from '../../geo/network-groups.ts';
import { readIp } from '../../ip/address.ts';
import { embeddedNetwork } from '../../ip/embedded-ipv4.ts';
import { parseOperatorPrefix } from '../../ip/operator-prefix.ts';
import { contains, formatPrefix, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { isSpecialUse } from '../../ip/special.ts';
import { typedAddress } from '../../ip/typed-address.ts';
import { commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import {
  allowKey,
  allowPrefix,
  type Key,
  manualEntryKey,
  manualEntryPrefix,
} from '../../storage/keys.ts';
import { type LedgerTable, readLedger } from '../../storage/ledger.ts';
import {
  type NewEvent,
  pagesUnder,
  type RowCheck,
  type SetRow,
  type Store,
} from '../../storage/store.ts';
import { ensureCapacity } from '../lists/capacity.ts';
import { createRowSink, isPrefixTooWide, tooWide } from '../lists/import/rows.ts';
import { findList, loadList } from '../lists/load-list.ts';
import { listOfGroup } from '../lists/sources.ts';
import { categoryMax } from '../reports/categories.ts';
import {
  type AllowRow,
  allowAdded,
  allowRemoved,
  allowRow,
  entryRemoved,
  entrySet,
  type ManualEntryFacts,
  type ManualEntryRow,
  type ManualEntryTerms,
  manualEntryRow,
} from '../state/events.ts';

interface RangeParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** `prefix`: canonical CIDR text, or the name of a group of networks. */
type WithPrefix<T> = T & { readonly prefix: string };

type ListedRange<T> = WithPrefix<T> & { readonly networks?: number | null };

interface RangeKind<T> {
  readonly ledger: LedgerTable;
  /** The kind of list that the networks of a group stand in. */
  readonly list: 'seed' | 'allow';
  readonly rowsMax: number;
  /** Such as `the allowlist is full: 10 rules`. */
  readonly full: string;
  /** Words that stand behind the range, such as `is not on the allowlist`. */
  readonly missing: string;
  readonly codec: { encode(row: T): Uint8Array; decode(bytes: Uint8Array): T | undefined };
  readonly keyOf: (prefix: string) => Key;
  readonly under: () => Key;
  readonly events: (
    prefix: Prefix,
    before: T | undefined,
    after: T | undefined,
    /** Makes the id of one of the events. */
    id: () => string,
  ) => NewEvent[];
}

const reasonLengthMax = 200;

/** Returns undefined for a remark that a range can have. */
function remarkFault(text: string): Result<never> | undefined {
  if (text.length <= reasonLengthMax && !/\p{C}/u.test(text)) return undefined;
  return fail(
    'invalid_parameter',
    `a reason has at most ${reasonLengthMax} characters, none of them control characters`,
  );
}

interface NamedRange {
  readonly name: string;
  /** Undefined for a group of networks. */
  readonly prefix: Prefix | undefined;
}

/** Reads an address or network, or the name of a group of networks. */
function readNamed(text: string): Result<NamedRange> {
  const typed = typedAddress(text);
  const group = parseNetworkGroup(typed);
  if (typeof group === 'string') return fail('invalid_prefix', group);
  if (group !== undefined) return ok({ name: groupName(group), prefix: undefined });
  if (/^\p{L}[\p{L}\p{N} -]*$/u.test(typed)) {
    const kinds =
      'neither an address, a network, a system such as AS64500 nor a country such as FR';
    return fail('invalid_prefix', `'${typed.slice(0, shownMax)}' is ${kinds}`);
  }
  const read = parseOperatorPrefix(typed);
  return read.ok ? ok({ name: formatPrefix(read.value), prefix: read.value }) : read;
}

/** A fault repeats at most so many characters of what was typed. */
const shownMax = 60;

/**
 * Returns why nothing is said of a country by this name: it would hold no network. An older row may be
 * removed by it.
 */
function suggestionFor(name: string): string | undefined {
  return name.startsWith('AS') && name.length > 2 ? undefined : faultOfCountry(name);
}

export const isGroup = (name: string): boolean => /^[A-Z]/.test(name);

/** No address begins with a capital letter, so the names of groups stand behind this one, side by side. */
const beforeGroups = '@';

function createRangeTable<T>(parts: RangeParts, kind: RangeKind<T>) {
  const { store, clock, random } = parts;
  const { codec, keyOf, rowsMax } = kind;
  const eventId = () => createEventId(clock, random);

  async function countOneMore(prefix: Prefix | undefined) {
    const ledger = await readLedger(store, kind.ledger);
    if (ledger.used >= rowsMax) return fail('capacity_exceeded', kind.full);
    const counted = { check: [ledger.check], set: [ledger.set(ledger.used + 1)] };
    if (prefix === undefined) {
      const most = capacities.networkGroups;
      const isFull = (await groups()).length >= most;
      return isFull
        ? fail('capacity_exceeded', `${most} systems and countries are the most`)
        : ok(counted);
    }
    const { family, words, length } = prefix;
    const families = Uint8Array.of(family);
    const lengths = Uint8Array.of(length);
    const one = { count: 1, families, words, lengths, scores: new Uint8Array(1) };
    const room = await ensureCapacity(store, [one], 0, {
      entriesMax: capacities.entries,
      contributionsMax: capacities.entries * capacities.contributionsPerEntry,
    });
    return room.ok ? ok(counted) : room;
  }

  /** Writes a row in place of what was said of the range before. @returns it with the former one */
  async function put(
    text: string,
    row: T,
  ): Promise<Result<WithPrefix<T> & { readonly former: T | undefined }>> {
    const read = readNamed(text);
    if (!read.ok) return read;
    const instead = read.value.prefix === undefined ? suggestionFor(read.value.name) : undefined;
    if (instead !== undefined) return fail('invalid_prefix', instead);
    // An address of a translator or tunnel is kept as the IPv4 address behind it.
    const prefix = read.value.prefix && embeddedNetwork(read.value.prefix);
    const name = prefix === undefined ? read.value.name : formatPrefix(prefix);
    const key = keyOf(name);
    const isCounted = ok<{ check: RowCheck[]; set: SetRow[] }>({ check: [], set: [] });
    return await retryOnConflict(async () => {
      const before = await store.get(key);
      const former = before && codec.decode(before.value);
      const counted = before === undefined ? await countOneMore(prefix) : isCounted;
      if (!counted.ok) return counted;
      const done = await commitOnce(store, {
        check: [{ key, version: before?.version ?? null }, ...counted.value.check],
        set: [{ key, value: codec.encode(row) }, ...counted.value.set],
        events: prefix === undefined ? [] : kind.events(prefix, former, row, eventId),
      });
      return withValue(done, { ...row, prefix: name, former });
    });
  }

  /** `not_found` when nothing is said of the range, or nothing that `which` is true of. */
  async function remove(text: string, which?: (row: T) => boolean): Promise<Result<WithPrefix<T>>> {
    const read = readNamed(text);
    if (!read.ok) return read;
    const { name: typed, prefix: asTyped } = read.value;
    // An older row may be kept as it was written.
    const isKept = (await store.get(keyOf(typed))) !== undefined;
    const prefix = isKept || asTyped === undefined ? asTyped : embeddedNetwork(asTyped);
    const name = prefix === undefined ? typed : formatPrefix(prefix);
    const key = keyOf(name);
    const removed = await retryOnConflict(async () => {
      const found = await store.get(key);
      const row = found && codec.decode(found.value);
      if (!found || !row || which?.(row) === false) {
        return fail('not_found', `${name} ${kind.missing}`);
      }
      const ledger = await readLedger(store, kind.ledger);
      const done = await commitOnce(store, {
        check: [{ key, version: found.version }, ledger.check],
        set: [ledger.set(ledger.used - 1)],
        del: [key],
        events: prefix === undefined ? [] : kind.events(prefix, row, undefined, eventId),
      });
      return withValue(done, { ...row, prefix: name });
    });
    // The server takes back what is left by a fault here.
    if (removed.ok && prefix === undefined) await retractGroup(parts, kind.list, name);
    return removed;
  }

  /** Returns the rows that name groups, with the versions that they have. */
  async function groups(): Promise<(WithPrefix<T> & { readonly check: RowCheck })[]> {
    const rows: (WithPrefix<T> & { readonly check: RowCheck })[] = [];
    for await (const page of pagesUnder(store, kind.under(), { after: keyOf(beforeGroups) })) {
      for (const { key, value, version } of page) {
        const prefix = nameIn(key);
        if (!isGroup(prefix)) return rows;
        const row = codec.decode(value);
        if (row !== undefined) rows.push({ ...row, prefix, check: { key, version } });
      }
    }
    return rows;
  }

  /** Returns the number of a group's networks; null: the server has not written them yet. */
  async function networksOf(group: string): Promise<number | null> {
    const { row } = await findList(store, { list: kind.list, source: listOfGroup(group) });
    return row === undefined || row.loading ? null : row.rows;
  }

  /** Returns the rows in the order of their text, groups with the number of their networks. */
  async function list(): Promise<ListedRange<T>[]> {
    const rows: ListedRange<T>[] = [];
    for await (const page of pagesUnder(store, kind.under())) {
      for (const { key, value } of page) {
        const row = codec.decode(value);
        const prefix = nameIn(key);
        if (row === undefined) continue;
        const group = isGroup(prefix) ? { networks: await networksOf(prefix) } : {};
        rows.push({ ...row, prefix, ...group });
      }
    }
    return rows;
  }

  /** Returns whether there is a row for exactly this range. */
  async function has(text: string): Promise<boolean> {
    const read = parseOperatorPrefix(typedAddress(text));
    if (!read.ok) return false;
    return (await store.get(keyOf(formatPrefix(embeddedNetwork(read.value))))) !== undefined;
  }

  return { put, remove, list, has, groups };
}

function nameIn(key: Key): string {
  return Buffer.from(key.subarray(1, -1)).toString('utf8');
}

/** Takes the networks of a group back, if there are any. */
export async function retractGroup(
  parts: RangeParts,
  list: 'seed' | 'allow',
  group: string,
): Promise<Result<bigint> | undefined> {
  const ref = { list, source: listOfGroup(group) };
  if ((await findList(parts.store, ref)).row === undefined) return undefined;
  return loadList({ ...parts, ...ref, holdDays: 0, batches: [], onRows: () => {} });
}

export type ManualEntry = ListedRange<ManualEntryRow>;

/** The latest end, ms since 1970: seconds of the journal's events are 32 bits. */
const endsAtMax = 0xffff_ffff * 1_000;

export function createManualEntries(parts: RangeParts & { readonly entriesMax?: number }) {
  const { clock, entriesMax = capacities.manualEntries } = parts;
  const table = createRangeTable<ManualEntryRow>(parts, {
    ledger: 'own_entries',
    list: 'seed',
    rowsMax: entriesMax,
    full: `there are ${entriesMax} manual rules already: load more as a list`,
    missing: 'has no manual rule',
    codec: manualEntryRow,
    keyOf: manualEntryKey,
    under: manualEntryPrefix,
    // The former entry stands in the journal once more: an undo of events needs it.
    events: (prefix, before, after, id) => [
      ...(before === undefined ? [] : [entryRemoved.encode(id(), factsOf(prefix, before))]),
      ...(after === undefined ? [] : [entrySet.encode(id(), factsOf(prefix, after))]),
    ],
  });

  /** Sets an entry in place of what was set before. */
  async function add(
    prefix: string,
    terms: ManualEntryTerms,
  ): Promise<Result<ManualEntry & { readonly former: ManualEntryRow | undefined }>> {
    const now = clock.now();
    const fault = rangeFault(prefix, terms) ?? termsFault(terms, now) ?? remarkFault(terms.note);
    return fault ?? (await table.put(prefix, { ...terms, setAt: wholeSeconds(now) }));
  }

  /** @param part of the range or of the note, or an address in the range; empty: all */
  async function list(part = ''): Promise<ManualEntry[]> {
    const all = await table.list();
    return part === '' ? all : all.filter(matching(part));
  }

  /** Ends an entry that has expired. @returns whether it had */
  async function end(prefix: string): Promise<boolean> {
    const isOver = ({ endsAt }: ManualEntryRow) => endsAt !== 0 && endsAt <= clock.now();
    return (await table.remove(prefix, isOver)).ok;
  }

  const { groups } = table;
  return { add, remove: (prefix: string) => table.remove(prefix), list, end, groups };
}

function factsOf(
  prefix: Prefix,
  { score, category, setAt, endsAt }: ManualEntryRow,
): ManualEntryFacts {
  return { ...prefix, score, category, setSecond: setAt / 1_000, endSecond: endsAt / 1_000 };
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** The rules of a list's rows: a typing slip must not block a part of the Internet, or the operator's own net. */
function rangeFault(text: string, { category }: ManualEntryTerms): Result<never> | undefined {
  const read = readNamed(text);
  if (!read.ok) return read;
  const { prefix } = read.value;
  if (prefix === undefined) {
    const fault = 'a category belongs to an address or a network, not to a system or a country';
    return category === 0 ? undefined : fail('invalid_parameter', fault);
  }
  // Nobody has a documentation address: demos and tests may name one.
  const sink = createRowSink({ allowDocumentation: true });
  const reason = sink.entry(formatPrefix(prefix), 0);
  if (reason !== undefined) return fail('invalid_prefix', `The range ${reason}.`);
  if (sink.stats.notPublic === 0) return undefined;
  return fail('invalid_prefix', 'The range is not public, or holds addresses that are not.');
}

/**
 * A typing slip must not take a part of the Internet out of all feeds. A network of one's own may be as wide as
 * fc00::/7.
 */
function widthFault(text: string): Result<never> | undefined {
  const read = readNamed(text);
  if (!read.ok) return read;
  const { prefix } = read.value;
  if (prefix === undefined || !isPrefixTooWide(prefix) || isSpecialUse(prefix)) return undefined;
  return fail('invalid_prefix', `The range ${tooWide}.`);
}

function termsFault(terms: ManualEntryTerms, now: number): Result<never> | undefined {
  const { score, category, endsAt } = terms;
  if (!Number.isInteger(score) || score < 1 || score > 100) {
    return fail('invalid_parameter', 'a score is a whole number from 1 to 100');
  }
  if (!Number.isInteger(category) || category < 0 || category > categoryMax) {
    return fail('invalid_parameter', `a category is a number from 1 to ${categoryMax}`);
  }
  if (endsAt !== 0 && !(endsAt > now && endsAt <= endsAtMax && endsAt % 1_000 === 0)) {
    return fail('invalid_parameter', 'the end must lie ahead, in this century', 'until');
  }
  return undefined;
}

function matching(typed: string): (entry: ManualEntry) => boolean {
  const part = typedAddress(typed);
  const ip = readIp(part);
  const sought = part.toLowerCase();
  return ({ prefix, note }) => {
    if (prefix.toLowerCase().includes(sought) || note.toLowerCase().includes(sought)) return true;
    if (ip === undefined) return false;
    const range = parsePrefix(prefix);
    return range.ok && contains(range.value, ip.family, ip.words);
  };
}

export type AllowRule = ListedRange<AllowRow>;

/** Ranges that are never malicious and never in a feed. */
export function createAllowlist(parts: RangeParts & { readonly rulesMax?: number }) {
  const { clock, rulesMax = capacities.allowRules } = parts;
  const table = createRangeTable<AllowRow>(parts, {
    ledger: 'allow_rules',
    list: 'allow',
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

  /** Adds a rule; one that exists gets another reason. */
  async function add(
    prefix: string,
    reason: string,
  ): Promise<Result<AllowRule & { readonly former: AllowRow | undefined }>> {
    const fault = widthFault(prefix) ?? remarkFault(reason);
    return fault ?? (await table.put(prefix, { addedAt: clock.now(), reason }));
  }

  const { list, has, groups } = table;
  return { add, remove: (prefix: string) => table.remove(prefix), list, has, groups };
}
