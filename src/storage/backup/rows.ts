/**
 * The rows of a backup: in one shape, whichever kind of store they are of, and counted and hashed to
 * compare two sides, each namespace by itself, in key order.
 *
 * Invariant: a row's shape says all that the row means. Two sides with equal counts and hashes hold
 * the same.
 */

import { createHash, type Hash } from 'node:crypto';
import { OperatorError } from '../../core/errors.ts';
import { namespaces } from '../keys.ts';
import { encodeEvent } from '../rows.ts';
import type { StoreEvent } from '../store.ts';

/** In the order in which they are written. */
export const parts = ['entries', 'journal', 'eventIds', 'checkpoint'] as const;
export type Part = (typeof parts)[number];

/**
 *   part         key                value             number    at
 *   entries      the entry's        the entry's       version   when it expires, 0 never
 *   journal      seq u64            event, no time    seq       its time
 *   eventIds     the id as UTF-8    nothing           seq       the event's time
 *   checkpoint   of page or record  the entry's       0         0
 */
export interface BackupRow {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly number: number;
  readonly at: number;
}

export interface StoreFacts {
  readonly dataFormat: number;
  /** The row `format` of `meta` behind that number: how far an update had come (format.ts), in hex. */
  readonly migration: string;
  /** The journal's last event in it. */
  readonly seq: number;
  /** No row has a later version. */
  readonly lastVersion: number;
  /** Events up to here had left the journal. */
  readonly prunedThrough: number;
  /** The journal's last event that the projection in it holds; 0: there is no projection. */
  readonly checkpointSeq: number;
  /** The store's identity in hex; empty before the first start of a server, and of a database. */
  readonly identity: string;
  /** Name of the key that seals its secrets, in hex; empty: it never had one. */
  readonly masterKeyId: string;
  /** Rows in it, about. */
  readonly rowsAbout: number;
}

/** A store as it is at one moment. */
export interface RowSource {
  facts(): Promise<StoreFacts>;
  /** In key order, a few rows at a time. @throws DamagedRowError */
  read(part: Part): AsyncGenerator<BackupRow[]>;
}

/** Pages and record go as `checkpoint`; a lease is that of a process which runs. */
const others: ReadonlySet<number> = new Set([
  namespaces.checkpoint,
  namespaces.projectionPage,
  namespaces.lease,
]);

export function isEntry(key: Uint8Array): boolean {
  return !others.has(key[0]!);
}

/** `encodeEvent` leaves room for a checksum. */
const crcBytes = 4;

export function rowOfEvent(event: StoreEvent): BackupRow {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(event.seq);
  const row = encodeEvent(event);
  const value = row.subarray(0, row.length - crcBytes);
  return { key, value, number: Number(event.seq), at: event.at };
}

export function eventRowOf({ value }: BackupRow): Buffer {
  return Buffer.concat([value, Buffer.alloc(crcBytes)]);
}

export interface Tally {
  /** A namespace, or a part. */
  readonly name: string;
  readonly rows: number;
  readonly sha256: string;
}

const names = new Map(Object.entries(namespaces).map(([name, byte]) => [byte as number, name]));

function nameOf(part: Part, { key }: BackupRow): string {
  if (part !== 'entries') return part;
  return names.get(key[0]!) ?? `namespace ${key[0]!.toString(16)}`;
}

/** Counts and hashes what it is given. */
export function createTallies() {
  const counted = new Map<string, { rows: number; hash: Hash }>();
  const numbers = Buffer.alloc(24);
  return {
    add(part: Part, rows: readonly BackupRow[]): void {
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
    finish(): Tally[] {
      return [...counted].map(([name, { rows, hash }]) => {
        return { name, rows, sha256: hash.digest('hex') };
      });
    },
  };
}

export type OnProgress = (rows: number, rowsAbout: number, verb: string) => void;

/**
 * Reads all that was written, and compares it with what was to be.
 * @throws OperatorError with the names of what differs
 */
export async function compareRows(
  written: readonly Tally[],
  found: RowSource,
  onProgress?: OnProgress,
): Promise<void> {
  const total = written.reduce((sum, { rows }) => sum + rows, 0);
  const tallies = createTallies();
  let rows = 0;
  for (const part of parts) {
    for await (const batch of found.read(part)) {
      tallies.add(part, batch);
      rows += batch.length;
      onProgress?.(rows, Math.max(rows, total), 'compared');
    }
  }
  const other = new Map(tallies.finish().map((tally) => [tally.name, tally]));
  const differing = written.filter(({ name, rows: count, sha256 }) => {
    const there = other.get(name);
    other.delete(name);
    return there?.rows !== count || there.sha256 !== sha256;
  });
  const differ = [...differing.map(({ name }) => name), ...other.keys()];
  if (differ.length === 0) return;
  throw new OperatorError(
    `what was written is not what the backup holds: it differs in ${differ.join(', ')}`,
  );
}
