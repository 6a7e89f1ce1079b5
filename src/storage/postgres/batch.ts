/**
 * The rows of one transaction as a commit reads and writes them: fetched and locked before, changed in
 * memory while the commits run one after the other, then written all together.
 */

import { hourMs } from '../../core/time.ts';
import type { PreparedEvent, PreparedRow, RowView } from '../apply-commit.ts';
import type { Key } from '../keys.ts';
import type { EntryHeader } from '../rows.ts';

/** A key that was seen to be absent stays locked by a row of this version until it is swept. */
export const absentVersion = 0;
const absentKeepMs = hourMs;
const noValue = Buffer.alloc(0);

export interface FetchedRow {
  readonly key: Buffer;
  readonly version: string;
  readonly expires_at: string | null;
}

interface RowState {
  readonly key: Key;
  /** There is a row of the key, locked by this transaction. */
  readonly isStored: boolean;
  header: EntryHeader | undefined;
  value: Buffer | undefined;
  isChanged: boolean;
  /** A commit relies on it to be absent: as long as it is, a row of the version for that locks it. */
  isHeld: boolean;
}

interface RowWrite {
  readonly key: Key;
  readonly value: Buffer;
  readonly version: number;
  /** 0: never. */
  readonly expiresAt: number;
}

export interface BatchWrites {
  readonly inserts: readonly RowWrite[];
  readonly updates: readonly RowWrite[];
  readonly deletes: readonly Key[];
  readonly events: readonly PreparedEvent[];
}

export class Batch implements RowView {
  readonly nowMs: number;
  readonly counters: { lastSeq: number; lastVersion: number };
  /** The journal's last when the rows were fetched: events of this transaction come behind it. */
  readonly seenSeq: number;
  /** This transaction may have been committed once before. */
  readonly isRepeat: boolean;
  writes = 0;
  /** True if a result relies on an earlier commit: a standby may not have that commit yet. */
  hasEarlierResult = false;
  /** The number of events of others that came in before this transaction's own; known after its commit. */
  shift = 0;
  readonly #states = new Map<string, RowState>();
  readonly #seqs: Map<string, number>;
  readonly #events: PreparedEvent[] = [];

  constructor(from: {
    nowMs: number;
    lastSeq: number;
    isRepeat: boolean;
    rows: readonly FetchedRow[];
    ids: ReadonlyMap<string, number>;
  }) {
    this.nowMs = from.nowMs;
    this.seenSeq = from.lastSeq;
    this.isRepeat = from.isRepeat;
    this.counters = { lastSeq: from.lastSeq, lastVersion: 0 };
    this.#seqs = new Map(from.ids);
    for (const { key, version, expires_at } of from.rows) {
      const header = { version: Number(version), expiresAt: Number(expires_at ?? 0) };
      this.#states.set(nameOf(key), {
        key: key as unknown as Key,
        isStored: true,
        header: header.version === absentVersion ? undefined : header,
        value: undefined,
        isChanged: false,
        isHeld: false,
      });
    }
  }

  seqOf(id: Uint8Array): number | undefined {
    return this.#seqs.get(nameOf(id));
  }

  header(key: Key): EntryHeader | undefined {
    return this.#state(key).header;
  }

  write({ key, row, expiresAt }: PreparedRow): number {
    this.writes += 1;
    this.counters.lastVersion += 1;
    const state = this.#state(key);
    state.header = { version: this.counters.lastVersion, expiresAt };
    state.value = row;
    state.isChanged = true;
    return this.counters.lastVersion;
  }

  remove(key: Key, header: EntryHeader | undefined): void {
    if (header === undefined) return;
    this.writes += 1;
    const state = this.#state(key);
    state.header = undefined;
    state.isChanged = true;
  }

  append(event: PreparedEvent): void {
    this.writes += 1;
    this.counters.lastSeq += 1;
    this.#seqs.set(nameOf(event.id), this.counters.lastSeq);
    this.#events.push(event);
  }

  /** Returns the final sequence number of an event, once the transaction is committed. */
  seqOnceCommitted(seq: number): bigint {
    return BigInt(seq > this.seenSeq ? seq + this.shift : seq);
  }

  /** A key that a commit relies on to be absent, and that nobody writes, is locked by a row. */
  lockAbsent(key: Key): void {
    this.#state(key).isHeld = true;
  }

  /** In key order: two transactions never wait for each other. */
  result(): BatchWrites {
    const changed = [...this.#states.values()].filter(
      (state) => state.isChanged || isNewlyHeld(state),
    );
    changed.sort((a, b) => Buffer.compare(a.key, b.key));
    const written = changed.filter(({ header }) => header !== undefined);
    const rowOf = ({ key, value, header }: RowState): RowWrite => {
      return header === undefined
        ? { key, value: noValue, version: absentVersion, expiresAt: this.nowMs + absentKeepMs }
        : { key, value: value!, version: header.version, expiresAt: header.expiresAt };
    };
    return {
      inserts: changed
        .filter((state) => (state.header !== undefined && !state.isStored) || isNewlyHeld(state))
        .map(rowOf),
      updates: written.filter(({ isStored }) => isStored).map(rowOf),
      deletes: changed
        .filter(({ header, isStored }) => header === undefined && isStored)
        .map(({ key }) => key),
      events: this.#events,
    };
  }

  #state(key: Key): RowState {
    const name = nameOf(key);
    const found = this.#states.get(name);
    if (found !== undefined) return found;
    const state = {
      key,
      isStored: false,
      header: undefined,
      value: undefined,
      isChanged: false,
      isHeld: false,
    };
    this.#states.set(name, state);
    return state;
  }
}

/** Absent at the end, relied on, and not locked yet. */
function isNewlyHeld({ isHeld, isStored, header }: RowState): boolean {
  return isHeld && !isStored && header === undefined;
}

export function nameOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
