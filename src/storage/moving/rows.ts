/**
 * Describes what is carried from one kind of store to the other, in one shape for all of it, and
 * compares the two sides: rows counted and hashed, of each namespace, in key order.
 *
 * Invariant: a row's shape says all that the row means. Two sides with equal counts and hashes hold
 * the same.
 */

import { createHash, type Hash } from 'node:crypto';
import { namespaces } from '../keys.ts';
import { encodeEvent } from '../rows.ts';
import type { StoreEvent } from '../store.ts';

/** In the order in which they are carried. */
export const parts = ['entries', 'journal', 'eventIds', 'checkpoint'] as const;
export type Part = (typeof parts)[number];

/**
 *   part         key                value             number    at
 *   entries      the entry's        the entry's       version   when it expires, 0 never
 *   journal      seq u64            event, no time    seq       its time
 *   eventIds     the id as UTF-8    nothing           seq       the event's time
 *   checkpoint   of page or record  the entry's       0         0
 */
export interface MovedRow {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly number: number;
  readonly at: number;
}

export interface Facts {
  readonly lastSeq: number;
  readonly prunedThrough: number;
  /** No row has a later version. */
  readonly lastVersion: number;
  readonly masterKeyId: Buffer | undefined;
  /** The journal's last event in the checkpoint that is carried; undefined: there is none. */
  readonly checkpointSeq: number | undefined;
  /** For a progress bar. */
  readonly rowsAbout: number;
}

/** A side that is read. */
export interface Side {
  facts(): Promise<Facts>;
  /**
   * In key order, behind `after`. @param onBad called with the name of each row that can't be
   * carried
   */
  read(
    part: Part,
    after: Buffer | undefined,
    limit: number,
    onBad: (line: string) => void,
  ): AsyncGenerator<MovedRow[]>;
}

export interface RowPlace {
  /** The counts and hashes of what is carried: a move of something else is begun anew. */
  readonly fingerprint: string;
  readonly part: number;
  /** The last key that was written of the part, in hex; empty: none. */
  readonly after: string;
}

/** A side that is written. */
export interface MoveTarget extends Side {
  /** Undefined: nothing was written yet. */
  place(): Promise<RowPlace | undefined>;
  /** Removes what an earlier move wrote. */
  clear(): Promise<void>;
  /** In one transaction. */
  write(part: Part, rows: readonly MovedRow[], place: RowPlace, facts: Facts): Promise<void>;
  /** Behind the last row: counters and what makes it whole. */
  finish(facts: Facts, lastAt: number): Promise<void>;
}

/** Rows that belong to one cluster or machine and are made anew; pages and record move as `checkpoint`. */
const staysBehind: ReadonlySet<number> = new Set([
  namespaces.formerLock,
  namespaces.checkpoint,
  namespaces.projectionPage,
  namespaces.lease,
  namespaces.tallies,
]);

export function isCarried(key: Uint8Array): boolean {
  return !staysBehind.has(key[0]!);
}

/** `encodeEvent` leaves room for a checksum. */
const crcBytes = 4;

export function rowOfEvent(event: StoreEvent): MovedRow {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(event.seq);
  const row = encodeEvent(event);
  const value = row.subarray(0, row.length - crcBytes);
  return { key, value, number: Number(event.seq), at: event.at };
}

export function eventRowOf({ value }: MovedRow): Buffer {
  return Buffer.concat([value, Buffer.alloc(crcBytes)]);
}

export interface MovedTally {
  /** A namespace, or a part. */
  readonly name: string;
  readonly rows: number;
  readonly sha256: string;
}

const names = new Map(Object.entries(namespaces).map(([name, byte]) => [byte as number, name]));

function nameOf(part: Part, { key }: MovedRow): string {
  if (part !== 'entries') return part;
  return names.get(key[0]!) ?? `namespace ${key[0]!.toString(16)}`;
}

/** Counts and hashes what it is given. */
export function createTallies() {
  const counted = new Map<string, { rows: number; hash: Hash }>();
  const numbers = Buffer.alloc(24);
  return {
    add(part: Part, rows: readonly MovedRow[]): void {
      for (const row of rows) {
        const name = nameOf(part, row);
        let tally = counted.get(name);
        if (tally === undefined) {
          tally = { rows: 0, hash: createHash('sha256') };
          counted.set(name, tally);
        }
        tally.rows += 1;
        numbers.writeUInt32BE(row.key.length, 0);
        numbers.writeUInt32BE(row.value.length, 4);
        numbers.writeDoubleBE(row.number, 8);
        numbers.writeDoubleBE(row.at, 16);
        tally.hash.update(numbers).update(row.key).update(row.value);
      }
    },
    /** Once, at the end. */
    finish(): MovedTally[] {
      return [...counted].map(([name, { rows, hash }]) => {
        return { name, rows, sha256: hash.digest('hex') };
      });
    },
  };
}
