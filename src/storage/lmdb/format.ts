/**
 * The number of the data format, and the steps that lead an older store to it.
 *
 * Invariants: a store with a newer number is refused before anything else of it is read, by the
 * server and by every command. Nothing of an older store is read before all steps are done. Steps are only ever
 * added at the end of the list; a store keeps how many of them it has seen, so a step runs once.
 */

import { OperatorError } from '../../core/errors.ts';
import { type Key, metaRowKey } from '../keys.ts';
import type { Commit } from '../store.ts';
import type { Table, Tables } from './tables.ts';

/** A live row, as it lies in the store. */
export interface MigrationRow {
  readonly key: Key;
  readonly value: Uint8Array;
  /** Milliseconds since 1970; 0: never. A step that writes the row again keeps it. */
  readonly expiresAt: number;
}

/** Reads inside the transaction of the batch. Expired rows are left out. */
export interface MigrationReader {
  readonly nowMs: number;
  get(key: Key): MigrationRow | undefined;
  /** At most `limit` rows looked at. `last` is the place to go on from, undefined at the end. */
  scan(
    prefix: Key,
    after: Uint8Array | undefined,
    limit: number,
  ): { readonly rows: readonly MigrationRow[]; readonly last: Uint8Array | undefined };
}

interface MigrationBatch {
  /** Written together with the place reached, so that a kill repeats nothing and skips nothing. */
  readonly commit: Commit;
  /** Handed to the next call; undefined: the step is done. Never empty. */
  readonly next: Uint8Array | undefined;
}

export interface MigrationStep {
  /** For the log. */
  readonly name: string;
  /**
   * Synchronous. Uses layouts of its own that never change: the program's codecs go on without it.
   * @param after what the batch before gave as `next`; undefined for the first
   * @param limit rows to look at
   */
  plan(store: MigrationReader, after: Uint8Array | undefined, limit: number): MigrationBatch;
}

export interface DataFormat {
  readonly number: number;
  /** In the order they run. Add at the end; never change, move or remove one that was released. */
  readonly steps: readonly MigrationStep[];
}

/** The format that this program writes. */
export const dataFormat: DataFormat = { number: 1, steps: [] };

/** The data format of a store, as its own row has it. */
export interface FormatRow {
  readonly number: number;
  /** Steps that are finished. */
  readonly done: number;
  /** The last row done of the next step; undefined before its first batch. */
  readonly after: Uint8Array | undefined;
}

/**
 * Compares the data format at each open; the first process writes the number into an empty store. Synchronous.
 * @param canMigrate false: an older store is refused
 * @throws OperatorError when the store is newer, older and not updated, of a build before format 1, or has no room
 */
export function checkFormat(tables: Tables, format: DataFormat, canMigrate: boolean): void {
  const { meta } = tables;
  let found = formatIn(meta);
  if (found === undefined) {
    tables.file.assertRoom();
    found = meta.transactionSync(() => claimEmpty(tables, format));
  }
  if (found.number > format.number || found.done > format.steps.length) {
    throw new OperatorError(
      `the data directory has data format ${found.number}, this program knows ${format.number}: start the newer version again, or restore a backup made before the update`,
    );
  }
  if (!canMigrate && !isUpToDate(found, format)) {
    throw new OperatorError(
      `the data directory has data format ${found.number} and its update to ${format.number} is not finished: start the server once, it goes on from there`,
    );
  }
}

export function isUpToDate(row: FormatRow, { number, steps }: DataFormat): boolean {
  return row.number === number && row.done === steps.length;
}

/** Undefined: the store is empty, or says nothing. @throws OperatorError for what no released program writes */
export function formatIn(meta: Pick<Table, 'get'>): FormatRow | undefined {
  const row = meta.get(metaRowKey('format'));
  if (row === undefined) return undefined;
  if (row.length === 4) throw beforeFormat1();
  if (row.length < 8)
    throw new OperatorError('the row of the data format is damaged: restore a backup');
  const after = row.length > 8 ? row.subarray(8) : undefined;
  return { number: row.readUInt32BE(0), done: row.readUInt32BE(4), after };
}

export function writeFormat(meta: Table, row: FormatRow): void {
  meta.putSync(metaRowKey('format'), encodeFormat(row));
}

/** Row: number u32, done u32, then the place inside the next step. */
export function encodeFormat({ number, done, after }: FormatRow): Buffer {
  const row = Buffer.alloc(8 + (after?.length ?? 0));
  row.writeUInt32BE(number);
  row.writeUInt32BE(done, 4);
  if (after !== undefined) row.set(after, 8);
  return row;
}

/** The row of a store that nothing is left to do in. */
export const currentFormat: FormatRow = {
  number: dataFormat.number,
  done: dataFormat.steps.length,
  after: undefined,
};

/** In one transaction with the look: two processes may meet in an empty directory. */
function claimEmpty(tables: Tables, { number, steps }: DataFormat): FormatRow {
  const { meta, entries, journal, eventIds, expiry } = tables;
  const there = formatIn(meta);
  if (there !== undefined) return there;
  const isEmpty = [entries, journal, eventIds, expiry, meta].every(
    (table) => [...table.getKeys({ limit: 1 })].length === 0,
  );
  if (!isEmpty) throw beforeFormat1();
  const row = { number, done: steps.length, after: undefined };
  writeFormat(meta, row);
  return row;
}

function beforeFormat1(): OperatorError {
  return new OperatorError(
    'the data directory was written by a build from before data format 1, which no release reads: set another DATA_DIR, or go on with that build',
  );
}
