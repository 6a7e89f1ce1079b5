/** A step of an update to a newer data format. */

import type { Key } from '../keys.ts';
import type { Commit } from '../store.ts';

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

export interface MigrationBatch {
  /** Written together with the place reached, so that a kill repeats nothing and skips nothing. */
  readonly commit: Commit;
  /** Handed to the next call; undefined: the step is done. Never empty. */
  readonly next: Uint8Array | undefined;
}

export interface MigrationStep {
  /** For the log. */
  readonly name: string;
  /** The format it belongs to. */
  readonly format: number;
  /**
   * Synchronous. Uses layouts of its own that never change: the program's codecs go on without it.
   * @param after what the batch before gave as `next`; undefined for the first
   * @param limit rows to look at
   */
  plan(store: MigrationReader, after: Uint8Array | undefined, limit: number): MigrationBatch;
}
