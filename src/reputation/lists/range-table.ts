/**
 * The operator's ranges (allowlist, manual entries): a row for each, bounded in number, with the journal
 * events that the index follows in the same commit. A row that had no effect because the index is full
 * would be worse than none, so it is refused unless the index has capacity for it.
 */

import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { networkBehind } from '../../ip/behind.ts';
import { formatPrefix, type Prefix } from '../../ip/prefix.ts';
import { typedAddress } from '../../ip/typed.ts';
import { readPrefix } from '../../ip/written.ts';
import { commitOnce, untilUndisturbed, written } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import type { Key } from '../../storage/keys.ts';
import { type LedgerEntry, type LedgerTable, readLedger } from '../../storage/ledger.ts';
import { type NewEvent, pagesUnder, type Store } from '../../storage/store.ts';
import { askRoom } from './room.ts';

export interface RangeParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** `prefix`: canonical CIDR text. */
export type Ranged<T> = T & { readonly prefix: string };

export interface RangeTable<T> {
  /** In place of what was said of the range before. */
  put(text: string, row: T): Promise<Result<Ranged<T>>>;
  /** `not_found` when nothing is said of it, or nothing that `which` is true of. */
  remove(text: string, which?: (row: T) => boolean): Promise<Result<Ranged<T>>>;
  /** By their text. */
  list(): Promise<Ranged<T>[]>;
}

export interface RangeKind<T> {
  readonly ledger: LedgerTable;
  readonly rowsMax: number;
  /** Such as `the allowlist is full: 10 rules`. */
  readonly full: string;
  /** Behind the range, such as `is not on the allowlist`. */
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
export function remarkFault(text: string): Result<never> | undefined {
  if (text.length <= reasonLengthMax && !/\p{C}/u.test(text)) return undefined;
  return fail(
    'invalid_parameter',
    `a reason has at most ${reasonLengthMax} characters, none of them control characters`,
  );
}

export function createRangeTable<T>(parts: RangeParts, kind: RangeKind<T>): RangeTable<T> {
  const { store, clock, random } = parts;
  const { codec, keyOf, rowsMax } = kind;

  function eventsOf(prefix: Prefix, before: T | undefined, after: T | undefined) {
    return kind.events(prefix, before, after, () => createEventId(clock, random));
  }

  /** Before the first change since rows are counted, they are the count. */
  async function used(ledger: LedgerEntry): Promise<number> {
    return ledger.check.version === null ? (await list()).length : ledger.used;
  }

  async function countOneMore({ family, words, length }: Prefix) {
    const ledger = await readLedger(store, kind.ledger);
    const rows = await used(ledger);
    if (rows >= rowsMax) return fail('capacity_exceeded', kind.full);
    const families = Uint8Array.of(family);
    const lengths = Uint8Array.of(length);
    const one = { count: 1, families, words, lengths, scores: new Uint8Array(1) };
    const room = await askRoom(store, [one], 0, {
      entriesMax: capacities.entries,
      contributionsMax: capacities.entries * capacities.contributionsPerEntry,
    });
    return room.ok ? ok({ check: ledger.check, set: ledger.set(rows + 1) }) : room;
  }

  async function put(text: string, row: T): Promise<Result<Ranged<T>>> {
    const read = readPrefix(typedAddress(text));
    if (!read.ok) return read;
    // An address of a translator or tunnel is kept as the IPv4 address behind it.
    const prefix = ok(networkBehind(read.value));
    const name = formatPrefix(prefix.value);
    const key = keyOf(name);
    return await untilUndisturbed(async () => {
      const before = await store.get(key);
      const counted = before === undefined ? await countOneMore(prefix.value) : ok(undefined);
      if (!counted.ok) return counted;
      const done = await commitOnce(store, {
        check: [
          { key, version: before?.version ?? null },
          ...(counted.value === undefined ? [] : [counted.value.check]),
        ],
        set: [
          { key, value: codec.encode(row) },
          ...(counted.value === undefined ? [] : [counted.value.set]),
        ],
        events: eventsOf(prefix.value, before && codec.decode(before.value), row),
      });
      return written(done, { ...row, prefix: name });
    });
  }

  async function remove(
    text: string,
    which: (row: T) => boolean = () => true,
  ): Promise<Result<Ranged<T>>> {
    const read = readPrefix(typedAddress(text));
    if (!read.ok) return read;
    // A row of before may be kept as it was written.
    const isKept = (await store.get(keyOf(formatPrefix(read.value)))) !== undefined;
    const prefix = isKept ? read : ok(networkBehind(read.value));
    const name = formatPrefix(prefix.value);
    const key = keyOf(name);
    return await untilUndisturbed(async () => {
      const found = await store.get(key);
      const row = found && codec.decode(found.value);
      if (!found || !row || !which(row)) return fail('not_found', `${name} ${kind.missing}`);
      const ledger = await readLedger(store, kind.ledger);
      const done = await commitOnce(store, {
        check: [{ key, version: found.version }, ledger.check],
        set: [ledger.set((await used(ledger)) - 1)],
        del: [key],
        events: eventsOf(prefix.value, row, undefined),
      });
      return written(done, { ...row, prefix: name });
    });
  }

  async function list(): Promise<Ranged<T>[]> {
    const rows: Ranged<T>[] = [];
    for await (const page of pagesUnder(store, kind.under())) {
      for (const { key, value } of page) {
        const row = codec.decode(value);
        const prefix = Buffer.from(key.subarray(1, -1)).toString('utf8');
        if (row !== undefined) rows.push({ ...row, prefix });
      }
    }
    return rows;
  }

  return { put, remove, list };
}
