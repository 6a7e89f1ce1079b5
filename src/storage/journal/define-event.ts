/**
 * Describes a kind of journal event once: its bytes, the event version that brought it, how the state in memory
 * follows it, and how it is taken back in a restored store.
 *
 * Invariants: a number that was given stays, and so do the bytes of a version. What can't be read stops the
 * follower, which must not guess.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { createWriter, decode, type Reader } from '../codec.ts';
import type { Key } from '../keys.ts';
import type { LedgerTable } from '../ledger.ts';
import type { Field } from '../record.ts';
import type { Commit, NewEvent, Store, StoreEvent } from '../store.ts';

/**
 * `read` is the event version up to which this program reads. A new kind, or a new version of a body, raises
 * it by one and has the new number in its `since`; one event version may bring several.
 */
export const eventVersions = { read: 2 };

/** The rows of a restored store, in which events are undone from the oldest on. */
export interface RewoundRows {
  readonly store: Store;
  /** Returns true for the first event about a row, which says what was before all of them. */
  isFirst(key: Key): boolean;
  put(key: Key, value: Uint8Array): Promise<void>;
  remove(...keys: readonly Key[]): Promise<void>;
  write(commit: Commit): Promise<void>;
  /** Makes the rows of an operator's table be counted again at the end. */
  recount(table: LedgerTable, under: Key): void;
}

interface EventDescription<Kind extends string, Facts, State> {
  readonly kind: Kind;
  /** The event version from which on nodes read it, by the version of its body (`found.layout` of the fields). */
  readonly since: Readonly<Record<number, number>>;
  readonly fields: Field<Facts>;
  /** Returns the version of the body that these facts need; absent if it has one alone. */
  versionOf?(facts: Facts): number;
  /** True: no commit waits for a node that is too old to read it, which then goes without the event. */
  readonly optional?: true;
  /** The largest number of prefixes that the event adds to the index; absent: none. */
  readonly indexRows?: number | ((facts: Facts) => number);
  /** @param at the event's own time, ms. A promise means that the work goes on in slices */
  apply(state: State, facts: Facts, at: number): void | Promise<void>;
  /**
   * Undoes the event in the rows outside the journal. `kept`: the event stays when the journal is cut; `dropped`: no
   * row depends on it.
   */
  readonly undo: 'kept' | 'dropped' | ((rows: RewoundRows, facts: Facts) => Promise<void>);
}

export function defineEvent<const Kind extends string, Facts extends object, State>(
  description: EventDescription<Kind, Facts, State>,
) {
  const { kind, since, fields, versionOf, optional = false } = description;
  const versions = Object.keys(since).map(Number);
  const out = createWriter();
  const readers = new Map(
    versions.map((layout) => {
      const found = { layout, fields: {} };
      return [layout, (input: Reader) => fields.read(input, found)];
    }),
  );

  /** Returns undefined for damaged bytes and for a version that is not known. */
  function decodeBody(version: number, body: Uint8Array): Facts | undefined {
    const read = readers.get(version);
    return read && decode(body, read);
  }

  return {
    ...description,
    /** @param id makes a retry after an unknown outcome harmless: the store applies an id once */
    encode(id: string, facts: Facts): NewEvent {
      out.clear();
      fields.write(out, facts);
      const version = versionOf?.(facts) ?? versions[0]!;
      return { id, kind, version, body: out.finish(), since: since[version]!, optional };
    },
    decode: decodeBody,
    /** @throws when the event can't be read */
    follow(state: State, { seq, version, body, at }: StoreEvent): void | Promise<void> {
      const facts = decodeBody(version, body);
      if (facts === undefined) throw new Error(`event ${seq} (${kind}) can't be read`);
      return description.apply(state, facts, at);
    },
  };
}

/** The description of any kind of event that changes such a state. */
// biome-ignore lint/suspicious/noExplicitAny: each has facts of its own, which only it makes and reads
export type JournalEvent<State = any> = ReturnType<typeof defineEvent<string, any, State>>;

/**
 * Makes the id of an event: 48 bits of time, then 80 random bits, as 22 characters of base64url. Ids made
 * one after the other sort nearly in order, which keeps the pages of the id table hot.
 */
export function createEventId(clock: Clock, random: Random): string {
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeUIntBE(Math.max(0, Math.floor(clock.now())), 0, 6);
  bytes.set(random.bytes(10), 6);
  return bytes.toString('base64url');
}
